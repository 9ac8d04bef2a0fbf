# SPDX-License-Identifier: Apache-2.0
"""patch() and apply_patch(): the differences of new data from old data."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest
from seeds import noise

from purepy.base.errors import ZstdLimitError


@pytest.mark.parametrize("size", [0, 1, 7, 8, 100, 5000, 150_000, 3_000_000])
@pytest.mark.parametrize("level", [None, 1, 9])
def test_patches_are_small_and_right(zstd: ModuleType, size: int, level: int | None) -> None:
    if zstd.BACKEND == "pure" and (size > 150_000 or (size > 5000 and level == 1)):
        pytest.skip("takes long, or the tables of the level do not hold so much")
    old = noise(size)
    for new in (b"", old, old[: size // 3] + b"changed" + old[size // 3 + 5 :] + b"more", bytes(5000)):
        patch = zstd.patch(bytearray(old), memoryview(new), level)
        assert zstd.apply_patch(bytearray(old), patch) == new
        assert len(patch) <= 120 + size // 500 or size < 8
        if patch != zstd.compress(new):
            assert zstd.get_frame_info(patch).decompressed_size == len(new)


def test_patches_are_compatible_with_the_tool(zstd: ModuleType) -> None:
    old = noise(200_000)
    patch = zstd.patch(old, old + b"new")
    (frame,) = zstd.iter_frames(patch)
    assert frame.checksum is not None
    assert zstd.decompress(patch, zstd.ZstdDict(old, is_raw=True).as_prefix) == old + b"new"


def test_another_old_is_an_error(zstd: ModuleType) -> None:
    old = noise(200_000)
    patch = zstd.patch(old, old + b"new")
    for other in (old[:1000] + b"X" + old[1001:], old[:100_000], b"", bytes(200_000)):
        with pytest.raises(zstd.ZstdError):
            zstd.apply_patch(other, patch)
    with pytest.raises(zstd.ZstdError):
        zstd.apply_patch(old, patch[:-5])


def test_limits(zstd: ModuleType) -> None:
    patch = zstd.patch(b"old " * 10, bytes(1 << 20))
    with pytest.raises(ZstdLimitError):
        zstd.apply_patch(b"old " * 10, patch, max_output_size=(1 << 20) - 1)
    assert zstd.apply_patch(b"old " * 10, patch, max_output_size=1 << 20) == bytes(1 << 20)
    options: Any = {zstd.CompressionParameter.window_log: 28, zstd.CompressionParameter.content_size_flag: 0}
    compressor = zstd.ZstdCompressor(options=options)
    with pytest.raises(zstd.ZstdError, match="window"):  # larger than any patch of this size needs
        zstd.apply_patch(b"", compressor.compress(b"abc") + compressor.flush())
