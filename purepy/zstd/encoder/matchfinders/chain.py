# SPDX-License-Identifier: Apache-2.0
"""
The strategies from `greedy` on: hash chains, searched for the longest match, with greedy or lazy parsing.

A chain links each position to the previous position with the same hash. Greedy parsing takes the match found at a
position. Lazy parsing first tries one or two positions ahead, where a match that saves more may start.
"""

from __future__ import annotations

from array import array
from struct import unpack_from

from purepy.zstd.encoder.levels import GREEDY, LAZY, MatchParameters
from purepy.zstd.encoder.matchfinders.base import (
    LOW32,
    PRIME,
    WORD,
    MatchFinder,
    equal_before,
    equal_bytes,
    key_mask,
    match_length,
    new_table,
    slide_table,
    usable_repeat,
)
from purepy.zstd.encoder.sequences import Repeats, Sequences

# After 2**8 positions without a match, the steps grow.
SKIP_SHIFT = 8

# If the steps are longer than this, the data looks incompressible, and only the positions that are tried are linked.
LINKED_STEP = 8

# After a long match, a gap of more positions than this is linked only at its two ends.
LONG_GAP = 384
GAP_HEAD = 96
GAP_TAIL = 32

SHORTEST = 4


class ChainMatchFinder(MatchFinder):
    """A match finder with hash chains; it tries at most 2**search_log candidates of a chain."""

    def __init__(
        self,
        parameters: MatchParameters,
        heads: array[int] | None = None,
        chain: array[int] | None = None,
        linked: int = 0,
    ) -> None:
        super().__init__(parameters)
        self._heads = new_table(parameters.hash_log) if heads is None else heads
        self._chain = new_table(parameters.chain_log) if chain is None else chain
        # Positions before this one are linked.
        self._linked = linked
        self._mask = key_mask(max(SHORTEST, min(6, parameters.min_match)))
        self._shift = 32 - parameters.hash_log
        self._chain_mask = (1 << parameters.chain_log) - 1
        strategy = parameters.strategy
        self._depth = 0 if strategy == GREEDY else 1 if strategy == LAZY else 2

    def find(self, window: bytearray, start: int, end: int, max_distance: int, repeats: Repeats) -> Sequences:
        depth = self._depth
        search = self._search
        sequences = Sequences()
        literals = sequences.literals
        anchor = start
        # The buffer's first byte has no byte before it.
        at = start or 1
        repeat = usable_repeat(repeats[0], at, max_distance)
        second = usable_repeat(repeats[1], at, max_distance)
        # The repeat offset is tried one position ahead.
        limit = end - WORD - 1
        while at <= limit:
            place = at
            length = 0
            offset = 0
            # A match's weight is four per byte, minus the bits of its offset; a repeat offset costs almost nothing.
            offset_bits = 0
            if repeat:
                word = unpack_from("<I", window, at + 1)[0]
                if unpack_from("<I", window, at + 1 - repeat)[0] == word:
                    place = at + 1
                    length = match_length(window, at + 5, at + 5 - repeat, end) + 4
                    offset = repeat
            if depth or not length:
                found, distance = search(window, at, end, max_distance)
                if found > length:
                    place = at
                    length = found
                    offset = distance
                    offset_bits = distance.bit_length()
            if length < SHORTEST:
                step = 1 + ((at - anchor) >> SKIP_SHIFT)
                if step > LINKED_STEP:
                    self.index(window, at, at + WORD)
                    self._linked = at + step
                at += step
                continue
            tries = depth
            while tries and at < limit:
                tries -= 1
                at += 1
                bias = 4 if tries == depth - 1 else 7
                if repeat and at != place:
                    word = unpack_from("<I", window, at)[0]
                    if unpack_from("<I", window, at - repeat)[0] == word:
                        found = match_length(window, at + 4, at + 4 - repeat, end) + 4
                        weight = 3 if bias == 4 else 4
                        if found * weight > length * weight - offset_bits + 1:
                            place = at
                            length = found
                            offset = repeat
                            offset_bits = 0
                found, distance = search(window, at, end, max_distance)
                if found >= SHORTEST and found * 4 - distance.bit_length() > length * 4 - offset_bits + bias:
                    place = at
                    length = found
                    offset = distance
                    offset_bits = distance.bit_length()
                    tries = depth
            at = place
            if offset != repeat:
                if window[at - 1] == window[at - offset - 1]:
                    before = equal_before(window, at, at - offset, at - anchor)
                    at -= before
                    length += before
                second = repeat
                repeat = offset
            literals += window[anchor:at]
            sequences.literal_lengths.append(at - anchor)
            sequences.match_lengths.append(length)
            sequences.offsets.append(offset)
            at += length
            anchor = at
            while second and at <= limit:
                word = unpack_from("<I", window, at)[0]
                if unpack_from("<I", window, at - second)[0] != word:
                    break
                length = match_length(window, at + 4, at + 4 - second, end) + 4
                second, repeat = repeat, second
                sequences.literal_lengths.append(0)
                sequences.match_lengths.append(length)
                sequences.offsets.append(repeat)
                at += length
                anchor = at
        literals += window[anchor:end]
        return sequences

    def _search(self, window: bytearray, at: int, end: int, max_distance: int) -> tuple[int, int]:
        """
        Return the length and distance of the longest match found at `at`; (0, 0) if none of at least 4 bytes is found.

        First links the positions before `at` that are not linked yet: if they are more than LONG_GAP, only those at
        both ends. At most 2**search_log candidates are tried.
        """
        gap = at - self._linked
        if gap > LONG_GAP:
            self.index(window, self._linked, self._linked + GAP_HEAD + WORD - 1)
            self._linked = at - GAP_TAIL
        heads, chain, chain_mask = self._heads, self._chain, self._chain_mask
        mask, shift = self._mask, self._shift
        place = self._linked
        while place < at:
            key = unpack_from("<q", window, place)[0] & mask
            slot = ((((key ^ (key >> 29)) & LOW32) * PRIME) & LOW32) >> shift
            chain[place & chain_mask] = heads[slot]
            heads[slot] = place
            place += 1
        self._linked = at
        word = unpack_from("<q", window, at)[0]
        key = word & mask
        candidate = heads[((((key ^ (key >> 29)) & LOW32) * PRIME) & LOW32) >> shift]
        # A position's link is overwritten after as many positions as the table has.
        oldest_link = at - chain_mask
        best = SHORTEST - 1
        distance = 0
        left = 1 << self.parameters.search_log
        while at - candidate <= max_distance:
            if window[candidate + best] == window[at + best]:
                difference = word ^ unpack_from("<q", window, candidate)[0]
                if difference:
                    length = equal_bytes(difference)
                else:
                    length = WORD + match_length(window, at + WORD, candidate + WORD, end)
                if length > best:
                    best = length
                    distance = at - candidate
                    if at + length == end:
                        break
            left -= 1
            if not left or candidate < oldest_link:
                break
            candidate = chain[candidate & chain_mask]
        if distance:
            return best, distance
        return 0, 0

    def index(self, window: bytearray, start: int, end: int) -> None:
        heads, chain, chain_mask = self._heads, self._chain, self._chain_mask
        mask, shift = self._mask, self._shift
        for place in range(start, end - WORD + 1):
            key = unpack_from("<q", window, place)[0] & mask
            slot = ((((key ^ (key >> 29)) & LOW32) * PRIME) & LOW32) >> shift
            chain[place & chain_mask] = heads[slot]
            heads[slot] = place
        self._linked = max(start, end - WORD + 1)

    def slide(self, distance: int) -> None:
        slide_table(self._heads, distance)
        slide_table(self._chain, distance)
        # Links are indexed by the low bits of their positions, and all positions are reduced by the same distance.
        turn = distance & self._chain_mask
        self._chain = self._chain[turn:] + self._chain[:turn]
        self._linked = max(0, self._linked - distance)

    def copy(self) -> ChainMatchFinder:
        return ChainMatchFinder(self.parameters, self._heads[:], self._chain[:], self._linked)
