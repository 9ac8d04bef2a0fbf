# SPDX-License-Identifier: Apache-2.0
"""Stream objects of cpkg.zstandard that are used by several threads, re-entrantly, or in cycles; their lifetimes."""

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

CONTENT = b"some content to share, " * 4000


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


def test_streams_keep_what_they_need(zstandard: SimpleNamespace) -> None:
    packer = zstandard.ZstdCompressor(dict_data=zstandard.ZstdCompressionDict(CONTENT[:1000])).compressobj()
    reader_of = zstandard.ZstdDecompressor(dict_data=zstandard.ZstdCompressionDict(CONTENT[:1000])).stream_reader
    gc.collect()
    frame = packer.compress(CONTENT) + packer.flush()
    assert reader_of(io.BytesIO(frame), 5).read() == CONTENT
