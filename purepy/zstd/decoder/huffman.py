# SPDX-License-Identifier: Apache-2.0
"""Huffman coding of literals: tree descriptions, decoding tables and bitstreams (RFC 8878 section 4.2)."""

from __future__ import annotations

from purepy.base.pypy import JIT
from purepy.zstd.decoder.bits import load, not_at_end, store, stream_end
from purepy.zstd.decoder.fse import build_decoding_table, read_distribution
from purepy.zstd.format.error_codes import corruption
from purepy.zstd.format.fse_tables import MAX_WEIGHTS_LOG

MAX_CODE_LENGTH = 11
"""The longest code of a literal (section 4.2.1)."""

MAX_DICTIONARY_CODE_LENGTH = 12
"""The longest code in a dictionary's tree: libzstd accepts 12 everywhere, and some dictionaries have such codes."""

_MAX_SYMBOLS = 256

_WORTH_A_WIDE_TABLE = 4096
"""In streams of more bits than this, the wide table saves more time than building it takes."""


class HuffmanTable:
    """
    Decodes literals that are coded by one tree.

    `log` is the length of the longest code. `entries`, indexed by the next `log` bits, holds symbol | code length << 8.
    """

    __slots__ = ("_wide", "entries", "log")

    def __init__(self, log: int, entries: list[int]) -> None:
        self.log = log
        self.entries = entries
        self._wide: tuple[list[bytes], list[int]] | None = None

    def wide(self) -> tuple[list[bytes], list[int]]:
        """
        Return a table that decodes several symbols at once, as two lists indexed by the next MAX_CODE_LENGTH bits.

        The first list has the symbols whose codes are complete in these bits, the second the number of bits that their
        codes take. The table is built on first use. `log` must be at most MAX_CODE_LENGTH.
        """
        if self._wide is None:
            self._wide = _build_wide(self.entries, self.log)
        return self._wide


def _build_wide(entries: list[int], log: int) -> tuple[list[bytes], list[int]]:
    # tables[w] decodes w bits. A code of n bits, followed by any w - n bits, decodes to the code's symbol and the
    # symbols in tables[w - n]. Codes are in a table in order, so each table grows at its end.
    codes: list[tuple[bytes, int, int]] = []
    at = 0
    while at < len(entries):
        length = entries[at] >> 8
        codes.append((bytes((entries[at] & 255,)), length, at))
        at += 1 << (log - length)
    shortest = min(length for _, length, _ in codes)
    tables: list[tuple[list[bytes], list[int]]] = []
    for width in range(MAX_CODE_LENGTH + 1):
        symbols: list[bytes] = []
        lengths: list[int] = []
        tables.append((symbols, lengths))
        if MAX_CODE_LENGTH - shortest < width < MAX_CODE_LENGTH:
            continue  # no code leaves this number of bits, so this table is not used
        for symbol, length, at in codes:
            left = width - length
            if left < 0:
                # Incomplete: one entry for all codes with these leading bits, added by the first of them.
                if not at & (1 << (log - width)) - 1:
                    symbols.append(b"")
                    lengths.append(0)
            elif left < shortest:
                symbols += [symbol] * (1 << left)
                lengths += [length] * (1 << left)
            else:
                symbols += [symbol + more for more in tables[left][0]]
                lengths += [length + used for used in tables[left][1]]
    return tables[MAX_CODE_LENGTH]


def read_tree(
    data: bytes, start: int, end: int, origin: int, max_length: int = MAX_CODE_LENGTH
) -> tuple[HuffmanTable, int]:
    """
    Read the tree description at `data[start:end]` (RFC 8878 section 4.2.1), with codes of up to `max_length` bits.

    Return its table and the position of the byte after the description. `origin` is the input offset of `data[0]`, for
    errors. Raises ZstdError for a description that is damaged, truncated or has longer codes.
    """
    if start >= end:
        raise corruption(origin + start, "the data ends where a Huffman tree description begins")
    header = data[start]
    at = start + 1
    if header >= 128:
        # Section 4.2.1.1: weights of 4 bits, the first in the high half.
        count = header - 127
        after = at + (count + 1 >> 1)
        if after > end:
            raise corruption(origin + start, f"Huffman tree description of {count} weights is truncated")
        weights = []
        for byte in data[at:after]:
            weights.append(byte >> 4)
            weights.append(byte & 15)
        del weights[count:]
    else:
        after = at + header
        if after > end:
            raise corruption(origin + start, f"Huffman tree description of {header} bytes is truncated")
        weights = _read_coded_weights(data, at, after, origin)
    return _build_table(weights, origin + start, max_length), after


def _read_coded_weights(data: bytes, start: int, end: int, origin: int) -> list[int]:
    """Read weights that are coded by FSE, in one bitstream with two alternating states (section 4.2.1.2)."""
    counts, log, at = read_distribution(data, start, end, _MAX_SYMBOLS - 1, MAX_WEIGHTS_LOG, origin)
    symbols, widths, baselines = build_decoding_table(counts, log)
    what = "Huffman weights"
    position = stream_end(data, at, end, origin, what)
    first = at * 8
    position -= 2 * log
    if position < first:
        raise not_at_end(position, at, origin, what)
    both = load(data, position >> 3)[0] >> (position & 7)
    state, other = both >> log & (1 << log) - 1, both & (1 << log) - 1
    weights: list[int] = []
    while len(weights) < _MAX_SYMBOLS - 2:
        weights.append(symbols[state])
        width = widths[state]
        position -= width
        if position < first:
            # The stream ends where a state update needs more bits than there are; the other state's symbol is last.
            weights.append(symbols[other])
            return weights
        bits = load(data, position >> 3)[0] >> (position & 7) & (1 << width) - 1
        state, other = other, baselines[state] + bits
    raise corruption(origin + start, "Huffman tree has more than 255 weights")


def _build_table(weights: list[int], offset: int, max_length: int) -> HuffmanTable:
    """
    Build the table from all weights but the last, which the others imply (sections 4.2.1 and 4.2.1.3).

    The last is appended to `weights`. Raises ZstdError, with the position `offset`, for weights that no tree has.
    """
    total = 0
    for symbol, weight in enumerate(weights):
        if weight > max_length:
            raise corruption(offset, f"Huffman weight {weight} of symbol {symbol} exceeds the maximum of {max_length}")
        total += 1 << weight >> 1
    if not total:
        raise corruption(offset, "Huffman tree has no weights")
    log = total.bit_length()
    if log > max_length:
        raise corruption(offset, f"Huffman code length {log} exceeds the maximum of {max_length}")
    rest = (1 << log) - total
    if rest & rest - 1:
        raise corruption(offset, f"Huffman weights leave {rest} for the last symbol, which is not a power of two")
    weights.append(rest.bit_length())
    by_weight: list[list[int]] = [[] for _ in range(log + 1)]
    for symbol, weight in enumerate(weights):
        by_weight[weight].append(symbol)
    if len(by_weight[1]) < 2:
        # The number of longest codes must be even and not zero; the sum of the weights makes it even.
        raise corruption(offset, "Huffman tree has no pair of longest codes")
    entries: list[int] = []
    for weight in range(1, log + 1):
        length = log + 1 - weight
        for symbol in by_weight[weight]:
            entries += [symbol | length << 8] * (1 << weight >> 1)
    return HuffmanTable(log, entries)


def decode_stream(data: bytes, start: int, end: int, table: HuffmanTable, count: int, origin: int, what: str) -> bytes:
    """
    Decode the `count` symbols of the bitstream `data[start:end]` (section 4.2.2).

    Raises ZstdError, which names the stream by `what`, unless reading ends exactly at the stream's first bit. `origin`
    is the input offset of `data[0]`.
    """
    if JIT:
        return _decode_words(data, start, end, table, count, origin, what)
    return _decode_wide(data, start, end, table, count, origin, what)


def _decode_words(data: bytes, start: int, end: int, table: HuffmanTable, count: int, origin: int, what: str) -> bytes:
    """
    Decode the symbols of a bitstream, for interpreters with a JIT: five symbols per word read and written.

    If the table has codes of more than 11 bits, all symbols are decoded one by one.
    """
    position = stream_end(data, start, end, origin, what)
    first = start * 8
    entries = table.entries
    log = table.log
    mask = (1 << log) - 1
    top = 56 - log
    out = bytearray(count + 8)
    at = 0
    limit = count - 5 if log <= MAX_CODE_LENGTH else -1
    while at <= limit:
        lo = position - 56
        word = load(data, lo >> 3)[0] >> (lo & 7)
        entry = entries[word >> top & mask]
        shift = top - (entry >> 8)
        symbols = entry & 255
        entry = entries[word >> shift & mask]
        shift -= entry >> 8
        symbols |= (entry & 255) << 8
        entry = entries[word >> shift & mask]
        shift -= entry >> 8
        symbols |= (entry & 255) << 16
        entry = entries[word >> shift & mask]
        shift -= entry >> 8
        symbols |= (entry & 255) << 24
        entry = entries[word >> shift & mask]
        shift -= entry >> 8
        symbols |= (entry & 255) << 32
        position = lo + shift + log
        if position < first:
            raise not_at_end(position, start, origin, what)
        store(out, at, symbols)
        at += 5
    position = _decode_rest(data, position, first, table, out, at, count)
    if position != first:
        raise not_at_end(position, start, origin, what)
    return bytes(out[:count])


def _decode_rest(data: bytes, position: int, first: int, table: HuffmanTable, out: bytearray, at: int, end: int) -> int:
    """
    Decode symbols one by one to `out[at:end]`; return the position in `data`, in bits, where reading stopped.

    The position is below `first` if bits are missing.
    """
    entries = table.entries
    top = 56 - table.log
    mask = (1 << table.log) - 1
    while at < end and position >= first:
        lo = position - 56
        entry = entries[load(data, lo >> 3)[0] >> (lo & 7) >> top & mask]
        position -= entry >> 8
        out[at] = entry & 255
        at += 1
    return position


def decode_pair(
    data: bytes, starts: list[int], table: HuffmanTable, out: bytearray, at: int, second_at: int, end: int
) -> bool:
    """
    Decode two streams; return False if one is damaged or empty, or if the table has codes of more than 11 bits.

    The streams are `data[starts[0]:starts[1]]` and `data[starts[1]:starts[2]]`; their symbols go to `out[at:second_at]`
    and `out[second_at:end]`. If the result is False, some symbols may have been written. This is the form for a JIT:
    neither stream waits for the other's table lookups.
    """
    start, second_start, stop = starts
    if start >= second_start or second_start >= stop or not data[second_start - 1] or not data[stop - 1]:
        return False
    if table.log > MAX_CODE_LENGTH:
        return False
    position = stream_end(data, start, second_start, 0, "")
    second = stream_end(data, second_start, stop, 0, "")
    first = start * 8
    second_first = second_start * 8
    entries = table.entries
    log = table.log
    mask = (1 << log) - 1
    top = 56 - log
    done = 0
    # Each store writes 8 bytes for 5 symbols. The other 3 bytes must not overwrite the other stream's symbols.
    most = min(second_at - at, end - second_at) - 8
    while done <= most:
        lo = position - 56
        second_lo = second - 56
        word = load(data, lo >> 3)[0] >> (lo & 7)
        second_word = load(data, second_lo >> 3)[0] >> (second_lo & 7)
        entry = entries[word >> top & mask]
        second_entry = entries[second_word >> top & mask]
        shift = top - (entry >> 8)
        second_shift = top - (second_entry >> 8)
        symbols = entry & 255
        second_symbols = second_entry & 255
        entry = entries[word >> shift & mask]
        second_entry = entries[second_word >> second_shift & mask]
        shift -= entry >> 8
        second_shift -= second_entry >> 8
        symbols |= (entry & 255) << 8
        second_symbols |= (second_entry & 255) << 8
        entry = entries[word >> shift & mask]
        second_entry = entries[second_word >> second_shift & mask]
        shift -= entry >> 8
        second_shift -= second_entry >> 8
        symbols |= (entry & 255) << 16
        second_symbols |= (second_entry & 255) << 16
        entry = entries[word >> shift & mask]
        second_entry = entries[second_word >> second_shift & mask]
        shift -= entry >> 8
        second_shift -= second_entry >> 8
        symbols |= (entry & 255) << 24
        second_symbols |= (second_entry & 255) << 24
        entry = entries[word >> shift & mask]
        second_entry = entries[second_word >> second_shift & mask]
        symbols |= (entry & 255) << 32
        second_symbols |= (second_entry & 255) << 32
        position = lo + shift + log - (entry >> 8)
        second = second_lo + second_shift + log - (second_entry >> 8)
        if position < first or second < second_first:
            return False
        store(out, at + done, symbols)
        store(out, second_at + done, second_symbols)
        done += 5
    position = _decode_rest(data, position, first, table, out, at + done, second_at)
    second = _decode_rest(data, second, second_first, table, out, second_at + done, end)
    return position == first and second == second_first


def _decode_wide(data: bytes, start: int, end: int, table: HuffmanTable, count: int, origin: int, what: str) -> bytes:
    """
    Decode the symbols of a bitstream, for interpreters without a JIT, where each operation costs time.

    In a long stream, one lookup decodes all symbols whose codes are complete in the next 11 bits. In short streams, at
    the end of long ones, and if the table has longer codes, a lookup decodes one symbol.
    """
    position = stream_end(data, start, end, origin, what)
    first = start * 8
    pieces: list[bytes] = []
    push = pieces.append
    if position - first > _WORTH_A_WIDE_TABLE and table.log <= MAX_CODE_LENGTH:
        symbols, lengths = table.wide()
        from_bytes = int.from_bytes
        enough = first + 56
        while position >= enough:
            lo = position - 56
            at = lo >> 3
            word = from_bytes(data[at : at + 8], "little") >> (lo & 7)
            index = word >> 45 & 2047
            push(symbols[index])
            shift = 45 - lengths[index]
            index = word >> shift & 2047
            push(symbols[index])
            shift -= lengths[index]
            index = word >> shift & 2047
            push(symbols[index])
            shift -= lengths[index]
            index = word >> shift & 2047
            push(symbols[index])
            shift -= lengths[index]
            index = word >> shift & 2047
            push(symbols[index])
            position = lo + shift - lengths[index] + 11
    out = bytearray().join(pieces)
    entries = table.entries
    top = 56 - table.log
    mask = (1 << table.log) - 1
    emit = out.append
    for _ in range(count - len(out)):
        lo = position - 56
        entry = entries[load(data, lo >> 3)[0] >> (lo & 7) >> top & mask]
        position -= entry >> 8
        if position < first:
            break
        emit(entry & 255)
    if position != first or len(out) != count:
        raise not_at_end(position, start, origin, what)
    return bytes(out)
