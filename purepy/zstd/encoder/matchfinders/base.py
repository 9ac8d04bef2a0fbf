# SPDX-License-Identifier: Apache-2.0
"""
Parts that all match finders share: hashing, counting and the form that they have.

The loops of fast.py, dfast.py and chain.py repeat each other where they find and record a match, because a call there
would cost more than the rest: a change to one of these parts belongs into all three.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from struct import unpack_from

from purepy.zstd.encoder.levels import MatchParameters
from purepy.zstd.encoder.sequences import Repeats, Sequences

# A hash table's slot that was never written: further away than any window reaches.
NEVER = -(1 << 31)

# Positions that are hashed or compared are read as words of 8 bytes, which must lie inside the block.
WORD = 8

LOW32 = 0xFFFFFFFF
# Fibonacci hashing: 2**31 divided by the golden ratio, odd. A 32-bit key times this stays below 2**63, so that it
# never leaves the range of an unboxed integer.
PRIME = 0x4F1BBCDD


def key_mask(length: int) -> int:
    """Return the mask that keeps the first `length` bytes of a little-endian word (all of them: -1)."""
    return -1 if length >= WORD else (1 << 8 * length) - 1


def hash_word(word: int, mask: int, shift: int) -> int:
    """
    Hash the bytes of `word` that `mask` keeps into 32 - shift bits.

    Hot loops have this written out: a call would cost CPython as much as the hash itself.
    """
    word &= mask
    return ((word ^ (word >> 29)) & LOW32) * PRIME % (1 << 32) >> shift


def match_length(window: bytearray, at: int, earlier: int, end: int) -> int:
    """Return how many bytes at `at`, before `end`, equal those at `earlier` (which is smaller)."""
    start = at
    last_word = end - WORD
    while at <= last_word:
        difference = unpack_from("<q", window, at)[0] ^ unpack_from("<q", window, earlier)[0]
        if difference:
            return at - start + equal_bytes(difference)
        at += WORD
        earlier += WORD
    while at < end and window[at] == window[earlier]:
        at += 1
        earlier += 1
    return at - start


def equal_before(window: bytearray, at: int, earlier: int, most: int) -> int:
    """Return how many bytes before `at`, at most `most`, equal those before `earlier` (which is smaller)."""
    if most > earlier:
        most = earlier
    count = 0
    while count < most and window[at - 1 - count] == window[earlier - 1 - count]:
        count += 1
    return count


# How many low bytes of the XOR of two words are equal, by the remainder of its lowest set bit: 2 is a primitive root of
# 67, so that all 64 bits have different remainders. A lookup has no branches for a processor, or a JIT, to guess.
EQUAL_BYTES_DIVISOR = 67
_by_remainder = {(1 << bit) % EQUAL_BYTES_DIVISOR: bit >> 3 for bit in range(64)}
EQUAL_BYTES = [_by_remainder.get(remainder, 0) for remainder in range(EQUAL_BYTES_DIVISOR)]


def equal_bytes(difference: int) -> int:
    """Return how many low bytes of the XOR of two words (which is not 0) are equal."""
    return EQUAL_BYTES[(difference & -difference) % EQUAL_BYTES_DIVISOR]


class MatchFinder(ABC):
    """
    Finds the matches of one block at a time in a window that it does not own.

    Positions are indices into the window's buffer. When the compressor moves the window's content down, it says so
    with `slide`.
    """

    parameters: MatchParameters

    def __init__(self, parameters: MatchParameters) -> None:
        self.parameters = parameters

    @abstractmethod
    def find(self, window: bytearray, start: int, end: int, max_distance: int, repeats: Repeats) -> Sequences:
        """
        Split window[start:end] into sequences and remaining literals.

        No match reaches beyond `end`, or back by more than `max_distance` or before the buffer's start. `repeats`
        are the last three offsets, worth trying first because they are cheap to write.
        """

    @abstractmethod
    def index(self, window: bytearray, start: int, end: int) -> None:
        """Make window[start:end] known without looking for matches in it: a dictionary's content."""

    @abstractmethod
    def slide(self, distance: int) -> None:
        """Note that the window's content has moved down by `distance`."""

    @abstractmethod
    def copy(self) -> MatchFinder:
        """Return a finder with a copy of the tables: those of a dictionary are kept, to start frames from."""


def new_table(log: int) -> array[int]:
    """Return a table of 2**log positions, four bytes each."""
    return array("i", [NEVER]) * (1 << log)


def slide_table(table: array[int], distance: int) -> None:
    """Move all positions down by `distance`, those that fall out of the buffer to NEVER."""
    for slot, position in enumerate(table):
        table[slot] = position - distance if position >= distance else NEVER


def usable_repeat(repeat: int, start: int, max_distance: int) -> int:
    """Return a repeat offset if it can be tried from `start` on, 0 if it reaches too far back."""
    return repeat if repeat <= start and repeat <= max_distance else 0
