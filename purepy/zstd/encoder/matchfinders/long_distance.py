# SPDX-License-Identifier: Apache-2.0
"""
Long distance matching: a match finder around another one, for long matches anywhere in a large window.

Few positions are kept, one out of 2**hash_rate_log, so that a small table reaches far back. Which ones is decided by
the bytes there, not by the place: the same content is kept at the same bytes wherever it comes again.
"""

from __future__ import annotations

from array import array
from struct import unpack_from
from zlib import crc32

from purepy.zstd.encoder.levels import LongDistanceParameters
from purepy.zstd.encoder.matchfinders.base import (
    LOW32,
    PRIME,
    WORD,
    MatchFinder,
    match_length,
    new_table,
    slide_table,
)
from purepy.zstd.encoder.sequences import Repeats, Sequences, offset_values


class LongDistanceMatchFinder(MatchFinder):
    """
    `hash_log` sizes the table, in buckets of 2**bucket_size_log positions; matches have `min_match` bytes or more.

    What lies between long matches is left to `inner`.
    """

    def __init__(self, inner: MatchFinder, long: LongDistanceParameters, table: array[int] | None = None) -> None:
        super().__init__(inner.parameters)
        self._inner = inner
        self._long = long
        self._table = new_table(long.hash_log) if table is None else table
        self._bucket_log = min(long.bucket_size_log, long.hash_log)
        self._key_shift = 32 - (long.hash_log - self._bucket_log)
        # A position is kept if so many bits of its word's hash are all 0.
        self._chosen_shift = 32 - long.hash_rate_log

    def find(self, window: bytearray, start: int, end: int, max_distance: int, repeats: Repeats) -> Sequences:
        sequences = Sequences()
        at = start
        for place, length, offset in self._long_matches(window, start, end, max_distance):
            repeats = self._between(sequences, window, at, place, max_distance, repeats)
            tail = len(sequences.literals) - sum(sequences.literal_lengths)
            sequences.literal_lengths.append(tail)
            sequences.match_lengths.append(length)
            sequences.offsets.append(offset)
            repeats = (offset, repeats[0], repeats[1])
            at = place + length
        self._between(sequences, window, at, end, max_distance, repeats)
        return sequences

    def _between(
        self, sequences: Sequences, window: bytearray, start: int, end: int, max_distance: int, repeats: Repeats
    ) -> Repeats:
        """Add what the inner match finder makes of window[start:end], and return the last offsets after it."""
        if start == end:
            return repeats
        found = self._inner.find(window, start, end, max_distance, repeats)
        sequences.literal_lengths += found.literal_lengths
        sequences.match_lengths += found.match_lengths
        sequences.offsets += found.offsets
        sequences.literals += found.literals
        return offset_values(found, repeats)[1]

    def _long_matches(self, window: bytearray, start: int, end: int, max_distance: int) -> list[tuple[int, int, int]]:
        """Return place, length and offset of long matches, none of which overlap, and keep the positions chosen."""
        matches = []
        min_match = self._long.min_match
        anchor = start
        for place in self._chosen(window, start, end):
            slot = crc32(window[place : place + min_match]) >> self._key_shift << self._bucket_log
            bucket = self._table[slot : slot + (1 << self._bucket_log)]
            self._table[slot : slot + len(bucket)] = array("i", [place]) + bucket[:-1]
            if place < anchor:
                continue
            best_length = best_distance = 0
            for candidate in bucket:
                if place - candidate > max_distance:
                    break
                length = match_length(window, place, candidate, end)
                if length >= min_match and length > best_length:
                    best_length, best_distance = length, place - candidate
            if best_length:
                while (
                    place > anchor and place > best_distance and window[place - 1] == window[place - 1 - best_distance]
                ):
                    place -= 1
                    best_length += 1
                matches.append((place, best_length, best_distance))
                anchor = place + best_length
        return matches

    def _chosen(self, window: bytearray, start: int, end: int) -> list[int]:
        """Return the positions to keep, from which `min_match` bytes lie inside window[start:end]."""
        shift = self._chosen_shift
        chosen = []
        at = start
        last = end - max(WORD, self._long.min_match)
        while at <= last:
            word = unpack_from("<q", window, at)[0]
            if not ((((word ^ (word >> 29)) & LOW32) * PRIME) & LOW32) >> shift:
                chosen.append(at)
            at += 1
        return chosen

    def index(self, window: bytearray, start: int, end: int) -> None:
        self._long_matches(window, start, end, 0)
        self._inner.index(window, start, end)

    def slide(self, distance: int) -> None:
        slide_table(self._table, distance)
        self._inner.slide(distance)

    def copy(self) -> LongDistanceMatchFinder:
        return LongDistanceMatchFinder(self._inner.copy(), self._long, self._table[:])
