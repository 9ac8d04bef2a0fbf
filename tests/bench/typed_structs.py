# SPDX-License-Identifier: Apache-2.0
"""The classes of typed_messages.py for msgspec: Structs, with msgspec's Raw and Ext."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any, List, Optional, Union
from uuid import UUID

import msgspec

from bench.typed_messages import Money, Permissions, Status


class Point(msgspec.Struct):
    lat: float
    lon: float


class User(msgspec.Struct):
    id: int
    name: str
    email: Optional[str]
    active: bool
    score: float
    tags: List[str]
    home: Point


class Users(msgspec.Struct):
    records: List[User]


class File(msgspec.Struct, tag="file"):
    name: str
    created_by: str
    created_at: datetime.datetime
    nbytes: int
    permissions: Permissions
    updated_by: Optional[str] = None
    updated_at: Optional[datetime.datetime] = None


class Directory(msgspec.Struct, tag="directory"):
    name: str
    created_by: str
    created_at: datetime.datetime
    contents: List[Union[File, Directory]]
    updated_by: Optional[str] = None
    updated_at: Optional[datetime.datetime] = None


class Order(msgspec.Struct):
    id: UUID
    total: Decimal
    day: datetime.date
    created_at: datetime.datetime
    status: Status
    tags: List[str]


class Orders(msgspec.Struct):
    records: List[Order]


class Envelope(msgspec.Struct):
    id: int
    price: Money
    body: msgspec.Raw
    check: msgspec.msgpack.Ext


class Envelopes(msgspec.Struct):
    records: List[Envelope]


_OTHERS = {"Raw": lambda raw: msgspec.Raw(raw.data), "ExtType": lambda ext: msgspec.msgpack.Ext(ext.code, ext.data)}


def made_of(value: Any) -> Any:
    """Return an object of a dataclass of typed_messages.py as Structs."""
    name = type(value).__name__
    if name in _OTHERS:
        return _OTHERS[name](value)
    if isinstance(value, list):
        return [made_of(item) for item in value]
    cls = globals().get(name) if hasattr(value, "__dataclass_fields__") else None
    if cls is None:
        return value
    return cls(**{field: made_of(getattr(value, field)) for field in cls.__struct_fields__})
