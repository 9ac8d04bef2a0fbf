# SPDX-License-Identifier: Apache-2.0
"""Packing: the bytes of every format, subclasses, depth, views, threads."""

from __future__ import annotations

import datetime
import enum
import sys
from collections import OrderedDict, namedtuple
from functools import partial
from types import ModuleType
from typing import Any

import pytest
from msgpack_messages import table
from threads import run_threads, switching

from purepy.msgpack.ext import ExtType

UTC = datetime.timezone.utc
CPYTHON = sys.implementation.name == "cpython"


@pytest.mark.parametrize(("packed", "obj"), table("formats.txt", "=>"))
def test_formats(msgpack: ModuleType, packed: bytes, obj: Any) -> None:
    """Each value packs in its shortest format: alone, in a list, as a value and through a Packer."""
    assert msgpack.packb(obj) == packed
    assert msgpack.packb([obj]) == b"\x91" + packed
    assert msgpack.packb({"k": obj}) == b"\x81\xa1k" + packed
    assert msgpack.Packer().pack(obj) == msgpack.packb(obj, max_total_bytes=1 << 30) == packed


Point = namedtuple("Point", "x y")


class Colour(enum.IntEnum):
    RED = 300


def subclass(kind: Any) -> Any:
    return type(f"Of{kind.__name__}", (kind,), {})


SUBCLASSES = [
    (Point(1, 2), "920102"),
    (Colour.RED, "cd012c"),
    (subclass(str)("a"), "a161"),
    (subclass(float)(0.5), "cb3fe0000000000000"),
    (subclass(bytes)(b"a"), "c40161"),
    (subclass(list)([1]), "9101"),
    (OrderedDict(b=1, a=2), "82a16201a16102"),
    (subclass(ExtType)(5, b"a"), "d40561"),
]


@pytest.mark.parametrize(("obj", "packed"), SUBCLASSES, ids=lambda value: type(value).__name__)
def test_subclasses(msgpack: ModuleType, obj: Any, packed: str) -> None:
    """Subclasses are packed like their base type; with strict_types they go to default."""
    assert msgpack.packb(obj).hex() == packed
    assert msgpack.packb([obj, {"k": obj}]).hex() == "92" + packed + "81a16b" + packed
    name = type(obj).__name__
    assert msgpack.packb(obj, strict_types=True, default=lambda o: type(o).__name__) == msgpack.packb(name)
    with pytest.raises(TypeError):
        msgpack.packb(obj, strict_types=True)


@pytest.mark.skipif(sys.version_info < (3, 15), reason="frozendict is new in Python 3.15")
def test_frozendict(msgpack: ModuleType) -> None:
    """A frozendict is packed as a map, also with strict_types."""
    import builtins

    frozen = builtins.frozendict(a=1)  # type: ignore[attr-defined]
    assert msgpack.packb(frozen) == msgpack.packb(frozen, strict_types=True) == b"\x81\xa1a\x01"


def nested(depth: int, kind: str) -> Any:
    obj: Any = None
    for level in range(depth):
        obj = {"k": obj} if kind == "map" or (kind == "mixed" and level % 2) else [obj]
    return obj


@pytest.mark.parametrize("kind", ["array", "map", "mixed"])
@pytest.mark.parametrize("sort_keys", [False, True])
def test_depth(msgpack: ModuleType, kind: str, sort_keys: bool) -> None:
    """1024 levels of lists or dicts can be packed, 1025 cannot; max_depth changes the limit."""
    for limit, options in ((1024, {}), (3, {"max_depth": 3})):
        assert msgpack.packb(nested(limit, kind), sort_keys=sort_keys, **options).endswith(b"\xc0")
        with pytest.raises(ValueError, match="recursion limit exceeded"):
            msgpack.packb(nested(limit + 1, kind), sort_keys=sort_keys, **options)


def test_getbuffer(msgpack: ModuleType) -> None:
    """A read-only view; on CPython the buffer cannot change while the view exists."""
    packer = msgpack.Packer(autoreset=False)
    packer.pack([1, "a"])
    view = packer.getbuffer()
    assert isinstance(view, memoryview)
    assert view.readonly
    assert bytes(view) == b"\x92\x01\xa1a"
    assert bytes(packer) == b"\x92\x01\xa1a"
    if CPYTHON:
        for change in (lambda: packer.pack(1), packer.reset, lambda: packer.pack_array_header(1)):
            with pytest.raises(BufferError):
                change()
        assert bytes(view) == b"\x92\x01\xa1a"
    view.release()
    packer.pack(1)
    assert packer.bytes() == b"\x92\x01\xa1a\x01"
    packer.reset()
    packer.pack(2)
    assert packer.bytes() == b"\x02"


def test_long_messages_of_changing_sizes(msgpack: ModuleType) -> None:
    """The memory that one long message needed is a first guess for the next, which may be longer or shorter."""
    item, packed = "é" * 500, b"\xda\x03\xe8" + "é".encode() * 500
    for count in (262, 400, 400, 399, 401, 2000, 261, 263, 1100, 400):
        assert msgpack.packb([item] * count) == b"\xdc" + count.to_bytes(2, "big") + packed * count


def test_shared_by_threads(msgpack: ModuleType) -> None:
    """Threads may share a Packer: each call returns its own message."""
    packer = msgpack.Packer(default=lambda numbers: [sum(range(50)), "x" * 100, *numbers])

    def work(number: int) -> None:
        expected = msgpack.packb([[1225, "x" * 100, number]] * 50)
        for _ in range(60):
            assert packer.pack([{number}] * 50) == expected

    with switching(1e-5):
        assert run_threads(*(partial(work, number) for number in range(1, 5))) == []
