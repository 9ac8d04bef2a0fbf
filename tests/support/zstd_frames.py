# SPDX-License-Identifier: Apache-2.0
"""Hand-made frames that no encoder writes, valid and invalid."""

from __future__ import annotations

MAGIC = b"\x28\xb5\x2f\xfd"
RAW, RLE, COMPRESSED, RESERVED = range(4)


def header(window_log: int = 17, *, mantissa: int = 0, descriptor: int = 0, more: bytes = b"") -> bytes:
    """Return a header with a window; `more` has the other fields that the descriptor announces."""
    return MAGIC + bytes((descriptor, (window_log - 10) << 3 | mantissa)) + more


def block(content: bytes, kind: int = COMPRESSED, size: int | None = None, *, last: bool = True) -> bytes:
    """Return a block with its header; `size` differs from the size of the content for RLE and for wrong headers."""
    value = int(last) | kind << 1 | (len(content) if size is None else size) << 3
    return value.to_bytes(3, "little") + content


def compressed(content: bytes, window_log: int = 17) -> bytes:
    """Return a frame of one compressed block."""
    return header(window_log) + block(content)


def raw_literals(content: bytes) -> bytes:
    """Return a raw literals section with a 3-byte header."""
    return (RAW | 3 << 2 | len(content) << 4).to_bytes(3, "little") + content


def coded_literals(
    size: int, content: bytes, *, size_format: int = 0, kind: int = 2, stored: int | None = None
) -> bytes:
    """
    Return a literals section of `size` literals.

    `kind` is 2 (compressed) or 3 (treeless). Size format 0 means one stream, others four. `stored` replaces the
    compressed size in the header.
    """
    width = (10, 10, 14, 18)[size_format]
    length = (3, 3, 4, 5)[size_format]
    value = kind | size_format << 2 | size << 4 | (len(content) if stored is None else stored) << 4 + width
    return value.to_bytes(length, "little") + content


def weights(*values: int) -> bytes:
    """Return a tree description with weights of 4 bits."""
    padded = [*values, 0] if len(values) & 1 else values
    pairs = zip(padded[::2], padded[1::2])
    return bytes((127 + len(values), *(high << 4 | low for high, low in pairs)))


def bitstream(*fields: tuple[int, int]) -> bytes:
    """Return a bitstream of (value, width) fields, in the order in which decoders read them: from the stream's end."""
    stream = 1
    for value, width in fields:
        stream = stream << width | value
    return stream.to_bytes((stream.bit_length() + 7) // 8, "little")


def forward_bits(*fields: tuple[int, int]) -> bytes:
    """Return bytes of (value, width) fields as in a table description, from the lowest bit of the first byte on."""
    value = at = 0
    for field, width in fields:
        value |= field << at
        at += width
    return value.to_bytes((at + 7) // 8, "little")


def rle_sequences(count: int, codes: tuple[int, int, int], *fields: tuple[int, int]) -> bytes:
    """
    Return a sequences section whose fields have one code each: literals length, offset, match length.

    No state needs bits, so the bitstream consists only of the extra bits.
    """
    size = bytes((count,)) if count < 128 else bytes((128 | count >> 8, count & 255))
    return size + bytes((0b01010100, *codes)) + bitstream(*fields)
