# SPDX-License-Identifier: Apache-2.0
"""Frame headers (RFC 8878, section 3.1.1.1), in the form of python-zstandard."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpkg.zstandard.arguments import rename
from cpkg.zstandard.constants import CONTENTSIZE_UNKNOWN, FORMAT_ZSTD1, FORMAT_ZSTD1_MAGICLESS
from purepy.base.buffers import view_of
from purepy.base.errors import ZstdError
from purepy.zstd.format.error_codes import NAMES, SRC_SIZE_WRONG, coded_error, located
from purepy.zstd.format.header import Header, read_header
from purepy.zstd.format.rules import HEADER_SIZE_MAX, MAGIC, header_size

if TYPE_CHECKING:
    from typing_extensions import Buffer


class FrameParameters:
    """
    The fields of a frame's header (replaces `zstandard.FrameParameters`).

    `content_size` and `window_size` are in bytes. `content_size` is CONTENTSIZE_UNKNOWN if the header does not declare
    it, and the size of the skipped data for a skippable frame. `dict_id` is 0 if the header names no dictionary.
    `has_checksum` is whether a checksum ends the frame.
    """

    __slots__ = ("content_size", "dict_id", "has_checksum", "window_size")

    content_size: int
    window_size: int
    dict_id: int
    has_checksum: bool

    def __init__(self, header: Header) -> None:
        size = header.skipped_size if header.is_skippable else header.content_size
        self.content_size = CONTENTSIZE_UNKNOWN if size is None else size
        self.window_size = header.window_size
        self.dict_id = header.dictionary_id
        self.has_checksum = header.has_checksum

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={getattr(self, name)}" for name in self.__slots__)
        return f"FrameParameters({fields})"


def header_of(data: Buffer, magicless: bool = False) -> Header | int:
    """
    Return the header at the start of a buffer.

    If the buffer ends inside the header, returns the least possible size of the header in bytes.
    Raises ZstdError if the data is not a frame.
    """
    head = bytes(view_of(data)[:HEADER_SIZE_MAX])
    return read_header(head, 0, len(head), 0, magicless)


def get_frame_parameters(data: Buffer, format: int = FORMAT_ZSTD1) -> FrameParameters:
    """
    Return the fields of the header at the start of `data`, a buffer.

    `format` is FORMAT_ZSTD1 or FORMAT_ZSTD1_MAGICLESS. 18 bytes are enough for every header. Raises ZstdError if the
    data is shorter than the header, or does not start with a frame, and ValueError for another format. Replaces
    `zstandard.get_frame_parameters`.
    """
    if format not in (FORMAT_ZSTD1, FORMAT_ZSTD1_MAGICLESS):
        raise ValueError(f"format must be FORMAT_ZSTD1 or FORMAT_ZSTD1_MAGICLESS, not {format!r}")
    try:
        header = header_of(data, format == FORMAT_ZSTD1_MAGICLESS)
    except ZstdError as exc:
        raise rename(exc, "cannot get frame parameters") from exc
    if isinstance(header, int):
        raise located(ZstdError(f"not enough data for frame parameters; need {header} bytes"), 0)
    return FrameParameters(header)


def frame_content_size(data: Buffer) -> int:
    """
    Return the content size in bytes that the header at the start of `data` declares, or -1 if it declares none.

    The result is 0 for a skippable frame. Raises ZstdError if the header is truncated, or the data does not start with
    a frame. Replaces `zstandard.frame_content_size`.
    """
    try:
        header = header_of(data)
    except ZstdError as exc:
        raise rename(exc, "error when determining content size") from exc
    if isinstance(header, int):
        raise coded_error(SRC_SIZE_WRONG, "error when determining content size: the frame's header is truncated", 0)
    return -1 if header.content_size is None else header.content_size


def frame_header_size(data: Buffer) -> int:
    """
    Return the size in bytes of the header at the start of `data`, with its magic number; reads only the fifth byte.

    Raises ZstdError for fewer than 5 bytes. Replaces `zstandard.frame_header_size`.
    """
    view = view_of(data)
    if len(view) <= len(MAGIC):
        raise coded_error(SRC_SIZE_WRONG, f"could not determine frame header size: {NAMES[SRC_SIZE_WRONG]}", 0)
    return len(MAGIC) + header_size(view[len(MAGIC)])
