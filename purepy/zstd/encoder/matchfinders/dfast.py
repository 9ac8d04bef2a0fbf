# SPDX-License-Identifier: Apache-2.0
"""The `dfast` strategy: two hash tables, with 8-byte keys for long matches and short keys for the others."""

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

# After 2**8 positions without a match, the steps grow.
SKIP_SHIFT = 8
FIRST_STEP = 1 << SKIP_SHIFT


class DoubleFastMatchFinder(MatchFinder):
    """
    A match finder with two hash tables, each with the last position of each hash.

    One has 2**hash_log positions of keys of 8 bytes, the other 2**chain_log of keys of `min_match` bytes, at least 4.
    """

    def __init__(
        self, parameters: MatchParameters, long_table: array[int] | None = None, short_table: array[int] | None = None
    ) -> None:
        super().__init__(parameters)
        self._long = new_table(parameters.hash_log) if long_table is None else long_table
        self._short = new_table(parameters.chain_log) if short_table is None else short_table
        self._long_shift = 32 - parameters.hash_log
        self._short_shift = 32 - parameters.chain_log
        self._short_mask = key_mask(max(4, parameters.min_match))

    def find(self, window: bytearray, start: int, end: int, max_distance: int, repeats: Repeats) -> Sequences:
        long_table, short_table = self._long, self._short
        long_shift, short_shift, short_mask = self._long_shift, self._short_shift, self._short_mask
        sequences = Sequences()
        literals = sequences.literals
        literal_lengths, match_lengths, offsets = (
            sequences.literal_lengths,
            sequences.match_lengths,
            sequences.offsets,
        )
        # The position where steps of one would begin: the step grows with the distance from here.
        origin = start - FIRST_STEP
        # The buffer's first byte has no byte before it.
        at = start or 1
        repeat = usable_repeat(repeats[0], at, max_distance)
        second = usable_repeat(repeats[1], at, max_distance)
        # One position ahead is read as well, for the repeat offset and for a longer match.
        limit = end - WORD - 1
        while at <= limit:
            word = unpack_from("<q", window, at)[0]
            slot = ((((word ^ (word >> 29)) & LOW32) * PRIME) & LOW32) >> long_shift
            candidate = long_table[slot]
            long_table[slot] = at
            key = word & short_mask
            slot = ((((key ^ (key >> 29)) & LOW32) * PRIME) & LOW32) >> short_shift
            short_candidate = short_table[slot]
            short_table[slot] = at
            here = at
            if repeat and unpack_from("<I", window, at + 1 - repeat)[0] == (word >> 8) & LOW32:
                at += 1
                offset = repeat
                difference = unpack_from("<q", window, at)[0] ^ unpack_from("<q", window, at - offset)[0]
                if difference:
                    length = equal_bytes(difference)
                else:
                    length = WORD + match_length(window, at + WORD, at + WORD - offset, end)
            else:
                offset = at - candidate
                if offset <= max_distance and unpack_from("<q", window, candidate)[0] == word:
                    length = WORD + match_length(window, at + WORD, candidate + WORD, end)
                else:
                    offset = at - short_candidate
                    if offset > max_distance or (
                        (difference := word ^ unpack_from("<q", window, short_candidate)[0]) & LOW32
                    ):
                        at += (at - origin) >> SKIP_SHIFT
                        # see `JIT` in purepy/base/pypy.py
                        if JIT:
                            origin += 0
                            repeat += 0
                            second += 0
                            here = candidate = short_candidate = offset = difference = length = before = 0
                        continue
                    # A short match: the next position may have a long match.
                    word = unpack_from("<q", window, at + 1)[0]
                    slot = ((((word ^ (word >> 29)) & LOW32) * PRIME) & LOW32) >> long_shift
                    candidate = long_table[slot]
                    long_table[slot] = at + 1
                    if at + 1 - candidate <= max_distance and unpack_from("<q", window, candidate)[0] == word:
                        at += 1
                        offset = at - candidate
                        length = WORD + match_length(window, at + WORD, candidate + WORD, end)
                    else:
                        candidate = short_candidate
                        if difference:
                            length = equal_bytes(difference)
                        else:
                            length = WORD + match_length(window, at + WORD, candidate + WORD, end)
                if window[at - 1] == window[candidate - 1]:
                    before = equal_before(window, at, candidate, at - origin - FIRST_STEP)
                    at -= before
                    length += before
                second = repeat
                repeat = offset
            literals += window[origin + FIRST_STEP : at]
            literal_lengths.append(at - origin - FIRST_STEP)
            match_lengths.append(length)
            offsets.append(offset)
            at += length
            if at <= limit:
                here += 2
                word = unpack_from("<q", window, here)[0]
                long_table[((((word ^ (word >> 29)) & LOW32) * PRIME) & LOW32) >> long_shift] = here
                key = word & short_mask
                short_table[((((key ^ (key >> 29)) & LOW32) * PRIME) & LOW32) >> short_shift] = here
                word = unpack_from("<q", window, at - 2)[0]
                long_table[((((word ^ (word >> 29)) & LOW32) * PRIME) & LOW32) >> long_shift] = at - 2
                key = unpack_from("<q", window, at - 1)[0] & short_mask
                short_table[((((key ^ (key >> 29)) & LOW32) * PRIME) & LOW32) >> short_shift] = at - 1
                while second and at <= limit:
                    word = unpack_from("<q", window, at)[0]
                    if unpack_from("<I", window, at - second)[0] != word & LOW32:
                        break
                    length = match_length(window, at + 4, at + 4 - second, end) + 4
                    second, repeat = repeat, second
                    long_table[((((word ^ (word >> 29)) & LOW32) * PRIME) & LOW32) >> long_shift] = at
                    key = word & short_mask
                    short_table[((((key ^ (key >> 29)) & LOW32) * PRIME) & LOW32) >> short_shift] = at
                    literal_lengths.append(0)
                    match_lengths.append(length)
                    offsets.append(repeat)
                    at += length
            origin = at - FIRST_STEP
            if JIT:
                repeat += 0
                second += 0
                here = candidate = short_candidate = offset = difference = length = before = 0
        literals += window[origin + FIRST_STEP : end]
        return sequences

    def index(self, window: bytearray, start: int, end: int) -> None:
        long_table, short_table = self._long, self._short
        long_shift, short_shift, short_mask = self._long_shift, self._short_shift, self._short_mask
        for place in range(start, end - WORD + 1):
            word = unpack_from("<q", window, place)[0]
            long_table[hash_word(word, -1, long_shift)] = place
            short_table[hash_word(word, short_mask, short_shift)] = place

    def slide(self, distance: int) -> None:
        slide_table(self._long, distance)
        slide_table(self._short, distance)

    def copy(self) -> DoubleFastMatchFinder:
        return DoubleFastMatchFinder(self.parameters, self._long[:], self._short[:])
