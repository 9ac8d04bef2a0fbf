# SPDX-License-Identifier: Apache-2.0
"""Stream objects of cpkg.zstandard that are used by several threads or in cycles, or go on after exceptions."""

from __future__ import annotations

import gc
import io
import sys
import threading
import weakref
from types import SimpleNamespace
from typing import Any

import pytest
from odd_files import Target
from threads import run_threads

from purepy.zstd.format.rules import FLUSH_FRAME

CONTENT = b"".join(b"line %d of some content\n" % number for number in range(2000))


def test_a_second_thread_waits(zstandard: SimpleNamespace) -> None:
    inside, go_on = threading.Event(), threading.Event()
    target = Target()

    def stay() -> None:
        inside.set()
        assert go_on.wait(60)

    target.meanwhile = stay
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
    assert zstandard.ZstdDecompressor().stream_reader(target.content).read() == b"first, second"


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
    chunker = zstandard.ZstdCompressor().chunker(chunk_size=16)
    first = chunker.compress(bytes(range(256)) * 2000)
    for call in (lambda: chunker.compress(b"x"), chunker.flush, chunker.finish):
        pytest.raises(zstandard.ZstdError, call).match("before consuming output")
    pieces = [*first, *chunker.flush(), *chunker.finish()]
    assert list(first) == []
    assert zstandard.ZstdDecompressor().stream_reader(b"".join(pieces)).read() == bytes(range(256)) * 2000
    for call in (lambda: chunker.compress(b"x"), chunker.flush, chunker.finish):
        pytest.raises(zstandard.ZstdError, call).match("after compression finished")


def test_threads_read_whole_records(zstandard: SimpleNamespace) -> None:
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


# --- what is freed with its last reference ----------------------------------------------------------------------------


@pytest.mark.skipif(sys.implementation.name != "cpython", reason="counts references")
def test_no_cycles(zstandard: SimpleNamespace) -> None:
    """Nothing waits for the collector, which does not know about the megabytes in contexts."""
    dictionary = zstandard.ZstdCompressionDict(CONTENT[:1000])
    frame = zstandard.compress(CONTENT)
    gc.collect()
    gc.disable()
    try:
        for options in ({}, {"dict_data": dictionary}):
            compressor, decompressor = zstandard.ZstdCompressor(**options), zstandard.ZstdDecompressor(**options)
            made = [
                compressor.compressobj(),
                compressor.chunker(),
                compressor.stream_reader(CONTENT),
                compressor.stream_writer(io.BytesIO()),
                decompressor.decompressobj(),
                decompressor.stream_reader(frame),
                decompressor.stream_writer(io.BytesIO()),
            ]
            made[0].compress(CONTENT)
            made[2].read(10)
            made[4].decompress(frame[:10])
            made[5].read(10)
            list(decompressor.read_to_iter(frame))
            compressor.copy_stream(io.BytesIO(CONTENT), io.BytesIO())
            gone = [weakref.ref(thing) for thing in (compressor, decompressor, made[2], made[5])]
            del compressor, decompressor
            made.clear()
            assert [reference() for reference in gone] == [None] * 4
    finally:
        gc.enable()


# --- after any exception an object continues exactly, or is broken and raises an error about it -----------------------


class Faltering(io.BytesIO):
    """A file in which every second read() raises OSError and reads nothing."""

    falters = False

    def read(self, size: Any = -1) -> bytes:
        self.falters = not self.falters
        if self.falters:
            raise OSError("not now")
        return super().read(size)


class Interrupted:
    """A backend's stream in which a signal handler raises during one call, which resets the stream."""

    def __init__(self, stream: Any, call: int = 2) -> None:
        self._stream = stream
        self._calls = -call
        self._is_reset = False

    def __getattr__(self, name: str) -> Any:
        if self._is_reset and name in ("last_mode", "_at_start", "needs_input"):
            return FLUSH_FRAME if name == "last_mode" else True
        return getattr(self._stream, name)

    def _call(self, function: Any, *args: Any) -> Any:
        self._calls += 1
        if self._calls == 0:
            self._is_reset = True
            raise KeyboardInterrupt
        return function(*args)

    def compress(self, *args: Any) -> Any:
        return self._call(self._stream.compress, *args)

    def decompress(self, *args: Any) -> Any:
        return self._call(self._stream.decompress, *args)


def read_on(reader: Any, size: int) -> bytes:
    """Return all content, with reads of which some raise OSError."""
    pieces = []
    while True:
        try:
            piece = reader.read(size)
        except OSError:
            continue
        if not piece:
            return b"".join(pieces)
        pieces.append(piece)


@pytest.mark.parametrize("size", [7, 100, 9000, 10**6])
def test_a_source_that_raises(zstandard: SimpleNamespace, size: int) -> None:
    """Content read before the error is kept, and the error is not mistaken for the end."""
    frame = zstandard.compress(CONTENT)
    reader = zstandard.ZstdDecompressor().stream_reader(Faltering(frame), read_size=50)
    assert read_on(reader, size) == CONTENT
    assert reader.tell() == len(CONTENT)
    packer = zstandard.ZstdCompressor().stream_reader(Faltering(CONTENT), read_size=5000)
    assert zstandard.ZstdDecompressor().decompressobj().decompress(read_on(packer, size)) == CONTENT


def halves(zstandard: SimpleNamespace) -> tuple[bytes, bytes]:
    """Return a frame with the content repeated twice, divided between the two."""
    packer = zstandard.ZstdCompressor().compressobj()
    first = packer.compress(CONTENT) + packer.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)
    return first, packer.compress(CONTENT) + packer.flush()


def test_an_interrupted_reader(zstandard: SimpleNamespace) -> None:
    """A reader whose stream was reset raises an error from then on, after returning what it had read ahead."""
    first, second = halves(zstandard)
    reader = zstandard.ZstdDecompressor().stream_reader(io.BytesIO(first + second), read_size=len(first))
    reader._stream = Interrupted(reader._stream)
    assert reader.read(10) == CONTENT[:10]
    pytest.raises(KeyboardInterrupt, reader.read, 2 * len(CONTENT))
    assert reader.read(20) == CONTENT[10:30]
    pytest.raises(zstandard.ZstdError, reader.readall).match("content was lost because of KeyboardInterrupt")


def test_an_interrupted_decompressobj(zstandard: SimpleNamespace) -> None:
    first, second = halves(zstandard)
    unpacker = zstandard.ZstdDecompressor().decompressobj()
    unpacker._stream = Interrupted(unpacker._stream)
    assert unpacker.decompress(first) == CONTENT
    pytest.raises(KeyboardInterrupt, unpacker.decompress, second)
    with pytest.raises(zstandard.ZstdError, match="content was lost because of KeyboardInterrupt"):
        unpacker.decompress(second)


def test_an_interrupted_compressor(zstandard: SimpleNamespace) -> None:
    """An object whose stream was reset inside a frame does not end the frame, nor return one without its start."""
    compressor, target = zstandard.ZstdCompressor(), io.BytesIO()
    packer, writer = compressor.compressobj(), compressor.stream_writer(target, closefd=False)
    chunker, reader = compressor.chunker(chunk_size=100), compressor.stream_reader(io.BytesIO(CONTENT), read_size=1000)
    for made, call in ((packer, 2), (writer, 2), (chunker, 2), (reader, 1)):
        made._feed._stream = Interrupted(made._feed._stream, call)
    packer.compress(CONTENT)
    pytest.raises(KeyboardInterrupt, packer.compress, CONTENT)
    pytest.raises(zstandard.ZstdError, packer.flush).match("abandoned because of KeyboardInterrupt")
    writer.write(CONTENT)
    pytest.raises(KeyboardInterrupt, writer.write, CONTENT)
    pytest.raises(zstandard.ZstdError, writer.write, CONTENT).match("abandoned because of KeyboardInterrupt")
    written = target.tell()
    writer.close()
    assert target.tell() == written
    list(chunker.compress(CONTENT))
    pytest.raises(KeyboardInterrupt, list, chunker.compress(CONTENT))
    pytest.raises(zstandard.ZstdError, chunker.finish).match("before consuming output")
    pytest.raises(KeyboardInterrupt, reader.read, 100)
    pytest.raises(zstandard.ZstdError, reader.read, 100).match("content was lost because of KeyboardInterrupt")


@pytest.mark.parametrize("compresses", [False, True])
def test_an_exception_after_the_read_of_a_source(zstandard: SimpleNamespace, compresses: bool) -> None:
    """Data lost after a source has returned it is not skipped silently: further reads raise an error."""

    class Source(io.BytesIO):
        def read(self, size: Any = -1) -> bytes:
            data = super().read(size)
            if self.tell() == 100:
                raise TimeoutError("of a signal handler")
            return data

    rest = bytes(range(256)) * 100
    if compresses:
        reader = zstandard.ZstdCompressor().stream_reader(Source(rest), read_size=50)
    else:
        reader = zstandard.ZstdDecompressor().stream_reader(Source(zstandard.compress(rest)), read_size=50)
    pytest.raises(TimeoutError, reader.readall)
    for _ in range(2):
        pytest.raises(zstandard.ZstdError, reader.readall).match("content was lost because of TimeoutError")
