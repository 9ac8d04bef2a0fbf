# SPDX-License-Identifier: Apache-2.0
"""MessagePack input that lies, ends early or nests without end: the documented error, in bounded memory."""

from __future__ import annotations

import gc
import random
import struct
import sys
import threading
from functools import partial
from types import ModuleType
from typing import Any

import pytest
from threads import run_threads

from purepy.errors import (
    BufferFull,
    ExtraData,
    FormatError,
    LimitError,
    OutOfData,
    StackError,
    TruncatedError,
)

MESSAGE: Any = {
    "ints": [0, 127, 128, 255, 256, 65535, 65536, 2**32, 2**63, -1, -33, -129, -32769, -(2**31) - 1],
    "text": ["", "short", "x" * 40, "y" * 300, "é漢🎈" * 30],
    "bin": [b"", b"a" * 20, b"b" * 300],
    "float": [1.5, -0.0],
    "nested": {"deep": {"deeper": [[[{}]]]}},
    "none": [None, True, False],
}

# messages of a few bytes that promise much
LIES = {
    "array32": b"\xdd\xff\xff\xff\xff",
    "map32": b"\xdf\xff\xff\xff\xff",
    "str32": b"\xdb\xff\xff\xff\xff",
    "bin32": b"\xc6\xff\xff\xff\xff",
    "ext32": b"\xc9\xff\xff\xff\xff\x05",
    "array16 in array16": b"\xdc\xff\xff" * 900,
    "array32 in array32": b"\xdd\x00\x00\x10\x00" * 900,
    "map16 in map16": b"\xde\x07\x00\xa1a" * 900,
    "full array16 in array16": b"\xdc\x27\x10" * 1000 + b"\xc0" * 10_000,
}


def unpack_error(msgpack: ModuleType, data: bytes, **options: Any) -> Any:
    with pytest.raises(ValueError) as caught:
        msgpack.unpackb(data, **options)
    return caught.value


def memory_of(function: Any) -> tuple[int, int]:
    """Return how many bytes more are allocated behind a call of `function`, and how many there were at most."""
    tracemalloc = pytest.importorskip("tracemalloc", reason="PyPy 7.3.11 has no tracemalloc")
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        function()
        now, peak = tracemalloc.get_traced_memory()
        return now - before, peak - before
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("options", [{}, {"max_total_items": 100}], ids=["plain", "general"])
def test_truncated_at_each_byte(msgpack: ModuleType, options: dict[str, Any]) -> None:
    """Every cut is told apart from every other error, with a place inside of the input or at its end."""
    data = msgpack.packb(MESSAGE)
    for size in range(len(data)):
        error = unpack_error(msgpack, data[:size], max_map_len=1000, max_array_len=1000, **options)
        assert type(error) is TruncatedError
        assert 0 <= error.offset <= size
        assert str(error) == "Unpack failed: incomplete input"


def test_truncated_stream_goes_on(msgpack: ModuleType) -> None:
    """In a stream the same cuts are no errors: each continues where it stopped."""
    data = msgpack.packb(MESSAGE)
    for size in range(1, len(data)):
        stream = msgpack.Unpacker()
        stream.feed(data[:size])
        with pytest.raises(OutOfData):
            stream.unpack()
        stream.feed(data[size:])
        assert stream.unpack() == MESSAGE
        assert stream.tell() == len(data)


def test_random_bytes(msgpack: ModuleType) -> None:
    """Noise is an object or a ValueError with an offset; nothing else comes out."""
    rng = random.Random(7)
    counted = {"objects": 0, "errors": 0}
    for _ in range(3000):
        data = bytes(rng.getrandbits(8) for _ in range(rng.randrange(1, 60)))
        try:
            msgpack.unpackb(data)
            counted["objects"] += 1
        except ValueError as exc:
            assert 0 <= exc.offset <= len(data)  # type: ignore[attr-defined]  # noqa: PT017
            counted["errors"] += 1
    assert counted["objects"] > 10
    assert counted["errors"] > 1000


@pytest.mark.parametrize("name", LIES)
def test_lies_cost_nothing(msgpack: ModuleType, name: str) -> None:
    """A declared size is not believed: an error, and memory in proportion to the input."""
    data = LIES[name]
    unpack_error(msgpack, data)  # what the first call sets up is not counted
    _, peak = memory_of(lambda: unpack_error(msgpack, data, max_array_len=2**32, max_map_len=2**32))
    assert peak <= 100 * len(data) + 50_000


@pytest.mark.parametrize("name", LIES)
def test_lies_in_a_stream(msgpack: ModuleType, name: str) -> None:
    """A stream waits for more, and has allocated no more than that for what was promised."""
    data = LIES[name]

    def feed() -> None:
        stream = msgpack.Unpacker(max_buffer_size=2**31 - 1, max_array_len=2**32, max_map_len=2**32)
        stream.feed(data)
        with pytest.raises((OutOfData, LimitError)):
            stream.unpack()

    feed()
    assert memory_of(feed)[1] <= 100 * len(data) + 50_000


@pytest.mark.parametrize("data", [b"\x90", b"\x80", b"\xa0", b"\xc4\x00", b"\xd4\x05\x00", b"\x81\xa0\xc0"])
def test_memory_per_input_byte(msgpack: ModuleType, data: bytes) -> None:
    """The objects that take the most memory for their bytes stay under a hundred bytes of it per byte."""
    count = 5_000
    packed = b"\xdd" + struct.pack(">I", count) + data * count
    per_byte = memory_of(lambda: msgpack.unpackb(packed))[1] / len(packed)
    # an empty dict is one byte of input and 64 (CPython 3.11) of memory, and its slot in the list
    assert per_byte <= 100


def test_deep_nesting(msgpack: ModuleType) -> None:
    """The limit is the same number for packing and unpacking, and counted in containers."""
    nested: list[Any] = []
    for _ in range(1023):
        nested = [nested]
    packed = msgpack.packb(nested)
    assert packed == b"\x91" * 1023 + b"\x90"
    assert msgpack.packb(msgpack.unpackb(packed)) == packed
    with pytest.raises(ValueError, match=r"recursion limit exceeded\."):
        msgpack.packb([nested])
    error = unpack_error(msgpack, b"\x91" + packed)
    assert type(error) is StackError
    assert error.offset == 1024
    assert type(unpack_error(msgpack, b"\x91" * 1_000_000)) is StackError
    assert type(unpack_error(msgpack, b"\x81\xa1a" * 1_000_000)) is StackError


@pytest.mark.parametrize("lead", [b"\x91", b"\x81\xa1k"])
def test_very_deep_by_request(msgpack: ModuleType, lead: bytes) -> None:
    """A higher limit is honoured, far beyond what recursion on the C stack would survive."""
    depth = 30_000
    o = msgpack.unpackb(lead * depth + b"\x90", max_depth=depth + 1)
    for _ in range(depth):
        o = o[0] if type(o) is list else o["k"]
    assert o == []
    assert type(unpack_error(msgpack, lead * depth + b"\x90", max_depth=depth)) is StackError


class Box(dict):  # type: ignore[type-arg]
    """A subclass, which takes the longest way through the packer."""


@pytest.mark.parametrize("kind", [dict, Box])
@pytest.mark.parametrize("stack_size", [512 * 1024, 0])
def test_packing_very_deep(msgpack: ModuleType, kind: type, stack_size: int) -> None:
    """However deep is asked for: it works or is the documented error, but never the end of a thread's C stack."""
    results: list[Any] = []

    def work(depth: int) -> None:
        levels: list[Any] = [[]]
        for level in range(depth - 1):
            levels.append([levels[-1]] if level % 2 else kind(k=levels[-1]))
        try:
            packed = msgpack.packb(levels[-1], max_depth=depth)
            assert packed.count(b"\x91") == (depth - 1) // 2
            results.append("packed")
        except ValueError as exc:
            assert str(exc) == "recursion limit exceeded."  # noqa: PT017
            results.append("refused")
        # CPython 3.13 frees nested objects by recursion, too deep for a small stack: take it apart from outside
        for nested in reversed(levels):
            nested.clear()

    before = threading.stack_size(stack_size)
    try:
        for depth in (50, 1_000, 5_000, 40_000):
            assert run_threads(partial(work, depth)) == []
    finally:
        threading.stack_size(before)
    assert len(results) == 4
    assert results[0] == "packed"
    if not stack_size:
        assert results[1] == "packed"
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(ValueError, match="recursion limit"):
        msgpack.packb(endless)


@pytest.mark.parametrize(
    ("data", "options", "error", "offset"),
    [
        (b"\x92\x01\xc1", {}, FormatError, 2),
        (b"\x92\x01", {}, TruncatedError, 2),
        (b"\x93\x01\xd9\x05ab", {}, TruncatedError, 2),
        (b"\x92\x01\xa2\xff\xfe", {}, UnicodeDecodeError, 2),
        (b"\x81\xa1a\x81\x01\x02", {}, ValueError, 4),
        (b"\x81\x91\x01\x02", {"strict_map_key": False}, TypeError, 1),
        (b"\x92\x01\xa3abc", {"max_str_len": 2}, LimitError, 2),
        (b"\x92\x01\x92\x01\x02", {"max_total_items": 4}, LimitError, 2),
        (b"\x92\xa3abc\xa3abc", {"max_total_bytes": 5}, LimitError, 5),
        (b"\x91\xd6\xff\x00\x00\x00", {}, TruncatedError, 1),
        (b"\x91\xc7\x03\xff\x00\x00\x00", {}, ValueError, 1),
        (b"\x91\xd7\xff\xff\xff\xff\xff\xff\xff\xff\xff", {}, ValueError, 1),
        (b"\x91\x91\x91\x01", {"max_depth": 2}, StackError, 2),
        (b"\x01\x02\x03", {}, ExtraData, 1),
        (b"\x91\xd4\xfb\x00", {}, ValueError, 1),
    ],
)
def test_offsets(msgpack: ModuleType, data: bytes, options: Any, error: type[Exception], offset: int) -> None:
    """An error tells the header of the value that is wrong, whole and in a stream behind other messages."""
    with pytest.raises(error) as caught:
        msgpack.unpackb(data, **options)
    assert type(caught.value) is error
    assert caught.value.offset == offset  # type: ignore[attr-defined]
    if error in (ExtraData, TruncatedError):
        return
    stream = msgpack.Unpacker(**options)
    stream.feed(b"\xc0\xc0\xc0" + data)
    assert [stream.unpack() for _ in range(3)] == [None] * 3
    with pytest.raises(error) as caught:
        stream.unpack()
    assert caught.value.offset == offset + 3  # type: ignore[attr-defined]
    assert stream.tell() == offset + 3


def test_use_after_an_error(msgpack: ModuleType) -> None:
    """An Unpacker that failed reads on: past the wrong byte once it is skipped."""
    stream = msgpack.Unpacker()
    stream.feed(b"\x93\x01\xc1\x05")
    with pytest.raises(FormatError):
        stream.unpack()
    with pytest.raises(FormatError):
        stream.unpack()
    assert stream.read_bytes(1) == b"\xc1"
    assert stream.unpack() == 5
    stream.feed(b"\x81\xa1")
    with pytest.raises(OutOfData):
        stream.unpack()
    stream.feed(b"a\xc1")
    with pytest.raises(FormatError):
        stream.unpack()
    assert stream.read_bytes(1) == b"\xc1"
    stream.feed(msgpack.packb(MESSAGE))
    assert stream.unpack() == MESSAGE


def test_full_buffer(msgpack: ModuleType) -> None:
    """Waiting bytes are bounded by max_buffer_size, and an object that never ends with them."""
    stream = msgpack.Unpacker(max_buffer_size=100, max_bin_len=2**32)
    stream.feed(b"\xc6\x00\x01\x00\x00" + bytes(60))
    with pytest.raises(OutOfData):
        stream.unpack()
    with pytest.raises(BufferFull):
        stream.feed(bytes(60))


@pytest.mark.parametrize("rest", [b"", b"\x92\x01"], ids=["nothing", "a part of a message"])
def test_idle_unpackers_are_small(msgpack: ModuleType, rest: bytes) -> None:
    """Ten thousand connections that have nothing to say take kilobytes each, whatever they were fed before."""
    count = 200
    kept: list[Any] = []

    def make() -> None:
        for _ in range(count):
            stream = msgpack.Unpacker()
            stream.feed(msgpack.packb([b"x" * 100_000] * 2) + rest)
            assert len(list(stream)) == 1
            kept.append(stream)

    make()
    kept.clear()
    assert memory_of(make)[0] / count < 8 * 1024


def test_raw_is_checked(msgpack: ModuleType) -> None:
    """Fragments that stay packed are walked: cut, wrong or too deep, they are refused as if they were built."""
    for data, error in ((b"\x91\xc1", FormatError), (b"\x91\x92\x01", TruncatedError), (b"\x91" * 2000, StackError)):
        assert type(unpack_error(msgpack, data, raw_depth=1)) is error
    skipping = msgpack.Unpacker()
    skipping.feed(b"\x91" * 2000)
    with pytest.raises(StackError):
        skipping.skip()


@pytest.mark.skipif(sys.maxsize < 2**32, reason="needs 64 bits")
def test_ext32_of_the_largest_length(msgpack: ModuleType) -> None:
    """A length whose sum with the type byte wraps around in 32 bits is still the largest length."""
    error = unpack_error(msgpack, b"\xc9\xff\xff\xff\xff\x01" + b"a" * 100)
    assert type(error) is TruncatedError
    error = unpack_error(msgpack, b"\xc9\xff\xff\xff\xff\x01" + b"a" * 100, raw_depth=0)
    assert type(error) is TruncatedError
