# SPDX-License-Identifier: Apache-2.0
"""The sequences section of a compressed block (RFC 8878, section 3.1.1.3.2): codes, tables, one bitstream."""

from __future__ import annotations

from collections import namedtuple
from struct import pack_into

from purepy.base.pypy import JIT
from purepy.zstd.encoder import fse
from purepy.zstd.encoder.fse import EncodingTable
from purepy.zstd.format.fse_tables import LITERALS_LENGTH, MASKS, MATCH_LENGTH, OFFSET

PREDEFINED, RLE, FSE, REPEAT = range(4)

MIN_MATCH = 3

LL_DEFAULT, OF_DEFAULT, ML_DEFAULT = (
    EncodingTable(field.predefined, field.predefined_log) for field in (LITERALS_LENGTH, OFFSET, MATCH_LENGTH)
)
LL_BITS, ML_BITS = list(LITERALS_LENGTH.extra_bits), list(MATCH_LENGTH.extra_bits)


def _codes_by_value(extra_bits: list[int], end: int) -> tuple[int, ...]:
    """Return the codes of the values from 0 to at least `end` - 1; a code with n extra bits covers 2**n values."""
    codes: list[int] = []
    for code, bits in enumerate(extra_bits):
        codes += [code] * (1 << bits)
        if len(codes) >= end:
            break
    return tuple(codes)


# Short lengths are mapped to codes by a table. From the end of the table on, each code covers one power of two:
# code = length.bit_length() + delta (match lengths are first reduced by MIN_MATCH).
LL_TABLE_END = 64
LL_CODES = _codes_by_value(LL_BITS, LL_TABLE_END)
LL_CODE_DELTA = 18
ML_TABLE_END = 128
ML_CODES = _codes_by_value(ML_BITS, ML_TABLE_END)
ML_CODE_DELTA = 35

Repeats = tuple[int, int, int]
INITIAL_REPEATS: Repeats = (1, 4, 8)


SequenceTables = namedtuple(
    "SequenceTables",
    ("literal_lengths", "offsets", "match_lengths"),
    defaults=(None, None, None),
)
"""The tables to which a later block's repeat mode refers; None for a field without a table to repeat."""


Choice = namedtuple("Choice", ("mode", "table", "repeatable", "description"))
"""How a field is coded: its mode and table, the table that a later block may repeat (or None), its description."""


class Sequences:
    """
    The sequences that a match finder has found in one block.

    Each of these three is a flat list of integers, because a tracing JIT keeps it unboxed. In addition, the bytearray
    `literals` contains the literals of all sequences, then those after the last one.
    """

    __slots__ = ("literal_lengths", "literals", "match_lengths", "offsets")

    def __init__(self) -> None:
        self.literal_lengths: list[int] = []
        self.match_lengths: list[int] = []
        self.offsets: list[int] = []
        self.literals = bytearray()


def offset_values(sequences: Sequences, repeats: Repeats) -> tuple[list[int], Repeats]:
    """
    Return the values that are written for the offsets, and the last three offsets after them (section 3.1.1.5).

    A value is 1 to 3 for one of the last three offsets, initially `repeats`, and otherwise offset + 3.
    A match without literals before it never repeats the last offset, because it would be part of the previous match.
    The three values then mean the second, the third, and the last offset minus one.
    """
    values: list[int] = []
    first, second, third = repeats
    for literal_length, offset in zip(sequences.literal_lengths, sequences.offsets):
        # see `JIT` in purepy/base/pypy.py; also for the variables that are set to 0 below
        if JIT:
            first += 0
            second += 0
            third += 0
        if literal_length:
            if offset == first:
                value = 1
            elif offset == second:
                value = 2
                first, second = second, first
            elif offset == third:
                value = 3
                first, second, third = third, first, second
            else:
                value = offset + 3
                first, second, third = offset, first, second
        elif offset == second:
            value = 1
            first, second = second, first
        elif offset == third:
            value = 2
            first, second, third = third, first, second
        else:
            value = 3 if offset == first - 1 else offset + 3
            first, second, third = offset, first, second
        values.append(value)
        literal_length = offset = value = 0
    return values, (first, second, third)


def encode_sequences(sequences: Sequences, values: list[int], known: SequenceTables) -> tuple[bytes, SequenceTables]:
    """
    Return the section with the sequences, and the tables that a later block may repeat.

    `values` are the results of `offset_values`, `known` the tables that this block may repeat.
    """
    total = len(values)
    header = _count_header(total)
    if not total:
        return header, known
    ll_codes, of_codes, ml_codes = sequence_codes(sequences, values)
    ll_mode, ll_table, ll_known, ll_description = _choose(
        ll_codes, LL_DEFAULT, known.literal_lengths, LITERALS_LENGTH.max_log
    )
    of_mode, of_table, of_known, of_description = _choose(of_codes, OF_DEFAULT, known.offsets, OFFSET.max_log)
    ml_mode, ml_table, ml_known, ml_description = _choose(
        ml_codes, ML_DEFAULT, known.match_lengths, MATCH_LENGTH.max_log
    )
    modes = bytes((ll_mode << 6 | of_mode << 4 | ml_mode << 2,))
    stream = _bitstream(sequences, values, (ll_codes, of_codes, ml_codes), (ll_table, of_table, ml_table))
    section = b"".join((header, modes, ll_description, of_description, ml_description, stream))
    return section, SequenceTables(ll_known, of_known, ml_known)


def _count_header(total: int) -> bytes:
    """Return the number of sequences in 1, 2 or 3 bytes (section 3.1.1.3.2.1)."""
    if total < 128:
        return bytes((total,))
    if total < 0x7F00:
        return bytes((128 + (total >> 8), total & 255))
    return b"\xff" + (total - 0x7F00).to_bytes(2, "little")


def sequence_codes(sequences: Sequences, values: list[int]) -> tuple[list[int], list[int], list[int]]:
    ll_codes = [
        LL_CODES[length] if length < LL_TABLE_END else length.bit_length() + LL_CODE_DELTA
        for length in sequences.literal_lengths
    ]
    ml_codes = [
        ML_CODES[length - MIN_MATCH]
        if length < ML_TABLE_END + MIN_MATCH
        else (length - MIN_MATCH).bit_length() + ML_CODE_DELTA
        for length in sequences.match_lengths
    ]
    of_codes = [value.bit_length() - 1 for value in values]
    return ll_codes, of_codes, ml_codes


def _choose(codes: list[int], default: EncodingTable, known: EncodingTable | None, max_log: int) -> Choice:
    """Return the Choice with the lowest estimated cost for these codes; `known` is a table to repeat, or None."""
    total = len(codes)
    counts = [0] * (max(codes) + 1)
    for code in codes:
        counts[code] += 1
    best = default.cost(counts)
    choice = Choice(PREDEFINED, default, None, b"")
    if known is not None:
        cost = known.cost(counts)
        if cost <= best:
            best = cost
            choice = Choice(REPEAT, known, known, b"")
    if counts[-1] == total:
        if best > 8:
            return Choice(RLE, EncodingTable.single(codes[0]), None, bytes((codes[0],)))
        return choice
    # The initial states determine the codes of the last sequence, so the table needs no cells for them.
    if counts[codes[-1]] > 1:
        counts[codes[-1]] -= 1
        total -= 1
    # A description takes more than two bytes, so a few sequences need no new table.
    if total > 4:
        table_log = fse.table_log_for(total, len(counts), max_log)
        norm = fse.normalise(counts, table_log)
        description = fse.describe(norm, table_log)
        if len(description) * 8 < best:
            table = EncodingTable(norm, table_log)
            if len(description) * 8 + table.cost(counts) < best:
                choice = Choice(FSE, table, table, description)
    return choice


def _bitstream(
    sequences: Sequences,
    values: list[int],
    codes: tuple[list[int], list[int], list[int]],
    tables: tuple[EncodingTable, EncodingTable, EncodingTable],
) -> bytes:
    """
    Return the bitstream of states and extra bits, from the last sequence to the first (section 3.1.1.3.2.1.2).

    Whole bytes are written after each sequence. They are written earlier only if more than 62 bits could wait, the
    limit of an unboxed integer: states have up to 26 bits, lengths 32, the offset 31. A processor can predict that
    branch, but not a branch that is taken whenever 32 bits are full.
    """
    literal_lengths, match_lengths = sequences.literal_lengths, sequences.match_lengths
    ll_codes, of_codes, ml_codes = codes
    ll_table, of_table, ml_table = tables
    ll_states, ll_delta_bits, ll_delta_state = ll_table.states, ll_table.delta_bits, ll_table.delta_state
    of_states, of_delta_bits, of_delta_state = of_table.states, of_table.delta_bits, of_table.delta_state
    ml_states, ml_delta_bits, ml_delta_state = ml_table.states, ml_table.delta_bits, ml_table.delta_state
    ll_bits, ml_bits, masks = LL_BITS, ML_BITS, MASKS
    last = len(values) - 1
    ll_state = ll_table.start(ll_codes[last])
    of_state = of_table.start(of_codes[last])
    ml_state = ml_table.start(ml_codes[last])
    out = bytearray(12 * len(values) + 32)
    position = 0
    acc = 0
    filled = 0
    at = last
    while True:
        ll_code = ll_codes[at]
        of_code = of_codes[at]
        ml_code = ml_codes[at]
        if at != last:
            bits = (of_state + of_delta_bits[of_code]) >> 16
            acc |= (of_state & masks[bits]) << filled
            filled += bits
            of_state = of_states[(of_state >> bits) + of_delta_state[of_code]]
            bits = (ml_state + ml_delta_bits[ml_code]) >> 16
            acc |= (ml_state & masks[bits]) << filled
            filled += bits
            ml_state = ml_states[(ml_state >> bits) + ml_delta_state[ml_code]]
            bits = (ll_state + ll_delta_bits[ll_code]) >> 16
            acc |= (ll_state & masks[bits]) << filled
            filled += bits
            ll_state = ll_states[(ll_state >> bits) + ll_delta_state[ll_code]]
            if filled > 30:
                pack_into("<q", out, position, acc)
                position += filled >> 3
                acc >>= filled & 56
                filled &= 7
        # The first value of each code (for match lengths less MIN_MATCH) is a multiple of 1 << bits, so the lowest bits
        # of a length are its extra bits.
        bits = ll_bits[ll_code]
        acc |= (literal_lengths[at] & masks[bits]) << filled
        filled += bits
        bits = ml_bits[ml_code]
        acc |= ((match_lengths[at] - MIN_MATCH) & masks[bits]) << filled
        filled += bits
        if filled > 31:
            pack_into("<q", out, position, acc)
            position += filled >> 3
            acc >>= filled & 56
            filled &= 7
        acc |= (values[at] & masks[of_code]) << filled
        filled += of_code
        pack_into("<q", out, position, acc)
        position += filled >> 3
        acc >>= filled & 56
        filled &= 7
        if not at:
            break
        at -= 1
    for state, log in (
        (ml_state, ml_table.table_log),
        (of_state, of_table.table_log),
        (ll_state, ll_table.table_log),
    ):
        acc |= (state & ((1 << log) - 1)) << filled
        filled += log
    acc |= 1 << filled
    pack_into("<Q", out, position, acc)
    del out[position + (filled >> 3) + 1 :]
    return bytes(out)
