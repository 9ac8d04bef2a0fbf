# SPDX-License-Identifier: Apache-2.0
"""
The fast loop of packing: objects of exact built-in types, in the formats of the default options.

All other objects go to two functions, `form` and `other`, which `purepy.msgpack.encoder` supplies.
"""

from __future__ import annotations

from itertools import chain
from struct import unpack

from purepy.base.pypy import (
    utf8,
    write_f64,
    write_i16,
    write_i32,
    write_i64,
    write_u16,
    write_u32,
    write_u64,
)
from purepy.msgpack.formats import MAX_LENGTH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Callable, Final

    from typing_extensions import TypeAlias

    from purepy.base.types import Builder, Value


def _each(first: int, end: int) -> list[bytes]:
    """Return each byte from `first` to before `end` as bytes; in few calls, since a JIT is slow in code run once."""
    return list(unpack("1s" * (end - first), bytes(range(first, end))))


def _with_each(byte: int) -> list[bytes]:
    """Return the 256 pairs of bytes that begin with `byte`."""
    pairs = bytearray((byte,)) * 512
    pairs[1::2] = bytes(range(256))
    return list(unpack("2s" * 256, pairs))


FIXINT: Final = _each(0, 0x80) + _each(0xE0, 0x100)
"""The packed forms of -32 to 127, each at its own index (negative indices count from the end)."""

_UINT8: Final = _with_each(0xCC)
_INT8: Final = _with_each(0xD0)
_STR: Final = _each(0xA0, 0xC0) + _with_each(0xD9)[32:]
_BIN: Final = _with_each(0xC4)
_ARRAY: Final = _each(0x90, 0xA0)
_MAP: Final = _each(0x80, 0x90)

RUN: Final = 16
"""The smallest list, in items, for which a separate loop is worth its cost."""

_PIECE: Final = 4096
"""The number of items to copy at once: on PyPy the time for large objects grows faster than their size."""

Form: TypeAlias = "Callable[[Value], Value]"
"""Returns the packed bytes of an object, or a tuple of the pairs of a map to pack instead of the object, or None."""

# An open container around the current one: (whether it is a map, its iterator, the container, its length).
Frame: TypeAlias = "tuple[bool, Iterator[Value], Value, int]"


def int_bytes(value: int) -> bytes:
    """Return a packed int, in the shortest format; raise OverflowError if it is out of range."""
    if value >= 0:
        if value < 0x80:
            return FIXINT[value]
        if value <= 0xFF:
            return _UINT8[value]
        if value <= 0xFFFF:
            return b"\xcd" + write_u16(value)
        if value <= 0xFFFFFFFF:
            return b"\xce" + write_u32(value)
        if value <= 0x7FFFFFFFFFFFFFFF:
            return b"\xcf" + write_i64(value)
        if value <= 0xFFFFFFFFFFFFFFFF:
            return b"\xcf" + write_u64(value)
    else:
        if value >= -0x20:
            return FIXINT[value]
        if value >= -0x80:
            return _INT8[value & 0xFF]
        if value >= -0x8000:
            return b"\xd1" + write_i16(value)
        if value >= -0x80000000:
            return b"\xd2" + write_i32(value)
        if value >= -0x8000000000000000:
            return b"\xd3" + write_i64(value)
    raise OverflowError("Integer value out of range")


def _make_header(short: list[bytes], long: int, too_long: str) -> Callable[[int], bytes]:
    """
    Create a function that returns the header for a length.

    `short` has the headers of the smallest lengths. The first bytes of the formats with a length of 2 and 4 bytes are
    `long` and `long` + 1.
    """
    end, middle, longest = len(short), bytes((long,)), bytes((long + 1,))

    def header(length: int) -> bytes:
        if length < end:
            return short[length]
        if length <= 0xFFFF:
            return middle + write_u16(length)
        if length > MAX_LENGTH:
            raise ValueError(too_long)
        return longest + write_u32(length)

    return header


str_header: Final = _make_header(_STR, 0xDA, "unicode string is too large")
bin_header: Final = _make_header(_BIN, 0xC5, "bytes object is too large")
array_header: Final = _make_header(_ARRAY, 0xDC, "list is too large")
map_header: Final = _make_header(_MAP, 0xDE, "dict is too large")


def changed(kind: str) -> RuntimeError:
    """Return the error for a container whose size changed while it was packed."""
    return RuntimeError(f"{kind} changed size during packing")


def write_run(out: Builder, items: Iterator[object], kind: type) -> Iterator[object]:
    """
    Append the leading items of a list that have the type `kind`; return an iterator of the remaining items.

    Appends nothing unless `kind` is float, int or str, and stops at an int that is out of range. A loop over one type
    is one trace for a JIT, whatever else is packed.
    """
    if kind is float:
        for item in items:
            if type(item) is not float:
                return chain((item,), items)
            out.append(b"\xcb")
            out.append(write_f64(item))
    elif kind is int:
        for item in items:
            if type(item) is not int or not -0x8000000000000000 <= item <= 0xFFFFFFFFFFFFFFFF:
                return chain((item,), items)
            out.append(FIXINT[item] if -0x20 <= item < 0x80 else int_bytes(item))
    elif kind is str:
        for item in items:
            if type(item) is not str:
                return chain((item,), items)
            packed = utf8(item)
            out.append(_STR[len(packed)] if len(packed) <= 0xFF else str_header(len(packed)))
            out.append(packed)
    return items


def _write_long(out: Builder, items: Sequence[object], length: int) -> Iterator[object]:
    """
    Append the leading items that have the type of the first item, as `write_run` does.

    `length` is the length of `items`. Returns an iterator of a copy of the remaining items.
    """
    kind = type(next(iter(items), None))
    if kind is not float and kind is not int and kind is not str:
        return iter(_copied(items, 0, length))
    for begin in range(0, length, _PIECE):
        end = min(begin + _PIECE, length)
        others = write_run(out, iter(_copied(items, begin, end)), kind)
        for item in others:
            return chain((item,), others, _copied(items, end, length))
    return iter(())


def _copied(items: Sequence[object], begin: int, end: int) -> Sequence[object]:
    """Return a copy, which other threads cannot change, of items[begin:end]; RuntimeError if there are fewer items."""
    copied = items[begin:end]
    if len(copied) != end - begin:
        raise changed("list")
    return copied


def write_plain(
    out: Builder,
    obj: object,
    depth: int,
    max_depth: int,
    tuple_type: type,
    other: Callable[..., None],
    form: Form | None,
) -> None:
    """
    Append the packed form of `obj`, which is inside `depth` containers.

    `tuple_type` is tuple, or list if tuples are not packed as arrays. `form(obj)` (see Form) is called for objects of
    other types, unless a container would be too deep here. `other(out, obj, depth)` packs objects for which `form` is
    not called or returns None, keys that are not str, and ints out of range. `other` may run code that adds items to
    the container around the object or removes some: then RuntimeError is raised. If such code replaces an item, the
    item is packed before or after the change. Another thread may also change a container at any moment. So lists are
    copied, and the pairs of dicts are counted (the iterators of dicts notice all other changes), to make the header
    match the items. Raises ValueError if containers are nested deeper than `max_depth`.

    The code exists twice, for pairs of dicts and for items, since calling a function costs more than packing a value.
    """
    stack: list[Frame] = []
    max_open = max_depth - depth
    node: Value = (obj,)
    items: Iterator[Value] = iter(node)
    kind: type | None
    packed: Value
    length = 1
    in_map = False
    while True:
        if in_map:
            for key, value in items:
                length -= 1
                if type(key) is str:
                    packed = utf8(key)
                    out.append(_STR[len(packed)] if len(packed) <= 0xFF else str_header(len(packed)))
                    out.append(packed)
                else:
                    other(out, key, depth + len(stack))
                kind = type(value)
                if kind is str:
                    packed = utf8(value)
                    out.append(_STR[len(packed)] if len(packed) <= 0xFF else str_header(len(packed)))
                    out.append(packed)
                elif kind is int:
                    if -0x20 <= value < 0x80:
                        out.append(FIXINT[value])
                    elif -0x8000000000000000 <= value <= 0xFFFFFFFFFFFFFFFF:
                        out.append(int_bytes(value))
                    else:
                        other(out, value, depth + len(stack))
                elif kind is float:
                    out.append(b"\xcb")
                    out.append(write_f64(value))
                elif value is None:
                    out.append(b"\xc0")
                elif value is True:
                    out.append(b"\xc3")
                elif value is False:
                    out.append(b"\xc2")
                elif kind is dict:
                    if len(stack) >= max_open:
                        raise ValueError("recursion limit exceeded.")
                    stack.append((True, items, node, length))
                    node = None
                    length = len(value)
                    out.append(map_header(length))
                    items = iter(value.items())
                    break
                elif kind is list or kind is tuple_type:
                    if len(stack) >= max_open:
                        raise ValueError("recursion limit exceeded.")
                    stack.append((True, items, node, length))
                    node = value
                    length = len(value)
                    if length < RUN:
                        value = value[:]
                        length = len(value)
                        out.append(array_header(length))
                        items = iter(value)
                    else:
                        out.append(array_header(length))
                        items = _write_long(out, value, length)
                    in_map = False
                    break
                elif kind is bytes:
                    out.append(bin_header(len(value)))
                    out.append(value)
                else:
                    packed = None if form is None or len(stack) >= max_open else form(value)
                    if packed is None:
                        other(out, value, depth + len(stack))
                    elif type(packed) is bytes:
                        out.append(packed)
                    else:
                        stack.append((True, items, node, length))
                        node = None
                        length = len(packed)
                        out.append(map_header(length))
                        items = iter(packed)
                        break
                key = value = kind = packed = None
            else:
                if length:
                    raise changed("dictionary")
                in_map, items, node, length = stack.pop()
        else:
            for value in items:
                kind = type(value)
                if kind is str:
                    packed = utf8(value)
                    out.append(_STR[len(packed)] if len(packed) <= 0xFF else str_header(len(packed)))
                    out.append(packed)
                elif kind is int:
                    if -0x20 <= value < 0x80:
                        out.append(FIXINT[value])
                    elif -0x8000000000000000 <= value <= 0xFFFFFFFFFFFFFFFF:
                        out.append(int_bytes(value))
                    else:
                        other(out, value, depth + len(stack))
                        if len(node) != length:
                            raise changed("list")
                elif kind is float:
                    out.append(b"\xcb")
                    out.append(write_f64(value))
                elif value is None:
                    out.append(b"\xc0")
                elif value is True:
                    out.append(b"\xc3")
                elif value is False:
                    out.append(b"\xc2")
                elif kind is dict:
                    if len(stack) >= max_open:
                        raise ValueError("recursion limit exceeded.")
                    stack.append((False, items, node, length))
                    node = None
                    length = len(value)
                    out.append(map_header(length))
                    items = iter(value.items())
                    in_map = True
                    break
                elif kind is list or kind is tuple_type:
                    if len(stack) >= max_open:
                        raise ValueError("recursion limit exceeded.")
                    stack.append((False, items, node, length))
                    node = value
                    length = len(value)
                    if length < RUN:
                        value = value[:]
                        length = len(value)
                        out.append(array_header(length))
                        items = iter(value)
                    else:
                        out.append(array_header(length))
                        items = _write_long(out, value, length)
                    break
                elif kind is bytes:
                    out.append(bin_header(len(value)))
                    out.append(value)
                else:
                    packed = None if form is None or len(stack) >= max_open else form(value)
                    if packed is None:
                        other(out, value, depth + len(stack))
                        if len(node) != length:
                            raise changed("list")
                    elif type(packed) is bytes:
                        out.append(packed)
                    else:
                        stack.append((False, items, node, length))
                        node = None
                        length = len(packed)
                        out.append(map_header(length))
                        items = iter(packed)
                        in_map = True
                        break
                value = kind = packed = None
            else:
                if len(node) != length:
                    raise changed("list")
                if not stack:
                    return
                in_map, items, node, length = stack.pop()
