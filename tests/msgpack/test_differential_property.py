# SPDX-License-Identifier: Apache-2.0
"""
The native MessagePack backend against the pure one: the same bytes, objects, exception types, texts and offsets.

Objects are generated and packed by both; bytes are generated, cut, changed and unpacked by both, whole and in
pieces, under the same options.
"""

from __future__ import annotations

import datetime
import enum
import io
import struct
from collections import OrderedDict, namedtuple
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Callable

import pytest
from backends import available
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgpack_strategies import INTS, SCALARS, TEXTS, WORDS, damaged, unpack_options

from purepy.base.errors import LimitError, OutOfData
from purepy.msgpack.ext import ExtType, Raw, Timestamp

BACKENDS = available("msgpack")
pytestmark = pytest.mark.skipif(
    not {"native", "pure"} <= BACKENDS.keys(), reason="needs both backends: --require msgpack:native"
)
NATIVE: ModuleType = BACKENDS.get("native", BACKENDS["pure"])
PURE: ModuleType = BACKENDS["pure"]

RELAXED = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


class Colour(enum.Enum):
    RED = 1
    NAME = "green"


class Level(enum.IntEnum):
    LOW = 3


Words = type("Words", (dict,), {})
Text = type("Text", (str,), {})


@dataclass
class Point:
    x: Any
    y: Any


Pair = namedtuple("Pair", "left right")


def plain(o: Any) -> Any:
    """Describe an object so that equal descriptions mean the same types and bits, in the same order."""
    kind = type(o)
    if kind is float:
        return "float", struct.pack(">d", o)
    if kind in (list, tuple):
        return kind.__name__, [plain(item) for item in o]
    if isinstance(o, ExtType):
        return "ext", o.code, o.data
    if kind is dict:
        return "dict", [(plain(key), plain(value)) for key, value in o.items()]
    if kind is memoryview:
        return "memoryview", o.readonly, o.tobytes()
    return kind.__name__, repr(o)


def outcome(function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Return the result, or everything in which the errors of two backends must agree."""
    try:
        return plain(function(*args, **options))
    except Exception as exc:
        extra = (plain(exc.unpacked), exc.extra) if hasattr(exc, "unpacked") else None  # type: ignore[attr-defined]
        text = None if isinstance(exc, (TypeError, OverflowError, UnicodeError)) else str(exc)
        return type(exc), text, getattr(exc, "offset", None), extra


LEAVES = SCALARS | st.one_of(
    st.binary(max_size=10).map(bytearray),
    st.binary(max_size=10).map(memoryview),
    st.builds(Timestamp, WORDS, st.sampled_from([0, 1, 999_999_999])),
)
ZONES = [None, datetime.timezone.utc, datetime.timezone(datetime.timedelta(hours=3))]
FOREIGN = st.one_of(
    st.datetimes(timezones=st.sampled_from(ZONES)),
    st.dates(), st.uuids(), st.decimals(), st.sampled_from([Colour.RED, Colour.NAME, Level.LOW]), st.just({1, 2}),
    st.integers(2**64, 2**70), st.just(Text("text")), st.just("\ud800"), st.just(Raw(b"\x93\x01\x02\x03")),
)  # fmt: skip


def containers(children: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    keys = st.one_of(TEXTS, INTS, st.binary(max_size=5), st.tuples(INTS, TEXTS))
    return st.one_of(
        st.lists(children, max_size=20),
        st.lists(children, max_size=5).map(tuple),
        st.dictionaries(keys, children, max_size=20),
        st.dictionaries(TEXTS, children, max_size=4).map(Words),
        st.dictionaries(TEXTS, children, max_size=4).map(OrderedDict),
        st.tuples(children, children).map(lambda pair: Pair(*pair)),
        st.tuples(children, children).map(lambda pair: Point(*pair)),
    )


OBJECTS = st.recursive(LEAVES, containers, max_leaves=30)
ANYTHING = st.recursive(st.one_of(LEAVES, FOREIGN), containers, max_leaves=20)

FLAGS = ("use_single_float", "use_bin_type", "strict_types", "sort_keys")
CONVERSIONS = ("datetime", "dataclass", "date", "uuid", "enum", "decimal")
PACK_OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        **{name: st.booleans() for name in (*FLAGS, *CONVERSIONS)},
        "default": st.sampled_from([None, str, repr, lambda o: [o], lambda o: {"replaced": Colour.RED}]),
        "unicode_errors": st.sampled_from([None, "strict", "ignore", "surrogatepass"]),
        "max_depth": st.integers(0, 5),
        "max_total_bytes": st.integers(0, 60),
        "max_total_items": st.integers(0, 20),
    },
)


@RELAXED
@given(OBJECTS, ANYTHING, PACK_OPTIONS)
def test_same_packing(o: Any, foreign: Any, options: dict[str, Any]) -> None:
    """With any options, or none (the fast path), both return the same bytes or raise the same error."""
    assert outcome(NATIVE.packb, o) == outcome(PURE.packb, o)
    one, other = outcome(NATIVE.packb, foreign, **options), outcome(PURE.packb, foreign, **options)
    if one != other:
        # if an object exceeds two limits, either may be reported first
        errors = {one[0], other[0]}
        assert options.keys() & {"max_total_bytes", "max_total_items"}
        assert all(isinstance(kind, type) and issubclass(kind, Exception) for kind in errors)


@RELAXED
@given(st.lists(ANYTHING, max_size=4), PACK_OPTIONS)
def test_same_packer(objects: list[Any], options: dict[str, Any]) -> None:
    """Without autoreset, both Packers hold the same bytes after each call, including failed calls."""
    packers = [module.Packer(autoreset=False, **options) for module in (NATIVE, PURE)]
    for o in objects:
        one, other = (outcome(packer.pack, o) for packer in packers)
        if not options.keys() & {"max_total_bytes", "max_total_items"}:
            assert one == other
        assert packers[0].bytes() == packers[1].bytes()


UNPACK_OPTIONS = unpack_options(list_hook=st.sampled_from([None, tuple, len]))
HOOKS = st.one_of(
    st.just({}),
    st.sampled_from([{"object_hook": lambda o: ["object", o]}, {"object_pairs_hook": lambda pairs: ["pairs", pairs]}]),
)


PACKED = OBJECTS.map(lambda o: PURE.packb(o, default=repr))


@st.composite
def cut_or_longer(draw: st.DrawFn) -> bytes:
    """Generate packed bytes that are cut, or that have other bytes inserted."""
    data = bytearray(draw(PACKED))
    place = draw(st.integers(0, len(data)))
    if draw(st.booleans()):
        del data[place:]
    else:
        lead = draw(st.sampled_from([0x80, 0x90, 0xC1, 0xC4, 0xC6, 0xC9, 0xD6, 0xD9, 0xDB, 0xDC, 0xDD, 0xDF]))
        data[place:place] = draw(st.binary(min_size=1, max_size=4) | st.just(bytes([lead])))
    return bytes(data)


MESSAGES = PACKED | damaged(PACKED) | cut_or_longer()
INPUTS = MESSAGES | st.binary(max_size=40) | st.lists(MESSAGES, max_size=3).map(b"".join)


@RELAXED
@given(INPUTS, UNPACK_OPTIONS, HOOKS)
def test_same_unpacking(data: bytes, options: dict[str, Any], hooks: dict[str, Any]) -> None:
    """Whole messages, with any options or none: the same object, or the same error at the same byte."""
    assert outcome(NATIVE.unpackb, data) == outcome(PURE.unpackb, data)
    assert outcome(NATIVE.unpackb, data, **options, **hooks) == outcome(PURE.unpackb, data, **options, **hooks)
    offset = len(data) // 3
    one = outcome(NATIVE.unpackb_from, data, offset, **options, **hooks)
    assert one == outcome(PURE.unpackb_from, data, offset, **options, **hooks)


METHODS = st.sampled_from(["unpack", "skip", "unpack_raw", "read_array_header", "read_map_header"])


@RELAXED
@given(INPUTS, st.integers(1, 8), UNPACK_OPTIONS, HOOKS, st.lists(METHODS, min_size=1, max_size=4))
def test_same_streams(data: bytes, size: int, options: dict[str, Any], hooks: dict[str, Any], calls: list[str]) -> None:
    """Messages fed in pieces: the same results, errors and position after each piece."""
    streams = [module.Unpacker(**options, **hooks) for module in (NATIVE, PURE)]
    turn = 0
    size = max(size, len(data) >> 10)  # feed large messages in about a thousand pieces instead of byte by byte
    for start in range(0, len(data), size):
        for stream in streams:
            stream.feed(data[start : start + size])
        for _ in range(12):
            call = calls[turn % len(calls)]
            one, other = (outcome(getattr(stream, call)) for stream in streams)
            assert one == other
            if one[0] is LimitError and (call == "unpack_raw" or options.get("raw_depth", -1) >= 0):
                return  # the pure backend cannot step back over a fragment that came in pieces
            assert streams[0].tell() == streams[1].tell()
            if one[0] is OutOfData:
                break
            turn += 1


@RELAXED
@given(INPUTS, st.integers(1, 30), st.integers(1, 64))
def test_same_reading_of_files(data: bytes, read_size: int, max_buffer_size: int) -> None:
    """Both read the same from a file, with a buffer that may be too small."""

    def read(module: ModuleType) -> Any:
        sizes = {"read_size": min(read_size, max_buffer_size), "max_buffer_size": max_buffer_size}
        stream = module.Unpacker(io.BytesIO(data), **sizes)
        results: list[Any] = []
        while len(results) < 100 and not (results and isinstance(results[-1][0][0], type)):
            results.append((outcome(stream.unpack), stream.tell()))
        return results

    assert read(NATIVE) == read(PURE)


def test_the_kinds_that_generation_may_miss() -> None:
    """Each first byte, with too few, enough and too many bytes after it."""
    for lead in range(256):
        for tail in (b"", b"\x00", b"\x00" * 3, b"\x00" * 5, b"\x00\x01a", b"\xff" * 20, b"\x00" * 40, b"\x01" * 40):
            data = bytes([lead]) + tail
            assert outcome(NATIVE.unpackb, data) == outcome(PURE.unpackb, data), data
            assert outcome(NATIVE.unpackb_from, data) == outcome(PURE.unpackb_from, data), data
