# SPDX-License-Identifier: Apache-2.0
"""Zero bytes after frames, as tapes and pipes leave them: an error, unless `padding` allows them."""

from __future__ import annotations

import io
from types import ModuleType
from typing import Any, Callable

import pytest
from zstd_data import SKIPPABLE

from purepy.zstd.format.padding import Unpadded


class Slow(io.BytesIO):
    """A file that returns seven bytes at a time."""

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(7)


CONTENT = b"some content\n" * 1000
WAYS: dict[str, Callable[[ModuleType, bytes, bool], bytes]] = {
    "decompress": lambda zstd, data, padding: zstd.decompress(data, padding=padding),
    "decompress a bytearray": lambda zstd, data, padding: zstd.decompress(bytearray(data), padding=padding),
    "decompress with threads": lambda zstd, data, padding: zstd.decompress(data, threads=2, padding=padding),
    "decompress_iter": lambda zstd, data, padding: b"".join(
        zstd.decompress_iter((data[i : i + 3] for i in range(0, len(data), 3)), padding=padding)
    ),
    "decompress_iter with threads": lambda zstd, data, padding: b"".join(
        zstd.decompress_iter(io.BytesIO(data), read_size=7, threads=2, padding=padding)
    ),
    "read": lambda zstd, data, padding: zstd.ZstdFile(io.BytesIO(data), padding=padding).read(),
    "read with threads": lambda zstd, data, padding: zstd.ZstdFile(io.BytesIO(data), threads=2, padding=padding).read(),
    "lines": lambda zstd, data, padding: b"".join(zstd.open(Slow(data), padding=padding)),
    "text": lambda zstd, data, padding: zstd.open(io.BytesIO(data), "rt", newline="\n", padding=padding)
    .read()
    .encode(),
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_padding(zstd: ModuleType, way: Callable[[ModuleType, bytes, bool], bytes]) -> None:
    frame = zstd.compress(CONTENT)
    for frames, content in ((frame, CONTENT), (frame + SKIPPABLE + frame, 2 * CONTENT), (SKIPPABLE, b"")):
        assert way(zstd, frames, True) == content
        for size in (1, 3, 4, 3000):
            assert way(zstd, frames + bytes(size), True) == content
            with pytest.raises((zstd.ZstdError, EOFError)):
                way(zstd, frames + bytes(size), False)
            for wrong in (b"x", frame, b"\0" * 4 + frame):
                with pytest.raises(zstd.ZstdError):
                    way(zstd, frames + bytes(size) + wrong, True)
        with pytest.raises((zstd.ZstdError, EOFError)):
            way(zstd, frames[:-1], True)
        with pytest.raises((zstd.ZstdError, EOFError)):
            way(zstd, frames[:-1] + bytes(9), True) if content else way(zstd, frames[:9], True)
    for nothing in (b"", bytes(8)):
        with pytest.raises((zstd.ZstdError, EOFError)):
            way(zstd, nothing, True)


def test_a_padded_file_can_seek(zstd: ModuleType) -> None:
    data = zstd.compress(CONTENT) + bytes(10_000)
    for source in (io.BytesIO(data), Slow(data)):
        with zstd.ZstdFile(source, padding=True) as file:
            assert file.seek(0, io.SEEK_END) == len(CONTENT)
            assert (file.seek(5), file.read()) == (5, CONTENT[5:])
            assert file.read() == b""
    with pytest.raises(TypeError, match="illegal in write mode"):
        zstd.ZstdFile(io.BytesIO(), "w", padding=True)


@pytest.mark.parametrize("size", [1, 2, 5, 17, 1000])
def test_the_filter_changes_nothing_else(zstd: ModuleType, size: int) -> None:
    """In pieces of any size; a frame whose checksum or content ends with zero bytes stays whole."""
    raw = zstd.compress(bytes(range(256)) + bytes(40), options={100: -100})
    for data in (
        raw,
        raw + SKIPPABLE + bytes([0x50, 0x2A, 0x4D, 0x18, 4, 0, 0, 0]) + bytes(4),
        bytes(50),
        b"no frame" * 9,
    ):
        unpadded: Any = Unpadded()
        assert b"".join(unpadded.feed(data[i : i + size]) for i in range(0, len(data), size)) == data
