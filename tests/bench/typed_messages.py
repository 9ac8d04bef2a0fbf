# SPDX-License-Identifier: Apache-2.0
"""The messages of the group Typed, as dataclasses."""

from __future__ import annotations

import datetime
import enum
import random
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Callable, List, Literal, Optional, Tuple, Union
from uuid import UUID

import annotated_types as at
from typing_extensions import Annotated

import cpkg
from cpkg.msgpack import ExtType, Raw

try:
    from msgspec import Meta
except ImportError:
    Meta = dict  # type: ignore[assignment, misc]


@dataclass
class Point:
    lat: float
    lon: float


@dataclass
class User:
    id: int
    name: str
    email: Optional[str]
    active: bool
    score: float
    tags: List[str]
    home: Point


@dataclass
class Document:
    title: str
    author: str
    text: str
    words: List[List[str]]
    numbers: List[List[int]]


Permissions = enum.Enum("Permissions", {name: name for name in ("READ", "WRITE", "READ_WRITE")})


@dataclass
class File:
    type: Literal["file"]
    name: str
    created_by: str
    created_at: datetime.datetime
    nbytes: int
    permissions: Permissions
    updated_by: Optional[str] = None
    updated_at: Optional[datetime.datetime] = None


@dataclass
class Directory:
    type: Literal["directory"]
    name: str
    created_by: str
    created_at: datetime.datetime
    contents: List[Union[File, Directory]]
    updated_by: Optional[str] = None
    updated_at: Optional[datetime.datetime] = None


@dataclass
class Limited:  # its constraints are written twice: for msgspec, and for all other libraries
    id: Annotated[int, at.Ge(0), Meta(ge=0)]
    name: Annotated[str, at.MinLen(1), at.MaxLen(40), Meta(min_length=1, max_length=40)]
    score: Annotated[float, at.Lt(1e6), Meta(lt=1e6)]
    tags: Annotated[List[str], at.MaxLen(8), Meta(max_length=8)]


Status = enum.Enum("Status", {"NEW": "new", "PAID": "paid", "SENT": "sent"})


@dataclass
class Order:
    id: UUID
    total: Decimal
    day: datetime.date
    created_at: datetime.datetime
    status: Status
    tags: List[str]


class Money:  # no library supports this type
    def __init__(self, cents: int) -> None:
        self.cents = cents

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Money) and self.cents == other.cents


@dataclass
class Envelope:
    id: int
    price: Money
    body: Raw
    check: ExtType


def users() -> List[User]:
    return [
        User(i * 7919, f"user {i}", None if i % 3 else f"u{i}@example.com", i % 2 == 0, i / 7.0, [f"t{i % 5}", "all"],
             Point(59.9 + i / 1e4, 10.7))
        for i in range(1000)
    ]  # fmt: skip


def documents() -> List[Document]:
    return [
        Document(f"Title {i}", f"Author {i % 40}", "Lorem ipsum dolor sit amet, " * 8,
                 [[f"w{i + j + k}" for k in range(5)] for j in range(4)], [list(range(i, i + 6)) for _ in range(3)])
        for i in range(200)
    ]  # fmt: skip


def _times(draw: random.Random) -> Tuple[datetime.datetime, datetime.datetime]:
    """Return creation and update times."""
    created = datetime.datetime.fromtimestamp(draw.randrange(10**9, 2 * 10**9), datetime.timezone.utc)
    created += datetime.timedelta(microseconds=draw.randrange(10**6))
    return created, created + datetime.timedelta(seconds=draw.randrange(10**7))


def files(depth: int = 4, draw: Optional[random.Random] = None) -> Directory:
    """Return the tree of msgspec's benchmark: a quarter of its files and directories were changed later."""
    draw = draw or random.Random(1)

    def changes() -> Tuple[datetime.datetime, Tuple[Any, ...]]:
        created, updated = _times(draw)
        return created, ("somebody", updated) if draw.random() < 0.25 else (None, None)

    inside: List[Any] = []
    for i in range(12):
        created, changed = changes()
        permissions = draw.choice(list(Permissions))
        inside.append(File("file", f"file_{i}.txt", "someone", created, i * 1000, permissions, *changed))
    if depth:
        inside += [files(depth - 1, draw) for _ in range(3)]
    created, changed = changes()
    return Directory("directory", f"directory_{depth}", "somebody", created, inside, *changed)


def orders() -> List[Order]:
    draw = random.Random(2)
    return [
        Order(UUID(int=draw.getrandbits(128)), Decimal(draw.randrange(10**6)).scaleb(-2),
              datetime.date(2024, 1, 1) + datetime.timedelta(draw.randrange(1000)), _times(draw)[0],
              draw.choice(list(Status)), [f"t{draw.randrange(50)}" for _ in range(3)])
        for _ in range(1000)
    ]  # fmt: skip


def envelopes() -> List[Envelope]:
    bodies = [cpkg.packb({"words": [f"w{i + j}" for j in range(10)], "total": i / 7.0}) for i in range(50)]
    return [
        Envelope(i * 7919, Money(i * 99), Raw(bodies[i % 50]), ExtType(5, i.to_bytes(4, "big"))) for i in range(1000)
    ]  # fmt: skip


def limited() -> List[Limited]:
    return [Limited(i * 7919, f"user {i}", i / 7.0, [f"t{i % 5}", "all"]) for i in range(1000)]


_KINDS = ((users, List[User]), (documents, List[Document]), (files, Directory), (limited, List[Limited]),
          (orders, List[Order]), (envelopes, List[Envelope]))  # fmt: skip
MESSAGES: dict[str, tuple[Callable[[], Any], Any]] = {make.__name__: (make, kind) for make, kind in _KINDS}
"""A function that creates each message, and the type of the message."""
