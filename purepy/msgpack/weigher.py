# SPDX-License-Identifier: Apache-2.0
"""
The memory that the objects of a message will take, computed from its packed bytes before any object exists.

Two bytes of MessagePack can become a dict of two hundred bytes, and a kilobyte of compressed data a million such
dicts. So neither the size of a message nor the number of its items predicts its memory. The weight does, roughly. It is
the size in bytes of CPython's objects on a 64-bit machine, rounded, and is the same on every backend and interpreter:

- an array: 64, and 8 per item; a map: 152, and 40 per pair; an empty container: 64
- a str or bin of two bytes or more: 56 and its length; a str that is not ASCII: 76, and 1, 2 or 4 per character
- a float, or an int of more than two packed bytes: 32; other numbers and constants: 0
- an extension value: 128 and its length
- an ASCII key of up to 31 bytes: counted once, for the first 1024 distinct keys, since unpackers share equal keys

`ffi_build/msgpack/unpack/weigh.c` computes the same weight.
"""

from __future__ import annotations

from purepy.msgpack.formats import ARRAY, BIN, EXT, FAMILY, LENGTH_BYTES, LENGTHS, MAP, NUMBER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

SHARED_KEYS: Final = 1024
_RUN: Final = 16
"""Numbers of one format in an array are weighed together if at least this many come in a row."""
_CONTINUATIONS: Final = bytes(range(0x80, 0xC0))
_TWO_BYTES_WIDE: Final = bytes(range(0xC4, 0xF0))
_FOUR_BYTES_WIDE: Final = bytes(range(0xF0, 0x100))


def find_excess(data: bytes | bytearray | memoryview, limit: int, max_depth: int) -> int:
    """
    Return the offset of the first value with which the message weighs more than `limit`.

    If no value does, return ~rest, a negative number, where `rest` is the unused part of the limit.

    Weighs only the values before a place where the data is cut or wrong, or nests deeper than `max_depth`, since
    unpacking stops there.
    """
    if type(data) is not bytes:
        data = bytes(data)
    size = len(data)
    position = 0
    allowed = limit
    left = 1  # missing values of the innermost open container; the keys of a map also count as values
    in_map = False
    key_level = -1  # the number of containers open around the current key if that is a container, else -1
    stack: list[tuple[int, bool]] = []
    keys: set[bytes] = set()
    while True:
        while left:
            start = position
            if start >= size:
                return ~allowed
            byte = data[start]
            position += 1
            left -= 1
            if byte < 0x80 or byte >= 0xE0:
                continue
            if 0xA0 <= byte <= 0xBF:  # fixstr
                position += byte - 0xA0
                if position > size:
                    return ~allowed
                if byte < 0xA2:
                    continue
                text = data[start + 1 : position]
                if left & 1 and in_map:
                    if text in keys:
                        continue
                    if len(keys) < SHARED_KEYS and text.isascii():
                        keys.add(text)
                allowed -= 56 + len(text) if text.isascii() else _wide(text)
            else:
                length = LENGTHS[byte]
                field = LENGTH_BYTES[byte]
                if field:
                    if position + field > size:
                        return ~allowed
                    length = int.from_bytes(data[position : position + field], "big")
                    position += field
                family = FAMILY[byte]
                if family >= ARRAY:
                    is_key = in_map and left & 1 == 1
                    if length:
                        if len(stack) >= max_depth:
                            return ~allowed
                        if is_key and key_level < 0:
                            key_level = len(stack)
                        stack.append((left, in_map))
                        in_map = family == MAP
                        left = 2 * length if in_map else length
                        # no more values can follow than there are bytes, whatever the header declares
                        believed = min(left, size - position)
                        allowed -= 152 + 20 * believed if in_map else 64 + 8 * believed
                        if left >= _RUN and not in_map and position < size and 0xCA <= data[position] <= 0xD3:
                            position, left, allowed = _pass_numbers(data, position, left, allowed)
                    elif key_level < 0 and not is_key:
                        allowed -= 64
                else:
                    position += length + (family == EXT)
                    if position > size or byte == 0xC1:
                        return ~allowed
                    if family == NUMBER:
                        if length > 1:
                            allowed -= 32
                    elif family == EXT:
                        allowed -= 128 + length
                    elif length > 1:
                        text = data[position - length : position]
                        allowed -= 56 + length if family == BIN or text.isascii() else _wide(text)
            if allowed < 0:
                return start
        if not stack:
            return ~allowed
        left, in_map = stack.pop()
        if len(stack) == key_level:
            key_level = -1


def _pass_numbers(data: bytes, position: int, left: int, allowed: int) -> tuple[int, int, int]:
    """Skip numbers of one format in a row; return the position, the values left and the weight allowed after them."""
    each = LENGTHS[data[position]] + 1
    weight = 32 if each > 2 else 0
    count = _RUN
    while count and allowed >= weight * count:
        end = position + count * each
        if end > len(data) or data[position:end:each] != data[position : position + 1] * count:
            break
        position = end
        left -= count
        allowed -= weight * count
        # doubling bounds the numbers compared without success by the numbers skipped
        count = min(2 * count, left)
    return position, left, allowed


def _wide(text: bytes) -> int:
    """Return the weight of a str with characters other than ASCII, given its UTF-8."""
    characters = len(text.translate(None, _CONTINUATIONS))
    if len(text.translate(None, _FOUR_BYTES_WIDE)) < len(text):
        characters *= 4
    elif len(text.translate(None, _TWO_BYTES_WIDE)) < len(text):
        characters *= 2
    return 76 + characters
