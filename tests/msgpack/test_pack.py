# SPDX-License-Identifier: Apache-2.0
"""Packing: the bytes of every format, the options, the errors, the methods of Packer."""

from __future__ import annotations

import datetime
import enum
import io
import struct
import sys
from collections import OrderedDict, namedtuple
from functools import partial
from types import ModuleType
from typing import Any

import pytest
from threads import run_threads, switching

from purepy.msgpack.ext import ExtType, Timestamp

UTC = datetime.timezone.utc
CPYTHON = sys.implementation.name == "cpython"

FORMATS = [
    (None, "c0"),
    (False, "c2"),
    (True, "c3"),
    (0, "00"),
    (127, "7f"),
    (128, "cc80"),
    (255, "ccff"),
    (256, "cd0100"),
    (65535, "cdffff"),
    (65536, "ce00010000"),
    (2**32 - 1, "ceffffffff"),
    (2**32, "cf0000000100000000"),
    (2**63, "cf8000000000000000"),
    (2**64 - 1, "cfffffffffffffffff"),
    (-1, "ff"),
    (-32, "e0"),
    (-33, "d0df"),
    (-128, "d080"),
    (-129, "d1ff7f"),
    (-32768, "d18000"),
    (-32769, "d2ffff7fff"),
    (-(2**31), "d280000000"),
    (-(2**31) - 1, "d3ffffffff7fffffff"),
    (-(2**63), "d38000000000000000"),
    (0.0, "cb0000000000000000"),
    (-1.5, "cbbff8000000000000"),
    (1e300, "cb7e37e43c8800759c"),
    (float("inf"), "cb7ff0000000000000"),
    (float("-inf"), "cbfff0000000000000"),
    ("", "a0"),
    ("é", "a2c3a9"),
    ("a" * 31, "bf" + "61" * 31),
    ("a" * 32, "d920" + "61" * 32),
    ("a" * 255, "d9ff" + "61" * 255),
    ("a" * 256, "da0100" + "61" * 256),
    ("a" * 65536, "db00010000" + "61" * 65536),
    (b"", "c400"),
    (b"\x00\xff", "c40200ff"),
    (bytearray(b"ab"), "c4026162"),
    (b"b" * 256, "c50100" + "62" * 256),
    (b"b" * 65536, "c600010000" + "62" * 65536),
    ([], "90"),
    ((1, [2]), "920191" + "02"),
    ([None] * 15, "9f" + "c0" * 15),
    ([None] * 16, "dc0010" + "c0" * 16),
    ([None] * 65536, "dd00010000" + "c0" * 65536),
    ({}, "80"),
    ({"a": 1, 2: b""}, "82a16101" + "02c400"),
    ({None: 1.0, (1,): -1}, "82c0cb3ff00000000000009101ff"),
    ({i: i for i in range(16)}, "de0010" + "".join(f"{i:02x}{i:02x}" for i in range(16))),
    (ExtType(1, b"a"), "d40161"),
    (ExtType(127, b"ab"), "d57f6162"),
    (ExtType(0, b"abcd"), "d60061626364"),
    (ExtType(2, b"8" * 8), "d702" + "38" * 8),
    (ExtType(3, b"x" * 16), "d803" + "78" * 16),
    (ExtType(4, b""), "c70004"),
    (ExtType(4, b"abc"), "c70304616263"),
    (ExtType(4, b"x" * 256), "c8010004" + "78" * 256),
    (ExtType(4, b"x" * 65536), "c90001000004" + "78" * 65536),
    (Timestamp(1), "d6ff00000001"),
    (Timestamp(1, 1), "d7ff0000000400000001"),
    (Timestamp(-1, 1), "c70cff00000001ffffffffffffffff"),
]


@pytest.mark.parametrize(("obj", "packed"), FORMATS, ids=lambda value: repr(value)[:24])
def test_formats(msgpack: ModuleType, obj: Any, packed: str) -> None:
    """The shortest format of each value, alone, in a list, as a value and through a Packer."""
    expected = bytes.fromhex(packed)
    assert msgpack.packb(obj) == expected
    assert msgpack.packb([obj]) == b"\x91" + expected
    assert msgpack.packb({"k": obj}) == b"\x81\xa1k" + expected
    assert msgpack.Packer().pack(obj) == expected
    assert msgpack.packb(obj, max_total_bytes=1 << 30) == expected


def test_nan(msgpack: ModuleType) -> None:
    """NaN packs as one."""
    (value,) = struct.unpack(">d", msgpack.packb(float("nan"))[1:])
    assert value != value


@pytest.mark.parametrize("view", [memoryview(b"abcd"), memoryview(bytearray(b"abcd")), memoryview(b"abcd").cast("I")])
def test_memoryview(msgpack: ModuleType, view: memoryview) -> None:
    """A memoryview packs its bytes, whatever the size of its items."""
    assert msgpack.packb(view) == b"\xc4\x04abcd"
    assert msgpack.packb(view, strict_types=True) == b"\xc4\x04abcd"


def test_memoryview_not_contiguous(msgpack: ModuleType) -> None:
    """A memoryview with gaps has no bytes to take as they are."""
    with pytest.raises(BufferError):
        msgpack.packb(memoryview(b"abcd")[::2])


Point = namedtuple("Point", "x y")


class Colour(enum.IntEnum):
    RED = 300


class Text(str):
    __slots__ = ()


class Real(float):
    __slots__ = ()


class Data(bytes):
    __slots__ = ()


class Items(list):  # type: ignore[type-arg]
    pass


class Ext(ExtType):
    __slots__ = ()


SUBCLASSES = [
    (Point(1, 2), "920102"),
    (Colour.RED, "cd012c"),
    (Text("a"), "a161"),
    (Real(0.5), "cb3fe0000000000000"),
    (Data(b"a"), "c40161"),
    (Items([1]), "9101"),
    (OrderedDict(b=1, a=2), "82a16201a16102"),
    (Ext(5, b"a"), "d40561"),
]


@pytest.mark.parametrize(("obj", "packed"), SUBCLASSES, ids=lambda value: type(value).__name__)
def test_subclasses(msgpack: ModuleType, obj: Any, packed: str) -> None:
    """Subclasses pack as what they derive from; strict_types sends them to default instead."""
    assert msgpack.packb(obj).hex() == packed
    assert msgpack.packb([obj, {"k": obj}]).hex() == "92" + packed + "81a16b" + packed
    assert msgpack.packb(obj, strict_types=True, default=lambda o: type(o).__name__) == msgpack.packb(
        type(obj).__name__
    )
    with pytest.raises(TypeError):
        msgpack.packb(obj, strict_types=True)


def test_strict_types_tuple(msgpack: ModuleType) -> None:
    """strict_types packs a list, and not a tuple."""
    assert msgpack.packb([[1]], strict_types=True) == b"\x91\x91\x01"
    with pytest.raises(TypeError):
        msgpack.packb([(1,)], strict_types=True)
    assert msgpack.packb([(1,)], strict_types=True, default=list) == b"\x91\x91\x01"


@pytest.mark.skipif(sys.version_info < (3, 15), reason="frozendict is new in Python 3.15")
def test_frozendict(msgpack: ModuleType) -> None:
    """A frozendict packs as a map, strictly too."""
    import builtins

    frozen = builtins.frozendict(a=1)  # type: ignore[attr-defined]
    assert msgpack.packb(frozen) == msgpack.packb(frozen, strict_types=True) == b"\x81\xa1a\x01"


# --- options -----------------------------------------------------------------------------------------------------


def test_use_single_float(msgpack: ModuleType) -> None:
    """Four bytes, infinities included; what does not fit is an error, not infinity."""
    assert msgpack.packb([1.5, float("inf")], use_single_float=True).hex() == "92ca3fc00000ca7f800000"
    with pytest.raises(OverflowError):
        msgpack.packb(1e300, use_single_float=True)


def test_use_bin_type(msgpack: ModuleType) -> None:
    """The old format has one type for bytes and text, and no 8 bit length."""
    assert msgpack.packb([b"a", "b"], use_bin_type=False) == b"\x92\xa1a\xa1b"
    assert msgpack.packb(b"a" * 32, use_bin_type=False) == b"\xda\x00\x20" + b"a" * 32
    assert msgpack.packb("a" * 32, use_bin_type=False) == b"\xda\x00\x20" + b"a" * 32
    assert msgpack.packb(b"a" * 65536, use_bin_type=False)[:5] == b"\xdb\x00\x01\x00\x00"


def test_unicode_errors(msgpack: ModuleType) -> None:
    """Surrogates have no UTF-8; a handler decides what becomes of them."""
    with pytest.raises(UnicodeEncodeError):
        msgpack.packb("a\ud800b")
    with pytest.raises(UnicodeEncodeError):
        msgpack.packb({"é\udcffb": 1})
    assert msgpack.packb("a\ud800b", unicode_errors="ignore") == b"\xa2ab"
    assert msgpack.packb("a\ud800b", unicode_errors="replace") == b"\xa3a?b"
    assert msgpack.packb("\ud7ff", unicode_errors="strict") == b"\xa3\xed\x9f\xbf"
    assert msgpack.packb("\ud7ff") == b"\xa3\xed\x9f\xbf"  # ED, the first byte of surrogates, begins others too


def test_datetime(msgpack: ModuleType) -> None:
    """An aware datetime is a timestamp if asked; a naive one is an error after default."""
    moment = datetime.datetime(1970, 1, 1, 0, 0, 42, 14, tzinfo=UTC)
    assert msgpack.packb(moment, datetime=True) == msgpack.packb(Timestamp(42, 14000))
    early = datetime.datetime(1960, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=1)))
    assert msgpack.packb(early, datetime=True) == msgpack.packb(Timestamp.from_datetime(early))
    with pytest.raises(TypeError, match=r"can not serialize 'datetime\.datetime' object|can not serialize 'datetime'"):
        msgpack.packb(moment)
    for extreme, hours in ((datetime.datetime.min, 1), (datetime.datetime.max, -1)):
        beyond = extreme.replace(tzinfo=datetime.timezone(datetime.timedelta(hours=hours)))
        with pytest.raises(OverflowError, match="not within the years 1 to 9999"):
            msgpack.packb([beyond], datetime=True)
    naive = moment.replace(tzinfo=None)
    with pytest.raises(ValueError, match="where tzinfo=None"):
        msgpack.packb(naive, datetime=True)
    assert msgpack.packb(naive, datetime=True, default=str) == msgpack.packb(str(naive))
    with pytest.raises(TypeError):
        msgpack.packb(moment.date(), datetime=True)


def test_default(msgpack: ModuleType) -> None:
    """default is asked once per object; what it returns is packed like anything else."""
    asked = []

    def default(obj: Any) -> Any:
        asked.append(obj)
        return {"set": sorted(obj)} if isinstance(obj, set) else obj

    assert msgpack.packb([{2, 1}], default=default) == msgpack.packb([{"set": [1, 2]}])
    assert asked == [{1, 2}]
    with pytest.raises(TypeError):
        msgpack.packb(object(), default=default)
    assert len(asked) == 2
    with pytest.raises(ZeroDivisionError):
        msgpack.packb([object()], default=lambda obj: 1 / 0)
    with pytest.raises(TypeError, match="callable"):
        msgpack.packb(1, default=5)


@pytest.mark.parametrize("number", [2**64, -(2**63) - 1, 10**40])
def test_big_int(msgpack: ModuleType, number: int) -> None:
    """An int beyond 64 bits is an OverflowError, or goes to default."""
    for obj in (number, [number], {"k": number}, {number: 1}):
        with pytest.raises(OverflowError, match="Integer value out of range"):
            msgpack.packb(obj)
        assert msgpack.packb(obj, default=str) == msgpack.packb(eval(repr(obj).replace(str(number), f"'{number}'")))
    with pytest.raises(OverflowError):
        msgpack.packb(number, default=lambda obj: obj)


@pytest.mark.parametrize("obj", [object(), {1, 2}, 1j, range(3), datetime.date(2020, 1, 1), datetime.timedelta(1)])
def test_unsupported(msgpack: ModuleType, obj: Any) -> None:
    """Any other type is a TypeError, at any place."""
    for container in (obj, [1, obj], {"k": obj}, [[{"k": (obj,)}]]):
        with pytest.raises(TypeError, match="can not serialize"):
            msgpack.packb(container)


def nested(depth: int, kind: str) -> Any:
    obj: Any = None
    for level in range(depth):
        obj = {"k": obj} if kind == "map" or (kind == "mixed" and level % 2) else [obj]
    return obj


@pytest.mark.parametrize("kind", ["array", "map", "mixed"])
def test_depth(msgpack: ModuleType, kind: str) -> None:
    """1024 levels pack, in lists and dicts alike; 1025 do not. max_depth moves the limit."""
    assert msgpack.packb(nested(1024, kind)).endswith(b"\xc0")
    with pytest.raises(ValueError, match="recursion limit exceeded"):
        msgpack.packb(nested(1025, kind))
    assert msgpack.packb(nested(3, kind), max_depth=3)
    with pytest.raises(ValueError, match="recursion limit exceeded"):
        msgpack.packb(nested(4, kind), max_depth=3)
    assert msgpack.packb("scalar", max_depth=0)
    with pytest.raises(ValueError, match="recursion limit exceeded"):
        msgpack.packb([], max_depth=0)
    with pytest.raises(ValueError, match="max_depth"):
        msgpack.packb([], max_depth=-1)


def test_endless(msgpack: ModuleType) -> None:
    """A list that holds itself is too deep."""
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(ValueError, match="recursion limit exceeded"):
        msgpack.packb(loop)
    with pytest.raises(ValueError, match="recursion limit exceeded"):
        msgpack.packb([loop, object()], default=lambda obj: loop)


# --- containers that change --------------------------------------------------------------------------------------


@pytest.mark.parametrize("change", ["grow", "shrink", "clear", "again"])
def test_list_changed_by_default(msgpack: ModuleType, change: str) -> None:
    """A list that default changes is an error: never a header that lies."""
    items: list[Any] = [1, object(), 2]

    def default(obj: Any) -> Any:
        if change == "grow":
            items.append(3)
        elif change == "again":
            items.append(object())
        elif change == "shrink":
            items.pop()
        else:
            items.clear()
        return 0

    with pytest.raises(RuntimeError, match="list changed size during packing"):
        msgpack.packb(items, default=default)


def test_outer_list_changed_by_default(msgpack: ModuleType) -> None:
    """The same for a list further out, which would never end."""
    outer: list[Any] = [[object()]]

    def default(obj: Any) -> Any:
        outer.append([object()])
        return 0

    with pytest.raises(RuntimeError, match="changed size during packing"):
        msgpack.packb(outer, default=default)


def test_dict_whose_items_lie(msgpack: ModuleType) -> None:
    """A subclass whose items() do not match its length is an error."""

    class Liar(dict):  # type: ignore[type-arg]
        def items(self) -> Any:
            return [("a", 1)]

    with pytest.raises(RuntimeError, match="dictionary changed size during packing"):
        msgpack.packb(Liar(a=1, b=2))


# --- Packer ------------------------------------------------------------------------------------------------------


def test_autoreset(msgpack: ModuleType) -> None:
    """Each call returns its own bytes; or all are gathered, and the calls return None."""
    packer = msgpack.Packer()
    assert packer.pack(1) == b"\x01"
    assert packer.pack_array_header(2) == b"\x92"
    assert packer.bytes() == b""
    packer = msgpack.Packer(autoreset=False)
    assert packer.pack(1) is None
    assert packer.pack_array_header(20) is None
    assert packer.pack_map_header(1) is None
    assert packer.pack_ext_type(5, b"a") is None
    assert packer.pack_map_pairs([(1, 2), ("a", None)]) is None
    assert packer.bytes() == b"\x01\xdc\x00\x14\x81\xd4\x05a\x82\x01\x02\xa1a\xc0"
    packer.reset()
    assert packer.bytes() == b""


def test_getbuffer(msgpack: ModuleType) -> None:
    """A read-only view; CPython does not let the buffer change under it."""
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


def test_failed_pack_drops_what_was_gathered(msgpack: ModuleType) -> None:
    """As in msgpack: after an exception the buffer is empty."""
    packer = msgpack.Packer(autoreset=False)
    packer.pack("first")
    with pytest.raises(TypeError):
        packer.pack([1, object()])
    assert packer.bytes() == b""
    packer.pack(1)
    assert packer.bytes() == b"\x01"
    with pytest.raises(TypeError):
        packer.pack_map_pairs([(1, object())])
    assert packer.bytes() == b""


@pytest.mark.parametrize("method", ["pack_array_header", "pack_map_header"])
def test_headers(msgpack: ModuleType, method: str) -> None:
    """Headers of every size; a length out of range leaves what was gathered alone."""
    packer = msgpack.Packer(autoreset=False)
    packer.pack("first")
    for size in (0, 15, 16, 65535, 65536, 2**32 - 1):
        getattr(packer, method)(size)
    base = 0x90 if method == "pack_array_header" else 0x80
    long = "dc" if method == "pack_array_header" else "de"
    longer = "dd" if method == "pack_array_header" else "df"
    assert packer.bytes().hex() == (
        f"a56669727374{base:02x}{base + 15:02x}{long}0010{long}ffff{longer}00010000{longer}ffffffff"
    )
    before = packer.bytes()
    for size in (-1, 2**32):
        with pytest.raises(ValueError, match=r"non-negative|too lar?ge|too learge"):
            getattr(packer, method)(size)
    with pytest.raises(TypeError):
        getattr(packer, method)("3")
    assert packer.bytes() == before


def test_pack_ext_type(msgpack: ModuleType) -> None:
    """Any code of a signed byte, as in msgpack's C extension."""
    packer = msgpack.Packer()
    assert packer.pack_ext_type(-128, b"a") == b"\xd4\x80a"
    assert packer.pack_ext_type(typecode=127, data=b"abc") == b"\xc7\x03\x7fabc"
    for code in (-129, 128, 1000):
        with pytest.raises((OverflowError, ValueError)):
            packer.pack_ext_type(code, b"a")
    with pytest.raises(TypeError):
        packer.pack_ext_type(1, "text")
    with pytest.raises(TypeError):
        packer.pack_ext_type("1", b"a")


def test_pack_map_pairs(msgpack: ModuleType) -> None:
    """Pairs need a length, and need not be unique."""
    packer = msgpack.Packer()
    assert packer.pack_map_pairs([("a", 1), ("a", [2])]) == b"\x82\xa1a\x01\xa1a\x91\x02"
    assert packer.pack_map_pairs(()) == b"\x80"
    with pytest.raises(TypeError):
        packer.pack_map_pairs(iter([(1, 2)]))
    with pytest.raises((TypeError, ValueError)):
        packer.pack_map_pairs([(1, 2, 3)])


def test_other_packer_within_default(msgpack: ModuleType) -> None:
    """Another Packer, or packb, is free."""

    def default(obj: Any) -> Any:
        return ExtType(1, msgpack.packb(sorted(obj)))

    assert msgpack.packb([{2, 1}], default=default) == msgpack.packb([ExtType(1, b"\x92\x01\x02")])


def test_shared_by_threads(msgpack: ModuleType) -> None:
    """A Packer may be shared: each thread gets its own bytes, each call makes its own message."""
    packer = msgpack.Packer(default=lambda numbers: [sum(range(50)), "x" * 100, *numbers])

    def work(number: int) -> None:
        expected = msgpack.packb([[1225, "x" * 100, number]] * 50)
        for _ in range(200):
            assert packer.pack([{number}] * 50) == expected

    with switching(1e-5):
        assert run_threads(*(partial(work, number) for number in range(1, 5))) == []


def test_pack_to_stream(msgpack: ModuleType) -> None:
    """pack writes once, and nothing if it fails."""

    class Stream(io.BytesIO):
        writes = 0

        def write(self, data: Any, /) -> int:
            Stream.writes += 1
            return super().write(data)

    stream = Stream()
    msgpack.pack([1, "a"], stream, use_bin_type=False)
    assert stream.getvalue() == b"\x92\x01\xa1a"
    with pytest.raises(TypeError):
        msgpack.pack([1, object()], stream)
    assert Stream.writes == 1
