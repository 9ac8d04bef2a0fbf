# SPDX-License-Identifier: Apache-2.0
"""Blocks (RFC 8878 sections 3.1.1.2 and 3.1.1.3): headers, the three types, and state passed from block to block."""

from __future__ import annotations

from purepy.zstd.decoder.dictionary import DecodingDictionary
from purepy.zstd.decoder.huffman import HuffmanTable
from purepy.zstd.decoder.literals import read_literals
from purepy.zstd.decoder.sequence_tables import Table, read_count, read_tables
from purepy.zstd.decoder.sequences import run_sequences
from purepy.zstd.decoder.window import Window
from purepy.zstd.format.error_codes import corruption
from purepy.zstd.format.rules import RESERVED, block_header

_START_REPEATS = (1, 4, 8)


def read_block_header(data: bytes, start: int, offset: int, max_size: int) -> tuple[bool, int, int, int]:
    """
    Read the 3 bytes at `data[start:]` (section 3.1.1.2) and return the four fields of `rules.block_header`.

    These are whether the block is the last, its type, its size field, and how many bytes follow the header. `offset` is
    the header's position in the input. Raises ZstdError for the reserved type, and for a size field above `max_size`,
    the frame's maximum.
    """
    found = block_header(data, start)
    if found[1] == RESERVED:
        raise corruption(offset, "block has the reserved type")
    if found[2] > max_size:
        raise corruption(offset, f"block of {found[2]} bytes exceeds the frame's maximum of {max_size}")
    return found


class BlockDecoder:
    """Decodes the compressed blocks of one frame; tables and repeat offsets are passed from block to block."""

    __slots__ = ("_huffman", "_repeats", "_tables")

    def __init__(self, dictionary: DecodingDictionary | None) -> None:
        self._huffman: HuffmanTable | None = None
        self._tables: tuple[Table, ...] | None = None
        self._repeats = list(_START_REPEATS)
        if dictionary is not None and dictionary.tables is not None:
            # Section 5: the first block begins with the dictionary's tables and repeat offsets.
            self._huffman = dictionary.huffman
            self._tables = dictionary.tables
            self._repeats = list(dictionary.repeats)

    def decode(self, data: bytes, start: int, end: int, origin: int, window: Window, max_size: int) -> None:
        """
        Decode the compressed block `data[start:end]`, given without its header, and append its content to the window.

        `data` has PADDING on both sides of the block. `origin` is the input offset of `data[0]`. `max_size` is the most
        bytes that a block of this frame may contain; the window has reserved that much. Raises ZstdError for damaged
        data.
        """
        if end - start < 2:
            raise corruption(origin + start, f"compressed block of {end - start} bytes, the minimum is 2")
        literals = read_literals(data, start, end, origin, max_size, self._huffman)
        self._huffman = literals.table
        count, at = read_count(data, literals.after, end, origin)
        if not count:
            if at != end:
                raise corruption(origin + at, f"{end - at} bytes follow in a block without sequences")
            window.append(literals.data[literals.start : literals.start + literals.size])
            return
        self._tables, at = read_tables(data, at, end, origin, self._tables)
        run_sequences(data, at, end, origin, count, self._tables, self._repeats, literals, window, max_size)
