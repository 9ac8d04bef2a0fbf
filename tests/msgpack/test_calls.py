# SPDX-License-Identifier: Apache-2.0
"""Calls whose result depends only on their arguments, and dialogues with one object, on every backend."""

from __future__ import annotations

import copy
import ctypes
import datetime
import decimal
import enum
import io
import pathlib
import pickle
import sys
import uuid
import weakref
from array import array
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Callable
from unittest.mock import Mock

from call_tables import calls, check_call, check_dialogue, dialogues


@dataclass
class Point:
    x: int


class Number(enum.Enum):
    ID = uuid.UUID(int=5)


def sub(base: Any, **names: Any) -> Any:
    return type("Sub", (base,), names)


def changed(obj: Any, **attributes: Any) -> Any:
    for name, value in attributes.items():
        setattr(obj, name, value)
    return obj


def lacking(obj: Any, name: str) -> Any:
    delattr(obj, name)
    return obj


def fail(obj: Any) -> Any:
    raise AssertionError("called beyond the limit")


LOOP: list[Any] = []
LOOP.append(LOOP)
# an array of shape (0, 3): on Python 3.9 its items have 0 bytes, on PyPy it has one dimension
HAS_SHAPES = sys.implementation.name == "cpython" and sys.version_info >= (3, 10)
NAMES = {
    **{module.__name__: module for module in (copy, datetime, decimal, enum, io, pathlib, pickle, uuid, weakref)},
    **{made.__name__: made for made in (Mock, Number, Point, array, changed, fail, lacking, sub)},
    "EMPTY": (ctypes.c_ubyte * 3 * 0)() if HAS_SHAPES else bytearray(),
    "LONG": "a" * 50,
    "VIEW": memoryview(b"abcd"),
    "SUBCLASSED": sub(dict)(a=1),
    "TUPLES": {"strict_map_key": False, "tuple_keys": True},
    "PAYLOADS": b"\x82\xa1a\xc4\x02bb\xa1c\x92\xd4\x05d\xd6\xff\x00\x00\x00\x01",
    "FRAGMENTS": b"\x82\xa1a\x92\x01\x81\xa1x\xc4\x01\xff\xa1b\x02",
    "UTC": datetime.timezone.utc,
    "LOOP": LOOP,
    "again": lambda obj: pickle.loads(pickle.dumps(obj)),
    "at": datetime.datetime,
    "hours": lambda count: datetime.timezone(datetime.timedelta(hours=count)),
}


def names_of(msgpack: ModuleType) -> dict[str, Any]:
    """Return the names in the tables: those of the backend, and functions that call it."""

    def fed(data: bytes, **options: Any) -> Any:
        unpacker = msgpack.Unpacker(**options)
        unpacker.feed(data)
        return unpacker

    def into(size: int, *arguments: Any, **options: Any) -> tuple[int, bytes]:
        buffer = bytearray(size)
        end = msgpack.pack_into(arguments[0], buffer, *arguments[1:], **options)
        return end, bytes(buffer)

    def packer(obj: Any, **options: Any) -> Any:
        return msgpack.Packer(**options).pack(obj)

    def into100(obj: Any, **options: Any) -> Any:
        return msgpack.pack_into(obj, bytearray(100), **options)

    def cleared(call: Callable[[bytearray], Any]) -> bytes:
        buffer = bytearray(msgpack.packb([1, 2, 3] * 200))
        call(buffer)
        buffer.clear()
        return bytes(buffer)

    own = {name: getattr(msgpack, name) for name in msgpack.__all__}
    return {**NAMES, **own, "fed": fed, "into": into, "into100": into100, "packer": packer, "cleared": cleared}


@calls(Path(__file__).with_name("calls.txt"), every=1)
def test_calls(msgpack: ModuleType, call: str, outcome: list[str]) -> None:
    check_call(call, outcome, names_of(msgpack))


@dialogues(Path(__file__).with_name("dialogues.txt"))
def test_dialogues(msgpack: ModuleType, lines: list[str]) -> None:
    """Calls of one object, in which each result depends on the calls before."""
    check_dialogue(lines, names_of(msgpack))
