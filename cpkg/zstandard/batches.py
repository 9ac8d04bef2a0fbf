# SPDX-License-Identifier: Apache-2.0
"""Many buffers at once: multi_compress_to_buffer() and multi_decompress_to_buffer()."""

from __future__ import annotations

from itertools import accumulate
from struct import Struct
from typing import TYPE_CHECKING, Callable

from cpkg.zstandard.arguments import Bytes, rename
from cpkg.zstandard.buffers import SEGMENT, BufferWithSegments, BufferWithSegmentsCollection
from cpkg.zstandard.frames import frame_content_size
from purepy.base.buffers import view_of
from purepy.base.crew import run_all
from purepy.base.errors import ZstdError

if TYPE_CHECKING:
    from typing_extensions import TypeAlias

    from purepy.base.types import Buffer

    Many: TypeAlias = Callable[..., "list[tuple[bytes, bytes]] | None"]
    """Does it in C; None where that is left to Python."""

_SIZE = Struct("=Q")


def compress_all(
    compress_one: Callable[[Bytes], bytes], compress_many: Many, data: object, threads: int
) -> BufferWithSegmentsCollection:
    """Do what `ZstdCompressor.multi_compress_to_buffer` is documented to do, in so many threads."""
    items = data if type(data) is list else _compression_items(data)
    done = compress_many(items, threads)
    if done is not None:
        return _collected(done)
    items = _compression_items(data)

    def compress(number: int) -> bytes:
        try:
            return compress_one(items[number])
        except ZstdError as exc:
            raise rename(exc, f"error compressing item {number}") from exc

    return _run(compress, items, threads)


def decompress_all(
    decompress_one: Callable[[Bytes, int], bytes],
    decompress_many: Many,
    frames: object,
    sizes: Buffer | None,
    threads: int,
) -> BufferWithSegmentsCollection:
    """Do what `ZstdDecompressor.multi_decompress_to_buffer` is documented to do, in so many threads."""
    given = None if sizes is None else view_of(sizes)
    items = frames if type(frames) is list else _decompression_items(frames)
    done = decompress_many(items, given, threads)
    if done is not None:
        return _collected(done)
    items = _decompression_items(frames)
    if given is not None and len(given) != 8 * len(items):
        raise ValueError(f"decompressed_sizes size mismatch; expected {8 * len(items)}, got {len(given)}")

    def size_of(number: int) -> int:
        size: int = 0 if given is None else _SIZE.unpack_from(given, 8 * number)[0]
        if not size:
            try:
                size = frame_content_size(items[number])
            except ZstdError:
                size = -1
            if size < 0:
                raise ValueError(f"could not determine decompressed size of item {number}")
        return size

    def decompress(number: int) -> bytes:
        size = size_of(number)
        try:
            content = decompress_one(items[number], size)
        except ZstdError as exc:
            raise rename(exc, f"error decompressing item {number}") from exc
        if len(content) != size:
            raise ZstdError(f"error decompressing item {number}: decompressed {len(content)} bytes; expected {size}")
        return content

    return _run(decompress, items, threads)


def _collected(shares: list[tuple[bytes, bytes]]) -> BufferWithSegmentsCollection:
    return BufferWithSegmentsCollection._of([BufferWithSegments._over(*share) for share in shares])


def _compression_items(data: object) -> list[Bytes]:
    items = _items(data, "argument must be list of BufferWithSegments")
    if not any(map(len, items)):
        raise ValueError("source elements are empty")
    return items


def _decompression_items(frames: object) -> list[Bytes]:
    return _items(frames, "argument must be list or BufferWithSegments")


def _items(data: object, wrong: str) -> list[Bytes]:
    if isinstance(data, list):
        items = []
        for number, item in enumerate(data):
            try:
                items.append(view_of(item))
            except TypeError:
                raise TypeError(f"item {number} not a bytes like object") from None
    elif isinstance(data, (BufferWithSegments, BufferWithSegmentsCollection)):
        items = [view_of(data[number]) for number in range(len(data))]
    else:
        raise TypeError(wrong)
    if not items:
        raise ValueError("no source elements found")
    return items


def _run(work: Callable[[int], bytes], items: list[Bytes], threads: int) -> BufferWithSegmentsCollection:
    """Do the work for each item, in threads that have about as many bytes to go over; return what came out."""
    shares = _shares(list(map(len, items)), max(1, min(threads, len(items))))
    results: list[tuple[bytes, bytes]] = [(b"", b"")] * len(shares)

    def run(share: int, check: Callable[[], None]) -> None:
        pieces = []
        for number in shares[share]:
            check()
            pieces.append(work(number))
        results[share] = _joined(pieces)

    run_all(len(shares), len(shares), run)
    return _collected(results)


def _shares(sizes: list[int], count: int) -> list[range]:
    """Cut the items, in their order, into at most `count` ranges of about the same number of bytes."""
    ends = list(accumulate(size + 1 for size in sizes))  # an item costs something even if it is empty
    shares = []
    start = 0
    for share in range(1, count + 1):
        goal = ends[-1] * share / count
        end = start
        while end < len(sizes) and (ends[end] <= goal or end == start):
            end += 1
        if end > start:
            shares.append(range(start, end))
        start = end
    return shares


def _joined(pieces: list[bytes]) -> tuple[bytes, bytes]:
    offsets = accumulate((len(piece) for piece in pieces), initial=0)
    return b"".join(pieces), b"".join(SEGMENT.pack(offset, len(piece)) for offset, piece in zip(offsets, pieces))
