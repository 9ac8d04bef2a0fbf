# SPDX-License-Identifier: Apache-2.0
"""Finite State Entropy for the decoder (RFC 8878 section 4.1): table descriptions and decoding tables."""

from __future__ import annotations

from purepy.zstd.decoder.bits import load
from purepy.zstd.format.error_codes import corruption
from purepy.zstd.format.fse_tables import MASKS, MIN_ACCURACY_LOG, spread_symbols


def read_distribution(
    data: bytes, start: int, end: int, max_symbol: int, max_log: int, origin: int
) -> tuple[list[int], int, int]:
    """
    Read a table description (RFC 8878 section 4.1.1) from `data[start:end]`, which has padding after it.

    Return the probability of each symbol (-1: below one), the accuracy log and the position of the first byte after the
    description. `origin` is the input offset of `data[0]`, for errors. Raises ZstdError for a log above `max_log`, a
    symbol above `max_symbol`, and a truncated description.
    """
    # A position in bits, as in purepy.zstd.decoder.bits, but this stream is read forwards. A value has at most 10 bits.
    at = start * 8
    limit = end * 8
    log = (load(data, start)[0] & 15) + MIN_ACCURACY_LOG
    if log > max_log:
        raise corruption(origin + start, f"FSE accuracy log {log} exceeds the maximum of {max_log}")
    at += 4
    remaining = 1 << log
    counts: list[int] = []
    while remaining and at <= limit:
        if len(counts) > max_symbol:
            raise corruption(origin + start, f"FSE distribution has symbols above the maximum of {max_symbol}")
        # A value in [0, remaining + 1], in as many bits as needed; the lowest values use one bit less.
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
            # Fields of two bits count further symbols without probability; 3 means that another field follows.
            while at <= limit and len(counts) <= max_symbol:
                repeat = load(data, at >> 3)[0] >> (at & 7) & 3
                at += 2
                counts.extend((0,) * repeat)
                if repeat < 3:
                    break
    if at > limit:
        raise corruption(origin + end, "FSE table description is truncated")
    return counts, log, at + 7 >> 3


_BIT_LENGTHS = [number.bit_length() for number in range(2 << 9)]


def build_decoding_table(counts: list[int] | tuple[int, ...], log: int) -> tuple[list[int], list[int], list[int]]:
    """
    Build a decoding table (RFC 8878 section 4.1.1).

    `counts` has the number of states of each symbol, -1 for a probability below one; the table has `1 << log` states.
    Return three lists with, for each state, its symbol, how many bits to read for the next state, and the number to add
    to the value of these bits to get the next state.
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
