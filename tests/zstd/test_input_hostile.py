# SPDX-License-Identifier: Apache-2.0
"""Truncated, corrupted, extended and contradictory input raises the documented error on every path."""

from __future__ import annotations

import random
from functools import partial
from types import ModuleType

import pytest
from counting import calls_of
from extent import IS_PYPY
from zstd_data import FRAME_ABC, RANDOM, TEXT, rle_bomb
from zstd_ways import PATHS, Way, fails, parts

DATA = TEXT[:3000] + RANDOM[:500] + bytes(2000) + TEXT[:3000]


def frames(zstd: ModuleType) -> list[bytes]:
    """A frame with a size, a frame without, both with a checksum, and two of them in a row."""
    checked = zstd.compress(DATA, options={zstd.CompressionParameter.checksum_flag: 1})
    compressor = zstd.ZstdCompressor(options={zstd.CompressionParameter.checksum_flag: 1})
    unsized = compressor.compress(DATA[:4000]) + compressor.flush(1) + compressor.compress(DATA[4000:])
    unsized += compressor.flush()
    return [checked, unsized, checked + unsized]


def steps(zstd: ModuleType, size: int) -> range:
    # a prime step hits different parts of the frames
    return range(0, size, 97 if zstd.BACKEND == "pure" else 29 if IS_PYPY else 5)


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
            fails(zstd, path, frame[:size])
    for size in range(len(first) + 1, len(both), 53 if zstd.BACKEND != "pure" else 997):
        fails(zstd, path, both[:size])


@pytest.mark.parametrize("path", PATHS)
def test_extended(zstd: ModuleType, path: Way) -> None:
    for frame in frames(zstd)[:2]:
        for tail in (b"\0", b"\0" * 9, b"tail", frame[:3], frame[:30], b"\x50\x2a\x4d\x18\xff\xff\xff\xff"):
            fails(zstd, path, frame + tail)


@pytest.mark.parametrize("path", PATHS)
def test_random_garbage(zstd: ModuleType, path: Way) -> None:
    dice = random.Random(3)
    for size in (1, 3, 5, 9, 40, 500):
        for _ in range(20):
            garbage = bytes(dice.randrange(256) for _ in range(size))
            for data in (garbage, FRAME_ABC[:4] + garbage):
                fails(zstd, path, data)


@pytest.mark.parametrize("declared", [True, False])
def test_limit_bounds_output(zstd: ModuleType, declared: bool) -> None:
    """2 KiB that decompress to 64 MiB: the limit applies, whatever the header declares."""
    parts(zstd, rle_bomb(512, declared=declared), 1 << 20)


def test_many_empty_blocks(zstd: ModuleType) -> None:
    frame = bytes.fromhex("28b52ffd 00 58") + b"\0\0\0" * 10_000 + b"\x01\0\0"
    for path in PATHS:
        assert path(zstd, frame) == b""


def test_many_frames(zstd: ModuleType) -> None:
    for path in PATHS:
        assert path(zstd, FRAME_ABC * 3000) == b"abc" * 3000


def test_short_raw_frames_create_no_decompressor(zstd: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Creating a decompressor takes longer than everything else for such a frame; a few MB contain a million."""
    if zstd.BACKEND != "stdlib":
        pytest.skip("the other backends use one decompressor for all frames")
    created = []
    settings = type(zstd.ZstdDecompressor()._settings)
    decompressor = settings.decompressor
    monkeypatch.setattr(settings, "decompressor", lambda self: created.append(self) or decompressor(self))
    frames = zstd.compress(b"") * 500 + FRAME_ABC * 500
    for read in (zstd.decompress, zstd.ZstdDecompressor(multi_frame=True).decompress):
        assert read(frames) == b"abc" * 500
        assert len(created) <= 1  # decompress first tries whether all data is one frame
    created.clear()
    assert zstd.decompress(frames + zstd.compress(bytes(1000))) == b"abc" * 500 + bytes(1000)
    assert len(created) == 2


SHORT_FRAMES = {
    "empty": "28b52ffd2000010000",
    "raw": FRAME_ABC.hex(),
    "rle": "28b52ffd20052b000041",
    "rle, no size": "28b52ffd00582b000041",
    "with a checksum": "28b52ffd240001000099e9d851",
    "empty block and rle": "28b52ffd00580000002b000041",
}


def test_the_work_for_short_frames_and_empty_blocks_is_bounded_per_byte(zstd: ModuleType) -> None:
    """Count calls of Python functions per byte of input."""
    inputs = [bytes.fromhex(frame) * 100 for frame in SHORT_FRAMES.values()]
    inputs.append(bytes.fromhex("28b52ffd0058") + bytes(3) * 500 + b"\1\0\0")
    for data in inputs:
        zstd.decompress(data)  # the first call imports modules and creates what later calls share
        assert calls_of(partial(zstd.decompress, data)) <= 5 * len(data)
