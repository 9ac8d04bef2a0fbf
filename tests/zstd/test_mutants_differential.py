# SPDX-License-Identifier: Apache-2.0
"""Small frames with one byte changed: every way to decompress, on every backend, accepts the same frames."""

from __future__ import annotations

import random
from collections.abc import Iterator
from types import ModuleType

import pytest
from backends import available
from extent import IS_THOROUGH
from zstd_data import FRAME_ABC, FRAME_ABC_UNSIZED, TEXT
from zstd_ways import Way, file, into, limited, one_shot, stream

STEP = 1 if IS_THOROUGH else 3
"""The distance between the mutants that are tried."""


def unsized(zstd: ModuleType, content: bytes, options: dict[int, int]) -> bytes:
    compressor = zstd.ZstdCompressor(options=options)
    return compressor.compress(content) + compressor.flush()


WAYS = [one_shot, limited, into, stream, file]
VALUES = [0, 1, 2, 10, 33, 58, 77, 128, 200, 250, 255]


def result(zstd: ModuleType, way: Way, data: bytes) -> bytes | None:
    try:
        return way(zstd, data)
    except (zstd.ZstdError, EOFError):
        return None


def frames(zstd: ModuleType) -> list[bytes]:
    repeated = b"abcdefgh" * 40
    noise = bytes(random.Random(3).choices(range(256), k=1500))
    contents = [b"", b"a", bytes(3000), repeated, TEXT[:300], noise, noise + bytes(3000) + noise[:700]]
    found = [FRAME_ABC, FRAME_ABC_UNSIZED]
    for content in contents:
        for options in ({}, {201: 1}, {101: 10}):
            found += [zstd.compress(content, options=options), unsized(zstd, content, options)]
    return list(dict.fromkeys(found))


def mutants(frame: bytes) -> Iterator[bytes]:
    """Yield the frame with one of its first or last bytes changed."""
    for at in sorted({*range(min(20, len(frame))), *range(max(0, len(frame) - 8), len(frame))}):
        for value in VALUES:
            if value != frame[at]:
                yield frame[:at] + bytes([value]) + frame[at + 1 :]


@pytest.mark.once
def test_every_function_accepts_the_same_data(zstd: ModuleType) -> None:
    """The pure backend is sometimes stricter, but accepts nothing that another rejects or decodes differently."""
    reference = available("zstd").get("dlopen", zstd)
    # libzstd 1.5.7, which wheels contain, is also stricter than a system's 1.5.4: it rejects reserved bits
    stricter = zstd.BACKEND == "pure" or zstd.zstd_version_info > reference.zstd_version_info
    taken = refused = 0
    for number, frame in enumerate(frames(reference)):
        for data in list(mutants(frame))[number % STEP :: STEP]:
            found = {way.__name__: result(zstd, way, data) for way in WAYS}
            expected = result(reference, one_shot, data)
            assert len(set(found.values())) == 1, (data.hex(), found)
            content = found["one_shot"]
            assert content == expected or (content is None and stricter), (data.hex(), content, expected)
            taken += content is not None
            refused += content is None
    assert taken > 50
    assert refused > 500
