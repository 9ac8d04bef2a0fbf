# SPDX-License-Identifier: Apache-2.0
"""The header of a frame (RFC 8878, section 3.1.1.1), as Python code reads it; rules.py has quick checks of fields."""

from __future__ import annotations

from purepy.zstd.format.error_codes import (
    FRAME_PARAMETER_UNSUPPORTED,
    PREFIX_UNKNOWN,
    WINDOW_TOO_LARGE,
    decoding_error,
)
from purepy.zstd.format.rules import (
    BLOCK_SIZE_MAX,
    CHECKSUM_FLAG,
    MAGIC,
    RESERVED_FLAG,
    SINGLE_SEGMENT_FLAG,
    SKIPPABLE_HEADER_SIZE,
    SKIPPABLE_MAGIC_TAIL,
    UNKNOWN_SIZE,
    WINDOW_LOG_MAX,
    header_fields,
    header_size,
)

MAGIC_NUMBER = int.from_bytes(MAGIC, "little")


class Header:
    """
    The header of a frame. All sizes are in bytes; `size` is the header's own size, with the magic number if it has one.

    `content_size` is None if it is not declared. A skippable frame has `skipped_size` bytes after the header; its
    content and window have the size 0.
    """

    __slots__ = (
        "content_size",
        "dictionary_id",
        "has_checksum",
        "is_skippable",
        "magic_number",
        "size",
        "skipped_size",
        "window_size",
    )

    def __init__(
        self,
        size: int,
        magic_number: int,
        window_size: int = 0,
        content_size: int | None = 0,
        dictionary_id: int = 0,
        has_checksum: bool = False,
        skipped_size: int = 0,
    ) -> None:
        self.size = size
        self.magic_number = magic_number
        self.is_skippable = magic_number != MAGIC_NUMBER
        self.window_size = window_size
        self.content_size = content_size
        self.dictionary_id = dictionary_id
        self.has_checksum = has_checksum
        self.skipped_size = skipped_size

    @property
    def block_size(self) -> int:
        """The largest size of a block, decoded or not (section 3.1.1.2.4, "Block_Maximum_Size")."""
        return min(self.window_size, BLOCK_SIZE_MAX)


def read_header(
    data: bytes | bytearray | memoryview, start: int, end: int, offset: int, magicless: bool = False
) -> Header | int:
    """
    Return the Header at `data[start:end]` or, if it is incomplete, how many bytes from `start` the next try needs.

    `offset` is the position of `start` in the input, for errors. `magicless` frames begin with the descriptor and are
    never skippable. Raises ZstdError for a wrong magic number, even an incomplete one, and for a complete header whose
    reserved bit is set or whose window log exceeds 31, libzstd's maximum.
    """
    at = start
    if not magicless:
        magic = bytes(data[start : min(start + 4, end)])
        if magic[:1] and 0x50 <= magic[0] <= 0x5F and magic[1:] == SKIPPABLE_MAGIC_TAIL[: len(magic) - 1]:
            if end - start < SKIPPABLE_HEADER_SIZE:
                return SKIPPABLE_HEADER_SIZE
            skipped = int.from_bytes(data[start + 4 : start + 8], "little")
            return Header(SKIPPABLE_HEADER_SIZE, int.from_bytes(magic, "little"), skipped_size=skipped)
        if magic != MAGIC[: len(magic)]:
            raise decoding_error(
                PREFIX_UNKNOWN, offset, f"expected a frame's magic number, found the bytes {magic.hex(' ')}"
            )
        at += 4
    if at >= end:
        return at + 1 - start
    descriptor = data[at]
    size = at - start + header_size(descriptor)
    if end - start < size:
        return size  # before the check of the reserved bit, like libzstd: a short header always counts as truncated
    if descriptor & RESERVED_FLAG:
        raise decoding_error(
            FRAME_PARAMETER_UNSUPPORTED, offset + at - start, "reserved bit of the frame header descriptor is not 0"
        )
    window, content_size, dictionary_id = header_fields(data, at)
    log = window.bit_length() - 1
    if log > WINDOW_LOG_MAX and not descriptor & SINGLE_SEGMENT_FLAG:
        raise decoding_error(
            WINDOW_TOO_LARGE, offset + at + 1 - start, f"window log {log} exceeds the maximum of {WINDOW_LOG_MAX}"
        )
    if content_size == UNKNOWN_SIZE:
        content_size = None
    return Header(size, MAGIC_NUMBER, window, content_size, dictionary_id, bool(descriptor & CHECKSUM_FLAG))
