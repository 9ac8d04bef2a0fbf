# SPDX-License-Identifier: Apache-2.0
"""
Packing and unpacking through `marshal` against the pure codec: the same objects and bytes, and None where the pure
codec raises an error. PyPy uses it in a new process, but it also runs on CPython, like the decoder that follows it.
"""

from __future__ import annotations

import array
import ctypes
import sys
import threading
from collections import OrderedDict
from enum import IntEnum
from functools import partial
from typing import Any, NamedTuple

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgpack_messages import LIES, table
from msgpack_oracle import pure_read, same
from msgpack_strategies import ANY_KEYS, EDGES, EXTENSIONS, INTS, PLAIN, STRICT_KEYS, damaged, objects
from pypy_parts import pypy_part
from threads import run_threads

from purepy import msgpack as pure
from purepy.msgpack import oneshot
from purepy.msgpack.ext import ExtType, Timestamp
from purepy.msgpack.options import UNPACKING

reading = pypy_part("marshal_read")
writing = pypy_part("marshal_pack")
marshal = pypy_part("marshal")
checks = pypy_part("checks")
decoder = pypy_part("decoder")

NOT_STRICT = (False, *checks.DEFAULT[1:])
LEVELS = 64  # the frames of the C side

pytestmark = pytest.mark.interpreter


@pytest.fixture(autouse=True)
def no_end() -> Any:
    """Restore the accounts after each test."""
    before = marshal.READING.left, marshal.WRITING.left
    yield
    marshal.READING.left, marshal.WRITING.left = before


def read(data: bytes, options: Any = checks.DEFAULT, start: int = 0) -> Any:
    return reading.read(data, start, options)


# --- unpacking ----------------------------------------------------------------------------------------------------


@given(objects(STRICT_KEYS, PLAIN))
@example([])
@example({"": {}, "a": [{}, [], {"a": "a"}]})
@example(["same", "same", {"same": "same"}, "é", "é", {"é": "é"}])
@example({"k": [list(range(-20, 300)), [2.5] * 300, [None] * 300]})
def test_what_was_packed_is_read(obj: Any) -> None:
    """A plain message with strict keys is read back unchanged, unless it mostly consists of long lists of numbers."""
    data = pure.packb(obj)
    found = read(data)
    if found is None:
        assert "300" in repr(obj) or len(data) > 256
    else:
        assert same((obj, len(data)), found)


@pytest.mark.parametrize("value", [*EDGES, 2**63, 2**64 - 1])
def test_ints(value: int) -> None:
    """Ints of every width are read back."""
    data = pure.packb([value, {"k": value}])
    assert same(read(data), ([value, {"k": value}], len(data)))
    assert writing.pack([value, {"k": value}], 1024) == data


def has_counted_keys(obj: Any) -> bool:
    """Whether a map has eight keys or more, some of them numbers; the decoder reads such maps and counts collisions."""
    if isinstance(obj, dict):
        counted = len(obj) >= 8 and any(isinstance(key, (int, float)) for key in obj)
        return counted or any(map(has_counted_keys, obj.values()))
    return isinstance(obj, (list, tuple)) and any(map(has_counted_keys, obj))


@given(objects(ANY_KEYS, PLAIN))
@example(dict.fromkeys([1, 2.5, None, False]))
@example(dict.fromkeys([0, "", "0", "1", "2", "3", "00", "000"]))
def test_other_keys_where_they_are_allowed(obj: Any) -> None:
    """Keys of any scalar type are read without strict_map_key, and refused with it."""
    data = pure.packb(obj)
    for options, is_strict in ((checks.DEFAULT, True), (NOT_STRICT, False)):
        found, expected = read(data, options), pure_read(data, strict_map_key=is_strict)
        assert found is None or same(found, expected)
        assert found is not None or expected is None or len(data) > 256 or has_counted_keys(obj)


@given(damaged(objects(ANY_KEYS, PLAIN | EXTENSIONS).map(pure.packb)) | st.binary(max_size=80))
def test_any_bytes(data: bytes) -> None:
    """Messages with wrong bytes, and random bytes, are read as the pure codec reads them, or refused."""
    for options, is_strict in ((checks.DEFAULT, True), (NOT_STRICT, False)):
        found = read(data, options)
        assert found is None or same(found, pure_read(data, strict_map_key=is_strict))


@pytest.mark.parametrize(("data", "obj"), table("formats.txt", "<"))
def test_formats_that_no_packer_writes(data: bytes, obj: Any) -> None:
    """32-bit floats and lengths in fields longer than needed are read; extensions are refused."""
    assert same(read(data), None if isinstance(obj, ExtType) else pure_read(data))


def test_cut_at_each_byte() -> None:
    """No prefix of a message is accepted as a message."""
    data = pure.packb([{"key": [1, 2, 300, 4.5], "é" * 30: b"bin"}, "é", "x" * 300, 2**40, 2**64 - 1, {}, []])
    for length in range(len(data)):
        assert read(data[:length]) is None, length
    twice = b"\x92\x83\xa1a\x01\xa1b\x02\xa1a\x03\xca\x7f\x80\x00\x01"  # a key twice
    for message in (data, twice):
        assert same(read(message), pure_read(message))


def test_start_and_end() -> None:
    """A message within a buffer, from an offset on, with other data after it."""
    data = b"xyz" + pure.packb({"a": ["b", 1.5]}) + b"\xc1"
    assert read(data, start=3) == ({"a": ["b", 1.5]}, len(data) - 1)


@pytest.mark.parametrize("header", [b"\x91", b"\xdc\x00\x01", b"\x81\xa1k"])
def test_depth(header: bytes) -> None:
    """As many containers may be open as the C side has frames, or as max_depth allows."""
    for limit in (LEVELS, 5, 0):
        options = (True, limit, *checks.DEFAULT[2:])
        assert read(header * limit + b"\x01", options) is not None
        assert read(header * (limit + 1) + b"\x01", options) is None
    assert read(b"\x91" * (LEVELS - 1) + b"\x90") is not None
    assert read(b"\x91" * LEVELS + b"\x90") is None
    assert read(b"\x91" * 100_000) is None


@pytest.mark.parametrize("name", ["max_str_len", "max_bin_len", "max_array_len", "max_map_len"])
def test_limits(name: str) -> None:
    """Each limit holds exactly: marshal refuses a message where the pure codec does."""
    for obj in (["12345"], {"12345": 1}, [b"12345"], {b"12345": 1}, [1, 2, 3, 4, 5], dict.fromkeys("12345")):
        data = pure.packb(obj)
        for limit in (4, 5, 6, 0):
            options = list(checks.DEFAULT)
            options[2 + ["max_str_len", "max_bin_len", "max_array_len", "max_map_len"].index(name)] = limit
            assert same(pure_read(data, **{name: limit}), read(data, tuple(options)))


CUT_OR_WRONG = [row.values[0] for row in table("errors.txt", "!?") if len(row.values[1]) == 2]
"""Messages that are refused without options."""
ONE_SHORT = b"\xdd\x00\x10\x00\x00" + b"\xc0" * 0xFFFFF
UNDER_OPTIONS = ["819000", "81d4010000", "d40100", "d6ff00000000", "a2c080"]
"""Messages that are refused also without strict_map_key: containers and extensions as keys, other extensions."""


@pytest.mark.parametrize(
    ("data", "options"),
    [
        *((data, checks.DEFAULT) for data in (*CUT_OR_WRONG, *LIES.values(), ONE_SHORT)),
        *((bytes.fromhex(data), NOT_STRICT) for data in UNDER_OPTIONS),
    ],
    ids=lambda value: value[:9].hex() if isinstance(value, bytes) else "",
)
def test_what_is_refused(data: bytes, options: Any) -> None:
    """A truncated or invalid message gives no object."""
    assert read(data, options) is None


def test_texts_by_reference() -> None:
    """More different texts than the tables hold, and texts that share a slot, each repeated."""
    obj = [{f"key {i % 700}": f"value {i % 900}", "é": f"é {i % 3}"} for i in range(3000)]
    data = pure.packb(obj)
    for _ in range(2):
        assert read(data) == (obj, len(data))


def test_memory_for_messages_larger_than_is_kept() -> None:
    """Messages of any size up to the largest, and small ones after large ones."""
    for size in (1, 60_000, 70_000, 3_000_000, 5, 1_000_000):
        obj = ["x" * size, b"b" * (size // 2), [None] * (size // 8), {"é" * (size // 4): "é" * (size // 3)}]
        data = pure.packb(obj)
        assert read(data) is None if len(data) > reading.LARGEST else read(data) == (obj, len(data))
    left = marshal.READING.left
    assert read(pure.packb(b"x" * reading.LARGEST)) is None
    assert left
    assert marshal.READING.left == 0


def test_calls_reduce_the_account() -> None:
    """Each call reduces the account, a refusal by more; in the end nothing is left."""
    marshal.READING.left = marshal.WRITING.left = 10_000_000
    assert read(b"\x01") is not None
    assert writing.pack(1, 1024) is not None
    paid = 10_000_000 - marshal.READING.left, 10_000_000 - marshal.WRITING.left
    assert read(b"\xc1") is None
    assert writing.pack(object(), 1024) is None
    assert 10_000_000 - marshal.READING.left > 100 * paid[0] > 0
    assert 10_000_000 - marshal.WRITING.left > 100 * paid[1] > 0


# --- packing ------------------------------------------------------------------------------------------------------


class Colour(IntEnum):
    RED = 1


class Point(NamedTuple):
    x: int
    y: int


DEEP: Any = "end"
for _ in range(LEVELS):
    DEEP = [DEEP]
CYCLE: Any = [1]
CYCLE.append(CYCLE)
HIDDEN_CYCLE: Any = [["a" * 100, "b"], {}]
HIDDEN_CYCLE[1]["k"] = HIDDEN_CYCLE


@given(objects(ANY_KEYS, PLAIN | st.floats()))
@example({"a": {"b": [b"1", {"c": b"2"}], "d": b"3"}, "e": [[b"4"], b"5", [[b"6"]]], "f": b"7"})
@example([[b"1"], [[b"2"], b"3"], {"a": [b"4"], "b": b"5"}, b"6"])
@example({str(i): {str(j): b"x" for j in range(20)} for i in range(40)})
@example([(), ((),), {"a": (1, (2, "b"))}])
@example(dict.fromkeys(range(70_000)))
@example([[], {}] * 40_000)
def test_the_same_bytes(obj: Any) -> None:
    """Objects of MessagePack's types are packed to the same bytes as by the pure codec."""
    packed = writing.pack(obj, 1024)
    if packed is None:
        assert type(obj) is bytes or _has_bytes_as_key(obj)
    else:
        assert packed == pure.packb(obj)


def _has_bytes_as_key(obj: Any) -> bool:
    if type(obj) is dict:
        return any(type(key) is bytes or _has_bytes_as_key(value) for key, value in obj.items())
    return type(obj) is list and any(_has_bytes_as_key(item) for item in obj)


REFUSED = {
    "of no type": [{1, 2}, frozenset((1,)), 1j, ..., StopIteration, compile("1", "", "eval"), object(), sys.flags],
    "too large": [2**64, -(2**63) - 1, 2**200],
    "no UTF-8": ["\ud800", "a\udfff"],
    "extensions": [ExtType(1, b"x"), Timestamp(1)],
    "buffers": [
        *(bytearray(b"x"), memoryview(b"abc"), memoryview(b"abcdef")[::2], array.array("d", [1.5])),
        *(array.array("B", b"abc"), (ctypes.c_char * 3)(*b"abc")),
    ],
    "subclasses": [
        *(type("Binary", (bytes,), {})(b"abc"), type("Text", (str,), {})("text"), Colour.RED, Point(1, 2)),
        OrderedDict(a=1),
    ],
    "keys": [{b"bytes": 1}, {("tuple",): 1}, {(b"tuple",): 1}],
    "too deep": [DEEP, CYCLE, HIDDEN_CYCLE],
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_packing_refuses(kind: str) -> None:
    """Values without a MessagePack type, of a subclass, or that are an error are refused at any place in an object."""
    for obj in REFUSED[kind]:
        for whole in (
            *(obj, [obj], {"k": obj}, [1, {"a": [b"bytes", obj, b"more"]}, b"x"], ([obj],)),
            *([{"a": obj, "b": b""}, b""], [{"b": [b"", {"c": obj}]}, b""], [[[[obj]]], b""], [b"", {"d": {"e": obj}}]),
        ):
            assert writing.pack(whole, 1024) is None


def test_depth_of_packing() -> None:
    """max_depth counts containers as the pure codec does, including empty ones."""
    for obj, depth in (([], 1), ([[]], 2), ({"a": {"b": [1]}}, 3), (((),), 2), (5, 0)):
        assert writing.pack(obj, depth) == pure.packb(obj)
        if depth:
            assert writing.pack(obj, depth - 1) is None
    assert writing.pack(DEEP[0], 1024) == pure.packb(DEEP[0])


def test_large_objects_are_left_alone() -> None:
    """An object for which marshal would need much memory is never passed to marshal, wherever its size is."""
    for obj in (
        [None] * 5_000_000,
        {"a": [{"b": "x" * 70_000_000}]},
        [[None] * 3000] * 3000,
        {"a": {"b": [b"x"] * 5_000_000}},
    ):
        assert writing.pack(obj, 1024) is None
    assert writing.pack([list(range(100))] * 100, 1024) is not None


def test_a_small_stack() -> None:
    """In a thread with a small stack, an endless object is an error, not a crash."""
    before = threading.stack_size(64 * 1024)
    try:
        packed: list[Any] = []
        threads = run_threads(lambda: packed.append(writing.pack([1], 1024)))
    finally:
        threading.stack_size(before)
    assert threads == []
    assert packed == [None]
    assert writing.pack([1], 1024) == b"\x91\x01"


def test_threads() -> None:
    """Only one call at a time uses the memory of C."""

    def work(number: int) -> None:
        obj = {"number": number, "list": [f"{number} {i}" for i in range(2000)], "bytes": b"b" * number}
        data, numbers = pure.packb(obj), [number + i for i in range(5000)]
        for _ in range(20):
            assert writing.pack(obj, 1024) == data
            assert read(data) == (obj, len(data))
            assert decode(pure.packb(numbers))[0] == numbers

    assert run_threads(*[partial(work, number) for number in range(4)]) == []


# --- lists of numbers, which C reads for PyPy's decoder --------------------------------------------------------------

others = st.none() | st.text(max_size=3) | st.floats(allow_nan=False) | INTS
lists = st.lists(INTS, max_size=40) | st.lists(st.floats(allow_nan=False), max_size=40)


def decode(data: bytes) -> Any:
    try:
        return oneshot.unpackb_from_with(data, 0, UNPACKING.defaults, decoder.Decoder)
    except Exception:
        return None


@given(st.lists(lists | others, max_size=6), lists, st.integers(0, 400))
@example([], list(range(10_000)), 400)
@example([], [0.5] * 9_000, 400)
def test_as_the_pure_decoder(obj: list[Any], numbers: list[Any], cut: int) -> None:
    """Lists of numbers alone and among other values, whole and cut."""
    data = pure.packb([*obj, numbers, {"k": numbers + obj}])
    assert same(pure_read(data), decode(data))
    assert same(pure_read(data[:cut]), decode(data[:cut]))


@pytest.mark.parametrize("pieces", [1, 2])
@pytest.mark.parametrize(("first", "then"), [(1.5, 7), (7, 1.5), (1.5, None)])
def test_the_type_changes_between_pieces(first: Any, then: Any, pieces: int) -> None:
    """C reads one type of number in each call, and Python reads the numbers of a call as that type."""
    data = pure.packb([first] * (decoder._PIECE * pieces) + [then] * 40 + [first] * 5000)
    assert same(pure_read(data), decode(data))
    assert same(pure_read(data[:-30]), decode(data[:-30]))


@given(lists, st.binary(max_size=20))
def test_damaged_lists(numbers: list[Any], tail: bytes) -> None:
    """Any bytes after the first numbers of a list."""
    data = b"\xdc\x01\x00" + b"".join(map(pure.packb, numbers)) + tail
    assert same(pure_read(data), decode(data))
