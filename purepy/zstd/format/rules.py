# SPDX-License-Identifier: Apache-2.0
"""
The format of Zstandard frames (RFC 8878, section 3.1): constants, and rules that several modules share.

The module imports nothing, so that testing whether bytes are a frame loads no other module.
"""

from __future__ import annotations

MAGIC = b"\x28\xb5\x2f\xfd"
SKIPPABLE_MAGIC_TAIL = b"\x2a\x4d\x18"
"""Bytes 2 to 4 of a skippable frame; byte 1 is 0x50 to 0x5F (section 3.1.2)."""
DICTIONARY_MAGIC = b"\x37\xa4\x30\xec"
"""The first bytes of a dictionary with tables and an id (section 5); any other content is raw."""

SKIPPABLE_HEADER_SIZE = 8
HEADER_SIZE_MAX = 18
"""The largest size of a frame's header, with the magic number."""
CHECKSUM_SIZE = 4

# The frame header descriptor (section 3.1.1.1.1): two fields of two bits, which encode the sizes of header fields, and
# flags of one bit.
DICTIONARY_ID_SIZES = (0, 1, 2, 4)
"""The size of the field in bytes, indexed by bits 0 and 1."""
CHECKSUM_FLAG = 0x04
RESERVED_FLAG = 0x08
SINGLE_SEGMENT_FLAG = 0x20
CONTENT_SIZE_SIZES = (0, 2, 4, 8)
"""The size of the field in bytes, indexed by bits 6 and 7; in a single segment, 1 instead of 0."""

UNKNOWN_SIZE = 2**64 - 1
"""The content size that libzstd returns for a header that declares none."""
ERROR_SIZE = 2**64 - 2
"""The content size that libzstd returns if there is no valid header; smaller values are sizes."""

WINDOW_LOG_MIN = 10
WINDOW_LOG_MAX = 31
"""libzstd's limit on 64-bit machines; the format would allow 41."""

# Blocks (section 3.1.1.2).
BLOCK_HEADER_SIZE = 3
BLOCK_SIZE_MAX = 128 << 10
LEVEL_MIN, LEVEL_MAX = -BLOCK_SIZE_MAX, 22
"""libzstd's levels; the absolute value of a negative level is about the step, in bytes, of the search in a block."""
RAW, RLE, COMPRESSED, RESERVED = range(4)

CONTINUE, FLUSH_BLOCK, FLUSH_FRAME = 0, 1, 2
"""How a compressor continues after a chunk: libzstd's ZSTD_EndDirective."""

DECLARED_SIZE_TRUST = 1 << 30
HINT_TRUST = 64 << 20


def is_frame(data: bytes | bytearray | memoryview) -> bool:
    """Return whether `data` starts with the magic number of a Zstandard frame or of a skippable frame."""
    head = bytes(data[:4])
    return head == MAGIC or (head[1:] == SKIPPABLE_MAGIC_TAIL and 0x50 <= head[0] <= 0x5F)


def header_size(descriptor: int) -> int:
    """Return the size of a frame header with this descriptor, including the descriptor but not the magic number."""
    is_single = 1 if descriptor & SINGLE_SEGMENT_FLAG else 0
    return 2 - is_single + DICTIONARY_ID_SIZES[descriptor & 3] + (CONTENT_SIZE_SIZES[descriptor >> 6] or is_single)


def header_fields(data: bytes | bytearray | memoryview, at: int) -> tuple[int, int | None, int]:
    """
    Return the window size and the declared content size (or None), in bytes, and the dictionary id (0 for none).

    `at` is the position of the descriptor; `data` must contain the whole header (section 3.1.1.1). In a single segment,
    the window size is the content size. A declared size that equals UNKNOWN_SIZE is returned as it is.
    """
    descriptor = data[at]
    end = at + header_size(descriptor)
    window = 0
    at += 1
    if not descriptor & SINGLE_SEGMENT_FLAG:
        window = window_size(data[at])
        at += 1
    content = at + DICTIONARY_ID_SIZES[descriptor & 3]
    dictionary_id = int.from_bytes(data[at:content], "little")
    if content == end:
        return window, None, dictionary_id
    # a size in two bytes is stored less 256
    size = int.from_bytes(data[content:end], "little") + (256 if end - content == 2 else 0)
    return size if descriptor & SINGLE_SEGMENT_FLAG else window, size, dictionary_id


def block_header(data: bytes | bytearray | memoryview, at: int) -> tuple[bool, int, int, int]:
    """
    Return whether the block at `data[at:]` is the last, its type, its size field, and how many bytes follow its header.

    The size field of an RLE block is the number of repetitions of the one byte that follows.
    """
    header = data[at] | data[at + 1] << 8 | data[at + 2] << 16
    kind, size = header >> 1 & 3, header >> 3
    return bool(header & 1), kind, size, 1 if kind == RLE else size


def window_size(descriptor: int) -> int:
    """Return the window size in bytes that a window descriptor encodes (section 3.1.1.1.2)."""
    base = 1 << (WINDOW_LOG_MIN + (descriptor >> 3))
    return base + (base >> 3) * (descriptor & 7)


def frame_window(data: bytes | memoryview, start: int, content_size: int) -> int:
    """
    Return the window size in bytes of the frame at `data[start:]`, whose header is complete and has a magic number.

    For a single segment, the window size is `content_size`, the declared size of the content.
    """
    return content_size if data[start + 4] & SINGLE_SEGMENT_FLAG else window_size(data[start + 5])


def may_ask_for_more(data: bytes | memoryview, start: int, window_max: int) -> bool:
    """
    Return whether the frame at `data[start:]` may require a window of more than `window_max` bytes: a quick check.

    False means that it requires no larger window, or that `data` has fewer than six bytes of the frame. True may be
    wrong. The frame has a magic number. A single segment requires the size of its content; a size stored in 1 or 2
    bytes is at most 65,791. For other windows, twice the size given by the exponent is assumed, an upper bound.
    """
    if len(data) < start + 6:
        return False
    descriptor = data[start + 4]
    if descriptor & SINGLE_SEGMENT_FLAG:
        return descriptor >= 0x80 or window_max < 1 << 17
    return 2 << (WINDOW_LOG_MIN + (data[start + 5] >> 3)) > window_max


def content_size_max(size: int) -> int:
    """Return an upper bound in bytes for the content of `size` bytes of frames: a block of 4 bytes can hold 128 KiB."""
    return (size // 4 + 1) * BLOCK_SIZE_MAX


def is_trusted(declared: int, size: int) -> bool:
    """
    Return whether to allocate `declared` bytes, the declared content size of `size` bytes of frames, at once.

    A wrong size would waste memory, so only sizes up to 1 GiB or, if larger, up to 64 times `size` are trusted.
    """
    return declared <= max(DECLARED_SIZE_TRUST, 64 * size)


def trusted_hint(hint: int, size: int) -> int:
    """
    Return how many bytes to allocate at once for the content of `size` bytes of input.

    The result is `hint`, the caller's estimate, but at most 64 MiB or, if larger, 32 times `size`, and never more than
    the most content that so much input can have.
    """
    return min(hint, max(HINT_TRUST, 32 * size), content_size_max(size))
