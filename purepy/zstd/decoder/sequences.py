# SPDX-License-Identifier: Apache-2.0
"""
The bitstream of a compressed block's sequences (RFC 8878 section 3.1.1.3.2.1.2) and their execution (sections 3.1.1.4
and 3.1.1.5). The tables are in sequence_tables.py.

A sequence means: copy some literals, then a match from `offset` bytes back.

There are two forms of the hot loops. For a JIT, one loop decodes all sequences of a block to a list and a second loop
executes them, with plain integers and word-wide copies; a single loop with the branches of both would compile to many
more and longer traces. For an interpreter, one loop does both and appends slices: `_interpret` mirrors `_decode`
(values, repeat offsets, next states) and then `_execute` (literals, match).
"""

from __future__ import annotations

from purepy.base.errors import ZstdError
from purepy.base.pypy import JIT
from purepy.zstd.decoder.bits import load, not_at_end, store, stream_end
from purepy.zstd.decoder.literals import Literals
from purepy.zstd.decoder.sequence_tables import Table
from purepy.zstd.decoder.window import Window
from purepy.zstd.format.error_codes import corruption
from purepy.zstd.format.fse_tables import MASKS

_LENGTH_BITS = 18
"""Bits for a length in a sequence packed into one integer; the largest length is a match's, 131,074."""

_LENGTH_UNIT = 1 << _LENGTH_BITS
_LENGTH_MASK = _LENGTH_UNIT - 1


def _initial_states(
    data: bytes, start: int, end: int, origin: int, tables: tuple[Table, ...]
) -> tuple[int, int, int, int]:
    """
    Read the first states of literals length, offset and match length (section 3.1.1.3.2.1.2).

    Return the position in bits after them, and the three states. Raises ZstdError if the stream is too short.
    """
    position = stream_end(data, start, end, origin, "sequences")
    states = []
    for table in tables:
        position -= table.log
        if position < start * 8:
            raise not_at_end(position, start, origin, "sequences")
        states.append(load(data, position >> 3)[0] >> (position & 7) & MASKS[table.log])
    return position, states[0], states[1], states[2]


def _zero_offset(origin: int, start: int, index: int) -> Exception:
    return corruption(origin + start, f"offset of sequence {index} is 0")


def _bad_offset(origin: int, start: int, index: int, offset: int, reach: int) -> Exception:
    return corruption(
        origin + start,
        f"offset {offset} of sequence {index} exceeds the {reach} bytes of available history",
    )


def check_offset(window: Window, at: int, offset: int, origin: int, start: int, index: int) -> None:
    """
    Raise ZstdError unless a match at position `at` of the window's data may refer `offset` bytes back.

    A match may refer to the window, and to the dictionary as long as the output is no longer than the window (sections
    3.1.1.1.2 and 5).
    """
    output = at - window.start
    reach = output + window.dictionary_size if output <= window.size else window.size
    if offset > reach:
        raise _bad_offset(origin, start, index, offset, reach)


def _too_long(origin: int, start: int, literals: int, size: int, max_size: int) -> Exception:
    if literals > size:
        detail = f"sequences use {literals} literals, the block has {size}"
    else:
        detail = f"block decodes to more than its maximum of {max_size} bytes"
    return corruption(origin + start, detail)


def run_sequences(
    data: bytes,
    start: int,
    end: int,
    origin: int,
    count: int,
    tables: tuple[Table, ...],
    repeats: list[int],
    literals: Literals,
    window: Window,
    max_size: int,
) -> None:
    """
    Decode and execute the `count` sequences of the bitstream `data[start:end]`; append all output to the window.

    `repeats` are the three repeat offsets, which are replaced on success. `max_size` is the most that the block may add
    to the window, in bytes. Raises ZstdError for damaged data; the window must not be used afterwards.
    """
    if JIT:
        sequences = _decode(data, start, end, origin, count, tables, repeats, literals.size, max_size)
        _execute(sequences, literals, window, origin, start)
    else:
        _interpret(data, start, end, origin, count, tables, repeats, literals, window, max_size)


def _decode(
    data: bytes,
    start: int,
    end: int,
    origin: int,
    count: int,
    tables: tuple[Table, ...],
    repeats: list[int],
    literals_size: int,
    max_size: int,
) -> list[int]:
    """
    Decode all sequences (section 3.1.1.3.2.1.2); return the literals length, match length and offset of each.

    Each sequence is one integer: from the lowest bits up, the literals length and the match length, each in a field of
    _LENGTH_BITS, and the offset. Whether an offset reaches too far back is checked later, by `_execute`.
    """
    position, ll_state, of_state, ml_state = _initial_states(data, start, end, origin, tables)
    first = start * 8
    ll_entries, of_entries, ml_entries = (table.entries for table in tables)
    masks = MASKS
    repeat1, repeat2, repeat3 = repeats
    sequences = [0] * count
    ll_total = ml_total = 0
    last = count - 1
    index = 0
    while True:
        ll_entry = ll_entries[ll_state]
        of_entry = of_entries[of_state]
        ml_entry = ml_entries[ml_state]
        lo = position - (ll_entry + of_entry + ml_entry & 127)
        ll_width = ll_entry >> 7 & 15
        of_width = of_entry >> 7 & 15
        ml_width = ml_entry >> 7 & 15
        widths = ll_width + of_width + ml_width
        if lo < first and (index < last or lo + widths < first):
            position = lo
            break
        # From the top: the extra bits of offset, match length and literals length, then the bits of the next states of
        # literals length, match length and offset.
        word = load(data, lo >> 3)[0] >> (lo & 7)
        of_state = (of_entry >> 16 & 511) + (word & masks[of_width])
        word >>= of_width
        ml_state = (ml_entry >> 16 & 511) + (word & masks[ml_width])
        word >>= ml_width
        ll_state = (ll_entry >> 16 & 511) + (word & masks[ll_width])
        ll_extra = ll_entry >> 11 & 31
        of_extra = of_entry >> 11 & 31
        ml_extra = ml_entry >> 11 & 31
        if position - lo > 56:
            # The extra bits extend beyond the word; without the offset's they have at most 32 bits.
            bit = lo + widths
            word = load(data, bit >> 3)[0] >> (bit & 7)
            bit = position - of_extra
            value = load(data, bit >> 3)[0] >> (bit & 7)
        else:
            word >>= ll_width
            value = word >> (ll_extra + ml_extra)
        ll = (ll_entry >> 25) + (word & masks[ll_extra])
        ml = (ml_entry >> 25) + (word >> ll_extra & masks[ml_extra])
        value = (of_entry >> 25) + (value & masks[of_extra])
        position = lo
        # Section 3.1.1.5: values above 3 are offsets; lower values refer to the last three offsets.
        if value > 3:
            offset = value - 3
            repeat3 = repeat2
            repeat2 = repeat1
        else:
            if not ll:
                value += 1
            if value == 1:
                offset = repeat1
            elif value == 2:
                offset = repeat2
                repeat2 = repeat1
            else:
                offset = repeat3 if value == 3 else repeat1 - 1
                if not offset:
                    raise _zero_offset(origin, start, index)
                repeat3 = repeat2
                repeat2 = repeat1
        # Multiply, because PyPy would do a shift twice to detect overflow.
        sequences[index] = (offset * _LENGTH_UNIT + ml) * _LENGTH_UNIT + ll
        ll_total += ll
        ml_total += ml
        if index == last:
            break
        index += 1
        # For the JIT, see purepy/base/pypy.py: keep the variables in one form, and reset those no longer needed.
        repeat1 = offset + 0
        repeat2 += 0
        repeat3 += 0
        ll_entry = of_entry = ml_entry = ll_width = of_width = ml_width = ll_extra = of_extra = ml_extra = widths = 0
        lo = word = bit = value = ll = ml = offset = 0
    left = _check_bits(position, widths, index == last, first, start, origin)
    if left:
        raise not_at_end(first + left, start, origin, "sequences")
    if ll_total > literals_size or literals_size + ml_total > max_size:
        raise _too_long(origin, start, ll_total, literals_size, max_size)
    repeats[:] = (offset, repeat2, repeat3)
    return sequences


def _execute(sequences: list[int], literals: Literals, window: Window, origin: int, start: int) -> None:
    """Execute sequences whose lengths have been checked, and append the remaining literals (section 3.1.1.4)."""
    out = window.data
    at = window.end
    text = literals.data
    text_at = literals.start
    size = window.size
    count = len(sequences)
    index = 0
    while index < count:
        entry = sequences[index]
        length = entry & _LENGTH_MASK
        # Copy words of 8 bytes; the next copy overwrites bytes written in excess. Most copies are short, and one or two
        # words, needed or not, cost less than a branch that is taken half of the time.
        store(out, at, load(text, text_at)[0])
        done = 8
        if length > 8:
            if length > 32:
                out[at : at + length] = text[text_at : text_at + length]
            else:
                while done < length:
                    store(out, at + done, load(text, text_at + done)[0])
                    done += 8
        at += length
        text_at += length
        offset = entry >> 2 * _LENGTH_BITS
        length = entry >> _LENGTH_BITS & _LENGTH_MASK
        source = at - offset
        if source < 0 or offset > size:
            check_offset(window, at, offset, origin, start, index)
        if offset >= 8:
            store(out, at, load(out, source)[0])
            store(out, at + 8, load(out, source + 8)[0])
            if length > 16:
                if length > 64 and offset >= length:
                    out[at : at + length] = out[source : source + length]
                else:
                    done = 16
                    while done < length:
                        store(out, at + done, load(out, source + done)[0])
                        done += 8
        else:
            _copy_period(out, at, offset, length)
        at += length
        index += 1
        # for the JIT, as in `_decode`
        text_at += 0
        entry = length = offset = source = done = 0
    rest = literals.start + literals.size - text_at
    if rest:
        out[at : at + rest] = text[text_at : text_at + rest]
        at += rest
    window.end = at


def _copy_period(out: bytearray, at: int, offset: int, length: int) -> None:
    """Copy a match from less than 8 bytes back: write `length` bytes that repeat the `offset` bytes before `at`."""
    period = bytes(out[at - offset : at])
    out[at : at + length] = (period * (length // offset + 1))[:length]


def _interpret(
    data: bytes,
    start: int,
    end: int,
    origin: int,
    count: int,
    tables: tuple[Table, ...],
    repeats: list[int],
    literals: Literals,
    window: Window,
    max_size: int,
) -> None:
    """Decode and execute all sequences in one loop, for interpreters without a JIT, where each operation costs time."""
    position, ll_state, of_state, ml_state = _initial_states(data, start, end, origin, tables)
    first = start * 8
    ll_entries, of_entries, ml_entries = (table.entries for table in tables)
    from_bytes = int.from_bytes
    repeat1, repeat2, repeat3 = repeats
    out = window.data
    at = window.end
    limit = at + max_size
    text = literals.data
    text_at = literals.start
    text_end = text_at + literals.size
    size = window.size
    # All sequences, even the last, are read as if the bits of next states followed. After the last sequence, this reads
    # up to 26 bits before the stream, which are readable. The exact end of the stream is checked at the end.
    lowest = first - 26
    try:
        for index in range(count):
            ll, ll_extra, ll_extra_mask, ll_width, ll_mask, ll_state, ll_bits = ll_entries[ll_state]
            value, _, of_extra_mask, of_width, of_mask, of_state, of_bits = of_entries[of_state]
            ml, ml_extra, ml_extra_mask, ml_width, ml_mask, ml_state, ml_bits = ml_entries[ml_state]
            lo = position - ll_bits - of_bits - ml_bits
            if lo < lowest:
                position = lo
                break
            # From the top: the extra bits of offset, match length and literals length, then the bits of the next states
            # of literals length, match length and offset.
            word = from_bytes(data[lo >> 3 : position + 7 >> 3], "little") >> (lo & 7)
            position = lo
            of_state += word & of_mask
            word >>= of_width
            ml_state += word & ml_mask
            word >>= ml_width
            ll_state += word & ll_mask
            word >>= ll_width
            if ll_extra:
                ll += word & ll_extra_mask
                word >>= ll_extra
            if ml_extra:
                ml += word & ml_extra_mask
                word >>= ml_extra
                # Only lengths with extra bits can make a block much too long; the exact size is checked at the end.
                if at > limit:
                    break
            value += word & of_extra_mask
            if value > 3:
                offset = value - 3
                repeat3 = repeat2
                repeat2 = repeat1
                repeat1 = offset
            else:
                if not ll:
                    value += 1
                if value == 1:
                    offset = repeat1
                elif value == 2:
                    offset = repeat2
                    repeat2 = repeat1
                    repeat1 = offset
                else:
                    offset = repeat3 if value == 3 else repeat1 - 1
                    if not offset:
                        raise _zero_offset(origin, start, index)
                    repeat3 = repeat2
                    repeat2 = repeat1
                    repeat1 = offset
            if ll:
                text_after = text_at + ll
                out += text[text_at:text_after]
                text_at = text_after
                at += ll
            source = at - offset
            if source < 0 or offset > size:
                check_offset(window, at, offset, origin, start, index)
            if offset >= ml:
                out += out[source : source + ml]
            else:
                out += (out[source:] * (ml // offset + 1))[:ml]
            at += ml
    except ZstdError:
        # the cause may be that the stream has too few bits: then raise the error for that
        _check_bits(position, ll_width + of_width + ml_width, index == count - 1, first, start, origin)
        raise
    left = _check_bits(position, ll_width + of_width + ml_width, index == count - 1, first, start, origin)
    if text_at > text_end or at + text_end - text_at > limit:
        raise _too_long(origin, start, text_at - literals.start, literals.size, max_size)
    if left:
        raise not_at_end(first + left, start, origin, "sequences")
    out += text[text_at:text_end]
    window.end = at + text_end - text_at
    repeats[:] = (repeat1, repeat2, repeat3)


def _check_bits(position: int, widths: int, is_last: bool, first: int, start: int, origin: int) -> int:
    """
    Return how many bits are left after a sequence; raise ZstdError if it has taken more bits than there are.

    `first` is the position of the stream's first bit, which is read last. `position` is where reading ends if `widths`
    bits for the next states follow the sequence. They do not follow the last sequence.
    """
    position += widths
    if position >= first and not is_last:
        position -= widths
    if position < first:
        raise not_at_end(position, start, origin, "sequences")
    return position - first
