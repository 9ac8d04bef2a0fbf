# SPDX-License-Identifier: Apache-2.0
"""Scan data for frames and their blocks without decompressing (RFC 8878, section 3.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from purepy.base.errors import ZstdError
from purepy.base.reading import read_full
from purepy.zstd.format.error_codes import PREFIX_UNKNOWN, SRC_SIZE_WRONG, corruption, decoding_error
from purepy.zstd.format.header import Header, read_header
from purepy.zstd.format.rules import (
    BLOCK_HEADER_SIZE,
    BLOCK_SIZE_MAX,
    CHECKSUM_SIZE,
    COMPRESSED,
    HEADER_SIZE_MAX,
    RESERVED,
    block_header,
)

if TYPE_CHECKING:
    from purepy.base.types import Seekable

_BLOCK_TYPES = ("raw", "rle", "compressed")


class Block(NamedTuple):
    """
    A block of a frame. `type` is "raw", "rle" or "compressed"; sizes are in bytes, and `size` includes the header.

    `offset` is the header's position in the whole stream. `content_size` is None for a compressed block, because only
    decompression reveals it.
    """

    type: str
    offset: int
    size: int
    content_size: int | None
    is_last: bool


class FrameScanner:
    """
    Follow frame after frame through data that arrives in pieces.

    `step(data, start, end)` moves `offset` past the next part: a frame header, a whole skippable frame, a block, or a
    checksum. `data[start:end]` is the input available from `offset` on; the part may end beyond it. The attributes
    `offset` and `start` count from the beginning of the stream. Without `is_strict`, blocks may be larger than their
    frame allows. With `pads`, zero bytes may follow the frames, but nothing may follow the zeros; `step` moves past all
    available zeros and sets `in_padding`.
    """

    __slots__ = (
        "_block",
        "_is_last",
        "_is_strict",
        "_pads",
        "block_max",
        "content_max",
        "header",
        "in_padding",
        "is_between",
        "offset",
        "start",
    )

    def __init__(self, offset: int = 0, is_strict: bool = True, pads: bool = False) -> None:
        self.offset = offset
        """The position of the next part: a frame's header, a block, a checksum or padding."""
        self.start = offset
        """The position of the current frame, or of the padding."""
        self.header: Header | None = None
        self.is_between = True
        """Whether `offset` is not inside a frame: at the beginning, and after the end of each frame."""
        self.block_max = 0
        self.content_max = 0
        """The most content, in bytes, that the current frame's blocks so far can have."""
        self.in_padding = False
        self._pads = pads
        self._block: tuple[int, int, int, int] | None = None
        self._is_last = False
        self._is_strict = is_strict

    @property
    def wanted(self) -> int:
        """A number of bytes that is enough for the next step, unless the data ends before."""
        return HEADER_SIZE_MAX if self.is_between else BLOCK_HEADER_SIZE

    @property
    def block(self) -> Block | None:
        """The block that the last step moved past; None if that part was not a block."""
        if self._block is None:
            return None
        kind, offset, size, content = self._block
        return Block(_BLOCK_TYPES[kind], offset, size, None if kind == COMPRESSED else content, self._is_last)

    def step(self, data: bytes | bytearray | memoryview, start: int, end: int) -> bool:
        """
        Move `offset` past the next part and return True; return False if more bytes are needed to know the part's size.

        Raises ZstdError for an invalid header. With `pads`, `data[start:end]` must not be empty.
        """
        self._block = None
        if self.is_between:
            if self._pads and self.offset and (self.in_padding or not data[start]):  # no magic number starts with 0
                self._pass_zeros(bytes(data[start:end]))
                return True
            header = read_header(data, start, min(end, start + HEADER_SIZE_MAX), self.offset)
            if isinstance(header, int):
                return False
            self.header, self.start = header, self.offset
            self.content_max = 0
            self.block_max = min(BLOCK_SIZE_MAX, header.window_size)
            self.is_between = header.is_skippable
            self._is_last = False
            self.offset += header.size + header.skipped_size
            return True
        if self._is_last:
            self.is_between = True
            self.offset += CHECKSUM_SIZE
            return True
        if end - start < BLOCK_HEADER_SIZE:
            return False
        is_last, kind, size, stored = block_header(data, start)
        if kind == RESERVED:
            raise self._damaged("has the reserved type")
        if size > self.block_max and self._is_strict:
            raise self._damaged(f"has {size} bytes, more than the {self.block_max} of its frame")
        self._is_last = is_last
        if is_last and self.header is not None and not self.header.has_checksum:
            self.is_between = True
        self.content_max += self.block_max if kind == COMPRESSED else size
        self._block = kind, self.offset, BLOCK_HEADER_SIZE + stored, size
        self.offset += BLOCK_HEADER_SIZE + stored
        return True

    def _pass_zeros(self, data: bytes) -> None:
        if not self.in_padding:
            self.in_padding, self.start = True, self.offset
        if data.strip(b"\0"):
            raise decoding_error(PREFIX_UNKNOWN, self.start, "expected a frame, found zeros and then other bytes")
        self.offset += len(data)

    def _damaged(self, what: str) -> ZstdError:
        return corruption(self.offset, f"block {what}")


def frame_extent(read: Callable[[int, int], bytes], offset: int, content_max: int) -> tuple[int, int] | None:
    """
    Return the sizes in bytes of the frame at `offset` and of its content, found from headers alone.

    `read(size, offset)` returns up to `size` bytes of the file. Returns None if the frame does not declare its
    content's size, if it declares more than its blocks can hold, if the declared size or the most that the blocks can
    hold exceeds `content_max`, or if the file ends before or in one of the headers. The content of the last block and
    the checksum are not read, so they may be missing. Raises ZstdError for an invalid header of a frame or block.
    """
    scanner = FrameScanner(offset)
    while True:
        data = read(scanner.wanted, scanner.offset)
        if not scanner.step(data, 0, len(data)):
            return None
        header = scanner.header
        if header is None or header.content_size is None or max(header.content_size, scanner.content_max) > content_max:
            return None
        if scanner.is_between:
            reaches = header.is_skippable or header.content_size <= scanner.content_max
            return (scanner.offset - offset, header.content_size) if reaches else None


class Frame(NamedTuple):
    """
    A frame, as its header and the headers of its blocks describe it; sizes are in bytes, `offset` is in the whole file.

    `content_size` is None if the header does not declare it; `content_max` is the most that its blocks can hold.
    `checksum` is the stored checksum, an unsigned 32-bit integer, or None if the frame has none. A skippable frame has
    no blocks; the sizes of its content and window are 0.
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


def scan_frames(file: Seekable, with_blocks: bool = True, is_strict: bool = True) -> Iterator[Frame]:
    """
    Yield the frames of a seekable binary file from its beginning, without decompressing.

    Without `with_blocks`, the `blocks` of frames are empty. Without `is_strict`, blocks may be larger than their frame
    allows. Raises ZstdError for invalid headers of frames or blocks, for truncated data, and for zero bytes after
    frames.
    """

    def read(size: int, offset: int) -> bytes:
        file.seek(offset)
        return read_full(file, size)

    end = file.seek(0, 2)
    scanner = FrameScanner(is_strict=is_strict)
    blocks: list[Block] = []
    while scanner.offset < end or not scanner.is_between:
        begin = scanner.offset if scanner.is_between else scanner.start
        data = read(scanner.wanted, scanner.offset)
        if not scanner.step(data, 0, len(data)) or scanner.offset > end:
            raise decoding_error(SRC_SIZE_WRONG, begin, "the data ends inside the frame")
        block = scanner.block if with_blocks else None
        if block is not None:
            blocks.append(block)
        header = scanner.header
        if not scanner.is_between or header is None:
            continue
        checksum = None
        if header.has_checksum:
            checksum = int.from_bytes(read(CHECKSUM_SIZE, scanner.offset - CHECKSUM_SIZE), "little")
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
