# SPDX-License-Identifier: Apache-2.0
"""The `fast` strategy: one hash table, with the last position of each hash; no earlier position is tried."""

from __future__ import annotations

from array import array
from struct import unpack_from

from purepy.base.pypy import JIT
from purepy.zstd.encoder.levels import MatchParameters
from purepy.zstd.encoder.matchfinders.base import (
    LOW32,
    PRIME,
    WORD,
    MatchFinder,
    equal_before,
    equal_bytes,
    hash_word,
    key_mask,
    match_length,
    new_table,
    slide_table,
    usable_repeat,
)
from purepy.zstd.encoder.sequences import Repeats, Sequences

# After 2**7 positions without a match, the steps grow: the next positions will hardly compress either.
SKIP_SHIFT = 7


class FastMatchFinder(MatchFinder):
    """
    A match finder with one hash table.

    Its keys have `min_match` bytes, but at least 4. The initial step between the positions that are tried is
    `target_length` bytes, but at least 1.
    """

    def __init__(self, parameters: MatchParameters, table: array[int] | None = None) -> None:
        super().__init__(parameters)
        self._table = new_table(parameters.hash_log) if table is None else table
        self._mask = key_mask(max(4, parameters.min_match))
        self._shift = 32 - parameters.hash_log

    def find(self, window: bytearray, start: int, end: int, max_distance: int, repeats: Repeats) -> Sequences:
        table, mask, shift = self._table, self._mask, self._shift
        step = max(1, self.parameters.target_length)
        sequences = Sequences()
        literals = sequences.literals
        literal_lengths, match_lengths, offsets = (
            sequences.literal_lengths,
            sequences.match_lengths,
            sequences.offsets,
        )
        first_step = step << SKIP_SHIFT
        origin = start - first_step
        # The buffer's first byte has no byte before it.
        at = start or 1
        repeat = usable_repeat(repeats[0], at, max_distance)
        second = usable_repeat(repeats[1], at, max_distance)
        # The repeat offset is tried one position ahead.
        limit = end - WORD - 1
        while at <= limit:
            word = unpack_from("<q", window, at)[0]
            key = word & mask
            slot = ((((key ^ (key >> 29)) & LOW32) * PRIME) & LOW32) >> shift
            candidate = table[slot]
            table[slot] = at
            if repeat and unpack_from("<I", window, at + 1 - repeat)[0] == (word >> 8) & LOW32:
                at += 1
                offset = repeat
                length = match_length(window, at + 4, at + 4 - offset, end) + 4
            else:
                offset = at - candidate
                if offset > max_distance or ((difference := word ^ unpack_from("<q", window, candidate)[0]) & LOW32):
                    at += (at - origin) >> SKIP_SHIFT
                    # see `JIT` in purepy/base/pypy.py
                    if JIT:
                        origin += 0
                        repeat += 0
                        second += 0
                        candidate = offset = difference = length = before = here = 0
                    continue
                if difference:
                    length = equal_bytes(difference)
                else:
                    length = WORD + match_length(window, at + WORD, candidate + WORD, end)
                if window[at - 1] == window[candidate - 1]:
                    before = equal_before(window, at, candidate, at - origin - first_step)
                    at -= before
                    length += before
                second = repeat
                repeat = offset
            literals += window[origin + first_step : at]
            literal_lengths.append(at - origin - first_step)
            match_lengths.append(length)
            offsets.append(offset)
            here = at + 2
            at += length
            if at <= limit:
                key = unpack_from("<q", window, here)[0] & mask
                table[((((key ^ (key >> 29)) & LOW32) * PRIME) & LOW32) >> shift] = here
                key = unpack_from("<q", window, at - 2)[0] & mask
                table[((((key ^ (key >> 29)) & LOW32) * PRIME) & LOW32) >> shift] = at - 2
            while second and at <= limit:
                word = unpack_from("<q", window, at)[0]
                if unpack_from("<I", window, at - second)[0] != word & LOW32:
                    break
                length = match_length(window, at + 4, at + 4 - second, end) + 4
                second, repeat = repeat, second
                key = word & mask
                table[((((key ^ (key >> 29)) & LOW32) * PRIME) & LOW32) >> shift] = at
                literal_lengths.append(0)
                match_lengths.append(length)
                offsets.append(repeat)
                at += length
            origin = at - first_step
            if JIT:
                repeat += 0
                second += 0
                candidate = offset = difference = length = before = here = 0
        literals += window[origin + first_step : end]
        return sequences

    def index(self, window: bytearray, start: int, end: int) -> None:
        table, mask, shift = self._table, self._mask, self._shift
        for place in range(start, end - WORD + 1):
            table[hash_word(unpack_from("<q", window, place)[0], mask, shift)] = place

    def slide(self, distance: int) -> None:
        slide_table(self._table, distance)

    def copy(self) -> FastMatchFinder:
        return FastMatchFinder(self.parameters, self._table[:])
