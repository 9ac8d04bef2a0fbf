# SPDX-License-Identifier: Apache-2.0
"""Measure the memory that streams of the pure codec take."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest
from memory import needs_tracemalloc, peak_of
from zstd_frames import COMPRESSED, RLE, block, header

from purepy.zstd import CompressionParameter, ZstdCompressor

pytestmark = needs_tracemalloc


@pytest.mark.parametrize("window_log", [17, 20, 22])
def test_decoder_holds_two_windows(codec: ModuleType, window_log: int) -> None:
    rle = block(b"q", RLE, 1 << 17, last=False)

    def decode() -> None:
        decompressor = codec.ZstdDecompressor()
        total = len(decompressor.decompress(header(window_log)))
        for _ in range(5 << window_log >> 17):
            total += len(decompressor.decompress(rle))
        assert total == 5 << window_log

    assert peak_of(decode) <= (2 << window_log) + 4 * (1 << 17) + 100_000


def test_declared_sizes_allocate_nothing(codec: ModuleType) -> None:
    start = header(27, descriptor=0xC0, more=b"\xff" * 7 + b"\0") + block(b"ab", COMPRESSED, 2)[:4]

    def decode() -> None:
        decompressor = codec.ZstdDecompressor()
        decompressor.decompress(start)
        assert not decompressor.eof

    assert peak_of(decode) <= 1 << 18


@pytest.mark.parametrize("level", [1, 3, 5])
def test_encoder_follows_the_window_not_the_input(level: int) -> None:
    window = 1 << 16
    piece = bytes(range(256)) * 256
    options = {CompressionParameter.compression_level: level, CompressionParameter.window_log: 16}
    compressor = ZstdCompressor(options=options)

    def encode() -> Any:
        for _ in range(10):
            compressor.compress(piece)

    # twice the window and blocks, and the lists of one block's sequences
    assert peak_of(encode) < 2 * window + 4 * window + (1 << 20)
