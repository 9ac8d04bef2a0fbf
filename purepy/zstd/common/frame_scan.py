# SPDX-License-Identifier: Apache-2.0
"""
Where frames and their blocks begin and end, without decompressing (RFC 8878, section 3.1).

What a header says is read by one function; `FrameScanner` goes over frames whose bytes come in pieces.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from purepy._reading import read_full
from purepy.errors import ZstdError
from purepy.zstd_format import (
    BLOCK_HEADER_SIZE,
    BLOCK_SIZE_MAX,
    CHECKSUM_FLAG,
    CHECKSUM_SIZE,
    COMPRESSED,
    HEADER_SIZE_MAX,
    MAGIC,
    RAW,
    RESERVED,
    RESERVED_FLAG,
    RLE,
    SKIPPABLE_HEADER_SIZE,
    block_header,
    header_fields,
    header_size,
    is_frame,
)

_CHUNK = 256 << 10
_SHORTEST_HEADER = 5  # magic number and descriptor: then the size of the header is known
_MAGIC_NUMBER = int.from_bytes(MAGIC, "little")


class Header(NamedTuple):
    """The header of a frame, all sizes in bytes; a skippable frame has `content_size` 0 and `skipped_size`."""

    size: int
    is_skippable: bool
    magic_number: int
    window_size: int
    content_size: int | None
    dictionary_id: int
    has_checksum: bool
    skipped_size: int


def no_frame(offset: int, why: str) -> ZstdError:
    """Make the error of bytes that are no frame."""
    exc = ZstdError(f"there is no Zstandard frame at byte {offset}: {why}")
    exc.offset = offset
    return exc


def read_header(data: bytes | bytearray | memoryview, start: int, end: int, offset: int) -> Header | None:
    """
    Read the header at `data[start:end]`; None if it does not end there.

    Raises ZstdError, which says `offset`, for what is no header.
    """
    size = end - start
    if size < 4:
        return None
    magic = int.from_bytes(data[start : start + 4], "little")
    if magic != _MAGIC_NUMBER:
        if not is_frame(data[start : start + 4]):
            raise no_frame(offset, f"it begins with {magic:#010x}")
        if size < SKIPPABLE_HEADER_SIZE:
            return None
        skipped = int.from_bytes(data[start + 4 : start + 8], "little")
        return Header(SKIPPABLE_HEADER_SIZE, True, magic, 0, 0, 0, False, skipped)
    if size < _SHORTEST_HEADER:
        return None
    descriptor = data[start + 4]
    if descriptor & RESERVED_FLAG:
        raise no_frame(offset, f"its descriptor {descriptor:#04x} has the reserved bit set")
    taken = len(MAGIC) + header_size(descriptor)
    if size < taken:
        return None
    window, content, dictionary_id = header_fields(data, start + len(MAGIC))
    return Header(taken, False, magic, window, content, dictionary_id, bool(descriptor & CHECKSUM_FLAG), 0)


class Block(NamedTuple):
    """
    A block of a frame: `type` is "raw", "rle" or "compressed"; `offset` and `size` are with its header.

    `content_size` is None for a compressed block: only decompressing tells.
    """

    type: str
    offset: int
    size: int
    content_size: int | None
    is_last: bool


class FrameScanner:
    """
    Follow one frame after the other through data that comes in pieces.

    `step(data, start, end)` looks at `data[start:end]`, the rest of what has come, and says how many bytes the frame or
    block header there, and what belongs to it, take. All positions are in the whole of the data.
    """

    __slots__ = ("_is_last", "block_max", "blocks", "content_max", "header", "is_between", "offset", "start")

    def __init__(self, offset: int = 0) -> None:
        self.offset = offset
        """Where the next thing begins: a frame, a block or a checksum."""
        self.start = offset
        """Where the frame begins."""
        self.header: Header | None = None
        self.is_between = True
        """Whether the last frame is complete."""
        self.blocks = 0
        self.block_max = 0
        self.content_max = 0
        """The most content that the blocks so far can have."""
        self._is_last = False

    def step(self, data: Any, start: int, end: int) -> tuple[int, Block | None] | None:
        """
        Return how many bytes the next thing takes, perhaps more than there are, and the block if it is one.

        None if it takes more bytes to tell. Raises ZstdError for what cannot be.
        """
        if self.is_between:
            header = read_header(data, start, min(end, start + HEADER_SIZE_MAX), self.offset)
            if header is None:
                return None
            self.header, self.start = header, self.offset
            self.blocks = self.content_max = 0
            self.block_max = min(BLOCK_SIZE_MAX, header.window_size)
            self.is_between = header.is_skippable
            self._is_last = False
            return self._passed(header.size + header.skipped_size), None
        header = self.header
        assert header is not None
        if self._is_last:
            self.is_between = True
            return self._passed(CHECKSUM_SIZE), None
        if end - start < BLOCK_HEADER_SIZE:
            return None
        is_last, kind, size, stored = block_header(data, start)
        if kind == RESERVED or size > self.block_max:
            what = "has the reserved type" if kind == RESERVED else f"has {size} bytes, more than {self.block_max}"
            exc = ZstdError(f"the frame at byte {self.start} is damaged: its block at byte {self.offset} {what}")
            exc.offset = self.offset
            raise exc
        self.blocks += 1
        self._is_last = is_last
        if is_last and not header.has_checksum:
            self.is_between = True
        taken = BLOCK_HEADER_SIZE + stored
        content = None if kind == COMPRESSED else size
        self.content_max += self.block_max if content is None else content
        name = "raw" if kind == RAW else "rle" if kind == RLE else "compressed"
        offset = self.offset
        return self._passed(taken), Block(name, offset, taken, content, is_last)

    def _passed(self, size: int) -> int:
        self.offset += size
        return size


def frame_extent(read: Callable[[int, int], bytes], offset: int, content_max: int) -> tuple[int, int] | None:
    """
    Return the size of the frame at `offset` and that of its content, as FrameScanner would find them, in bytes.

    `read(size, offset)` reads from the file. None if the frame does not declare its content's size, or more than its
    blocks can hold, if either can be more than `content_max`, or if the headers end early. Raises ZstdError for what is
    no frame. It reads the headers alone and makes no object of a block: a file has some 10,000 of them per GiB.
    """
    data = read(HEADER_SIZE_MAX, offset)
    header = read_header(data, 0, len(data), offset)
    if header is None or header.content_size is None or header.content_size > content_max:
        return None
    if header.is_skippable:
        return header.size + header.skipped_size, 0
    block_max = min(BLOCK_SIZE_MAX, header.window_size)
    end = offset + header.size
    reach = 0
    is_last = False
    while not is_last:
        data = read(BLOCK_HEADER_SIZE, end)
        if len(data) < BLOCK_HEADER_SIZE:
            return None
        is_last, kind, size, stored = block_header(data, 0)
        reach += block_max if kind == COMPRESSED else size
        if kind == RESERVED or size > block_max or reach > content_max:
            return None
        end += BLOCK_HEADER_SIZE + stored
    if header.content_size > reach:
        return None
    return end + (CHECKSUM_SIZE if header.has_checksum else 0) - offset, header.content_size


class Frame(NamedTuple):
    """
    A frame, as its header and the headers of its blocks tell of it; sizes in bytes, `offset` in the whole file.

    `content_size` is None if the header does not declare it, `content_max` what its blocks can hold at most, `checksum`
    None if there is none. A skippable frame has no blocks, no content and no window.
    """

    offset: int
    size: int
    header_size: int
    is_skippable: bool
    magic_number: int
    content_size: int | None
    content_max: int
    window_size: int
    dictionary_id: int
    checksum: int | None
    blocks: tuple[Block, ...]


def scan_frames(file: Any, with_blocks: bool = True) -> Iterator[Frame]:
    """
    Yield the frames of a binary file that can seek, from its beginning, without decompressing.

    Frames have no `blocks` if these are not wanted. Raises ZstdError for what is no frame, or not a whole one.
    """
    end = file.seek(0, 2)
    scanner = FrameScanner()
    data, begin = b"", 0
    blocks: list[Block] = []
    while scanner.offset < end or not scanner.is_between:
        position = scanner.offset - begin
        # of a checksum that is passed over, its bytes are wanted
        room = CHECKSUM_SIZE if not scanner.is_between else 0
        step = None
        if position + room <= len(data) or begin + len(data) >= end:
            step = scanner.step(data, position, len(data)) if position <= len(data) else None
        if step is None:
            if scanner.offset >= end or (begin == scanner.offset and begin + len(data) >= end):
                raise _cut(scanner.start if not scanner.is_between else scanner.offset)
            begin = scanner.offset
            file.seek(begin)
            data = read_full(file, _CHUNK)
            if len(data) < min(_CHUNK, end - begin):  # it is being cut meanwhile
                raise _cut(scanner.start)
            continue
        if step[1] is not None and with_blocks:
            blocks.append(step[1])
        header = scanner.header
        if not scanner.is_between or header is None:
            continue
        if scanner.offset > end:
            raise _cut(scanner.start)
        checksum = None
        if header.has_checksum:
            at = scanner.offset - begin - CHECKSUM_SIZE
            checksum = int.from_bytes(data[at : at + CHECKSUM_SIZE], "little")
        yield Frame(
            scanner.start,
            scanner.offset - scanner.start,
            header.size,
            header.is_skippable,
            header.magic_number,
            header.content_size,
            scanner.content_max,
            header.window_size,
            header.dictionary_id,
            checksum,
            tuple(blocks),
        )
        blocks = []


def _cut(offset: int) -> ZstdError:
    exc = ZstdError(f"the data ends inside the frame at byte {offset}")
    exc.offset = offset
    return exc
