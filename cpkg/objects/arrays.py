# SPDX-License-Identifier: Apache-2.0
"""
Write and read the extension type of arrays: numpy's and the standard library's `array.array`.

The data of the extension value are, one after the other:

- one byte: ARRAY_OF_NUMPY or ARRAY_OF_PYTHON, the class of the array;
- the dtype: a MessagePack fixstr in numpy's notation, for example "<f8"; item_size() returns None for other dtypes;
- the shape: a MessagePack array of unsigned integers, which is empty for an array without dimensions;
- as few zero bytes as possible, so that the position of the items in the data, divided by ITEMS_ALIGNED, leaves the
  remainder ITEMS_AFTER;
- the items, in C order, to the end.

This module is loaded with the first array, since it imports regular expressions. numpy is imported only to read a numpy
array.
"""

from __future__ import annotations

import re
import sys

from cpkg.objects.types_written import ARRAY, ExtensionError
from purepy.msgpack.conversions import ARRAY_FORMATS, NOT_CONVERTED, NUMPY, convert
from purepy.msgpack.ext import ExtType
from purepy.msgpack.plain_writer import array_header, int_bytes, str_header

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Final

    from purepy.base.types import Named

ARRAY_OF_NUMPY: Final = 0
ARRAY_OF_PYTHON: Final = 1

ITEMS_ALIGNED: Final = 8
ITEMS_AFTER: Final = 2
"""The header of a long extension value has 6 bytes, so the items are aligned if the value starts the message."""

_KINDS: Final = {"b": (1,), "i": (1, 2, 4, 8), "u": (1, 2, 4, 8), "f": (2, 4, 8), "c": (8, 16)}
_ITEM_SIZES: Final = {
    f"{order}{kind}{size}": size
    for kind, sizes in _KINDS.items()
    for size in sizes
    for order in ("|" if size == 1 else "<>")
}
_TIMES: Final = re.compile(r"[<>][mM]8(\[([1-9]\d{0,8})?(Y|M|W|D|h|m|s|ms|us|ns|ps|fs|as)\])?", re.ASCII)
"""The dtypes of datetimes and timedeltas, whose items have 8 bytes. _ITEM_SIZES has all other dtypes."""

_PYTHON_TYPES: Final = dict(zip(("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"), "bBhHiIqQfd"))
"""The type code of array.array for each kind and size of items."""

_MAX_DIMENSIONS: Final = 64
_LONGEST: Final = 2**63 - 1

SMALLEST_VIEW: Final = 4096
"""Arrays of fewer bytes are copied: an array that views part of a message keeps the whole message alive."""

NATIVE_ORDER: Final = "<" if sys.byteorder == "little" else ">"

_numpy: Named | None = None
_has_no_numpy = False


# ---- writing ----


def replacement(obj: Any) -> object:
    """
    Return the ExtType or plain value to pack for a numpy array or array.array, or None if its items cannot be packed.

    A masked array, or a numpy array that the extension type cannot hold, for example of text, becomes a list.
    """
    modules = sys.modules
    numpy = modules.get("numpy")
    # a subclass with its own tolist(), such as a masked array, holds more than its items
    if numpy is not None and isinstance(obj, numpy.ndarray) and type(obj).tolist is numpy.ndarray.tolist:
        dtype = obj.dtype.str
        if item_size(dtype) is not None and len(obj.shape) <= _MAX_DIMENSIONS:
            items = numpy.ascontiguousarray(obj).reshape(-1).view("u1")  # of a copy if not in C order
            return ExtType(ARRAY, b"".join((array_head(ARRAY_OF_NUMPY, dtype, obj.shape), items)))
    if "array" in modules and isinstance(obj, modules["array"].array):
        with memoryview(obj) as view:  # while the view exists, the array cannot be resized
            kind = ARRAY_FORMATS.get(view.format)
            if kind is None:
                return None
            order = NATIVE_ORDER if view.itemsize > 1 else "|"
            head = array_head(ARRAY_OF_PYTHON, f"{order}{kind}{view.itemsize}", (len(view),))
            return ExtType(ARRAY, b"".join((head, view)))
    found = convert(NUMPY, obj)
    return None if found is NOT_CONVERTED else found


def array_head(kind: int, dtype: str, shape: Sequence[int]) -> bytes:
    """Return the data of the extension value before an array's items: the kind, the dtype, the shape and zero bytes."""
    head = b"".join(
        (bytes((kind,)), str_header(len(dtype)), dtype.encode(), array_header(len(shape)), *map(int_bytes, shape))
    )
    return head + bytes((ITEMS_AFTER - len(head)) % ITEMS_ALIGNED)


# ---- reading ----


def item_size(dtype: str) -> int | None:
    """Return the size of an item in bytes, or None for a dtype that is not allowed."""
    size = _ITEM_SIZES.get(dtype)
    return 8 if size is None and _TIMES.fullmatch(dtype) else size


def _wrong(what: str) -> ExtensionError:
    return ExtensionError(f"extension type {ARRAY} (array): {what}")


def read_head(data: bytes | memoryview) -> tuple[int, str, tuple[int, ...], int]:
    """
    Return the kind of an array, its dtype, its shape and the start of its items, from the data of the extension value.

    Raises ExtensionError unless the data are a valid array.
    """
    size = len(data)
    head = bytes(data[: 40 + 9 * _MAX_DIMENSIONS])  # longer than any head
    kind, position = (head[0] if head else -1), 2
    if not ARRAY_OF_NUMPY <= kind <= ARRAY_OF_PYTHON:
        raise _wrong(f"expected 0 or 1 as the first byte, found {head[:1]!r}")
    length = head[1] - 0xA0 if size > 1 else -1
    dtype = head[2 : 2 + length].decode("ascii", "replace") if 0 <= length < 32 else ""
    each = item_size(dtype)
    if each is None or (kind == ARRAY_OF_PYTHON and dtype[1:] not in _PYTHON_TYPES):
        raise _wrong(f"expected a dtype of numbers, times or bools such as '<f8', found {dtype!r}")
    position += length
    shape, position = _read_shape(head, position)
    if len(shape) != 1 and kind == ARRAY_OF_PYTHON:
        raise _wrong(f"expected one dimension for an array.array, found {len(shape)}")
    items = total = each
    for length in shape:
        items *= length
        total *= length or 1
    if total > _LONGEST:
        raise _wrong(f"the shape {shape} is too large")
    start = position + (ITEMS_AFTER - position) % ITEMS_ALIGNED
    if size - start != items:
        raise _wrong(f"a shape of {shape} and dtype {dtype!r} needs {items} bytes, found {max(size - start, 0)}")
    if any(head[position:start]):
        raise _wrong("expected zero bytes between the shape and the items")
    return kind, dtype, shape, start


def _read_shape(head: bytes, position: int) -> tuple[tuple[int, ...], int]:
    """Return the shape that begins at a position, and the position of its end."""
    shape = []
    byte = head[position] if position < len(head) else 0
    dimensions = byte - 0x90
    position += 1
    if byte == 0xDC:
        dimensions = int.from_bytes(head[position : position + 2], "big")
        position += 2
    if not 0 <= dimensions <= _MAX_DIMENSIONS or position > len(head):
        raise _wrong(f"expected a shape of at most {_MAX_DIMENSIONS} dimensions, an array of unsigned integers")
    for _ in range(dimensions):
        byte = head[position] if position < len(head) else 0xC1
        position += 1
        if byte >= 0x80:
            end = position + (1 << (byte - 0xCC) if 0xCC <= byte <= 0xCF else len(head))
            if end > len(head):
                raise _wrong("expected an unsigned integer for each dimension of the shape")
            byte = int.from_bytes(head[position:end], "big")
            position = end
        shape.append(byte)
    return tuple(shape), position


def read_array(data: bytes | memoryview) -> object:
    """
    Return the array in the data of an extension value; an ExtType for a numpy array if numpy is not installed.

    A numpy array is a view of `data` if its items are aligned and take at least SMALLEST_VIEW bytes; otherwise it has a
    copy of the items. `data` must be read-only, so that the array is. The items of a memoryview must be bytes.
    """
    kind, dtype, shape, start = read_head(data)
    items = memoryview(data)[start:]
    if kind == ARRAY_OF_PYTHON:
        return _read_python_array(dtype, items)
    numpy = _numpy or _load_numpy()
    if numpy is None:
        return ExtType(ARRAY, bytes(data))
    return numpy_array(numpy, dtype, shape, items)


def numpy_array(numpy: Named, dtype: str, shape: tuple[int, ...], items: memoryview) -> object:
    """
    Return a numpy array, a view or a copy of `items` (see `read_array`); raise ExtensionError if numpy refuses it.
    """
    try:
        if len(items) >= SMALLEST_VIEW:
            made = numpy.ndarray(shape, dtype, items)
            if made.flags.aligned:
                return made
        return numpy.ndarray(shape, dtype, bytes(items))
    except (ValueError, TypeError, OverflowError) as exc:  # beyond a limit of this numpy, for example of dimensions
        raise _wrong(f"numpy refuses a shape of {shape} and dtype {dtype!r}: {exc}") from exc


def _read_python_array(dtype: str, items: memoryview) -> object:
    from array import array

    made: Any = array(_PYTHON_TYPES[dtype[1:]])
    made.frombytes(items)
    if dtype[0] not in ("|", NATIVE_ORDER):
        made.byteswap()
    return made


def _load_numpy() -> Named | None:
    """Return numpy, or None if it is missing; after a failed import, only look whether other code has imported it."""
    global _numpy, _has_no_numpy
    if _has_no_numpy and sys.modules.get("numpy") is None:
        return None
    try:
        import numpy
    except ImportError:
        _has_no_numpy = True
        return None
    _numpy = numpy
    return numpy
