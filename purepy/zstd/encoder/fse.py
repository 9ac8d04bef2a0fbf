# SPDX-License-Identifier: Apache-2.0
"""
FSE for the encoder (RFC 8878, section 4.1): distributions, their form in a block, and tables for encoding.

An encoding table reverses the decoder's table. The decoder's state is the index of a cell, which has a symbol, a number
of bits to read and a base for the next state. The encoder works backwards, from the state that the decoder has *after*
a symbol to the state that it has *before* the symbol; the bits shifted out are those that the decoder reads.
"""

from __future__ import annotations

from math import log2

from purepy.zstd.format.fse_tables import MIN_ACCURACY_LOG, spread_symbols

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import TypeAlias

INFINITE_COST = float("inf")

# The number of cells of each symbol, -1 for "less than 1".
Distribution: TypeAlias = "list[int] | tuple[int, ...]"


class EncodingTable:
    """
    One distribution, ready for encoding.

    A symbol is encoded from `state` (which counts from the table's size upwards) by

        bits = (state + delta_bits[symbol]) >> 16
        write the low `bits` bits of state
        state = states[(state >> bits) + delta_state[symbol]]

    `costs[symbol]` is the cost of a symbol in bits, infinite for symbols without a cell.
    """

    __slots__ = ("costs", "delta_bits", "delta_state", "norm", "states", "table_log")

    def __init__(self, norm: Distribution, table_log: int) -> None:
        self.norm = norm
        self.table_log = table_log
        self.costs = [table_log - log2(abs(n)) if n else INFINITE_COST for n in norm]
        self.states, self.delta_bits, self.delta_state = _build(norm, table_log)

    @classmethod
    def single(cls, symbol: int) -> EncodingTable:
        """Return the table for the RLE mode: one symbol that takes no bits (section 3.1.1.3.2.1)."""
        table = cls.__new__(cls)
        table.norm = [0] * symbol + [1]
        table.table_log = 0
        table.costs = [INFINITE_COST] * symbol + [0.0]
        table.states = [0]
        table.delta_bits = [0] * (symbol + 1)
        table.delta_state = [0] * (symbol + 1)
        return table

    def cost(self, counts: Sequence[int]) -> float:
        """Return the cost in bits of symbols with these counts; infinite if one of them has no cell."""
        if len(counts) > len(self.costs) and any(counts[len(self.costs) :]):
            return INFINITE_COST
        bits = 0.0
        for count, cost in zip(counts, self.costs):
            if count:
                bits += count * cost
        return bits

    def start(self, symbol: int) -> int:
        """Return the state that encodes `symbol` as the last symbol, for which the decoder reads no bits."""
        delta = self.delta_bits[symbol]
        bits = (delta + (1 << 15)) >> 16
        return self.states[(((bits << 16) - delta) >> bits) + self.delta_state[symbol]]


def _build(norm: Distribution, table_log: int) -> tuple[list[int], list[int], list[int]]:
    size = 1 << table_log
    next_slot: list[int] = []
    total = 0
    for n in norm:
        next_slot.append(total)
        total += abs(n)
    states = [0] * size
    for cell, symbol in enumerate(spread_symbols(norm, table_log)):
        slot = next_slot[symbol]
        states[slot] = size + cell
        next_slot[symbol] = slot + 1
    delta_bits: list[int] = []
    delta_state: list[int] = []
    total = 0
    for n in norm:
        n = abs(n)
        if n == 0:
            bits, threshold = table_log + 1, size
        else:
            # States from n << bits on shift out `bits` bits, lower states one bit less.
            bits = table_log - ((n - 1).bit_length() - 1)
            threshold = n << bits
        delta_bits.append((bits << 16) - threshold)
        delta_state.append(total - n)
        total += n
    return states, delta_bits, delta_state


def table_log_for(total: int, symbols: int, limit: int) -> int:
    """Return a table log, 5 to `limit`, for a table that encodes `total` symbols of an alphabet of size `symbols`."""
    log = min(limit, max(total - 1, 1).bit_length() - 3)
    least = min(total.bit_length(), (symbols - 1).bit_length() + 1)
    return max(MIN_ACCURACY_LOG, min(limit, max(log, least)))


def normalise(counts: Sequence[int], table_log: int, *, less_than_one: bool = True) -> list[int]:
    """
    Return the number of cells of each symbol in a table of 2**table_log cells, at least one for each that occurs.

    The symbols should take as few bits as possible: another cell for a symbol with n cells saves count * log2((n + 1) /
    n) bits. Cells left over by rounding go to where they save most, and excess cells are removed where they cost least.
    With `less_than_one`, the number is -1 for a symbol whose share is less than one cell: such a symbol has one cell at
    the table's end, not among the cells of the other symbols. At least one symbol must occur, and at most as many as
    there are cells.
    """
    size = 1 << table_log
    total = sum(counts)
    norm = [0] * len(counts)
    left = size
    present = [symbol for symbol, count in enumerate(counts) if count]
    for symbol in present:
        cells = counts[symbol] * size // total
        norm[symbol] = cells or 1
        left -= cells or 1
    while left > 0:
        best = max(present, key=lambda s: counts[s] * log2((norm[s] + 1) / norm[s]))
        norm[best] += 1
        left -= 1
    while left < 0:
        shrinkable = [s for s in present if norm[s] > 1]
        best = min(shrinkable, key=lambda s: counts[s] * log2(norm[s] / (norm[s] - 1)))
        norm[best] -= 1
        left += 1
    if less_than_one:
        for symbol in present:
            if norm[symbol] == 1 and counts[symbol] * size < total:
                norm[symbol] = -1
    return norm


def describe(norm: Sequence[int], table_log: int) -> bytes:
    """
    Return the description of a distribution (section 4.1.1).

    A field's width depends on the cells that are left; low values take one bit less. Runs of zeros are counted.
    """
    acc = table_log - MIN_ACCURACY_LOG
    filled = 4
    size = 1 << table_log
    remaining = size + 1
    threshold = size
    bits = table_log + 1
    symbol = 0
    end = len(norm)
    after_zero = False
    while symbol < end and remaining > 1:
        if after_zero:
            run = 0
            while symbol < end and norm[symbol] == 0:
                symbol += 1
                run += 1
            if symbol == end:
                break
            while run >= 3:
                acc |= 3 << filled
                filled += 2
                run -= 3
            acc |= run << filled
            filled += 2
        n = norm[symbol]
        symbol += 1
        # Values below `short` are written with one bit less; values from `threshold` on are moved up to make room.
        short = 2 * threshold - 1 - remaining
        remaining -= abs(n)
        value = n + 1
        if value >= threshold:
            value += short
        acc |= value << filled
        filled += bits - (value < short)
        after_zero = n == 0
        while remaining < threshold:
            bits -= 1
            threshold >>= 1
    return acc.to_bytes((filled + 7) >> 3, "little")


def encode_interleaved(symbols: Sequence[int], table: EncodingTable) -> bytes:
    """
    Encode at least two symbols with two alternating states, as for Huffman weights (section 4.2.1.2).

    The first state, which is read first, holds the symbols at even positions.
    """
    delta_bits, delta_state, states = table.delta_bits, table.delta_state, table.states
    last = len(symbols) - 1
    current = [0, 0]
    current[last & 1] = table.start(symbols[last])
    current[(last - 1) & 1] = table.start(symbols[last - 1])
    acc = 0
    filled = 0
    for place in range(last - 2, -1, -1):
        symbol = symbols[place]
        state = current[place & 1]
        bits = (state + delta_bits[symbol]) >> 16
        acc |= (state & ((1 << bits) - 1)) << filled
        filled += bits
        current[place & 1] = states[(state >> bits) + delta_state[symbol]]
    for state in (current[1], current[0]):
        acc |= (state & ((1 << table.table_log) - 1)) << filled
        filled += table.table_log
    acc |= 1 << filled
    return acc.to_bytes((filled + 8) >> 3, "little")
