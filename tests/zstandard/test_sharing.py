# SPDX-License-Identifier: Apache-2.0
"""Stream objects of cpkg.zstandard that are used by several threads, re-entrantly, or in cycles."""

from __future__ import annotations

import gc
import io
import sys
import threading
import weakref
from types import SimpleNamespace
from typing import Any

import pytest
from threads import run_threads

CONTENT = b"some content to share, " * 4000


class Reentrant(io.BytesIO):
    """A file whose first write() calls a function."""

    during: Any = None

    def write(self, data: Any) -> int:
        during, self.during = self.during, None
        if during is not None:
            during()
        return super().write(data)


def test_a_second_thread_waits(zstandard: SimpleNamespace) -> None:
    """While one call runs, the next one waits; the frame contains the data of both, in order."""
    inside, go_on = threading.Event(), threading.Event()
    target = Reentrant()

    def stay() -> None:
        inside.set()
        assert go_on.wait(60)

    target.during = stay
    writer = zstandard.ZstdCompressor().stream_writer(target, closefd=False)

    def first() -> None:
        writer.write(b"first, ")
        writer.flush()

    def second() -> None:
        assert inside.wait(60)
        go_on.set()
        writer.write(b"second")  # before the first call ends, or after it: the result is the same

    assert run_threads(first, second) == []
    writer.close()
    assert zstandard.ZstdDecompressor().stream_reader(target.getvalue()).read() == b"first, second"


def test_reentrant_calls_are_refused(zstandard: SimpleNamespace) -> None:
    """A call from inside another call of the same object raises RuntimeError; the object continues."""
    target = Reentrant()
    writer = zstandard.ZstdCompressor().stream_writer(target, closefd=False)
    raised = []

    def again() -> None:
        with pytest.raises(RuntimeError) as caught:
            writer.write(b"no")
        raised.append(caught.value)

    target.during = again
    writer.write(CONTENT)
    writer.flush()
    writer.close()
    assert len(raised) == 1
    assert zstandard.ZstdDecompressor().stream_reader(target.getvalue()).read() == CONTENT


def test_reentrant_reads_are_refused(zstandard: SimpleNamespace) -> None:
    """The same applies to a reader whose source reads from it."""

    class Source(io.BytesIO):
        def read(self, size: Any = -1) -> bytes:
            with pytest.raises(RuntimeError):
                reader.read(1)
            return super().read(size)

    reader = zstandard.ZstdDecompressor().stream_reader(Source(zstandard.compress(CONTENT)))
    assert reader.read(len(CONTENT)) == CONTENT


def test_threads_share_streams(zstandard: SimpleNamespace) -> None:
    """Threads that feed one compressobj, or read from one reader, get every byte once."""
    size = 20 if zstandard.codec.BACKEND == "pure" else 400
    packer, pieces = zstandard.ZstdCompressor().compressobj(), []
    lock = threading.Lock()

    def pack(letter: bytes) -> None:
        for _ in range(size):
            with lock:  # the caller determines the order of the output
                pieces.append(packer.compress(letter * 50))

    assert run_threads(*[lambda letter=letter: pack(letter) for letter in (b"a", b"b", b"c")]) == []
    reader = zstandard.ZstdDecompressor().stream_reader(b"".join(pieces) + packer.flush())
    found: list[bytes] = []

    def read() -> None:
        while piece := reader.read(7):
            found.append(piece)

    assert run_threads(read, read, read) == []
    assert sorted(b"".join(found)) == sorted(b"abc" * 50 * size)


@pytest.mark.skipif(sys.implementation.name != "cpython", reason="needs to know when the collector runs")
def test_cycles_are_collected(zstandard: SimpleNamespace) -> None:
    """A stream that its file refers to is freed with the file, including the context; no frame end is written."""

    class Holder(io.BytesIO):
        stream: Any = None

    frame = zstandard.compress(CONTENT)
    gone = []
    for make in (
        lambda file: zstandard.ZstdCompressor().stream_writer(file),
        lambda file: zstandard.ZstdDecompressor().stream_writer(file),
        lambda file: zstandard.ZstdCompressor().stream_reader(file),
        lambda file: zstandard.ZstdDecompressor().stream_reader(file, read_size=10),
        lambda file: zstandard.ZstdDecompressor().read_to_iter(file, read_size=10),
    ):
        holder = Holder(frame)
        holder.stream = make(holder)
        if hasattr(holder.stream, "readable") and holder.stream.readable():
            holder.stream.read(5)
        gone.append(weakref.ref(holder))
        del holder
    gc.collect()
    assert [reference() for reference in gone] == [None] * len(gone)


def test_iterators_of_a_chunker_are_used_up_first(zstandard: SimpleNamespace) -> None:
    """A chunker refuses the next call until the previous iterator is exhausted."""
    chunker = zstandard.ZstdCompressor().chunker(chunk_size=16)
    first = chunker.compress(bytes(range(256)) * 2000)
    for call in (lambda: chunker.compress(b"x"), chunker.flush, chunker.finish):
        with pytest.raises(zstandard.ZstdError, match="before consuming output"):
            call()
    pieces = [*first, *chunker.flush(), *chunker.finish()]
    assert list(first) == []
    assert zstandard.ZstdDecompressor().stream_reader(b"".join(pieces)).read() == bytes(range(256)) * 2000
    for call in (lambda: chunker.compress(b"x"), chunker.flush, chunker.finish):
        with pytest.raises(zstandard.ZstdError, match="after compression finished"):
            call()


def test_threads_read_whole_records(zstandard: SimpleNamespace) -> None:
    """Threads that read records of different sizes from one reader get each in one piece."""
    count = 300 if zstandard.codec.BACKEND == "pure" else 6000
    content = b"".join(number.to_bytes(4, "big") for number in range(count))
    reader = zstandard.ZstdDecompressor().stream_reader(zstandard.compress(content))
    found: list[int] = []

    def read(records: int) -> None:
        while piece := reader.read(4 * records):
            numbers = [int.from_bytes(piece[at : at + 4], "big") for at in range(0, len(piece), 4)]
            assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
            found.extend(numbers)

    assert run_threads(*[lambda records=records: read(records) for records in (1, 2, 3, 3)]) == []
    assert sorted(found) == list(range(count))
