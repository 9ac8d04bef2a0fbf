# SPDX-License-Identifier: Apache-2.0
"""Frames that declare impossible sizes, or sizes with a special meaning in libzstd's interface."""

from __future__ import annotations

import io
from functools import partial
from types import ModuleType
from typing import Any

import pytest
from zstd_ways import into, iterator, limited, one_shot, stream

from cpkg.zstandard.backend_names import names_over
from purepy.base.errors import ZstdError

MAGIC = bytes.fromhex("28b52ffd")
CONTENT = b"abc" * 50
BLOCK = (1 | len(CONTENT) << 3).to_bytes(3, "little") + CONTENT
UNKNOWN = 2**64 - 1
IMPOSSIBLE = [2**64 - 2, 2**64 - 3, 2**63, 2**63 - 1, 2**32, len(CONTENT) + 1, len(CONTENT) - 1]


def frame(size: int, window: bytes = b"\x58") -> bytes:
    """Return a frame that declares a size in 8 bytes; without a window descriptor, the content size is the window."""
    return MAGIC + bytes([0xC0 if window else 0xE0]) + window + size.to_bytes(8, "little") + BLOCK


def ways(zstd: ModuleType, data: bytes) -> dict[str, Any]:
    """Return the results of every way to decompress the data."""
    return {way.__name__: partial(way, zstd, data) for way in (one_shot, limited, into, stream, iterator)}


def test_the_largest_number_says_that_the_size_is_not_known(zstd: ModuleType) -> None:
    data = frame(UNKNOWN)
    assert zstd.get_frame_info(data).decompressed_size is None
    assert zstd.get_frame_size(data) == len(data)
    for name, call in ways(zstd, data).items():
        assert call() == CONTENT, name


@pytest.mark.parametrize("behind", [b"", CONTENT], ids=["a frame", "frames"])
@pytest.mark.parametrize("step", [1, 7, 18, 100, 1000])
def test_less_than_is_declared_before_an_empty_block(zstd: ModuleType, step: int, behind: bytes) -> None:
    """libzstd's stream calls accept such a frame; no function of cpkg does."""
    header = MAGIC + b"\x80\x58" + (len(CONTENT) * 2).to_bytes(4, "little")
    data = header + (len(CONTENT) << 3).to_bytes(3, "little") + CONTENT + b"\x01\0\0"
    data += zstd.compress(behind) if behind else b""
    cut = [data[at : at + step] for at in range(0, len(data), step)]
    drop_in = names_over(zstd)["ZstdDecompressor"]

    def fed(decompressor: Any) -> None:
        for piece in cut:
            decompressor.decompress(piece)

    calls = {
        **ways(zstd, data),
        "object": lambda: zstd.ZstdDecompressor().decompress(data),
        "object, limited": lambda: zstd.ZstdDecompressor().decompress(data, 1000),
        "pieces": lambda: fed(zstd.ZstdDecompressor()),
        "several frames": lambda: fed(zstd.ZstdDecompressor(multi_frame=True)),
        "iter": lambda: list(zstd.decompress_iter(cut)),
        "file": lambda: zstd.ZstdFile(io.BytesIO(data)).read(),
        "copy": lambda: zstd.copy_stream(io.BytesIO(data), io.BytesIO(), mode="decompress"),
        "drop-in": lambda: drop_in().decompress(data),
        "drop-in, object": lambda: fed(drop_in().decompressobj()),
        "drop-in, reader": lambda: drop_in().stream_reader(io.BytesIO(data), read_size=step).read(),
        "drop-in, iterator": lambda: list(drop_in().read_to_iter(io.BytesIO(data), read_size=step)),
    }
    for name, call in calls.items():
        with pytest.raises(ZstdError):
            pytest.fail(f"{name}: {call()!r}")


def test_it_is_no_window(zstd: ModuleType) -> None:
    """The window of a single segment is as large as its declared content."""
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
    for way in (one_shot, limited, into, iterator):
        with pytest.raises(zstd.ZstdError):
            way(zstd, data)
