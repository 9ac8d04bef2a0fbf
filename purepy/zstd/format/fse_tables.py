# SPDX-License-Identifier: Apache-2.0
"""
Finite State Entropy: the codes of the three fields of a sequence (RFC 8878 section 3.1.1.3.2.1), their predefined
distributions, and the order of the states (section 4.1.1). Encoder and decoder share all of these.
"""

from __future__ import annotations

from collections import namedtuple
from functools import lru_cache

# Sections 4.1.1 (the lowest log that a table description can state) and 4.2.1.2 (Huffman weights).
MIN_ACCURACY_LOG = 5
MAX_WEIGHTS_LOG = 6

MASKS: list[int] = [(1 << width) - 1 for width in range(57)]
"""MASKS[n] covers the lowest n bits of an integer; on PyPy a list is faster than a shift that may overflow."""

FieldCodes = namedtuple("FieldCodes", ("name", "bases", "extra_bits", "max_log", "predefined", "predefined_log"))
"""
The codes of one field of a sequence.

`bases` and `extra_bits` give the first value and the number of extra bits of each code (section 3.1.1.3.2.1.1).
`max_log` is the largest table log. `predefined` is the predefined distribution, with -1 for a probability below one,
and `predefined_log` its table log (section 3.1.1.3.2.2).
"""

LITERALS_LENGTH = FieldCodes(
    "literals lengths",
    (
        *range(16),
        *(16, 18, 20, 22, 24, 28, 32, 40, 48, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536),
    ),
    (*(0,) * 16, *(1, 1, 1, 1, 2, 2, 3, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)),
    9,
    (
        *(4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2),
        *(2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1, 1, 1, -1, -1, -1, -1),
    ),
    6,
)
# An offset code is its own number of extra bits: offset value = (1 << code) + extra bits.
OFFSET = FieldCodes(
    "offsets",
    tuple(1 << code for code in range(32)),
    tuple(range(32)),
    8,
    (
        *(1, 1, 1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1),
        *(1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1),
    ),
    5,
)
MATCH_LENGTH = FieldCodes(
    "match lengths",
    (
        *range(3, 35),
        *(35, 37, 39, 41, 43, 47, 51, 59, 67, 83, 99, 131, 259, 515, 1027, 2051, 4099, 8195, 16387, 32771, 65539),
    ),
    (*(0,) * 32, *(1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)),
    9,
    (
        *(1, 4, 3, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1),
        *(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1),
    ),
    6,
)


@lru_cache(maxsize=128)
def _spread_order(log: int, spread: int) -> list[int]:
    """
    Return, for each of the first `spread` of `1 << log` states, an index into the list of symbols to spread.

    The list of symbols has `spread` items: each symbol as often as it has states. The remaining states belong to
    symbols with a probability below one, which are not spread. The result is cached, so callers must not change it.
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
    """
    Return the symbol of each of the `1 << log` states (RFC 8878 section 4.1.1, "from normalized distribution").

    `counts` has the number of states of each symbol, -1 (one state) for a probability below one.
    """
    in_order: list[int] = []
    rare: list[int] = []
    for symbol, count in enumerate(counts):
        if count > 0:
            in_order += [symbol] * count
        elif count:
            rare.append(symbol)
    rare.reverse()
    return [in_order[index] for index in _spread_order(log, len(in_order))] + rare
