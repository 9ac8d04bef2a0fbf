# SPDX-License-Identifier: Apache-2.0
"""Truncated, corrupted, extended and lying input on every path: the documented error, and bounded memory."""

from __future__ import annotations

import io
import random
import sys
from types import ModuleType
from typing import Any, Callable

import pytest
from zstd_data import FRAME_ABC, FRAME_LIAR, RANDOM, TEXT, rle_bomb
from zstd_ways import Way, drip, file, file_lines, into, iterator, limited, one_shot, stream

DATA = TEXT[:3000] + RANDOM[:500] + bytes(2000) + TEXT[:3000]


PATHS = [one_shot, limited, into, stream, drip, file, file_lines, iterator]


def frames(zstd: ModuleType) -> list[bytes]:
    """A frame with a size, one without, both with a checksum, and two of them in a row."""
    checked = zstd.compress(DATA, options={zstd.CompressionParameter.checksum_flag: 1})
    compressor = zstd.ZstdCompressor(options={zstd.CompressionParameter.checksum_flag: 1})
    unsized = compressor.compress(DATA[:4000]) + compressor.flush(1) + compressor.compress(DATA[4000:])
    unsized += compressor.flush()
    return [checked, unsized, checked + unsized]


def steps(zstd: ModuleType, size: int) -> range:
    # the pure codec takes a while per frame; a prime step keeps meeting different places
    return range(0, size, 3 if zstd.BACKEND != "pure" else 97)


@pytest.mark.parametrize("path", PATHS)
def test_good(zstd: ModuleType, path: Way) -> None:
    first, second, both = frames(zstd)
    assert path(zstd, first) == path(zstd, second) == DATA
    assert path(zstd, both) == DATA * 2


@pytest.mark.parametrize("path", PATHS)
def test_truncated_anywhere(zstd: ModuleType, path: Way) -> None:
    first, second, both = frames(zstd)
    for frame in (first, second):
        for size in steps(zstd, len(frame)):
            with pytest.raises((zstd.ZstdError, EOFError)):
                path(zstd, frame[:size])
    for size in range(len(first) + 1, len(both), 53 if zstd.BACKEND != "pure" else 997):
        with pytest.raises((zstd.ZstdError, EOFError)):
            path(zstd, both[:size])


@pytest.mark.parametrize("path", PATHS)
def test_extended(zstd: ModuleType, path: Way) -> None:
    for frame in frames(zstd)[:2]:
        for tail in (b"\0", b"\0" * 9, b"tail", frame[:3], frame[:30], b"\x50\x2a\x4d\x18\xff\xff\xff\xff"):
            with pytest.raises((zstd.ZstdError, EOFError)):
                path(zstd, frame + tail)


@pytest.mark.parametrize("path", PATHS)
def test_flipped_bits_never_pass(zstd: ModuleType, path: Way) -> None:
    """The frames have checksums: whatever a flipped bit does, no other content comes back."""
    dice = random.Random(2)
    for frame in frames(zstd)[:2]:
        for position in steps(zstd, len(frame)):
            broken = bytearray(frame)
            broken[position] ^= 1 << dice.randrange(8)
            try:
                content = path(zstd, bytes(broken))
            except (zstd.ZstdError, EOFError):
                continue
            assert content == DATA


@pytest.mark.parametrize("path", PATHS)
def test_random_garbage(zstd: ModuleType, path: Way) -> None:
    dice = random.Random(3)
    for size in (1, 3, 5, 9, 40, 500):
        for _ in range(20):
            garbage = bytes(dice.randrange(256) for _ in range(size))
            for data in (garbage, FRAME_ABC[:4] + garbage):
                with pytest.raises((zstd.ZstdError, EOFError)):
                    path(zstd, data)


def peak_of(call: Callable[[], Any]) -> int:
    """Return the peak of what Python allocates during a call."""
    import tracemalloc  # PyPy has none

    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


needs_tracemalloc = pytest.mark.skipif(
    sys.implementation.name != "cpython", reason="tracemalloc measures on CPython only"
)


@needs_tracemalloc
@pytest.mark.parametrize("path", PATHS)
def test_declared_size_is_not_believed(zstd: ModuleType, path: Way) -> None:
    """22 bytes that declare 4 GiB or 1 EiB: refused, and without a large allocation."""
    exa = bytes.fromhex("28b52ffd c0 58") + (1 << 60).to_bytes(8, "little") + bytes.fromhex("030010 61")
    single = bytes.fromhex("28b52ffd e0") + (1 << 60).to_bytes(8, "little") + bytes.fromhex("030010 61")

    def call() -> None:
        for data in (FRAME_LIAR, exa, single):
            with pytest.raises((zstd.ZstdError, EOFError)):
                path(zstd, data)

    call()
    assert peak_of(call) < 8 << 20


@needs_tracemalloc
@pytest.mark.parametrize("declared", [True, False])
def test_limit_bounds_memory(zstd: ModuleType, declared: bool) -> None:
    """2 KiB that decompress to 64 MiB: the limit holds, whatever the header says."""
    bomb = rle_bomb(512, declared=declared)

    def call() -> None:
        with pytest.raises(zstd.ZstdLimitError):
            zstd.decompress(bomb, max_output_size=1 << 20)
        with pytest.raises(zstd.ZstdLimitError):
            zstd.decompress_into(bomb, bytearray(1 << 20))
        assert len(zstd.ZstdDecompressor().decompress(bomb, 1 << 20)) == 1 << 20
        with zstd.open(io.BytesIO(bomb)) as opened:
            assert len(opened.read(1 << 20)) == 1 << 20

    call()
    assert peak_of(call) < 8 << 20


@needs_tracemalloc
@pytest.mark.parametrize("declared", [True, False])
def test_output_peaks_at_twice_its_size(zstd: ModuleType, declared: bool) -> None:
    blocks = 256 if zstd.BACKEND != "pure" else 32
    bomb = rle_bomb(blocks, declared=declared)
    size = blocks << 17
    sink = io.BytesIO(bomb)

    def read() -> bytes:
        with zstd.open(sink) as opened:
            sink.seek(0)
            content: bytes = opened.read()
            return content

    calls = [lambda: zstd.decompress(bomb), lambda: zstd.ZstdDecompressor().decompress(bomb), read]
    most = 3 if zstd.BACKEND == "stdlib" else 2  # a list of pieces that grow, and the whole that it is joined to
    for call in calls:
        assert len(call()) == size
        assert peak_of(call) < most * size + (4 << 20)


def test_many_empty_blocks(zstd: ModuleType) -> None:
    """A frame of ten thousand raw blocks of nothing is odd, but valid."""
    frame = bytes.fromhex("28b52ffd 00 58") + b"\0\0\0" * 10_000 + b"\x01\0\0"
    for path in PATHS:
        assert path(zstd, frame) == b""


def test_many_frames(zstd: ModuleType) -> None:
    for path in PATHS:
        assert path(zstd, FRAME_ABC * 3000) == b"abc" * 3000
