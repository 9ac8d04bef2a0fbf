# SPDX-License-Identifier: Apache-2.0
"""Objects of cpkg.zstandard are freed with their last reference, and so is everything that they hold."""

from __future__ import annotations

import gc
import io
import sys
import weakref
from types import SimpleNamespace

import pytest

CONTENT = b"some content " * 1000


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
    """A stream outlives the object that created it, and the dictionary."""
    packer = zstandard.ZstdCompressor(dict_data=zstandard.ZstdCompressionDict(CONTENT[:1000])).compressobj()
    reader_of = zstandard.ZstdDecompressor(dict_data=zstandard.ZstdCompressionDict(CONTENT[:1000])).stream_reader
    gc.collect()
    frame = packer.compress(CONTENT) + packer.flush()
    assert reader_of(io.BytesIO(frame), 5).read() == CONTENT
