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
from msgpack_messages import table
from threads import run_threads, switching

from purepy.msgpack.ext import ExtType, Timestamp

UTC = datetime.timezone.utc
CPYTHON = sys.implementation.name == "cpython"


@pytest.mark.parametrize(("packed", "obj"), table("formats.txt", "=>"))
def test_formats(msgpack: ModuleType, packed: bytes, obj: Any) -> None:
    """Each value packs in its shortest format: alone, in a list, as a value and through a Packer."""
    assert msgpack.packb(obj) == packed
    assert msgpack.packb([obj]) == b"\x91" + packed
    assert msgpack.packb({"k": obj}) == b"\x81\xa1k" + packed
    assert msgpack.Packer().pack(obj) == packed
    assert msgpack.packb(obj, max_total_bytes=1 << 30) == packed


def test_nan(msgpack: ModuleType) -> None:
    """NaN is packed as a NaN."""
    (value,) = struct.unpack(">d", msgpack.packb(float("nan"))[1:])
    assert value != value


VIEW = memoryview(b"abcd")


@pytest.mark.parametrize("view", [VIEW, memoryview(bytearray(VIEW)), VIEW.cast("I"), VIEW.cast("B", (2, 2))])
def test_memoryview(msgpack: ModuleType, view: memoryview) -> None:
    """A memoryview packs its bytes, whatever its item size and its number of dimensions."""
    assert msgpack.packb(view) == b"\xc4\x04abcd"
    assert msgpack.packb(view, strict_types=True) == b"\xc4\x04abcd"


def test_memoryview_not_contiguous(msgpack: ModuleType) -> None:
    """A memoryview with gaps is refused."""
    with pytest.raises(BufferError, match=r"found a strided memoryview: pass bytes\(data\)"):
        msgpack.packb(memoryview(b"abcd")[::2])


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
    assert msgpack.packb(obj, strict_types=True, default=lambda o: type(o).__name__) == msgpack.packb(
        type(obj).__name__
    )
    with pytest.raises(TypeError):
        msgpack.packb(obj, strict_types=True)


def test_strict_types_tuple(msgpack: ModuleType) -> None:
    """With strict_types, a list is packed and a tuple is not."""
    assert msgpack.packb([[1]], strict_types=True) == b"\x91\x91\x01"
    with pytest.raises(TypeError):
        msgpack.packb([(1,)], strict_types=True)
    assert msgpack.packb([(1,)], strict_types=True, default=list) == b"\x91\x91\x01"


@pytest.mark.skipif(sys.version_info < (3, 15), reason="frozendict is new in Python 3.15")
def test_frozendict(msgpack: ModuleType) -> None:
    """A frozendict is packed as a map, also with strict_types."""
    import builtins

    frozen = builtins.frozendict(a=1)  # type: ignore[attr-defined]
    assert msgpack.packb(frozen) == msgpack.packb(frozen, strict_types=True) == b"\x81\xa1a\x01"


# --- options -----------------------------------------------------------------------------------------------------


def test_use_single_float(msgpack: ModuleType) -> None:
    """Floats take four bytes, infinities included; a float that does not fit is an error, not infinity."""
    assert msgpack.packb([1.5, float("inf")], use_single_float=True).hex() == "92ca3fc00000ca7f800000"
    with pytest.raises(OverflowError):
        msgpack.packb(1e300, use_single_float=True)


def test_use_bin_type(msgpack: ModuleType) -> None:
    """The old format has one type for bytes and text, and no 8-bit length."""
    assert msgpack.packb([b"a", "b"], use_bin_type=False) == b"\x92\xa1a\xa1b"
    assert msgpack.packb(b"a" * 32, use_bin_type=False) == b"\xda\x00\x20" + b"a" * 32
    assert msgpack.packb("a" * 32, use_bin_type=False) == b"\xda\x00\x20" + b"a" * 32
    assert msgpack.packb(b"a" * 65536, use_bin_type=False)[:5] == b"\xdb\x00\x01\x00\x00"


def test_unicode_errors(msgpack: ModuleType) -> None:
    """Surrogates have no UTF-8 encoding; a handler decides how to replace them."""
    with pytest.raises(UnicodeEncodeError):
        msgpack.packb("a\ud800b")
    with pytest.raises(UnicodeEncodeError):
        msgpack.packb({"é\udcffb": 1})
    assert msgpack.packb("a\ud800b", unicode_errors="ignore") == b"\xa2ab"
    assert msgpack.packb("a\ud800b", unicode_errors="replace") == b"\xa3a?b"
    assert msgpack.packb("\ud7ff", unicode_errors="strict") == b"\xa3\xed\x9f\xbf"
    assert msgpack.packb("\ud7ff") == b"\xa3\xed\x9f\xbf"  # 0xED also begins valid characters


def test_datetime(msgpack: ModuleType) -> None:
    """With datetime=True, an aware datetime is a timestamp; a naive one goes to default, then it is an error."""
    moment = datetime.datetime(1970, 1, 1, 0, 0, 42, 14, tzinfo=UTC)
    assert msgpack.packb(moment, datetime=True) == msgpack.packb(Timestamp(42, 14000))
    early = datetime.datetime(1960, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=1)))
    assert msgpack.packb(early, datetime=True) == msgpack.packb(Timestamp.from_datetime(early))
    with pytest.raises(TypeError, match=r"can not serialize 'datetime\.datetime' object|can not serialize 'datetime'"):
        msgpack.packb(moment)
    for extreme, hours in ((datetime.datetime.min, 1), (datetime.datetime.max, -1)):
        beyond = extreme.replace(tzinfo=datetime.timezone(datetime.timedelta(hours=hours)))
        with pytest.raises(OverflowError, match=r"in UTC its year is outside 1\.\.9999"):
            msgpack.packb([beyond], datetime=True)
    naive = moment.replace(tzinfo=None)
    with pytest.raises(ValueError, match="where tzinfo=None"):
        msgpack.packb(naive, datetime=True)
    assert msgpack.packb(naive, datetime=True, default=str) == msgpack.packb(str(naive))
    with pytest.raises(TypeError):
        msgpack.packb(moment.date(), datetime=True)


def test_default(msgpack: ModuleType) -> None:
    """default is called once per object, and its result is packed like any other object."""
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
    """An object of any other type is a TypeError at any place."""
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
    """1024 levels of lists or dicts can be packed, 1025 cannot; max_depth changes the limit."""
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
    """A list that contains itself is too deep."""
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(ValueError, match="recursion limit exceeded"):
        msgpack.packb(loop)
    with pytest.raises(ValueError, match="recursion limit exceeded"):
        msgpack.packb([loop, object()], default=lambda obj: loop)


# --- Packer ------------------------------------------------------------------------------------------------------


def test_autoreset(msgpack: ModuleType) -> None:
    """Each call returns its own bytes; with autoreset=False the Packer collects them, and calls return None."""
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


def test_failed_pack_drops_what_was_gathered(msgpack: ModuleType) -> None:
    """After an exception the buffer is empty, as in msgpack."""
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


@pytest.mark.parametrize(
    ("method", "headers"),
    [
        ("pack_array_header", "90 9f dc0010 dcffff dd00010000 ddffffffff"),
        ("pack_map_header", "80 8f de0010 deffff df00010000 dfffffffff"),
    ],
)
def test_headers(msgpack: ModuleType, method: str, headers: str) -> None:
    """A header has the shortest format; a size without a format leaves the buffer unchanged."""
    packer = msgpack.Packer(autoreset=False)
    pack = getattr(packer, method)
    packer.pack("first")
    for size in (0, 15, 16, 65535, 65536, 2**32 - 1):
        pack(size)
    gathered = b"\xa5first" + bytes.fromhex(headers)
    for error, sizes in (
        (ValueError, (-1, 2**32, 2**63 - 1, -(2**63))),
        (OverflowError, (2**63, 2**70, -(2**63) - 1, -(2**70))),
        (TypeError, ("3", 1.5, 1.0, None)),  # msgpack accepts floats
    ):
        for size in sizes:
            with pytest.raises(error):
                pack(size)
    assert packer.bytes() == gathered


def test_pack_ext_type(msgpack: ModuleType) -> None:
    """Any code that fits into a signed byte is packed, as by msgpack's C extension."""
    packer = msgpack.Packer()
    assert packer.pack_ext_type(-128, bytearray(b"a")) == b"\xd4\x80a"
    assert packer.pack_ext_type(typecode=127, data=b"abc") == b"\xc7\x03\x7fabc"
    for code in (128, -129, 2**31, 2**70, -(2**70)):
        with pytest.raises(OverflowError):
            packer.pack_ext_type(code, b"")
    for code, data in ((5, "x"), (5, None), (5, [1]), (5, memoryview(b"x")), (5.0, b"x"), ("5", b"x"), (500, "x")):
        with pytest.raises(TypeError):
            packer.pack_ext_type(code, data)


def test_pack_map_pairs(msgpack: ModuleType) -> None:
    """Pairs need a length, but their keys need not be unique."""
    packer = msgpack.Packer()
    assert packer.pack_map_pairs([("a", 1), ("a", [2])]) == b"\x82\xa1a\x01\xa1a\x91\x02"
    assert packer.pack_map_pairs(()) == b"\x80"
    with pytest.raises(TypeError):
        packer.pack_map_pairs(iter([(1, 2)]))
    with pytest.raises((TypeError, ValueError)):
        packer.pack_map_pairs([(1, 2, 3)])


def test_shared_by_threads(msgpack: ModuleType) -> None:
    """Threads may share a Packer: each call returns its own message."""
    packer = msgpack.Packer(default=lambda numbers: [sum(range(50)), "x" * 100, *numbers])

    def work(number: int) -> None:
        expected = msgpack.packb([[1225, "x" * 100, number]] * 50)
        for _ in range(60):
            assert packer.pack([{number}] * 50) == expected

    with switching(1e-5):
        assert run_threads(*(partial(work, number) for number in range(1, 5))) == []


def test_pack_to_stream(msgpack: ModuleType) -> None:
    """pack() calls write() once, or not at all if packing fails."""

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
