# SPDX-License-Identifier: Apache-2.0
"""Payloads and frames shared by the Zstandard tests; all frames are literal bytes, independent of backends."""

from __future__ import annotations

import random
from types import ModuleType
from typing import Any

import pytest

from cpkg import _backend

TEXT = "".join(f"{i}: a line of text, {i * 7919 % 104729} and so on\n" for i in range(4000)).encode()
ZEROS = bytes(200_000)
RANDOM = random.Random(4).randbytes(70_000)
PAYLOADS = {"empty": b"", "byte": b"x", "short": b"hello " * 9, "text": TEXT, "zeros": ZEROS, "random": RANDOM}

# magic, descriptor with single segment and a size of one byte, one raw block
FRAME_ABC = bytes.fromhex("28b52ffd 20 03 190000") + b"abc"
# magic, descriptor without a size, window descriptor of 1 KiB, one raw block
FRAME_ABC_UNSIZED = bytes.fromhex("28b52ffd 00 00 190000") + b"abc"
SKIPPABLE = bytes.fromhex("502a4d18 05000000") + b"12345"
# 4 GiB - 1 declared, one RLE block of 128 KiB
FRAME_LIAR = bytes.fromhex("28b52ffd 80 58 ffffffff 030010 61")
_EXBIBYTE = (1 << 60).to_bytes(8, "little") + bytes.fromhex("030010 61")
LIARS = [FRAME_LIAR, bytes.fromhex("28b52ffd c0 58") + _EXBIBYTE, bytes.fromhex("28b52ffd e0") + _EXBIBYTE]
"""Frames of at most 22 bytes that declare 4 GiB or 1 EiB of content; the last of them is a single segment."""


def rle_bomb(blocks: int, *, declared: bool = True) -> bytes:
    """Return a frame of RLE blocks, each of which decompresses to 128 KiB of "a"; `declared`: with its content size."""
    size = blocks << 17
    header = bytes.fromhex("28b52ffd c0 58") + size.to_bytes(8, "little")
    if not declared:
        header = bytes.fromhex("28b52ffd 00 58")
    body = b"".join((1 << 20 | 2 | (index == blocks - 1)).to_bytes(3, "little") + b"a" for index in range(blocks))
    return header + body


SAMPLES = [
    f"colour={i % 7} size={i % 11} animal={['cat', 'dog', 'lion'][i % 3]} n={i}\n".encode() * 8 for i in range(300)
]


DICTIONARY_HEADER = bytes.fromhex(
    "37a430ec 79a7732d"
    "2e1070bd7330cc30c30c33cc30c30c33cc30c30c33d451450400000000000000208494524a29d33300000000801001f30500"
    "00002707127d2e0300040000802710638a00000000ecb200000000800200000018000000000000000000800118ec00000044"
    "0eda050000000000000000000000000000"
    "01000000 04000000 08000000"
)
"""The bytes before the content of the dictionary that libzstd trained on SAMPLES: magic, id, tables, repeat offsets."""
DICTIONARY = DICTIONARY_HEADER + b"".join(SAMPLES[:8])


def trained(zstd: ModuleType, samples: list[bytes], size: int) -> Any:
    """Return a dictionary that a backend trains on samples, or DICTIONARY if it is `pure`, which cannot train."""
    return zstd.ZstdDict(DICTIONARY) if zstd.BACKEND == "pure" else zstd.train_dict(samples, size)


def check_trains(zstd: ModuleType | None = None) -> None:
    """Skip a test of training if the backend (by default the one in use) is `pure`."""
    if (zstd or _backend.zstd()).BACKEND == "pure":
        pytest.skip("the backend pure does not train dictionaries")
