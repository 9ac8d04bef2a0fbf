# SPDX-License-Identifier: Apache-2.0
"""The ways of decompressing with a Zstandard backend; each takes the backend, the data and options."""

from __future__ import annotations

import io
from collections.abc import Iterable
from types import ModuleType
from typing import Any, Callable

import pytest

Way = Callable[..., bytes]
"""A function that is called with the backend, the data and, optionally, options."""


def one_shot(zstd: ModuleType, data: bytes, options: Any = None) -> bytes:
    return bytes(zstd.decompress(data, options=options))


def limited(zstd: ModuleType, data: bytes, options: Any = None) -> bytes:
    return bytes(zstd.decompress(data, options=options, max_output_size=1 << 20))


def hinted(zstd: ModuleType, data: bytes, options: Any = None) -> bytes:
    return bytes(zstd.decompress(data, options=options, size_hint=1 << 20))


def into(zstd: ModuleType, data: bytes, options: Any = None) -> bytes:
    buffer = bytearray(1 << 18)
    return bytes(buffer[: zstd.decompress_into(data, buffer, options=options)])


def stream(zstd: ModuleType, data: bytes, options: Any = None) -> bytes:
    """Pass all data to a decompressor in one call, and continue while it has more output."""
    decompressor = zstd.ZstdDecompressor(options=options, multi_frame=True)
    content = bytes(decompressor.decompress(data))
    while not decompressor.needs_input:  # an error is raised only after the output before it
        content += decompressor.decompress(b"")
    if not decompressor.eof:
        raise EOFError
    return content


def in_parts(decompressor: Any, pieces: Iterable[bytes], limit: int) -> list[bytes]:
    """Pass pieces to a decompressor, and take at most `limit` bytes of output at a time."""
    output = []
    for piece in pieces:
        output.append(decompressor.decompress(piece, limit))
        while not decompressor.needs_input:
            output.append(decompressor.decompress(b"", limit))
    return output


def drip(zstd: ModuleType, data: bytes, options: Any = None) -> bytes:
    """Pass small pieces to a decompressor, and request even smaller output."""
    decompressor = zstd.ZstdDecompressor(options=options, multi_frame=True)
    content = b"".join(in_parts(decompressor, (data[at : at + 41] for at in range(0, len(data), 41)), 50))
    if not decompressor.eof:
        raise EOFError
    return content


def file(zstd: ModuleType, data: bytes, options: Any = None) -> bytes:
    with zstd.ZstdFile(io.BytesIO(data), options=options) as opened:
        content: bytes = opened.read()
        return content


def readinto(zstd: ModuleType, data: bytes, options: Any = None) -> bytes:
    buffer = bytearray(1 << 18)
    with zstd.open(io.BytesIO(data), options=options) as opened:
        return bytes(buffer[: opened.readinto(buffer)])


def file_lines(zstd: ModuleType, data: bytes, options: Any = None) -> bytes:
    with zstd.ZstdFile(io.BytesIO(data), options=options) as opened:
        return b"".join(opened)


def iterator(zstd: ModuleType, data: bytes, options: Any = None) -> bytes:
    return b"".join(zstd.decompress_iter([data[i : i + 100] for i in range(0, len(data), 100)], options=options))


PATHS = [one_shot, limited, into, stream, drip, file, file_lines, iterator]
"""The ways to decompress hostile input."""


def fails(zstd: ModuleType, path: Way, data: bytes) -> None:
    """Check that a way raises one of the documented errors for invalid data."""
    with pytest.raises((zstd.ZstdError, EOFError)):
        path(zstd, data)


def parts(zstd: ModuleType, bomb: bytes, size: int) -> None:
    """Check that each way can decompress only `size` bytes of a bomb, or refuses the bomb with this limit."""
    with pytest.raises(zstd.ZstdLimitError):
        zstd.decompress(bomb, max_output_size=size)
    with pytest.raises(zstd.ZstdLimitError):
        zstd.decompress_into(bomb, bytearray(size))
    assert len(zstd.ZstdDecompressor().decompress(bomb, size)) == size
    with zstd.open(io.BytesIO(bomb)) as opened:
        assert len(opened.read(size)) == size
