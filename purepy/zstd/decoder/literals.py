# SPDX-License-Identifier: Apache-2.0
"""The literals section of a compressed block (RFC 8878 section 3.1.1.3.1)."""

from __future__ import annotations

from purepy.base.pypy import JIT
from purepy.zstd.decoder.bits import PADDING, PADDING_SIZE, load
from purepy.zstd.decoder.huffman import HuffmanTable, decode_pair, decode_stream, read_tree
from purepy.zstd.format.error_codes import DICTIONARY_CORRUPTED, LITERALS_HEADER_WRONG, corruption, decoding_error

RAW, RLE, COMPRESSED, TREELESS = range(4)

_KINDS = ("raw", "RLE", "compressed", "treeless")


class Literals:
    """
    The literals of a block: `size` bytes of `data` from `start` on.

    Eight bytes after them are readable. `after` is the position, in the block's own buffer, of the byte after the
    section; `table` is the current Huffman table, or None.
    """

    __slots__ = ("after", "data", "size", "start", "table")

    def __init__(self, data: bytes, start: int, size: int, after: int, table: HuffmanTable | None) -> None:
        self.data = data
        self.start = start
        self.size = size
        self.after = after
        self.table = table


def read_literals(
    data: bytes, start: int, end: int, origin: int, max_size: int, table: HuffmanTable | None
) -> Literals:
    """
    Decode the literals section at the start of the block `data[start:end]`.

    `table` is the table of an earlier block or of the dictionary, for treeless literals, or None.
    `max_size` is the most bytes that a block of this frame may contain. `origin` is the input offset of `data[0]`, for
    errors. Raises ZstdError for damaged data.
    """
    # Section 3.1.1.3.1.1: a header of 1 to 5 bytes: type, size format, size, and for coded types their coded size.
    kind = data[start] & 3
    size_format = data[start] >> 2 & 3
    header = load(data, start)[0]
    coded = kind >= COMPRESSED
    if coded:
        header_size = 3 if size_format < 2 else 2 + size_format
        width = (10, 10, 14, 18)[size_format]
        size = header >> 4 & (1 << width) - 1
        coded_size = header >> 4 + width & (1 << width) - 1
    else:
        header_size = (1, 2, 1, 3)[size_format]
        size = header >> (4 if size_format & 1 else 3) & (31, 0xFFF, 31, 0xFFFFF)[size_format]
        coded_size = size if kind == RAW else 1
    at = start + header_size
    after = at + coded_size
    if size > max_size:
        raise corruption(origin + start, f"{size} literals exceed the block's maximum of {max_size}")
    if after > end:
        raise corruption(
            origin + start,
            f"{_KINDS[kind]} literals section of {header_size + coded_size} bytes exceeds its block of {end - start}",
        )
    if kind == RAW:
        return Literals(data, at, size, after, table)
    if kind == RLE:
        return Literals(data[at:after] * size + PADDING, 0, size, after, table)
    if kind == COMPRESSED:
        table, at = read_tree(data, at, after, origin)
    elif table is None:
        raise decoding_error(
            DICTIONARY_CORRUPTED,
            origin + start,
            "treeless literals, but neither the frame before them nor a dictionary has a Huffman tree",
        )
    if size_format == 0:
        content = decode_stream(data, at, after, table, size, origin, "literals")
        return Literals(content + PADDING, 0, size, after, table)
    return Literals(_four_streams(data, at, after, origin, table, size), 0, size, after, table)


def _four_streams(data: bytes, start: int, end: int, origin: int, table: HuffmanTable, size: int) -> bytes:
    """Decode the jump table and four bitstreams (section 3.1.1.3.1.6); return their `size` literals and PADDING."""
    if size < 6:
        raise decoding_error(
            LITERALS_HEADER_WRONG, origin + start, f"{size} literals in four streams, the minimum is 6"
        )
    if end - start < 10:
        raise corruption(origin + start, f"four streams in {end - start} bytes, the minimum is 10")
    part = size + 3 >> 2
    if JIT:
        content = _in_pairs(data, start, end, table, part, size)
        if content is not None:
            return content
    at = start + 6
    pieces = []
    for number in range(4):
        if number < 3:
            jump = start + 2 * number
            after = at + (data[jump] | data[jump + 1] << 8)
            if after > end:
                raise corruption(origin + jump, f"literals stream {number + 1} exceeds its section")
        else:
            after = end
            part = size - 3 * part
        pieces.append(decode_stream(data, at, after, table, part, origin, f"literals stream {number + 1}"))
        at = after
    pieces.append(PADDING)
    return b"".join(pieces)


def _in_pairs(data: bytes, start: int, end: int, table: HuffmanTable, part: int, size: int) -> bytes | None:
    """
    Decode four bitstreams, two at a time; return their `size` literals and PADDING.

    Return None if a stream is damaged or the table has codes of more than 11 bits: the caller then decodes the streams
    one by one, which raises the error of the damaged one.
    """
    starts = [start + 6]
    for jump in range(start, start + 6, 2):
        starts.append(starts[-1] + (data[jump] | data[jump + 1] << 8))
    if starts[3] >= end:
        return None
    starts.append(end)
    out = bytearray(size + PADDING_SIZE)
    if decode_pair(data, starts[:3], table, out, 0, part, 2 * part) and decode_pair(
        data, starts[2:], table, out, 2 * part, 3 * part, size
    ):
        return bytes(out)
    return None
