# SPDX-License-Identifier: Apache-2.0
"""
Code that all match finders share: hashing, counting, and their interface.

The loops in fast.py, dfast.py and chain.py repeat the code that finds and records a match, because a call would cost
more than the rest of the loop. A change to that code must be made in all three.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from struct import unpack_from

from purepy.zstd.encoder.levels import MatchParameters
from purepy.zstd.encoder.sequences import Repeats, Sequences

# A slot of a hash table that was never written: further back than any window reaches.
NEVER = -(1 << 31)

# Positions are hashed and compared as words of 8 bytes, which must be inside the block.
WORD = 8

LOW32 = 0xFFFFFFFF
# Fibonacci hashing: 2**31 divided by the golden ratio, made odd. The product with a 32-bit key is below 2**63, within
# the range of an unboxed integer.
PRIME = 0x4F1BBCDD


def key_mask(length: int) -> int:
    """Return the mask that keeps the first `length` bytes of a little-endian word of 8 bytes; -1 keeps all of them."""
    return -1 if length >= WORD else (1 << 8 * length) - 1


def hash_word(word: int, mask: int, shift: int) -> int:
    """
    Hash the bytes of `word` that `mask` keeps into 32 - shift bits.

    Hot loops contain this code inline, because a call would cost CPython as much as the hash itself.
    """
    word &= mask
    return ((word ^ (word >> 29)) & LOW32) * PRIME % (1 << 32) >> shift


def match_length(window: bytearray, at: int, earlier: int, end: int) -> int:
    """Return how many bytes from `at` on, at most up to `end`, equal those from `earlier` on, a smaller position."""
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
    """Return how many bytes before `at`, at most `most`, equal those before `earlier`, a smaller position."""
    if most > earlier:
        most = earlier
    count = 0
    while count < most and window[at - 1 - count] == window[earlier - 1 - count]:
        count += 1
    return count


# The number of equal low bytes of two words, indexed by the remainder of the lowest set bit of their XOR: 2 is a
# primitive root of 67, so all 64 bits have different remainders. A lookup needs no branch that a processor or JIT must
# predict.
EQUAL_BYTES_DIVISOR = 67
_by_remainder = {(1 << bit) % EQUAL_BYTES_DIVISOR: bit >> 3 for bit in range(64)}
EQUAL_BYTES = [_by_remainder.get(remainder, 0) for remainder in range(EQUAL_BYTES_DIVISOR)]


def equal_bytes(difference: int) -> int:
    """Return how many low bytes of two words are equal, given their XOR, which must not be 0."""
    return EQUAL_BYTES[(difference & -difference) % EQUAL_BYTES_DIVISOR]


class MatchFinder(ABC):
    """
    Finds the matches of one block at a time in a window that it does not own.

    Positions are indices into the window's buffer. When the FrameEncoder moves the window's content down, it calls
    `slide`.
    """

    parameters: MatchParameters

    def __init__(self, parameters: MatchParameters) -> None:
        self.parameters = parameters

    @abstractmethod
    def find(self, window: bytearray, start: int, end: int, max_distance: int, repeats: Repeats) -> Sequences:
        """
        Split window[start:end] into sequences and remaining literals.

        No match extends beyond `end`, refers back by more than `max_distance`, or refers to before the buffer's start.
        `repeats` are the last three offsets; the first two are preferred, because they are cheap to write.
        """

    @abstractmethod
    def index(self, window: bytearray, start: int, end: int) -> None:
        """Index the positions of window[start:end] that begin a whole WORD, without looking for matches."""

    @abstractmethod
    def slide(self, distance: int) -> None:
        """Adjust the stored positions after the window's content has moved down by `distance` bytes."""

    @abstractmethod
    def copy(self) -> MatchFinder:
        """Return a finder with copies of the tables; a dictionary keeps finders and starts frames with copies."""


def new_table(log: int) -> array[int]:
    """Return a table for 2**log positions of four bytes each, all NEVER."""
    return array("i", [NEVER]) * (1 << log)


def slide_table(table: array[int], distance: int) -> None:
    """Move all positions down by `distance`; positions that leave the buffer become NEVER."""
    for slot, position in enumerate(table):
        table[slot] = position - distance if position >= distance else NEVER


def usable_repeat(repeat: int, start: int, max_distance: int) -> int:
    """Return `repeat`, a repeat offset, if it is valid from `start` on; 0 if it reaches too far back."""
    return repeat if repeat <= start and repeat <= max_distance else 0
