# SPDX-License-Identifier: Apache-2.0
"""
Finite State Entropy: the codes that Zstandard gives to the three fields of a sequence (RFC 8878 section 3.1.1.3.2.1),
their predefined distributions, and the order of the states (section 4.1.1), which encoder and decoder share.
"""

from __future__ import annotations

from functools import lru_cache

# Section 3.1.1.3.2.1.1: code -> first value and number of extra bits.
LITERALS_LENGTH_BASES: tuple[int, ...] = (
    *range(16),
    *(16, 18, 20, 22, 24, 28, 32, 40, 48, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536),
)
LITERALS_LENGTH_BITS: tuple[int, ...] = (
    *(0,) * 16,
    *(1, 1, 1, 1, 2, 2, 3, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16),
)
MATCH_LENGTH_BASES: tuple[int, ...] = (
    *range(3, 35),
    *(35, 37, 39, 41, 43, 47, 51, 59, 67, 83, 99, 131, 259, 515, 1027, 2051, 4099, 8195, 16387, 32771, 65539),
)
MATCH_LENGTH_BITS: tuple[int, ...] = (
    *(0,) * 32,
    *(1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16),
)
# An offset code is its own number of extra bits: offset value = (1 << code) + extra bits.
OFFSET_CODE_BASES: tuple[int, ...] = tuple(1 << code for code in range(32))
OFFSET_CODE_BITS: tuple[int, ...] = tuple(range(32))

MAX_LITERALS_LENGTH_CODE = 35
MAX_MATCH_LENGTH_CODE = 52
MAX_OFFSET_CODE = 31

# Section 3.1.1.3.2.1.3 (limits of a table that a block describes) and 4.2.1.2 (Huffman weights).
MIN_ACCURACY_LOG = 5
MAX_LITERALS_LENGTH_LOG = 9
MAX_MATCH_LENGTH_LOG = 9
MAX_OFFSET_LOG = 8
MAX_WEIGHTS_LOG = 6

# Section 3.1.1.3.2.2: the predefined distributions; -1 means a probability below one.
PREDEFINED_LITERALS_LENGTH_LOG = 6
PREDEFINED_LITERALS_LENGTH: tuple[int, ...] = (
    *(4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2),
    *(2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1, 1, 1, -1, -1, -1, -1),
)
PREDEFINED_MATCH_LENGTH_LOG = 6
PREDEFINED_MATCH_LENGTH: tuple[int, ...] = (
    *(1, 4, 3, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1),
    *(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1),
)
PREDEFINED_OFFSET_LOG = 5
PREDEFINED_OFFSET: tuple[int, ...] = (
    *(1, 1, 1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1),
    *(1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1),
)


@lru_cache(maxsize=128)
def _spread_order(log: int, spread: int) -> list[int]:
    """
    Return for each of the first `spread` of `1 << log` states the place of its symbol among all that are spread.

    The states above are those of symbols with a probability below one, which are not spread.
    """
    size = 1 << log
    order = [0] * spread
    at = 0
    step = (size >> 1) + (size >> 3) + 3
    for index in range(spread):
        order[at] = index
        at = at + step & size - 1
        while at >= spread and index < spread - 1:
            at = at + step & size - 1
    return order


def spread_symbols(counts: list[int] | tuple[int, ...], log: int) -> list[int]:
    """Return the symbol of each of the `1 << log` states (RFC 8878 section 4.1.1, "from normalized distribution")."""
    in_order: list[int] = []
    rare: list[int] = []
    for symbol, count in enumerate(counts):
        if count > 0:
            in_order += [symbol] * count
        elif count:
            rare.append(symbol)
    rare.reverse()
    return [in_order[index] for index in _spread_order(log, len(in_order))] + rare
