# SPDX-License-Identifier: Apache-2.0
"""Compression and decompression of many buffers: multi_compress_to_buffer() and multi_decompress_to_buffer()."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Callable

from cpkg.zstandard.arguments import Bytes, rename
from cpkg.zstandard.buffers import SEGMENT, BufferWithSegments, BufferWithSegmentsCollection
from cpkg.zstandard.frames import frame_content_size
from purepy.base.buffers import view_of
from purepy.base.crew import run_all
from purepy.base.errors import ZstdError

if TYPE_CHECKING:
    from purepy.base.types import Buffer


def compress_all(compress_one: Callable[[Bytes], bytes], data: object, threads: int) -> BufferWithSegmentsCollection:
    """
    Compress each item of `data` with `compress_one`; return a collection of the frames.

    Implements `ZstdCompressor.multi_compress_to_buffer`, with up to `threads` threads.
    """
    items = _items(data, "argument must be list of BufferWithSegments")
    if not any(map(len, items)):
        raise ValueError("source elements are empty")

    def explained(number: int, exc: ZstdError) -> Exception:
        return rename(exc, f"error compressing item {number}")

    return _run(compress_one, list(zip(items)), explained, threads)


def decompress_all(
    decompress_one: Callable[[Bytes, int], bytes], frames: object, sizes: Buffer | None, threads: int
) -> BufferWithSegmentsCollection:
    """
    Decompress each item of `frames` with `decompress_one(frame, size)`; return a collection of the contents.

    `sizes` is a buffer of the contents' sizes as 64-bit unsigned integers, 0 for unknown; None means that all are
    unknown. Implements `ZstdDecompressor.multi_decompress_to_buffer`, with up to `threads` threads.
    """
    items = _items(frames, "argument must be list or BufferWithSegments")
    given = bytes(8 * len(items)) if sizes is None else view_of(sizes)
    if len(given) != 8 * len(items):
        raise ValueError(f"decompressed_sizes size mismatch; expected {8 * len(items)}, got {len(given)}")
    wanted = array("Q", bytes(given))

    def decompress(item: Bytes, size: int) -> bytes:
        content = decompress_one(item, size)
        if size and len(content) != size:
            raise ZstdError(f"decompressed {len(content)} bytes; expected {size}")
        return content

    def explained(number: int, exc: ZstdError) -> Exception:
        if not wanted[number] and not _is_declared(items[number]):
            return ValueError(f"could not determine decompressed size of item {number}")
        return rename(exc, f"error decompressing item {number}")

    one = decompress if any(wanted) else decompress_one
    return _run(one, list(zip(items, wanted)), explained, threads)


def _is_declared(frame: Bytes) -> bool:
    try:
        return frame_content_size(frame) >= 0
    except ZstdError:
        return False


def _items(data: object, wrong: str) -> list[Bytes]:
    if isinstance(data, list):
        items: list[Bytes] = []
        try:
            items.extend(map(view_of, data))
        except TypeError:
            kind = type(data[len(items)]).__name__
            raise TypeError(f"item {len(items)} not a bytes like object, but {kind}") from None
    elif isinstance(data, (BufferWithSegments, BufferWithSegmentsCollection)):
        items = [view_of(data[number]) for number in range(len(data))]
    else:
        raise TypeError(f"{wrong}, not {type(data).__name__}")
    if not items:
        raise ValueError("no source elements found")
    return items


def _run(
    one: Callable[..., bytes],
    arguments: Sequence[tuple[object, ...]],
    explained: Callable[[int, ZstdError], Exception],
    threads: int,
) -> BufferWithSegmentsCollection:
    """
    Call `one` with each tuple of `arguments`, in up to `threads` threads; return the results as a collection.

    If a call raises ZstdError, `explained(number, error)` returns the exception to raise.
    """
    pieces = [b""] * len(arguments)

    def run(number: int, check: Callable[[], None]) -> None:
        try:
            pieces[number] = one(*arguments[number])
        except ZstdError as exc:
            raise explained(number, exc) from exc

    run_all(max(1, threads), len(arguments), run)
    return BufferWithSegmentsCollection._of([BufferWithSegments._over(*_joined(pieces))])


def _joined(pieces: list[bytes]) -> tuple[bytes, bytes]:
    """Return the joined pieces, and the table of their offsets and lengths in the form of SEGMENT."""
    table = array("Q", bytes(SEGMENT.size * len(pieces)))
    table[1::2] = array("Q", map(len, pieces))
    table[2::2] = array("Q", accumulate(table[1:-1:2]))
    return b"".join(pieces), table.tobytes()
