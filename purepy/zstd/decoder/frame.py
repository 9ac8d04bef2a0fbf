# SPDX-License-Identifier: Apache-2.0
"""Information about a frame without decoding it: get_frame_info() and get_frame_size()."""

from __future__ import annotations

from purepy.base.errors import ZstdError
from purepy.zstd.format.error_codes import SRC_SIZE_WRONG, coded_error, corruption, decoding_error
from purepy.zstd.format.header import read_header
from purepy.zstd.format.parameters import FrameInfo
from purepy.zstd.format.rules import ERROR_SIZE
from purepy.zstd.format.scanner import FrameScanner

_INFO_FAILED = (
    "Unable to find a Zstandard frame's header: the buffer must begin with a frame and hold its whole header "
    "(6 to 18 bytes)."
)
_SIZE_FAILED = "Unable to find a Zstandard frame's size: the buffer must begin with a frame and hold all of it."


def _explained(message: str, cause: ZstdError) -> ZstdError:
    error = coded_error(cause.code or SRC_SIZE_WRONG, f"{message} {cause.name}: {cause.detail}", cause.offset)
    error.__cause__ = cause
    return error


def frame_info(data: bytes) -> FrameInfo:
    """Return the FrameInfo of the frame at the start of `data`; raises ZstdError for an incomplete or wrong header."""
    try:
        header = read_header(data, 0, len(data), 0)
        if isinstance(header, int):
            raise decoding_error(
                SRC_SIZE_WRONG, len(data), f"frame header of {header} bytes or more is truncated after {len(data)}"
            )
        if header.content_size == ERROR_SIZE:
            raise corruption(0, f"the declared content size of {ERROR_SIZE} bytes is not possible")
    except ZstdError as exc:
        raise _explained(_INFO_FAILED, exc) from exc
    return FrameInfo(header.content_size, header.dictionary_id)


def frame_size(data: bytes) -> int:
    """
    Return the size in bytes of the frame, or skippable frame, at the start of `data`.

    Raises ZstdError if the header of the frame or of a block is invalid, or if `data` ends before the frame does.
    """
    scanner = FrameScanner(is_strict=False)
    try:
        while not scanner.offset or not scanner.is_between:
            if not scanner.step(data, scanner.offset, len(data)) or scanner.offset > len(data):
                raise decoding_error(SRC_SIZE_WRONG, len(data), f"frame is truncated after {len(data)} bytes")
    except ZstdError as exc:
        raise _explained(_SIZE_FAILED, exc) from exc
    return scanner.offset
