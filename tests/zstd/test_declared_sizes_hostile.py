# SPDX-License-Identifier: Apache-2.0
"""Frames that declare sizes which no content has, or which libzstd's interface gives another meaning."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

MAGIC = bytes.fromhex("28b52ffd")
CONTENT = b"abc" * 50
BLOCK = (1 | len(CONTENT) << 3).to_bytes(3, "little") + CONTENT
UNKNOWN = 2**64 - 1
IMPOSSIBLE = [2**64 - 2, 2**64 - 3, 2**63, 2**63 - 1, 2**32, len(CONTENT) + 1, len(CONTENT) - 1]


def frame(size: int, window: bytes = b"\x58") -> bytes:
    """Return a frame that declares a size in 8 bytes; without a window descriptor its content is the window."""
    return MAGIC + bytes([0xC0 if window else 0xE0]) + window + size.to_bytes(8, "little") + BLOCK


def ways(zstd: ModuleType, data: bytes) -> dict[str, Any]:
    """Return every way to decompress it."""
    room = bytearray(1000)
    return {
        "decompress": lambda: zstd.decompress(data),
        "limited": lambda: zstd.decompress(data, max_output_size=1000),
        "into": lambda: bytes(room[: zstd.decompress_into(data, room)]),
        "object": lambda: zstd.ZstdDecompressor().decompress(data),
        "object, limited": lambda: zstd.ZstdDecompressor().decompress(data, 1000),
        "iter": lambda: b"".join(zstd.decompress_iter([data[:9], data[9:20], data[20:]])),
    }


def test_the_largest_number_says_that_the_size_is_not_known(zstd: ModuleType) -> None:
    data = frame(UNKNOWN)
    assert zstd.get_frame_info(data).decompressed_size is None
    assert zstd.get_frame_size(data) == len(data)
    for name, call in ways(zstd, data).items():
        assert call() == CONTENT, name


def test_it_is_no_window(zstd: ModuleType) -> None:
    """The window of a single segment is as large as its content says."""
    data = frame(UNKNOWN, b"")
    assert zstd.get_frame_info(data).decompressed_size is None
    assert zstd.get_frame_size(data) == len(data)
    for call in ways(zstd, data).values():
        with pytest.raises(zstd.ZstdLimitError):
            call()


@pytest.mark.parametrize("window", [b"\x58", b""], ids=["window", "single segment"])
@pytest.mark.parametrize("size", IMPOSSIBLE)
def test_content_of_another_size_is_an_error(zstd: ModuleType, size: int, window: bytes) -> None:
    data = frame(size, window)
    assert zstd.get_frame_size(data) == len(data)
    if size == 2**64 - 2:
        with pytest.raises(zstd.ZstdError):
            zstd.get_frame_info(data)
    else:
        assert zstd.get_frame_info(data).decompressed_size == size
    for call in ways(zstd, data).values():
        with pytest.raises(zstd.ZstdError):
            call()


def test_a_skippable_frame_declares_nothing(zstd: ModuleType) -> None:
    data = bytes.fromhex("5f2a4d18 ffffffff")
    assert zstd.get_frame_info(data).decompressed_size == 0
    with pytest.raises(zstd.ZstdError):
        zstd.get_frame_size(data)
    for name, call in ways(zstd, data).items():
        if "object" not in name:
            with pytest.raises(zstd.ZstdError):
                call()
