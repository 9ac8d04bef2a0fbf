# SPDX-License-Identifier: Apache-2.0
"""The start of a block's sequences section: the number of sequences, and tables (RFC 8878, section 3.1.1.3.2.1)."""

from __future__ import annotations

from purepy.base.pypy import JIT
from purepy.zstd.decoder.fse import build_decoding_table, read_distribution
from purepy.zstd.format.error_codes import SRC_SIZE_WRONG, corruption, decoding_error
from purepy.zstd.format.fse_tables import LITERALS_LENGTH, MASKS, MATCH_LENGTH, OFFSET, FieldCodes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PREDEFINED, RLE, FSE, REPEAT = range(4)


class Field:
    """The format's rules for one of the three fields of a sequence."""

    __slots__ = ("codes", "max_log", "max_symbol", "name", "predefined")

    def __init__(self, codes: FieldCodes) -> None:
        self.name = codes.name
        # The part that all entries of a code share: an entry without its state or, without a JIT, (first value, extra
        # bits).
        pairs = list(zip(codes.bases, codes.extra_bits))
        self.codes: list[Any] = [bits | bits << 11 | base << 25 for base, bits in pairs] if JIT else pairs
        self.max_symbol = len(pairs) - 1
        self.max_log = codes.max_log
        self.predefined = make_table(self, codes.predefined, codes.predefined_log)


class Table:
    """
    A decoding table of one field.

    For each state it has the first value and the number of extra bits of its code, and the width and baseline of the
    next state. For a JIT, `entries` holds one integer per state: extra bits + width | width << 7 | extra bits << 11 |
    baseline << 16 | first value << 25. (The lowest field of the sum of three entries is the total number of bits.)
    Otherwise it holds tuples: (first value, extra bits, their mask, width, its mask, baseline, extra bits + width).
    """

    __slots__ = ("entries", "log")

    def __init__(self, log: int, entries: list[Any]) -> None:
        self.log = log
        self.entries = entries


def make_table(field: Field, counts: list[int] | tuple[int, ...], log: int) -> Table:
    """Build the decoding table for a distribution of the field's codes, `counts`, with the accuracy log `log`."""
    rows = zip(*build_decoding_table(counts, log))
    codes = field.codes
    if JIT:
        return Table(log, [codes[symbol] + width | width << 7 | baseline << 16 for symbol, width, baseline in rows])
    return Table(log, [_entry(codes[symbol], width, baseline) for symbol, width, baseline in rows])


def _entry(code: tuple[int, int], width: int, baseline: int) -> tuple[int, ...]:
    base, extra_bits = code
    return base, extra_bits, MASKS[extra_bits], width, MASKS[width], baseline, extra_bits + width


def _make_rle_table(field: Field, symbol: int) -> Table:
    """Build the table of a field with a single code: one state that takes no bits."""
    code = field.codes[symbol]
    return Table(0, [code if JIT else _entry(code, 0, 0)])


LITERALS_LENGTHS, OFFSETS, MATCH_LENGTHS = Field(LITERALS_LENGTH), Field(OFFSET), Field(MATCH_LENGTH)
FIELDS = (LITERALS_LENGTHS, OFFSETS, MATCH_LENGTHS)


def read_count(data: bytes, start: int, end: int, origin: int) -> tuple[int, int]:
    """
    Read the number of sequences at `data[start:end]` (section 3.1.1.3.2.1); return it and the next byte's position.

    `origin` is the input offset of `data[0]`. Raises ZstdError if the number is truncated.
    """
    if start >= end:
        raise decoding_error(SRC_SIZE_WRONG, origin + start, "block ends before its sequences section")
    first = data[start]
    size = 1 if first < 128 else 2 if first < 255 else 3
    after = start + size
    if after > end:
        raise decoding_error(SRC_SIZE_WRONG, origin + start, "number of sequences is truncated")
    if size == 1:
        return first, after
    if size == 2:
        return (first - 128 << 8) + data[start + 1], after
    return data[start + 1] + (data[start + 2] << 8) + 0x7F00, after


def read_tables(
    data: bytes, start: int, end: int, origin: int, previous: tuple[Table, ...] | None
) -> tuple[tuple[Table, ...], int]:
    """
    Read the compression modes and the tables that follow them (sections 3.1.1.3.2.1 and 3.1.1.3.2.1.1).

    `previous` are the tables of the last block with sequences or of the dictionary, or None. Return the tables of
    literals lengths, offsets and match lengths, and the position of the next byte. Raises ZstdError for damaged data.
    """
    if start >= end:
        raise decoding_error(SRC_SIZE_WRONG, origin + start, "block ends before its symbol compression modes")
    modes = data[start]
    if modes & 3:
        raise corruption(origin + start, "reserved bits of the compression modes are not 0")
    at = start + 1
    tables = []
    for index, field in enumerate(FIELDS):
        mode = modes >> 6 - 2 * index & 3
        if mode == PREDEFINED:
            table = field.predefined
        elif mode == RLE:
            if at >= end:
                raise decoding_error(SRC_SIZE_WRONG, origin + at, f"RLE code of {field.name} is missing")
            symbol = data[at]
            if symbol > field.max_symbol:
                raise corruption(
                    origin + at, f"code {symbol} of {field.name} exceeds the maximum of {field.max_symbol}"
                )
            table = _make_rle_table(field, symbol)
            at += 1
        elif mode == FSE:
            counts, log, at = read_distribution(data, at, end, field.max_symbol, field.max_log, origin)
            table = make_table(field, counts, log)
        elif previous is None:
            raise corruption(
                origin + start,
                f"block repeats the table of {field.name}, but neither an earlier block nor a dictionary has one",
            )
        else:
            table = previous[index]
        tables.append(table)
    return tuple(tables), at
