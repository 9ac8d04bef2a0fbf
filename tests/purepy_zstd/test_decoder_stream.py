# SPDX-License-Identifier: Apache-2.0
"""Streams: pieces of any size, limits, several frames, the window's memory."""

from __future__ import annotations

import random
from types import ModuleType

import pytest
from zstd_frames import RAW, RLE, block, compressed, header, raw_literals, rle_sequences

TEN = compressed(raw_literals(b"0123456789") + b"\0")
SKIPPABLE = b"\x5a\x2a\x4d\x18\x05\0\0\0abcde"


def long_frame(window_log: int, size: int) -> tuple[bytes, int]:
    """Return a frame of about `size` bytes, whose content repeats at a distance of one window, and its exact size."""
    window = 1 << window_log
    most = min(window, 1 << 17)
    rng = random.Random(window_log)
    seed = bytes(rng.randrange(256) for _ in range(1024))
    parts = [header(window_log), block(seed, RAW, last=False)]
    total = 1024
    while total < window:
        parts.append(block(raw_literals(b"") + rle_sequences(1, (0, 10, 45), (3, 10), (508, 9)), last=False))
        total += 1023
    while total < size:
        count = most // 1024
        # The offset is the whole window.
        value = window + 3
        code = value.bit_length() - 1
        extra = [(value - (1 << code), code)]
        fields = [*extra, (508, 9)] * count
        parts.append(block(raw_literals(b"") + rle_sequences(count, (0, code, 45), *fields), last=False))
        total += 1023 * count
    parts.append(block(b"", RAW))
    return b"".join(parts), total


def test_large_output_is_held_back_block_by_block(codec: ModuleType) -> None:
    frame = header(17) + block(b"x", RLE, 1 << 17, last=False) * 400 + block(b"", RAW)
    decompressor = codec.ZstdDecompressor()
    total = len(decompressor.decompress(frame, 1000))
    while not decompressor.eof:
        total += len(decompressor.decompress(b"", 100_000))
        if decompressor._decoder is not None:
            assert len(decompressor._decoder._window.data) <= 4 << 17
    assert total == 400 << 17


@pytest.mark.parametrize("window_log", [10, 11, 14, 17, 18])
def test_window_moves(codec: ModuleType, window_log: int) -> None:
    """Matches can refer back by a whole window after any number of moves, and the window's memory stays bounded."""
    frame, total = long_frame(window_log, 6 << window_log)
    decompressor = codec.ZstdDecompressor()
    output = b""
    limit = (6 << window_log - 2) + min(1 << window_log, 1 << 17) + 1024
    for at in range(0, len(frame), 100):
        output += decompressor.decompress(frame[at : at + 100])
        if decompressor._decoder is not None:
            assert len(decompressor._decoder._window.data) <= limit
    assert decompressor.eof
    assert len(output) == total
    window = 1 << window_log
    start = -(-(window - 1024) // 1023) * 1023 + 1024
    assert output[start:] == output[start - window : -window]
