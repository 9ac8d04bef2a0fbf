# SPDX-License-Identifier: Apache-2.0
"""One block (RFC 8878, section 3.1.1.2): RLE for a run, compressed if that makes it smaller, otherwise raw."""

from __future__ import annotations

from collections import namedtuple

from purepy.zstd.encoder.frame import block_header
from purepy.zstd.encoder.literals import encode_literals
from purepy.zstd.encoder.matchfinders.base import MatchFinder
from purepy.zstd.encoder.sequences import INITIAL_REPEATS, SequenceTables, encode_sequences, offset_values
from purepy.zstd.format.rules import COMPRESSED, RAW, RLE

# No smaller block is worth compressing: the headers of its sections alone take 3 bytes.
MIN_COMPRESSIBLE = 8


BlockState = namedtuple(
    "BlockState",
    ("huffman", "tables", "repeats"),
    defaults=(None, SequenceTables(), INITIAL_REPEATS),
)
"""
State that a compressed block may refer to: the tables and offsets of earlier blocks or of a dictionary.

A raw or RLE block does not change the state, as in the decoder.
"""


def encode_block(
    finder: MatchFinder,
    window: bytearray,
    start: int,
    end: int,
    max_distance: int,
    state: BlockState,
    *,
    first: bool,
    last: bool,
) -> tuple[bytes, BlockState]:
    """
    Encode window[start:end] as one block with its header; return the block and the state for the next one.

    Matches refer back by at most `max_distance` bytes. `first` and `last` are whether the block is the first and the
    last one of its frame.
    """
    size = end - start
    # A frame may begin with an RLE block, but zstd up to 1.4.3 rejects such a frame.
    if not first and size > 1 and _is_run(window, start, end):
        return block_header(RLE, size, last) + window[start : start + 1], state
    if size >= MIN_COMPRESSIBLE:
        sequences = finder.find(window, start, end, max_distance, state.repeats)
        literals, huffman = encode_literals(sequences.literals, state.huffman)
        values, repeats = offset_values(sequences, state.repeats)
        encoded, tables = encode_sequences(sequences, values, state.tables)
        total = len(literals) + len(encoded)
        if total < size:
            header = block_header(COMPRESSED, total, last)
            return b"".join((header, literals, encoded)), BlockState(huffman, tables, repeats)
    return block_header(RAW, size, last) + window[start:end], state


def _is_run(window: bytearray, start: int, end: int) -> bool:
    """Return whether a single byte value fills window[start:end]."""
    if window[start] != window[end - 1]:
        return False
    return window.count(window[start], start, end) == end - start
