# SPDX-License-Identifier: Apache-2.0
"""The output of every level: its content, and its size compared with libzstd's and with other levels."""

from __future__ import annotations

import random

import pytest
from zstd_contents import KINDS, structured
from zstd_oracle import libzstd

from purepy.zstd import ZstdCompressor, compress, decompress, get_frame_info

pytestmark = pytest.mark.once

MIX = structured(random.Random(1), 70_000, [kind for kind in KINDS if kind not in ("noise", "run")])


@pytest.mark.parametrize("level", [1, 2, 3])
def test_at_most_a_tenth_larger_than_libzstd(level: int) -> None:
    library = libzstd()
    mine = compress(MIX, level)
    assert library.decompress(mine) == MIX
    assert len(mine) <= len(library.compress(MIX, level)) * 1.1


def test_no_level_is_larger_than_the_one_below() -> None:
    previous = len(MIX)
    for level in (-20, -5, -1, *range(1, 7), 9, 13, 19, 22):
        frame = compress(MIX, level)
        assert decompress(frame) == MIX
        assert len(frame) <= previous, f"level {level}"
        previous = len(frame)


# --- every level, and any writes --------------------------------------------------------------------------------------

LEVELS = [-100, -1, 1, 2, 3, 5, 6, 9, 13, 19]

_random = random.Random(8878)
_WORDS = [_random.randbytes(_random.randrange(2, 12)) for _ in range(300)]

PAYLOADS = {
    "empty": b"",
    "one byte": b"x",
    "short": b"Zstandard",
    "run": b"\0" * 400_000,
    "two runs": b"a" * 70_000 + b"b" * 150_000,
    "period 3": b"abc" * 60_000,
    "all bytes": bytes(range(256)) * 40,
    "noise": _random.randbytes(150_000),
    "three symbols": bytes(_random.choices(b"abc", k=10_000)),
    "words": b"".join(_random.choices(_WORDS, k=6_000)),
    "noise and words": _random.randbytes(130_000) + b"".join(_random.choices(_WORDS, k=5_000)),
}


@pytest.mark.parametrize("name", PAYLOADS)
@pytest.mark.parametrize("level", LEVELS)
def test_every_level(level: int, name: str) -> None:
    data = PAYLOADS[name]
    frame = compress(data, level)
    assert decompress(frame) == data
    assert get_frame_info(frame).decompressed_size == len(data)
    assert len(frame) <= len(data) + 3 * (len(data) // (1 << 17) + 1) + 14


@pytest.mark.parametrize("piece", [1, 7, 1000, 131_071, 131_072, 131_073])
@pytest.mark.parametrize("level", [1, 3, 5, 9])
def test_pieces(level: int, piece: int) -> None:
    data = PAYLOADS["noise and words"][129_000:] if piece < 1000 else PAYLOADS["noise and words"]
    compressor = ZstdCompressor(level)
    out = [compressor.compress(data[at : at + piece]) for at in range(0, len(data), piece)]
    out.append(compressor.flush())
    assert decompress(b"".join(out)) == data
