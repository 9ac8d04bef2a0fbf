# SPDX-License-Identifier: Apache-2.0
"""Frame and block headers for writing (RFC 8878, sections 3.1.1.1 and 3.1.1.2)."""

from __future__ import annotations

from purepy.zstd.format.rules import CHECKSUM_FLAG, MAGIC, SINGLE_SEGMENT_FLAG, WINDOW_LOG_MIN


def frame_header(
    window_log: int,
    content_size: int | None,
    dict_id: int = 0,
    *,
    checksum: bool = False,
    magicless: bool = False,
) -> bytes:
    """
    Return a frame header; `content_size` is in bytes, None if it is not to be declared.

    If it is given and fits into the window, the frame is a single segment: the content size then replaces the window
    size (section 3.1.1.1.2). A `dict_id` of 0 is not written.
    """
    single_segment = content_size is not None and content_size <= 1 << window_log
    size_field = b""
    size_flag = 0
    if content_size is not None:
        if content_size < 256:
            size_field = bytes((content_size,)) if single_segment else b""
        elif content_size < 65536 + 256:
            size_flag, size_field = 1, (content_size - 256).to_bytes(2, "little")
        elif content_size < 0xFFFFFFFF:
            size_flag, size_field = 2, content_size.to_bytes(4, "little")
        else:
            size_flag, size_field = 3, content_size.to_bytes(8, "little")
    if dict_id == 0:
        dict_flag, dict_field = 0, b""
    elif dict_id < 1 << 8:
        dict_flag, dict_field = 1, dict_id.to_bytes(1, "little")
    elif dict_id < 1 << 16:
        dict_flag, dict_field = 2, dict_id.to_bytes(2, "little")
    else:
        dict_flag, dict_field = 3, dict_id.to_bytes(4, "little")
    descriptor = size_flag << 6 | SINGLE_SEGMENT_FLAG * single_segment | CHECKSUM_FLAG * checksum | dict_flag
    window = b"" if single_segment else bytes(((window_log - WINDOW_LOG_MIN) << 3,))
    return b"".join((b"" if magicless else MAGIC, bytes((descriptor,)), window, dict_field, size_field))


def block_header(kind: int, size: int, last: bool) -> bytes:
    """
    Return a block header.

    `size` is how many bytes follow the header or, for an RLE block, how many times its one byte is repeated.
    """
    return (last | kind << 1 | size << 3).to_bytes(3, "little")
