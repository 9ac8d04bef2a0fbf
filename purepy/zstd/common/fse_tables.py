# SPDX-License-Identifier: Apache-2.0
"""
Finite State Entropy: distributions and decoding tables (RFC 8878 section 4.1), and the codes that Zstandard
gives to the three fields of a sequence (section 3.1.1.3.2.1).

Encoder and decoder share the constants of this file.
"""

from __future__ import annotations

from functools import lru_cache

from purepy.zstd.common.error_codes import CORRUPTION_DETECTED, decoding_error
from purepy.zstd.decoder.bits import MASKS, load

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


def read_distribution(
    data: bytes, start: int, end: int, max_symbol: int, max_log: int, origin: int
) -> tuple[list[int], int, int]:
    """
    Read a table description (RFC 8878 section 4.1.1) from `data[start:end]`, which has padding behind it.

    Return the probability of each symbol (-1: below one), the accuracy log and the position of the first byte
    after the description. `origin` is the offset in the input of `data[0]`, for errors.
    Raises ZstdError for a log above `max_log`, a symbol above `max_symbol` and a description that is cut.
    """
    # A position in bits, as in purepy.zstd.decoder.bits, but this stream is read forwards. A value has 14 bits at most.
    at = start * 8
    limit = end * 8
    log = (load(data, start)[0] & 15) + MIN_ACCURACY_LOG
    if log > max_log:
        raise decoding_error(
            CORRUPTION_DETECTED, origin + start, f"FSE accuracy log {log} exceeds the maximum of {max_log}"
        )
    at += 4
    remaining = 1 << log
    counts: list[int] = []
    while remaining and at <= limit:
        if len(counts) > max_symbol:
            raise decoding_error(
                CORRUPTION_DETECTED, origin + start, f"FSE distribution has symbols above the maximum of {max_symbol}"
            )
        # A value in [0, remaining + 1], in as many bits as that takes; the lowest values use one bit less.
        size = (remaining + 1).bit_length()
        value = load(data, at >> 3)[0] >> (at & 7) & MASKS[size]
        low = value & MASKS[size - 1]
        short = MASKS[size] - 1 - remaining
        if low < short:
            value = low
            at += size - 1
        else:
            if value > MASKS[size - 1]:
                value -= short
            at += size
        count = value - 1
        counts.append(count)
        remaining -= abs(count)
        if not count:
            # Two bits at a time tell how many more symbols have no probability; 3 means that another two follow.
            while at <= limit and len(counts) <= max_symbol:
                repeat = load(data, at >> 3)[0] >> (at & 7) & 3
                at += 2
                counts.extend((0,) * repeat)
                if repeat < 3:
                    break
    if at > limit:
        raise decoding_error(CORRUPTION_DETECTED, origin + end, "FSE table description is cut")
    return counts, log, at + 7 >> 3


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


_BIT_LENGTHS = [number.bit_length() for number in range(2 << 9)]


def build_decoding_table(counts: list[int] | tuple[int, ...], log: int) -> tuple[list[int], list[int], list[int]]:
    """
    Build a decoding table (RFC 8878 section 4.1.1): for each state its symbol, the number of bits to read for the
    next state, and the number to add to them.
    """
    symbols = spread_symbols(counts, log)
    size = 1 << log
    following = [1 if count == -1 else count for count in counts]
    widths = [0] * size
    baselines = [0] * size
    for index in range(size):
        symbol = symbols[index]
        state = following[symbol]
        following[symbol] = state + 1
        width = log + 1 - _BIT_LENGTHS[state]
        widths[index] = width
        baselines[index] = (state << width) - size
    return symbols, widths, baselines
