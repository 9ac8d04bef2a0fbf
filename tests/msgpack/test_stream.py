# SPDX-License-Identifier: Apache-2.0
"""Unpacking streams: pieces, files, methods in turn, interrupts, threads, async."""

from __future__ import annotations

import asyncio
import io
import random
import threading
import types
from types import ModuleType
from typing import Any
from unittest.mock import AsyncMock, Mock

import pytest
from msgpack_messages import fed
from threads import beside
from waitless import result_of

from purepy.msgpack.ext import ExtType, Raw, Timestamp

OBJECTS = [
    *(1, -300, 2**40, 1.5, None, "text é", "x" * 300, b"bin" * 30, Timestamp(5, 6), list(range(40))),
    *([1, [2, ["three", {}]], []], {"a": {"b": [1.5, None]}, "c" * 40: ExtType(5, b"ext")}),
    {str(i): i for i in range(20)},
]


def stream_of(msgpack: ModuleType) -> bytes:
    return b"".join(map(msgpack.packb, OBJECTS))


@pytest.mark.parametrize("size", [1, 2, 3, 7, 16, 100, 10**6])
@pytest.mark.parametrize("options", [{}, {"max_total_items": 1000}], ids=["plain", "general"])
def test_fed_in_pieces(msgpack: ModuleType, size: int, options: dict[str, Any]) -> None:
    """However the stream is cut, the objects are the same, and each is returned as soon as it is complete."""
    data = stream_of(msgpack)
    ends = []
    for obj in OBJECTS:
        ends.append((ends[-1] if ends else 0) + len(msgpack.packb(obj)))
    unpacker = msgpack.Unpacker(**options)
    found = []
    for start in range(0, len(data), size):
        unpacker.feed(data[start : start + size])
        for obj in unpacker:
            found.append(obj)
            assert unpacker.tell() == ends[len(found) - 1]
        assert len(found) == sum(end <= start + size for end in ends)
    assert found == OBJECTS
    with pytest.raises(msgpack.OutOfData):
        unpacker.unpack()


@pytest.mark.parametrize("read_size", [1, 5, 64, 0])
def test_read_from_file(msgpack: ModuleType, read_size: int) -> None:
    """A file is read as needed, whatever amount it returns at a time."""

    class Slow(io.BytesIO):
        def read(self, size: Any = -1, /) -> bytes:
            return super().read(min(size, 3))

    for kind in (io.BytesIO, Slow):
        assert list(msgpack.Unpacker(kind(stream_of(msgpack)), read_size=read_size)) == OBJECTS


@pytest.mark.parametrize("method", ["unpack", "read_bytes"])
@pytest.mark.parametrize(
    ("returned", "outcome"),
    [
        *((data, [b"\x91\x05", b"\x06"]) for data in (b"\x05", bytearray(b"\x05"), memoryview(b"\x05x")[::2])),
        *((data, [b"\x91"]) for data in (b"", None, "", 0)),
        ("text", [TypeError, b"\x91\x06"]),
        (OSError, [OSError, b"\x91\x06"]),
        (KeyboardInterrupt, [KeyboardInterrupt, RuntimeError]),
        (Mock(__bool__=Mock(side_effect=ValueError)), [ValueError, RuntimeError]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_a_file_returns(msgpack: ModuleType, method: str, returned: Any, outcome: list[Any]) -> None:
    """Both methods accept the same; after an exception they continue, unless bytes of the file may be lost."""
    file = Mock(read=Mock(side_effect=[b"\x07\x91", returned, b"\x06", b""]))
    unpacker = msgpack.Unpacker(file, read_size=2, max_buffer_size=4)
    assert unpacker.unpack() == 7
    for expected in outcome:
        if type(expected) is type:
            with pytest.raises(expected):
                unpacker.unpack() if method == "unpack" else unpacker.read_bytes(2)
        elif method == "read_bytes":
            assert unpacker.read_bytes(2) == expected
        elif expected == b"\x91":
            with pytest.raises(msgpack.OutOfData):
                unpacker.unpack()
        else:
            assert msgpack.packb(unpacker.unpack()) == expected


# --- within an object --------------------------------------------------------------------------------------------


def test_any_method_between_objects(msgpack: ModuleType) -> None:
    """However the stream is cut, each method reads one object and returns its value, nothing, or its bytes."""
    rnd = random.Random(5)
    data = stream_of(msgpack) * 20
    unpacker = msgpack.Unpacker()
    position = done = 0
    method = "unpack"
    while done < len(OBJECTS) * 20:
        try:
            value = getattr(unpacker, method)()
        except msgpack.OutOfData:
            step = rnd.choice([1, 2, 30, 500])
            unpacker.feed(data[position : position + step])
            position += step
            continue
        expected = OBJECTS[done % len(OBJECTS)]
        assert value == {"unpack": expected, "skip": None, "unpack_raw": Raw(msgpack.packb(expected))}[method]
        assert method != "unpack_raw" or msgpack.unpackb(value.data) == expected
        done += 1
        method = rnd.choice(["unpack", "skip", "unpack_raw"])
    assert unpacker.tell() == len(data)


def test_skip(msgpack: ModuleType) -> None:
    """skip() builds nothing, calls no hook and applies no limit."""
    data = stream_of(msgpack)
    hook = {"ext_hook": lambda code, data: 1 / 0}
    unpacker = msgpack.Unpacker(max_str_len=1, max_total_items=1, max_total_bytes=0, **hook)
    unpacker.feed(data)
    for _ in OBJECTS:
        unpacker.skip()
    assert unpacker.tell() == len(data)


@pytest.mark.parametrize("size", [1, 4, 1000])
def test_raw_depth_in_pieces(msgpack: ModuleType, size: int) -> None:
    """Fragments are complete, however their bytes arrive."""
    data = msgpack.packb(OBJECTS)
    assert fed(msgpack.Unpacker(raw_depth=1), data, size) == [[Raw(msgpack.packb(obj)) for obj in OBJECTS]]


@pytest.mark.parametrize("hook", ["object_hook", "object_pairs_hook", "list_hook", "ext_hook"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, TimeoutError, MemoryError])
def test_no_part_of_an_object_is_read(msgpack: ModuleType, hook: str, error: type[BaseException]) -> None:
    """After an error that may come from anywhere, every call except tell() reports it, and `__init__` starts over."""

    def interrupted(*_: Any) -> Any:
        raise error("a handler's")

    unpacker = msgpack.Unpacker(**{hook: interrupted})
    unpacker.feed(b"\x07\x93\x81\xa1a\x01\x92\x01\x02\xd4\x05x")
    assert unpacker.unpack() == 7
    with pytest.raises(error, match="a handler's"):
        unpacker.unpack()
    for refused in (
        *(unpacker.unpack, unpacker.skip, unpacker.unpack_raw, unpacker.read_map_header, unpacker.__next__),
        *(lambda: unpacker.feed(b"\x01"), lambda: unpacker.read_bytes(1)),
    ):
        with pytest.raises(RuntimeError, match="the object that begins at byte 1 of the stream: create a new Unpacker"):
            refused()
    assert unpacker.tell() > 1
    unpacker.__init__()
    unpacker.feed(b"\x05")
    assert unpacker.unpack() == 5


def test_shared_by_threads(msgpack: ModuleType) -> None:
    """A second thread gets an error, never data of the other thread's object."""
    entered, leave = threading.Event(), threading.Event()

    def hook(code: int, data: bytes) -> str:
        entered.set()
        assert leave.wait(10)
        return "hooked"

    unpacker = msgpack.Unpacker(ext_hook=hook)
    unpacker.feed(b"\x92\xd4\x05a\x01\x02")
    found = []
    with beside(lambda: found.append(unpacker.unpack())) as errors:
        assert entered.wait(10)
        for refused in (unpacker.unpack, unpacker.skip, lambda: unpacker.feed(b"\x03"), lambda: unpacker.read_bytes(1)):
            with pytest.raises(RuntimeError, match="while unpacking is in progress"):
                refused()
        leave.set()
    assert errors == []
    assert found == [["hooked", 1]]
    assert unpacker.unpack() == 2


# --- async -------------------------------------------------------------------------------------------------------


class Reader:
    """An asynchronous stream that returns a few bytes at a time."""

    def __init__(self, data: bytes, most: int) -> None:
        self.data = io.BytesIO(data)
        self.most = most
        self.asked: list[int] = []

    async def read(self, size: int) -> bytes:
        self.asked.append(size)
        await asyncio.sleep(0)
        return self.data.read(min(size, self.most))


def collect(iterator: Any) -> list[Any]:
    async def run() -> list[Any]:
        return [obj async for obj in iterator]

    return asyncio.run(run())


@pytest.mark.parametrize("most", [1, 10, 10**6])
def test_unpack_async(msgpack: ModuleType, most: int) -> None:
    """The objects of an asynchronous stream are returned as they arrive."""
    data = stream_of(msgpack)
    reader = Reader(data, most)
    assert collect(msgpack.unpack_async(reader)) == OBJECTS
    assert set(reader.asked) == {64 * 1024}
    reader = Reader(b"\x92\x01\xa1a", most)
    assert collect(msgpack.unpack_async(reader, read_size=3, use_list=False, raw=True)) == [(1, b"a")]
    assert set(reader.asked) == {3}
    reader = Reader(b"", most)
    assert collect(msgpack.unpack_async(reader, read_size=2**20)) == []
    assert collect(msgpack.unpack_async(reader, read_size=2**20, max_buffer_size=99)) == []
    assert reader.asked == [2**20, 99]


def test_unpack_async_takes_any_reader(msgpack: ModuleType) -> None:
    """asyncio's StreamReader, any object with aread, and generator-based coroutines without `__await__` work."""

    class Generator:
        def __init__(self) -> None:
            self.parts = [b"\x01\x92\x02", b"\x03", b""]

        @types.coroutine
        def read(self, size: int) -> Any:
            yield from asyncio.sleep(0).__await__()
            return self.parts.pop(0)

    class Other(Generator):
        async def aread(self, size: int) -> bytes:
            return self.parts.pop(0)

    class Plain:
        def read(self, size: int) -> int:
            return 1

    async def run() -> None:
        reader = asyncio.StreamReader()
        reader.feed_data(b"\x01\x92\x02")
        reader.feed_data(b"\x03")
        reader.feed_eof()
        for source in (reader, Generator(), Other()):
            assert [obj async for obj in msgpack.unpack_async(source)] == [1, [2, 3]]

    asyncio.run(run())
    with pytest.raises(TypeError, match="await"):
        collect(msgpack.unpack_async(Plain()))


def test_unpack_async_continues(msgpack: ModuleType) -> None:
    """A cancelled wait loses nothing; a hook's error does not end the stream; only one call may run at a time."""

    async def run() -> None:
        reader = asyncio.StreamReader()
        reader.feed_data(b"\x92\x01")
        objects = msgpack.unpack_async(reader)
        cancelled = asyncio.ensure_future(objects.__anext__())
        await asyncio.sleep(0)
        cancelled.cancel()
        with pytest.raises(asyncio.CancelledError):
            await cancelled
        waiting = asyncio.ensure_future(objects.__anext__())
        await asyncio.sleep(0)
        with pytest.raises(RuntimeError, match="already waiting for its next object"):
            await objects.__anext__()
        reader.feed_data(b"\x02\x05\x06")
        assert await waiting == [1, 2]
        assert await objects.__anext__() == 5
        await objects.aclose()
        assert [obj async for obj in objects] == []
        options = {"object_hook": lambda o: 1 / 0, "strict_map_key": False}
        objects = msgpack.unpack_async(Reader(b"\x81\x01\x01\x07", 10), **options)
        with pytest.raises(ZeroDivisionError):
            await objects.__anext__()
        assert await objects.__anext__() == 7

    asyncio.run(run())


@pytest.mark.parametrize(("error", "is_lost"), [(OSError, False), (KeyboardInterrupt, True)])
def test_unpack_async_reports_losses(msgpack: ModuleType, error: type[BaseException], is_lost: bool) -> None:
    """An error of the reader loses nothing, but a signal may come after it has read data."""
    objects = msgpack.unpack_async(Mock(read=AsyncMock(side_effect=[b"\x01", error, b"\x02"]), spec=["read"]))
    following = [result_of(objects.__anext__())]
    with pytest.raises(error):
        result_of(objects.__anext__())
    if is_lost:
        with pytest.raises(RuntimeError, match="lost the data after byte 1 of the stream"):
            result_of(objects.__anext__())
    else:
        following.append(result_of(objects.__anext__()))
        assert following == [1, 2]


@pytest.mark.parametrize(("data", "offset"), [(b"\x01\x92\x01", 3), (b"\x01\xa3ab", 1), (b"\x01\x91", 2)])
def test_unpack_async_truncated(msgpack: ModuleType, data: bytes, offset: int) -> None:
    """A stream that ends within an object raises an error after the objects before it."""
    found = []

    async def run() -> None:
        async for obj in msgpack.unpack_async(Reader(data, 100)):
            found.append(obj)  # noqa: PERF401 - what came before the error counts

    with pytest.raises(msgpack.TruncatedError) as info:
        asyncio.run(run())
    assert found == [1]
    assert info.value.offset == offset


@pytest.mark.parametrize("size", [1, 2, 3])
def test_a_bad_key_in_pieces_is_not_stepped_back_over(msgpack: ModuleType, size: int) -> None:
    """The error names the key's header; the Unpacker continues at the first byte that it has not read yet."""
    data = b"\x81\x92\x00\xa0\xc0"
    unpacker = msgpack.Unpacker()
    for start in range(0, len(data), size):
        reached = unpacker.tell()
        unpacker.feed(data[start : start + size])
        try:
            unpacker.unpack()
        except msgpack.OutOfData:
            continue
        except ValueError as exc:
            assert exc.offset == 1  # noqa: PT017
            assert unpacker.tell() == reached
            break
    unpacker.feed(data[start + size :] + b"\x07")
    assert list(unpacker)[-1] == 7
    assert unpacker.tell() == len(data) + 1
