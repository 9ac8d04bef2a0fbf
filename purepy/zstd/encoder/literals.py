# SPDX-License-Identifier: Apache-2.0
"""The literals section of a compressed block (RFC 8878, section 3.1.1.3.1): its four forms, and the choice of one."""

from __future__ import annotations

from purepy.zstd.encoder import huffman
from purepy.zstd.encoder.huffman import HuffmanTable

RAW, RLE, COMPRESSED, TREELESS = range(4)

# For fewer literals the description of a new code costs more than it saves; a known code needs no description.
MIN_FOR_NEW_TABLE = 64
MIN_FOR_KNOWN_TABLE = 6
# From this size on, there are four streams, which cost 6 bytes: a decoder can work on all of them at once. The format
# limits a single stream to sizes of 10 bits.
MIN_FOR_FOUR_STREAMS = 256


def encode_literals(literals: bytearray, table: HuffmanTable | None) -> tuple[bytes | bytearray, HuffmanTable | None]:
    """
    Return the section that holds `literals`, and the table to which a later block may refer (None if there is none).

    `table` is the table that is already known, from an earlier block or a dictionary, or None.
    """
    size = len(literals)
    if size < (MIN_FOR_NEW_TABLE if table is None else MIN_FOR_KNOWN_TABLE):
        if size > 1 and literals.count(literals[:1]) == size:
            return _plain_header(RLE, size) + literals[:1], table
        return _plain_header(RAW, size) + literals, table
    counts = histogram(literals)
    largest = max(counts)
    if largest == size:
        return _plain_header(RLE, size) + literals[:1], table
    if largest <= (size >> 7) + 4 and size >= MIN_FOR_NEW_TABLE:
        # Such a flat histogram promises no gain, and building a code would only confirm that.
        return _plain_header(RAW, size) + literals, table
    four = size >= MIN_FOR_FOUR_STREAMS
    header_size = 3 + (size >= 1024) + (size >= 16384)
    # Each stream ends in a partly filled byte; four streams also need a table of their sizes.
    overhead = header_size + (10 if four else 1)
    best = size + 3 - _minimum_gain(size)
    kind = RAW
    chosen = table
    if table is not None:
        bits = table.bits_for(counts)
        if bits is not None and (bits >> 3) + overhead < best:
            best = (bits >> 3) + overhead
            kind = TREELESS
    if size >= MIN_FOR_NEW_TABLE:
        fresh = HuffmanTable(huffman.code_lengths(counts))
        bits = fresh.bits_for(counts)
        if fresh.description is not None and bits is not None:
            total = (bits >> 3) + overhead + len(fresh.description)
            if total < best:
                kind = COMPRESSED
                chosen = fresh
    if kind == RAW or chosen is None:
        return _plain_header(RAW, size) + literals, table
    body = bytearray()
    if kind == COMPRESSED and chosen.description is not None:
        body += chosen.description
    if four:
        quarter = (size + 3) >> 2
        streams = [
            huffman.encode_stream(literals, start, min(start + quarter, size), chosen)
            for start in (0, quarter, 2 * quarter, 3 * quarter)
        ]
        for stream in streams[:3]:
            body += len(stream).to_bytes(2, "little")
        for stream in streams:
            body += stream
    else:
        body += huffman.encode_stream(literals, 0, size, chosen)
    return _compressed_header(kind, size, len(body), four) + body, chosen


def histogram(data: bytearray) -> list[int]:
    """Return how often each of the 256 byte values occurs in `data`."""
    counts = [0] * 256
    for byte in data:
        counts[byte] += 1
    return counts


def _minimum_gain(size: int) -> int:
    """Return how many bytes compression must save to be worth the decoder's time."""
    return (size >> 6) + 2


def _plain_header(kind: int, size: int) -> bytes:
    """Return the header of raw or RLE literals: the size in 5, 12 or 20 bits."""
    if size < 32:
        return bytes((kind | size << 3,))
    if size < 4096:
        return (kind | 1 << 2 | size << 4).to_bytes(2, "little")
    return (kind | 3 << 2 | size << 4).to_bytes(3, "little")


def _compressed_header(kind: int, size: int, compressed_size: int, four: bool) -> bytes:
    """Return the header of compressed or treeless literals in one or four streams: two sizes in 10, 14 or 18 bits."""
    if size < 1024:
        return (kind | four << 2 | size << 4 | compressed_size << 14).to_bytes(3, "little")
    if size < 16384:
        return (kind | 2 << 2 | size << 4 | compressed_size << 18).to_bytes(4, "little")
    return (kind | 3 << 2 | size << 4 | compressed_size << 22).to_bytes(5, "little")
