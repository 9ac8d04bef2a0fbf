# SPDX-License-Identifier: Apache-2.0
"""Names of cpkg.zstd that compression.zstd does not have, on every backend."""

from __future__ import annotations

import io
import sys
from types import ModuleType

import pytest
from odd_files import Slow
from zstd_data import FRAME_ABC, FRAME_ABC_UNSIZED, SKIPPABLE, TEXT, rle_bomb


def test_limit_errors_have_an_offset(zstd: ModuleType) -> None:
    with pytest.raises(zstd.ZstdLimitError) as info:
        zstd.decompress(FRAME_ABC, max_output_size=1)
    assert isinstance(info.value.offset, int)


@pytest.mark.parametrize("hint", [0, 1, 3, 1000, 1 << 20, 1 << 40])
def test_size_hint_is_a_hint(zstd: ModuleType, hint: int) -> None:
    compressor = zstd.ZstdCompressor()
    unsized = compressor.compress(TEXT) + compressor.flush()
    assert zstd.decompress(unsized, size_hint=hint) == TEXT
    assert zstd.decompress(unsized, size_hint=hint, max_output_size=len(TEXT)) == TEXT


@pytest.mark.parametrize("size", [sys.maxsize - 1, sys.maxsize, 2**63, 2**64, 2**200])
def test_sizes_beyond_memory(zstd: ModuleType, size: int) -> None:
    """A limit beyond any memory has no effect; a hint is trusted only as far as the input can expand."""
    compressor = zstd.ZstdCompressor()
    unsized = compressor.compress(TEXT[:10_000]) + compressor.flush()
    for frame in (FRAME_ABC, FRAME_ABC_UNSIZED, unsized, unsized + FRAME_ABC):
        content = zstd.decompress(frame)
        assert zstd.decompress(frame, max_output_size=size) == content
        assert zstd.decompress(frame, size_hint=size) == content
        assert zstd.decompress(frame, max_output_size=size, size_hint=size) == content
        assert b"".join(zstd.decompress_iter([frame], max_output_size=size)) == content
        for cut in (frame[:-1], frame[:3], b""):
            with pytest.raises(zstd.ZstdError, match="ended before the end-of-stream"):
                zstd.decompress(cut, max_output_size=size, size_hint=size)
        with pytest.raises(zstd.ZstdError):
            zstd.decompress(frame + b"garbage", max_output_size=size, size_hint=size)


@pytest.mark.parametrize("step", [1, 2, 7, 1000])
@pytest.mark.parametrize("max_length", [-1, 1, 2, 5])
def test_multi_frame(zstd: ModuleType, step: int, max_length: int) -> None:
    data = FRAME_ABC + SKIPPABLE + FRAME_ABC_UNSIZED + FRAME_ABC
    decompressor = zstd.ZstdDecompressor(multi_frame=True)
    assert not decompressor.eof
    pieces = []
    for start in range(0, len(data), step):
        pieces.append(decompressor.decompress(data[start : start + step], max_length))
        while not decompressor.needs_input:
            pieces.append(decompressor.decompress(b"", max_length))
        assert decompressor.unused_data == b""
    assert b"".join(pieces) == b"abc" * 3
    if max_length >= 0:
        assert max(map(len, pieces)) <= max_length
    assert decompressor.eof
    assert decompressor.needs_input


def test_compress_iter(zstd: ModuleType) -> None:
    chunks = [TEXT[i : i + 999] for i in range(0, len(TEXT), 999)]
    for source in (chunks, iter(chunks), io.BytesIO(TEXT), [TEXT], map(bytearray, chunks)):
        assert zstd.decompress(b"".join(zstd.compress_iter(source, 1))) == TEXT
    assert zstd.decompress(b"".join(zstd.compress_iter([]))) == b""
    sized = b"".join(zstd.compress_iter(chunks, size=len(TEXT)))
    assert zstd.get_frame_info(sized).decompressed_size == len(TEXT)


@pytest.mark.parametrize("step", [1, 5, 10_000])
def test_decompress_iter(zstd: ModuleType, step: int) -> None:
    data = FRAME_ABC + SKIPPABLE + zstd.compress(TEXT[:3000])
    chunks = [data[i : i + step] for i in range(0, len(data), step)]
    pieces = list(zstd.decompress_iter(chunks, write_size=100))
    assert b"".join(pieces) == b"abc" + TEXT[:3000]
    assert max(map(len, pieces)) <= 100
    assert b"".join(zstd.decompress_iter(io.BytesIO(data), read_size=step)) == b"abc" + TEXT[:3000]


def test_decompress_iter_limit(zstd: ModuleType) -> None:
    sizes: list[int] = []
    pieces = zstd.decompress_iter([rle_bomb(40)], max_output_size=1 << 20, write_size=4096)
    with pytest.raises(zstd.ZstdLimitError):
        sizes.extend(map(len, pieces))
    assert 0 < max(sizes) <= 4096


def test_copy_stream(zstd: ModuleType) -> None:
    compressed, seen = io.BytesIO(), []
    copied = zstd.copy_stream(
        io.BytesIO(TEXT), compressed, level=1, size=len(TEXT), read_size=5000, progress=lambda *now: seen.append(now)
    )
    assert copied == (len(TEXT), len(compressed.getvalue())) == seen[-1]
    assert seen == sorted(seen)
    content = io.BytesIO()
    compressed.seek(0)
    assert zstd.copy_stream(compressed, content, mode="decompress") == copied[::-1]
    assert content.getvalue() == TEXT


def test_copy_stream_writes_everything_to_raw_files(zstd: ModuleType) -> None:
    target = Slow()
    zstd.copy_stream([TEXT], target)
    assert zstd.decompress(target.content) == TEXT


def test_copy_stream_stops_when_progress_raises(zstd: ModuleType) -> None:
    def progress(read: int, written: int) -> None:
        raise KeyboardInterrupt

    target = io.BytesIO()
    with pytest.raises(KeyboardInterrupt):
        zstd.copy_stream([TEXT] * 50, target, progress=progress)
    with pytest.raises(zstd.ZstdError):
        zstd.decompress(target.getvalue())


def test_failed_pledge_loses_nothing(zstd: ModuleType) -> None:
    """In compression.zstd a failed call resets the object, and the next frame lacks its beginning."""
    compressor = zstd.ZstdCompressor()
    compressor.set_pledged_input_size(6)
    output = compressor.compress(b"abc")
    for call in (lambda: compressor.compress(b"much too much"), compressor.flush):
        with pytest.raises(zstd.ZstdError, match="Src size is incorrect"):
            call()
        assert compressor.last_mode == compressor.CONTINUE
    output += compressor.compress(b"def", compressor.FLUSH_FRAME)
    assert zstd.decompress(output) == b"abcdef"
    assert zstd.get_frame_info(output).decompressed_size == 6


def test_buffers_are_free_after_the_call(zstd: ModuleType) -> None:
    """A bytearray can be resized at once, without the help of the interpreter's collector."""
    data, frame, room = bytearray(TEXT), bytearray(zstd.compress(TEXT)), bytearray(len(TEXT) + 1000)
    zstd.compress(data)
    zstd.decompress(frame)
    zstd.ZstdCompressor().compress(data)
    zstd.ZstdDecompressor().decompress(frame)
    zstd.compress_into(data, room)
    zstd.decompress_into(frame, room)
    for buffer in (data, frame, room):
        buffer.append(0)
