# SPDX-License-Identifier: Apache-2.0
"""BufferWithSegments, its collection, and the calls that accept and return them."""

from __future__ import annotations

import gc
import struct
from types import SimpleNamespace

import pytest

ITEMS = [b"item %d " % number * (number % 40) for number in range(500)]


def segments_of(lengths: list[int]) -> bytes:
    table, offset = b"", 0
    for length in lengths:
        table += struct.pack("=QQ", offset, length)
        offset += length
    return table


def test_buffer_protocol(zstandard: SimpleNamespace) -> None:
    """Buffers, segments and segment tables export their memory read-only, and it lives as long as they do."""
    buffer = zstandard.BufferWithSegments(b"foofooxfooxy", segments_of([3, 4, 5]))
    assert bytes(memoryview(buffer)) == b"foofooxfooxy"
    assert memoryview(buffer).readonly
    assert [bytes(memoryview(segment)) for segment in buffer] == [b"foo", b"foox", b"fooxy"]
    assert [segment.offset for segment in buffer] == [0, 3, 7]
    assert bytes(memoryview(buffer.segments())) == segments_of([3, 4, 5])
    segment = buffer[2]
    del buffer
    gc.collect()
    assert bytes(segment) == b"fooxy"
    assert zstandard.decompress(zstandard.compress(segment)) == b"fooxy"


@pytest.mark.parametrize("threads", [0, 3, -1])
def test_batches(zstandard: SimpleNamespace, threads: int) -> None:
    compressor = zstandard.ZstdCompressor(level=1, write_checksum=True)
    frames = compressor.multi_compress_to_buffer(ITEMS, threads=threads)
    assert [frame.tobytes() for frame in frames] == [compressor.compress(item) for item in ITEMS]
    assert frames.size() == sum(len(frame) for frame in frames)
    decompressor = zstandard.ZstdDecompressor()
    contents = decompressor.multi_decompress_to_buffer(frames, threads=threads)
    assert [content.tobytes() for content in contents] == ITEMS
    assert len(contents) == len(ITEMS)
    again = compressor.multi_compress_to_buffer(contents, threads=threads)
    assert [frame.tobytes() for frame in again] == [frame.tobytes() for frame in frames]


def test_sizes_of_contents(zstandard: SimpleNamespace) -> None:
    compressor = zstandard.ZstdCompressor(write_content_size=False)
    frames = [compressor.compress(item) for item in ITEMS[1:4]]
    decompressor = zstandard.ZstdDecompressor()
    with pytest.raises(ValueError, match="could not determine decompressed size of item 0"):
        decompressor.multi_decompress_to_buffer(frames)
    sizes = struct.pack("=3Q", *map(len, ITEMS[1:4]))
    found = decompressor.multi_decompress_to_buffer(frames, decompressed_sizes=sizes)
    assert [content.tobytes() for content in found] == ITEMS[1:4]
    with pytest.raises(ValueError, match="size mismatch; expected 24, got 16"):
        decompressor.multi_decompress_to_buffer(frames, decompressed_sizes=sizes[:16])
    for wrong in (-1, 1):
        with pytest.raises(zstandard.ZstdError, match="error decompressing item 2"):
            decompressor.multi_decompress_to_buffer(
                frames, struct.pack("=3Q", len(ITEMS[1]), len(ITEMS[2]), len(ITEMS[3]) + wrong)
            )


@pytest.mark.parametrize("threads", [1, 50])
def test_one_item_that_fails(zstandard: SimpleNamespace, threads: int) -> None:
    with pytest.raises(TypeError, match="item 2 not a bytes like object"):
        zstandard.ZstdCompressor().multi_compress_to_buffer([b"a", b"b", 3], threads=threads)
    frames = [zstandard.compress(item) for item in ITEMS]
    frames[321] = frames[321][:-1]
    with pytest.raises(zstandard.ZstdError, match="error decompressing item 321"):
        zstandard.ZstdDecompressor().multi_decompress_to_buffer(frames, threads=threads)
