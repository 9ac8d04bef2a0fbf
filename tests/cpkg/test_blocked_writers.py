# SPDX-License-Identifier: Apache-2.0
"""Writing to a caller's file: which bytes count as written when write() returns less, nothing, or an error."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import random
import select
import threading
from functools import partial
from types import ModuleType
from typing import Any, Callable
from unittest import mock

import pytest
from finalizers import finalizers_may_fail  # noqa: F401 - a fixture of every test here
from threads import beside

import cpkg
from purepy.base.writing import write_all, write_some

NOISE = random.Random(5).randbytes(1_000_000)
Writer = Callable[[bytes, Any], Any]


class Pipe:
    """A pipe with a non-blocking writing end."""

    def __init__(self, buffering: int = 0) -> None:
        self.source, target = os.pipe()
        os.set_blocking(target, False)
        self.file: Any = open(target, "wb", buffering=buffering)  # noqa: SIM115
        self.content = b""

    def read(self) -> None:
        with open(self.source, "rb") as source:
            self.content = source.read()

    def close(self) -> None:
        for close in (self.file.close, self.file.close, partial(os.close, self.source)):
            with contextlib.suppress(OSError):
                close()


def whole(msgpack: ModuleType) -> list[Writer]:
    """Return the functions that write one object in one call, as function(bytes, file)."""
    return [partial(cpkg.dump, compress=False), msgpack.pack]


def copy(zstd: ModuleType, data: bytes, file: Any) -> None:
    zstd.copy_stream(io.BytesIO(data), file, read_size=1 << 17)


def write_file(zstd: ModuleType, data: bytes, file: Any) -> None:
    with zstd.ZstdFile(file, "w") as target:
        for start in range(0, len(data), 10_000):
            target.write(data[start : start + 10_000])


def write_on(target: Any, data: bytes, size: int, finishes: list[Callable[[], Any]], wait: Callable[[], Any]) -> None:
    """Write data in pieces and finish, like a caller that waits for space and writes the rest again."""
    for start in range(0, len(data), size):
        rest = memoryview(data)[start : start + size]
        while len(rest):
            try:
                rest = rest[target.write(rest) :]
            except BlockingIOError as exc:
                rest = rest[exc.characters_written :]
                wait()
    for finish in finishes:
        while True:
            try:
                finish()
                break
            except BlockingIOError:
                wait()


@pytest.mark.parametrize("buffering", [0, 8192])
def test_a_full_pipe_is_an_error(msgpack: ModuleType, zstd: ModuleType, buffering: int) -> None:
    for write in [*whole(msgpack), partial(copy, zstd)]:
        pipe = Pipe(buffering)
        caught = pytest.raises(BlockingIOError, write, NOISE, pipe.file)
        assert 4096 <= caught.value.characters_written < len(NOISE)
        pipe.close()


@pytest.mark.parametrize("buffering", [0, 8192])
@pytest.mark.parametrize("size", [1000, 70_000, 400_000])
def test_writing_continues_when_there_is_room_again(zstd: ModuleType, buffering: int, size: int) -> None:
    """Waiting for space and writing the rest again loses nothing and writes nothing twice."""
    pipe, may_read = Pipe(buffering), threading.Event()

    def read() -> None:
        assert may_read.wait(60)
        pipe.read()

    file = zstd.ZstdFile(pipe.file, "w")
    blocked = 0

    def wait() -> None:
        nonlocal blocked
        blocked += 1
        if blocked == 3:
            may_read.set()
        if blocked > 3:  # at first, retry at once, in vain
            select.select([], [pipe.file], [], 30)

    with beside(read) as errors:
        write_on(file, NOISE, size, [lambda: file.flush(file.FLUSH_FRAME), pipe.file.flush], wait)
        file.close()
        pipe.file.close()
    assert errors == []
    assert blocked >= 3
    assert zstd.decompress(pipe.content) == NOISE


class Stuck:
    """An object whose write() always returns the same value, and raises after too many calls."""

    def __init__(self, returned: Any) -> None:
        self.returned = returned
        self.calls = 0
        self.taken = b""

    def write(self, data: Any) -> Any:
        self.calls += 1
        self.taken += bytes(data)
        assert self.calls < 100, "called for ever"
        return self.returned


class StuckRaw(Stuck, io.RawIOBase):
    def writable(self) -> bool:
        return True


RESULTS = [None, True, False, "", 1.0, 10**30, mock.MagicMock()]  # all of these mean that everything was written


class Uneven(io.RawIOBase):
    """A raw file that writes a part of the data, sometimes would block, and reports this in both possible ways."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.taken = bytearray()
        self.blocks = False

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int | None:
        size = self.random.randint(1, min(len(data), 50_000))
        if self.blocks and self.random.random() < 0.2:
            how = self.random.randrange(4)
            if how == 0:
                return None
            if how == 1:
                raise BlockingIOError
            size = size if how == 3 else 0
            self.taken += data[:size]
            raise BlockingIOError(errno.EAGAIN, "not now", size)
        self.taken += data[:size]
        return size


def check_odd_files(writers: list[Writer], read: Callable[[bytes], bytes]) -> None:
    """Write to files that accept nothing, return no count, or accept a part each time."""
    for write in writers:
        for kind in (Stuck, StuckRaw):
            for returned in (0, -1):
                pytest.raises(OSError, write, NOISE, kind(returned)).match(f"took {returned} of ")
        caught = pytest.raises(BlockingIOError, write, NOISE, StuckRaw(None))
        assert caught.value.characters_written == 0
        for returned in RESULTS:
            sink = Stuck(returned)
            write(NOISE[:300_000], sink)
            assert read(sink.taken) == NOISE[:300_000]
        file = Uneven(1)
        write(NOISE, file)
        assert read(file.taken) == NOISE


def test_an_object_to_odd_files(msgpack: ModuleType) -> None:
    check_odd_files(whole(msgpack), msgpack.unpackb)


def test_a_stream_to_odd_files(zstd: ModuleType) -> None:
    check_odd_files([partial(copy, zstd), partial(write_file, zstd)], zstd.decompress)


def test_counts_of_an_object_say_where_to_go_on(msgpack: ModuleType) -> None:
    for write in whole(msgpack):
        blocked = 0
        for seed in range(20):
            file = Uneven(seed)
            file.blocks = True
            try:
                write(NOISE, file)
            except BlockingIOError as exc:
                blocked += 1
                # an error of the file itself in the first call is not changed, and may have no count
                counted = getattr(exc, "characters_written", 0)
            else:
                counted = len(file.taken)
            assert counted == len(file.taken)
        assert blocked >= 10


@pytest.mark.parametrize("seed", range(10))
def test_counts_of_a_stream_say_where_to_go_on(zstd: ModuleType, seed: int) -> None:
    file = Uneven(seed)
    file.blocks = True
    target = zstd.ZstdFile(file, "w")
    finishes = [lambda: target.flush(target.FLUSH_BLOCK), lambda: target.flush(target.FLUSH_FRAME)]
    write_on(target, NOISE, 30_000, finishes, wait=lambda: None)
    target.close()
    assert zstd.decompress(file.taken) == NOISE


def test_one_step_of_writing() -> None:
    assert write_some(Stuck(3), b"12345") == 3
    assert write_some(Stuck(7), b"12345") == 5
    error = BlockingIOError(errno.EAGAIN, "later", 2)
    assert write_some(mock.Mock(write=mock.Mock(side_effect=error)), b"12345") == 2
    write_all(Stuck(0), b"")  # no bytes to write
    file: Any = mock.Mock()
    for error in (BlockingIOError(), BlockingIOError(errno.EAGAIN, "", 3)):
        file.write.side_effect = error
        caught = pytest.raises(BlockingIOError, write_all, file, b"12345")
        # the attribute is missing unless the file's own write() has set it
        assert caught.value.characters_written == (3 if error.errno else 0)


def test_a_failed_flush_of_the_file_is_made_up_for(zstd: ModuleType) -> None:
    """Data in the buffer of the compressed file when a flush failed is written by the next flush."""
    pipe = Pipe(1 << 20)
    file = zstd.ZstdFile(pipe.file, "w")
    file.write(NOISE[:200_000])
    pytest.raises(BlockingIOError, file.flush)
    with beside(pipe.read) as errors:
        os.set_blocking(pipe.file.fileno(), True)
        file.flush()
        file.flush(file.FLUSH_FRAME)
        pipe.file.raw.close()
    assert errors == []
    assert zstd.decompress(pipe.content) == NOISE[:200_000]
