# SPDX-License-Identifier: Apache-2.0
"""Frames (RFC 8878 section 3.1): headers, skippable frames, and what can be told without decoding."""

from __future__ import annotations

from purepy._buffers import as_bytes
from purepy.errors import ZstdError
from purepy.zstd.common.error_codes import (
    CORRUPTION_DETECTED,
    FRAME_PARAMETER_UNSUPPORTED,
    PREFIX_UNKNOWN,
    SRC_SIZE_WRONG,
    WINDOW_TOO_LARGE,
    coded_error,
    decoding_error,
)
from purepy.zstd.common.parameters import FrameInfo
from purepy.zstd.decoder.block import read_block_header
from purepy.zstd_format import (
    BLOCK_HEADER_SIZE,
    BLOCK_SIZE_MAX,
    CHECKSUM_FLAG,
    CHECKSUM_SIZE,
    ERROR_SIZE,
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

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class FrameHeader:
    """
    A frame's header (section 3.1.1.1), `size` bytes of it, the magic number included.

    `content_size` is None if the header does not have it. A skippable frame has `skippable` set and the number of
    bytes to skip as `content_size`.
    """

    __slots__ = ("checksum", "content_size", "dictionary_id", "size", "skippable", "window_size")

    def __init__(
        self,
        size: int,
        window_size: int,
        content_size: int | None,
        dictionary_id: int,
        checksum: bool,
        skippable: bool = False,
    ) -> None:
        self.size = size
        self.window_size = window_size
        self.content_size = content_size
        self.dictionary_id = dictionary_id
        self.checksum = checksum
        self.skippable = skippable

    @property
    def block_size(self) -> int:
        """The most that a block may hold, decoded or not (section 3.1.1.2.4, "Block_Maximum_Size")."""
        return min(self.window_size, BLOCK_SIZE_MAX)


def read_header(data: bytes, start: int, end: int, offset: int, magicless: bool = False) -> FrameHeader | int:
    """
    Read the header at `data[start:end]`, or return how many bytes from `start` on it takes at least.

    `offset` is its place in the input. `magicless` frames begin with the descriptor; among them are no skippable ones.
    Raises ZstdError as soon as the bytes at hand cannot begin a frame.
    """
    at = start
    if not magicless:
        magic = data[start : min(start + 4, end)]
        if magic[:1] and 0x50 <= magic[0] <= 0x5F and magic[1:] == SKIPPABLE_MAGIC_TAIL[: len(magic) - 1]:
            if end - start < SKIPPABLE_HEADER_SIZE:
                return SKIPPABLE_HEADER_SIZE
            size = int.from_bytes(data[start + 4 : start + 8], "little")
            return FrameHeader(SKIPPABLE_HEADER_SIZE, 0, size, 0, False, skippable=True)
        if magic != MAGIC[: len(magic)]:
            raise decoding_error(PREFIX_UNKNOWN, offset, f"no frame begins with the bytes {magic.hex(' ')}")
        at += 4
    if at >= end:
        return at + 1 - start
    descriptor = data[at]
    size = at - start + header_size(descriptor)
    if end - start < size:
        return size  # before the reserved bit is looked at, as libzstd does: a short file is cut, whatever it holds
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
    return FrameHeader(size, window, content_size, dictionary_id, bool(descriptor & CHECKSUM_FLAG))


_INFO_FAILED = (
    "Error when getting information from the header of a Zstandard frame. Ensure the frame_buffer argument starts from "
    "the beginning of a frame, and its length is not less than the frame header (6~18 bytes)."
)
_SIZE_FAILED = (
    "Error when finding the compressed size of a Zstandard frame. Ensure the frame_buffer argument starts from the "
    "beginning of a frame, and its length is not less than this complete frame."
)


def _explained(message: str, cause: ZstdError) -> ZstdError:
    error = coded_error(cause.code or SRC_SIZE_WRONG, f"{message} {cause.name}: {cause.detail}", cause.offset)
    error.__cause__ = cause
    return error


def _complete_header(data: bytes) -> FrameHeader:
    header = read_header(data, 0, len(data), 0)
    if isinstance(header, int):
        raise decoding_error(
            SRC_SIZE_WRONG, len(data), f"frame header of {header} bytes or more is cut after {len(data)}"
        )
    return header


def get_frame_info(frame_buffer: Any) -> FrameInfo:
    """
    Return what the header of the frame at the start of `frame_buffer` tells (replaces
    `compression.zstd.get_frame_info`).

    A skippable frame gives a size and a dictionary id of 0. Raises ZstdError for what does not begin a frame, and for
    a header that is cut.
    """
    try:
        header = _complete_header(as_bytes(frame_buffer))
        if header.content_size == ERROR_SIZE:
            raise decoding_error(CORRUPTION_DETECTED, 0, f"no content has the declared {ERROR_SIZE} bytes")
    except ZstdError as exc:
        raise _explained(_INFO_FAILED, exc) from exc
    return FrameInfo(0 if header.skippable else header.content_size, header.dictionary_id)


def get_frame_size(frame_buffer: Any) -> int:
    """
    Return the size in bytes of the frame at the start of `frame_buffer`, header and checksum included (replaces
    `compression.zstd.get_frame_size`).

    Nothing is decoded; what follows the frame does not matter. Raises ZstdError if the frame is not complete.
    """
    try:
        return _frame_size(as_bytes(frame_buffer))
    except ZstdError as exc:
        raise _explained(_SIZE_FAILED, exc) from exc


def _frame_size(data: bytes) -> int:
    header = _complete_header(data)
    at = header.size
    if header.skippable:
        at += header.content_size or 0
    else:
        last = False
        while not last:
            if at + BLOCK_HEADER_SIZE > len(data):
                raise decoding_error(SRC_SIZE_WRONG, len(data), "frame is cut before a block header")
            last, _, _, stored = read_block_header(data, at, at)
            at += BLOCK_HEADER_SIZE + stored
        if header.checksum:
            at += CHECKSUM_SIZE
    if at > len(data):
        raise decoding_error(SRC_SIZE_WRONG, len(data), f"frame of {at} bytes or more is cut after {len(data)}")
    return at
