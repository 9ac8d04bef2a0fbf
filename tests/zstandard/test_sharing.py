# SPDX-License-Identifier: Apache-2.0
"""Stream objects of cpkg.zstandard that are used by several threads, from inside of themselves, or in cycles."""

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
    """While one call is at work the next one waits; the frame holds both, one after the other."""
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
        timer = threading.Timer(0.05, go_on.set)  # after the next line, or before: the outcome is the same
        timer.start()
        writer.write(b"second")
        timer.join()

    assert run_threads(first, second) == []
    writer.close()
    assert zstandard.ZstdDecompressor().stream_reader(target.getvalue()).read() == b"first, second"


def test_reentrant_calls_are_refused(zstandard: SimpleNamespace) -> None:
    """A call from inside of a call into the same object is a RuntimeError; the object goes on."""
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
    """The same for a reader whose source reads from it."""

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
            with lock:  # the order of the output is the caller's
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
    """A stream whose file holds it goes with the file, context and all; no end is written for it."""

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


def test_streams_are_made_by_their_owners(zstandard: SimpleNamespace) -> None:
    """Compressors and decompressors return objects of the types that the module names."""
    compressor, decompressor = zstandard.ZstdCompressor(), zstandard.ZstdDecompressor()
    for name, made in (
        ("ZstdCompressionObj", compressor.compressobj()),
        ("ZstdCompressionChunker", compressor.chunker()),
        ("ZstdCompressionReader", compressor.stream_reader(b"")),
        ("ZstdCompressionWriter", compressor.stream_writer(io.BytesIO())),
        ("ZstdDecompressionObj", decompressor.decompressobj()),
        ("ZstdDecompressionReader", decompressor.stream_reader(b"")),
        ("ZstdDecompressionWriter", decompressor.stream_writer(io.BytesIO())),
    ):
        assert isinstance(made, getattr(zstandard, name))
        assert type(made).__name__ == name
        with pytest.raises(TypeError):
            getattr(zstandard, name)()


def test_iterators_of_a_chunker_are_used_up_first(zstandard: SimpleNamespace) -> None:
    """The next call of a chunker is refused until the iterator of the one before is at its end."""
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


def test_batches_in_threads(zstandard: SimpleNamespace) -> None:
    """Any number of threads gives the same items; what cannot be done names the item."""
    compressor, decompressor = zstandard.ZstdCompressor(), zstandard.ZstdDecompressor()
    items = [bytes([number]) * (number * 37 % 501) for number in range(40)]
    for threads in (-1, 0, 1, 3, 50):
        frames = compressor.multi_compress_to_buffer(items, threads=threads)
        assert [decompressor.decompress(frame.tobytes()) for frame in frames] == items
        found = decompressor.multi_decompress_to_buffer(frames, threads=threads)
        assert [content.tobytes() for content in found] == items
        damaged = [frame.tobytes() for frame in frames]
        damaged[17] = damaged[17][:-1] + b"!!"
        with pytest.raises(zstandard.ZstdError, match="item 17"):
            decompressor.multi_decompress_to_buffer(damaged, threads=threads)
        with pytest.raises(TypeError, match="item 2 not a bytes like object"):
            compressor.multi_compress_to_buffer([b"a", b"b", 3], threads=threads)
