# SPDX-License-Identifier: Apache-2.0
"""Huffman codes of literals for the encoder (RFC 8878, section 4.2): lengths, descriptions, streams."""

from __future__ import annotations

from struct import pack_into

from purepy.zstd.encoder import fse
from purepy.zstd.format.fse_tables import MAX_WEIGHTS_LOG

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_BITS = 11
# The tree of a dictionary may have longer codes.
MAX_DICTIONARY_BITS = 12
MAX_DIRECT_WEIGHTS = 128


class HuffmanTable:
    """A code for literals: for each byte value the code and its length in bits (0: the value has no code)."""

    __slots__ = ("codes", "description", "lengths")

    def __init__(self, lengths: list[int]) -> None:
        self.lengths = lengths
        self.codes = _canonical_codes(lengths)
        # None if the format cannot express the weights: then no block can introduce this code.
        self.description = describe(lengths)

    def bits_for(self, counts: Sequence[int]) -> int | None:
        """Return the size in bits of bytes with these counts; None if one of the bytes has no code."""
        bits = 0
        for count, length in zip(counts, self.lengths):
            if count:
                if not length:
                    return None
                bits += count * length
        return bits


def code_lengths(counts: Sequence[int], limit: int = MAX_BITS) -> list[int]:
    """
    Return optimal code lengths, at most `limit`, for the counted bytes, by package-merge.

    At least two values must occur. A row holds the coins of one length: the symbols' own coins, and packages of two
    coins of the previous row. A coin is its weight, followed by a lowest bit that is 1 for a package.
    """
    symbols = sorted((symbol for symbol, count in enumerate(counts) if count), key=counts.__getitem__)
    leaves = [counts[symbol] << 1 for symbol in symbols]
    row = leaves
    rows = [row]
    for _ in range(limit - 1):
        row = leaves + [((row[i] >> 1) + (row[i + 1] >> 1)) << 1 | 1 for i in range(0, len(row) - 1, 2)]
        row.sort()
        rows.append(row)
    lengths = [0] * len(counts)
    take = 2 * len(symbols) - 2
    for row in reversed(rows):
        packages = 0
        for coin in row[:take]:
            packages += coin & 1
        for symbol in symbols[: take - packages]:
            lengths[symbol] += 1
        take = 2 * packages
    return lengths


def _canonical_codes(lengths: Sequence[int]) -> list[int]:
    """Return each value's code, numbered from the longest to the shortest and then by value (section 4.2.1.3)."""
    longest = max(lengths)
    per_length = [0] * (longest + 1)
    for length in lengths:
        per_length[length] += 1
    following = [0] * (longest + 1)
    code = 0
    for length in range(longest, 0, -1):
        following[length] = code
        code = (code + per_length[length]) >> 1
    codes = [0] * len(lengths)
    for symbol, length in enumerate(lengths):
        if length:
            codes[symbol] = following[length]
            following[length] += 1
    return codes


def describe(lengths: Sequence[int]) -> bytes | None:
    """
    Return the table's description: weights, FSE-compressed or four bits each, whichever is shorter (section 4.2.1).

    Returns None if the format allows neither.
    """
    longest = max(lengths)
    weights = [longest + 1 - length if length else 0 for length in lengths]
    while not weights[-1]:
        weights.pop()
    # The other weights imply the last one, which fills the rest of the code space exactly.
    weights.pop()
    compressed = _compress_weights(weights)
    direct_size = (len(weights) + 1) >> 1
    if len(weights) > MAX_DIRECT_WEIGHTS:
        direct_size = MAX_DIRECT_WEIGHTS  # the size of compressed weights takes 7 bits
    if compressed is not None and len(compressed) < direct_size:
        return bytes((len(compressed),)) + compressed
    if len(weights) > MAX_DIRECT_WEIGHTS:
        return None
    if len(weights) & 1:
        weights.append(0)
        header = 126 + len(weights)
    else:
        header = 127 + len(weights)
    packed = [weights[i] << 4 | weights[i + 1] for i in range(0, len(weights), 2)]
    return bytes([header, *packed])


def _compress_weights(weights: list[int]) -> bytes | None:
    """Compress weights with FSE (section 4.2.1.2); return None if there are no two different weights."""
    if len(weights) < 2:
        return None
    counts = [0] * (max(weights) + 1)
    for weight in weights:
        counts[weight] += 1
    if sum(1 for count in counts if count) < 2:
        return None
    table_log = fse.table_log_for(len(weights), len(counts), MAX_WEIGHTS_LOG)
    norm = fse.normalise(counts, table_log, less_than_one=False)
    return fse.describe(norm, table_log) + fse.encode_interleaved(weights, fse.EncodingTable(norm, table_log))


def encode_stream(literals: bytearray, start: int, end: int, table: HuffmanTable) -> bytearray:
    """Return the bitstream of literals[start:end], from last to first because the decoder reads it backwards."""
    codes, lengths = table.codes, table.lengths
    out = bytearray((end - start) * MAX_DICTIONARY_BITS // 8 + 16)
    position = 0
    acc = 0
    filled = 0
    at = end
    while at > start:
        at -= 1
        symbol = literals[at]
        acc |= codes[symbol] << filled
        filled += lengths[symbol]
        if filled >= 32:
            pack_into("<I", out, position, acc & 0xFFFFFFFF)
            position += 4
            acc >>= 32
            filled -= 32
    # The highest set bit of the last byte marks the stream's end.
    acc |= 1 << filled
    pack_into("<Q", out, position, acc)
    del out[position + (filled >> 3) + 1 :]
    return out
