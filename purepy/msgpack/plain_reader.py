# SPDX-License-Identifier: Apache-2.0
"""
The fast loop of unpacking: containers with str keys, numbers, constants, text, bytes, and extensions for a `ReadExt`.

The loop creates the same objects as default options do. It stops before any other value, which
`purepy.msgpack.decoder` decodes.
"""

from __future__ import annotations

import struct

from purepy.base.pypy import (
    Reader,
    newlist_hint,
    read_f32,
    read_f64,
    read_i8,
    read_i16,
    read_i32,
    read_i64,
    read_u8,
    read_u16,
    read_u32,
    read_u64,
)
from purepy.msgpack.formats import LENGTH_BYTES, LENGTHS
from purepy.msgpack.keys import KEYS, LONGEST

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Final

    from typing_extensions import TypeAlias

    from purepy.base.types import Value

# The next thing to read: an item of an array, a key of a map, or the value of a key.
ITEM: Final = 0
KEY: Final = 1
VALUE: Final = 2

# An open container around the current one: (whether the current one is an ITEM, KEY or VALUE in it, the container, its
# items or pairs left, the key of a VALUE). The item or pair that is being read counts as left.
Frame: TypeAlias = "tuple[int, Value, int, Value]"

ReadRun: TypeAlias = "Callable[[bytes, int, list[object], int], tuple[int, int]]"
"""Decodes the numbers at the start of an array: `read_run`, or a function that does the same."""

ReadExt: TypeAlias = "Callable[[bytes, int, int], object]"
"""Returns the value of an extension, given the data, the position of its code and its end. May raise Unread."""

PREALLOCATE: Final = 1000
"""The largest number of items to allocate a list for: a header may declare more items than follow."""

RUN: Final = 16
"""The smallest array, in items, for which a separate loop is worth its cost."""


class Unread(Exception):
    """Raised by `read_ext` for an extension value that the fast loop must leave to the decoder."""


NUMBERS: Final[tuple[tuple[Reader, int], ...]] = (
    (read_f32, 4),
    (read_f64, 8),
    (read_u8, 1),
    (read_u16, 2),
    (read_u32, 4),
    (read_u64, 8),
    (read_i8, 1),
    (read_i16, 2),
    (read_i32, 4),
    (read_i64, 8),
)
"""Reader and size in bytes of the formats 0xca to 0xd3."""

LENGTH_READERS: Final[tuple[Reader, ...]] = (read_u8, read_u8, read_u16, read_u32, read_u32)
"""Readers of a length field, indexed by its size in bytes (never 0 or 3)."""


def read_run(data: bytes, pos: int, node: list[object], left: int) -> tuple[int, int]:
    """
    Append the leading numbers of an array, all ints or all doubles, to `node`; return the position and the items left.

    The next item begins at `data[pos]`; `left` items are still to be read. Stops before any other value, and less than
    9 bytes before the end of the data, where a number might be cut. Reads nothing if fewer than RUN items are left. A
    loop over one type is one trace for a JIT, whatever the rest of the message holds.
    """
    last = len(data) - 9  # the last position at which the longest number fits
    if pos > last or left < RUN:
        return pos, left
    byte = data[pos]
    if byte == 0xCB:
        while left and pos <= last and data[pos] == 0xCB:
            node.append(read_f64(data, pos + 1)[0])
            pos += 9
            left -= 1
    elif byte < 0x80 or 0xCC <= byte <= 0xD3 or byte >= 0xE0:
        while left and pos <= last:
            byte = data[pos]
            if byte < 0x80:
                node.append(byte)
                pos += 1
            elif byte >= 0xE0:
                node.append(byte - 0x100)
                pos += 1
            elif 0xCC <= byte <= 0xD3:
                reader, length = NUMBERS[byte - 0xCA]
                node.append(reader(data, pos + 1)[0])
                pos += 1 + length
            else:
                break
            left -= 1
    return pos, left


def read_plain(
    data: bytes,
    pos: int,
    next_: int,
    node: Value,
    left: int,
    stack: list[Frame],
    max_depth: int,
    max_array_len: int,
    max_map_len: int,
    read_run: ReadRun,
    read_ext: ReadExt | None,
) -> tuple[int, int, Value, int]:
    """
    Decode plain values; return the new values of `pos`, `next_`, `node` and `left`.

    `next_` is the next part to read (ITEM or KEY) of the container `node`, of which `left` items or pairs are missing.
    Stops at the end of the message (then `left` is 0 and the stack is empty), or before an item or pair that is not
    plain: an extension that `read_ext` does not read, a key that is not a str, or a value that is cut, wrong or beyond
    a limit. `Decoder.run` continues with the same lists and dicts.

    On PyPy all paths through a loop meet at its head, and a local variable is cheap only if it has one type there. So
    values are stored without passing through a variable, and the code exists twice: for items of an array, and for
    values of a map.
    """
    size = len(data)
    slots = KEYS.slots
    following = KEYS.following
    last = 0
    start = pos
    key: object = ""
    packed: object
    reader: Reader | None
    try:
        while True:
            if next_ == ITEM:
                while left:
                    start = pos
                    byte = data[pos]
                    pos += 1
                    if byte < 0x80:
                        node.append(byte)
                    elif byte < 0xC0:
                        if byte >= 0xA0:  # fixstr
                            end = pos + (byte & 0x1F)
                            if end > size:
                                return start, ITEM, node, left
                            node.append(data[pos:end].decode())
                            pos = end
                        else:  # fixmap, fixarray
                            if len(stack) >= max_depth:
                                return start, ITEM, node, left
                            length = byte & 0x0F
                            if byte >= 0x90:
                                if length > max_array_len:
                                    return start, ITEM, node, left
                                stack.append((ITEM, node, left, None))
                                node = newlist_hint(length)
                                left = length
                                continue
                            if length > max_map_len:
                                return start, ITEM, node, left
                            stack.append((ITEM, node, left, None))
                            node = {}
                            left = length
                            next_ = KEY
                            break
                    elif byte == 0xCB:
                        node.append(read_f64(data, pos)[0])
                        pos += 8
                    elif byte >= 0xE0:
                        node.append(byte - 0x100)
                    elif 0xCA <= byte <= 0xD3:
                        reader, length = NUMBERS[byte - 0xCA]
                        node.append(reader(data, pos)[0])
                        pos += length
                        reader = None
                    elif byte >= 0xD9:
                        if byte <= 0xDB:
                            end = pos + LENGTH_BYTES[byte]
                            length = LENGTH_READERS[end - pos](data, pos)[0]
                            pos = end
                            end += length
                            if end > size:
                                return start, ITEM, node, left
                            node.append(data[pos:end].decode())
                            pos = end
                        else:
                            if len(stack) >= max_depth:
                                return start, ITEM, node, left
                            end = pos + LENGTH_BYTES[byte]
                            length = LENGTH_READERS[end - pos](data, pos)[0]
                            if byte <= 0xDD:
                                if length > max_array_len:
                                    return start, ITEM, node, left
                                pos = end
                                stack.append((ITEM, node, left, None))
                                node = newlist_hint(min(length, PREALLOCATE))
                                pos, left = read_run(data, pos, node, length)
                                continue
                            if length > max_map_len:
                                return start, ITEM, node, left
                            pos = end
                            stack.append((ITEM, node, left, None))
                            node = {}
                            left = length
                            next_ = KEY
                            break
                    elif byte == 0xC0:
                        node.append(None)
                    elif byte == 0xC2:
                        node.append(False)
                    elif byte == 0xC3:
                        node.append(True)
                    elif 0xC4 <= byte <= 0xC6:
                        end = pos + LENGTH_BYTES[byte]
                        length = LENGTH_READERS[end - pos](data, pos)[0]
                        pos = end
                        end += length
                        if end > size:
                            return start, ITEM, node, left
                        node.append(data[pos:end])
                        pos = end
                    elif read_ext is None or byte == 0xC1:
                        return start, ITEM, node, left
                    else:  # an extension
                        if byte >= 0xD4:
                            end = pos + 1 + LENGTHS[byte]
                        else:
                            end = pos + LENGTH_BYTES[byte]
                            length = LENGTH_READERS[end - pos](data, pos)[0]
                            pos = end
                            end += 1 + length
                        if end > size:
                            return start, ITEM, node, left
                        node.append(read_ext(data, pos, end))
                        pos = end
                    byte = end = length = 0
                    left -= 1
                else:
                    if not stack:
                        return pos, ITEM, node, 0
                    next_, outer, left, key = stack.pop()
                    if next_ == ITEM:
                        outer.append(node)
                    else:
                        outer[key] = node
                        next_ = KEY
                    node = outer
                    outer = None
                    left -= 1
            else:
                while left:
                    start = pos
                    guess = following[last]
                    packed, length, key = slots[guess]
                    end = pos + length
                    if data[pos:end] == packed:
                        last = guess
                        pos = end
                    else:
                        byte = data[pos]
                        if 0xA0 <= byte <= 0xBF:
                            end = pos + 1 + (byte & 0x1F)
                            length = 1
                        elif byte == 0xD9:
                            end = pos + 2 + data[pos + 1]
                            length = 2
                        else:
                            return start, KEY, node, left
                        if end > size:
                            return start, KEY, node, left
                        if end - pos <= LONGEST:
                            last, key = KEYS.find(data[pos:end], length, last)
                        else:
                            key = data[pos + length : end].decode()
                        pos = end
                    packed = None
                    byte = data[pos]
                    pos += 1
                    if byte < 0x80:
                        node[key] = byte
                    elif byte < 0xC0:
                        if byte >= 0xA0:
                            end = pos + (byte & 0x1F)
                            if end > size:
                                return start, KEY, node, left
                            node[key] = data[pos:end].decode()
                            pos = end
                        else:
                            if len(stack) >= max_depth:
                                return start, KEY, node, left
                            length = byte & 0x0F
                            if byte >= 0x90:
                                if length > max_array_len:
                                    return start, KEY, node, left
                                stack.append((VALUE, node, left, key))
                                node = newlist_hint(length)
                                left = length
                                next_ = ITEM
                                break
                            if length > max_map_len:
                                return start, KEY, node, left
                            stack.append((VALUE, node, left, key))
                            node = {}
                            left = length
                            continue
                    elif byte == 0xCB:
                        node[key] = read_f64(data, pos)[0]
                        pos += 8
                    elif byte >= 0xE0:
                        node[key] = byte - 0x100
                    elif 0xCA <= byte <= 0xD3:
                        reader, length = NUMBERS[byte - 0xCA]
                        node[key] = reader(data, pos)[0]
                        pos += length
                        reader = None
                    elif byte >= 0xD9:
                        if byte <= 0xDB:
                            end = pos + LENGTH_BYTES[byte]
                            length = LENGTH_READERS[end - pos](data, pos)[0]
                            pos = end
                            end += length
                            if end > size:
                                return start, KEY, node, left
                            node[key] = data[pos:end].decode()
                            pos = end
                        else:
                            if len(stack) >= max_depth:
                                return start, KEY, node, left
                            end = pos + LENGTH_BYTES[byte]
                            length = LENGTH_READERS[end - pos](data, pos)[0]
                            if byte <= 0xDD:
                                if length > max_array_len:
                                    return start, KEY, node, left
                                pos = end
                                stack.append((VALUE, node, left, key))
                                node = newlist_hint(min(length, PREALLOCATE))
                                pos, left = read_run(data, pos, node, length)
                                next_ = ITEM
                                break
                            if length > max_map_len:
                                return start, KEY, node, left
                            pos = end
                            stack.append((VALUE, node, left, key))
                            node = {}
                            left = length
                            continue
                    elif byte == 0xC0:
                        node[key] = None
                    elif byte == 0xC2:
                        node[key] = False
                    elif byte == 0xC3:
                        node[key] = True
                    elif 0xC4 <= byte <= 0xC6:
                        end = pos + LENGTH_BYTES[byte]
                        length = LENGTH_READERS[end - pos](data, pos)[0]
                        pos = end
                        end += length
                        if end > size:
                            return start, KEY, node, left
                        node[key] = data[pos:end]
                        pos = end
                    elif read_ext is None or byte == 0xC1:
                        return start, KEY, node, left
                    else:  # an extension
                        if byte >= 0xD4:
                            end = pos + 1 + LENGTHS[byte]
                        else:
                            end = pos + LENGTH_BYTES[byte]
                            length = LENGTH_READERS[end - pos](data, pos)[0]
                            pos = end
                            end += 1 + length
                        if end > size:
                            return start, KEY, node, left
                        node[key] = read_ext(data, pos, end)
                        pos = end
                    byte = end = length = guess = 0
                    left -= 1
                else:
                    if not stack:
                        return pos, KEY, node, 0
                    next_, outer, left, key = stack.pop()
                    if next_ == ITEM:
                        outer.append(node)
                    else:
                        outer[key] = node
                        next_ = KEY
                    node = outer
                    outer = None
                    left -= 1
    except (IndexError, struct.error, UnicodeDecodeError, Unread):
        # a value that is cut, or text that is not UTF-8: the other loop raises the error
        return start, next_, node, left
