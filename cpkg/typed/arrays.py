# SPDX-License-Identifier: Apache-2.0
"""
Arrays of numbers as types: numpy arrays and `array.array`, decoded from the extension type of arrays and from lists.

`ffi_build/msgpack/typed/arrays.c` writes the numbers of a list directly into the memory of the array. This module first
collects the numbers, and then copies them.
It does not import numpy, since code that names numpy's types has already imported it.
"""

from __future__ import annotations

import struct
import sys
import typing
from array import array
from functools import partial
from math import prod

from cpkg.objects.arrays import NATIVE_ORDER, SMALLEST_VIEW, numpy_array, read_head
from cpkg.objects.types_written import ARRAY as CODE
from cpkg.objects.types_written import ExtensionError
from cpkg.typed.nodes import ARRAY, BOOL, FLOAT, INT, Checks, Node
from cpkg.typed.readers import Mismatch, UnfitError, number_run, read_array, read_float, read_int
from purepy.msgpack.conversions import ARRAY_FORMATS
from purepy.msgpack.formats import EXT, value_header

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Final

    from typing_extensions import TypeAlias

    from cpkg.typed.nodes import Annotation
    from purepy.base.types import Value

    Union: TypeAlias = Callable[[list[Node]], Node]

_FORMATS: Final = {
    "b1": "?", "i1": "b", "u1": "B", "i2": "h", "u2": "H", "i4": "i", "u4": "I", "i8": "q", "u8": "Q",
    "f2": "e", "f4": "f", "f8": "d",
}  # fmt: skip
"""The struct format of each type of number that a list may hold."""
_ITEMS: Final = {format: item for item, format in _FORMATS.items()}
_ALL: Final = (*_FORMATS, "c8", "c16", "M8", "m8")
"""All types of items in the extension type of arrays: the kind and the size in bytes, in numpy's notation."""
_NAMES: Final = {
    "b": "bool",
    "i": "int",
    "u": "uint",
    "f": "float",
    "c": "complex",
    "M": "datetime64",
    "m": "timedelta64",
}
_CODES: Final = {code: f"{kind}{array(code).itemsize}" for code, kind in ARRAY_FORMATS.items()}
"""The type of the items of an array.array, by its type code."""
_OF_PYTHON: Final = tuple(dict.fromkeys(_CODES.values()))
_ORDERS: Final = ("|", "=", NATIVE_ORDER)
_BIGGEST: Final = 2**63


def _name(item: str) -> str:
    size = int(item[1:])
    return _NAMES[item[0]] + (str(8 * size) if item[0] in "iufc" else "")


class Numbers:
    """An array type: the types of numbers that it accepts, and functions that read its arrays."""

    __slots__ = ("_makers", "_numpy", "code", "dims", "format", "items", "name")

    def __init__(self, items: tuple[str, ...], name: str, *, dims: int = -1, code: str = "", numpy: Any = None) -> None:
        """
        Describe a type: `items` are the types that its numbers may have, for example "f8", and `name` is for errors.

        `dims` is the number of dimensions, -1 for any; `code` is the only allowed type code of an array.array. The
        arrays are those of `numpy`, if that is given; otherwise they are array.arrays, with one dimension.
        """
        self.items = items
        self.name = name
        self.dims = dims if numpy is not None else 1
        self.code = code
        self._numpy = numpy
        # functions that create an array of a length or shape, by the format of its numbers
        self._makers: dict[str, Callable[[Any], Value]] = {}
        for item in items:
            if item in _FORMATS:
                format = _FORMATS[item]
                self._makers[format] = (
                    array(code or format, bytes(int(item[1:]))).__mul__
                    if numpy is None
                    else partial(numpy.empty, dtype=numpy.dtype(item))
                )
        # the format for lists: None if no list is accepted, "" if it depends on the numbers
        self.format: str | None = None
        kinds = {item[0] for item in items if item in _FORMATS}
        if len(items) == 1:
            self.format = _FORMATS.get(items[0])
        elif kinds == {"f"}:
            self.format = "d"
        elif kinds and kinds <= {"i", "u"}:
            self.format = "q" if "i" in kinds else "Q"
        elif kinds:
            self.format = ""

    def maker(self, format: str) -> Callable[[Any], Value]:
        """
        Return a function that creates an array from its length or shape; raise UnfitError if the type lacks the format.

        `format` is the struct format of the numbers, whose values are not yet set.
        """
        if format not in self._makers:
            raise UnfitError(f"a list of {_name(_ITEMS[format])}")
        return self._makers[format]

    # --- lists ----------------------------------------------------------------------------------------------------

    def read(self, d: bytes, p: int, depth: int) -> tuple[object, int]:
        """
        Return the array at a position of a message, from an extension value or a list of numbers, and its end.

        Raises Mismatch, UnfitError or ExtensionError for any other value.
        """
        byte = d[p]
        if 0x90 <= byte < 0xA0 or byte in (0xDC, 0xDD):
            return self._read_list(d, p, depth)
        payload, end = extension(d, p)
        return self.of_payload(payload), end

    def _read_list(self, d: bytes, p: int, depth: int) -> tuple[object, int]:
        if self.format is None:
            raise Mismatch
        shape: list[int] = []
        begin = p
        while True:
            count, p = read_array(d, p)
            shape.append(count)
            if len(shape) > depth:
                raise Mismatch
            nests = count and self.dims != 1 and (0x90 <= d[p] < 0xA0 or d[p] in (0xDC, 0xDD))
            if not nests:
                break
        count = prod(shape)
        self._fit(shape)
        if count > len(d):
            raise Mismatch
        rows: list[object] = []
        p = self._read_rows(d, begin, shape, 0, rows)
        return self._filled(rows, shape), p

    def _read_rows(self, d: bytes, p: int, shape: list[int], level: int, rows: list[Any]) -> int:
        count, p = read_array(d, p)
        if count != shape[level]:
            raise Mismatch
        if level + 1 < len(shape):
            for _ in range(count):
                p = self._read_rows(d, p, shape, level + 1, rows)
            return p
        run: Any = None
        if count and self.format != "?":
            run, p = number_run(d, p, count)
            if run is None and d[p : p + count].isascii() and p + count <= len(d):
                run = array("B", d[p : p + count])
                p += count
        if run is None:
            run = []
            for _ in range(count):
                value, p = _read_number(d, p, self.format)
                run.append(value)
        rows.append(run)
        return p

    def _fit(self, shape: list[int]) -> None:
        """Raise UnfitError for a shape with other dimensions than the type, but extend the shape of an empty array."""
        if self.dims >= 0 and len(shape) != self.dims:
            if len(shape) > self.dims or shape[-1]:
                raise UnfitError(f"an array of {len(shape)} dimensions")
            shape += [0] * (self.dims - len(shape))

    def of_values(self, values: list[Any]) -> Value:
        """Return an array of the numbers in nested lists; raise UnfitError if they do not fit this type."""
        shape: list[int] = []
        rows: list[Any] = [values]
        while True:
            length = len(rows[0]) if rows else 0
            if any(not isinstance(row, list) or len(row) != length for row in rows):
                raise UnfitError("rows of different lengths")
            shape.append(length)
            if not length or not isinstance(rows[0][0], list):
                break
            rows = [row for each in rows for row in each]
        if any(isinstance(value, list) for row in rows for value in row):
            raise UnfitError("rows of different lengths")
        self._fit(shape)
        return self._filled(rows, shape)

    def _filled(self, rows: list[Any], shape: list[int]) -> Value:
        """Return an array of this shape with the numbers in `rows`, each a list or array.array, one after the other."""
        format = self.format or _format_of(rows)
        made = self.maker(format)(tuple(shape) if len(shape) > 1 else shape[0])
        numbers = array("B" if format == "?" else "H" if format == "e" else format)
        for row in rows:
            if type(row) is array and row.typecode == format:
                numbers.extend(row)
            elif format in "ef":
                numbers.frombytes(_packed(format, row))
            else:
                numbers.extend(array(numbers.typecode, list(row)))
        if numbers:
            with memoryview(made) as view, view.cast("B") as target:
                target[:] = memoryview(numbers).cast("B")
        return made

    # --- the extension type ---------------------------------------------------------------------------------------

    def read_extension(self, d: bytes, begin: int, end: int) -> Value:
        """Return the array in an extension value's data, `d[begin:end]`; raise Mismatch where `of_payload` raises."""
        try:
            return self.of_payload(memoryview(d)[begin:end])
        except (ExtensionError, UnfitError):
            raise Mismatch from None

    def of_payload(self, payload: memoryview, *, strict: bool = True) -> Value:
        """
        Return the array in the data of an extension value; raise UnfitError if it does not have this type.

        Unless `strict`, numbers of a smaller type are converted, if this type represents all of them exactly. Raises
        ExtensionError for invalid data.
        """
        _, dtype, shape, start = read_head(payload)
        return self._of_items(dtype, shape, payload[start:], strict)

    def _of_items(self, dtype: str, shape: tuple[int, ...], items: memoryview, strict: bool) -> Value:
        item = dtype[1:].partition("[")[0]
        target = item
        if item not in self.items:
            widened = [each for each in self.items if not strict and _holds(each, item)]
            if not widened:
                raise UnfitError(f"an array of {_name(item)}")
            target = widened[0]
        if 0 <= self.dims != len(shape):
            raise UnfitError(f"an array of {len(shape)} dimensions")
        if self._numpy is not None:
            made: Any = numpy_array(self._numpy, dtype, shape, items)
            return made if target == item else made.astype(target)
        read = array(self.code if item == target and self.code else _FORMATS[item])
        read.frombytes(items)
        if dtype[0] not in _ORDERS:
            read.byteswap()
        return read if target == item else array(self.code or _FORMATS[target], read)

    def of_array(self, value: Any, *, strict: bool = True) -> Value:
        """
        Convert an array to this type; return the array itself if it already has this type.

        Unless `strict`, numbers of a smaller type are converted, if this type represents all of them exactly. Raises
        UnfitError for an array that cannot be converted.
        """
        if isinstance(value, array):
            item, shape = _CODES.get(value.typecode, ""), (len(value),)
            is_one = self._numpy is None and (not self.code or value.typecode == self.code)
            dtype = f"{_ORDERS[2]}{item}"
        else:
            dtype, shape = value.dtype.str, value.shape
            item = dtype[1:].partition("[")[0]
            is_one = self._numpy is not None
        if item not in _ALL:
            raise UnfitError(f"an array of {getattr(value, 'dtype', 'text')}")
        if is_one and item in self.items and self.dims in (-1, len(shape)):
            return value
        return self._of_items(dtype, shape, memoryview(value.tobytes()), strict)


def is_array(value: object) -> bool:
    """Return whether an object is a numpy array or an `array.array`."""
    numpy = sys.modules.get("numpy")
    return isinstance(value, array) or (numpy is not None and isinstance(value, numpy.ndarray))


def _holds(target: str, item: str) -> bool:
    """Return whether the type `target` is larger than `item` and can represent all of its numbers exactly."""
    more = int(target[1:]) > int(item[1:])
    return more and target[0] + item[0] in ("ii", "uu", "iu", "ff", "fi", "fu", "cc", "cf")


def _packed(format: str, row: list[float] | array[float]) -> bytes:
    """Pack floats in the format "e" or "f"; raise UnfitError for a float outside its range."""
    try:
        return struct.pack(f"={len(row)}{format}", *row)
    except OverflowError:
        raise UnfitError(f"a number outside the range of {_name(_ITEMS[format])}") from None


def _read_number(d: bytes, p: int, format: str | None) -> tuple[Any, int]:
    byte = d[p]
    if byte in (0xC2, 0xC3) and format in ("?", ""):
        return byte == 0xC3, p + 1
    if format == "?":
        raise Mismatch
    if format == "" and byte not in (0xCA, 0xCB):
        return read_int(d, p)
    return read_float(d, p) if format in ("", "d", "f", "e") else read_int(d, p)


def _format_of(rows: list[Any]) -> str:
    """
    Return the format that holds all numbers of these rows: "?", "d", "q" or "Q"; raise UnfitError if none does.

    The format is "d" if any number is a float, or if there are no numbers.
    """
    kinds: set[object] = set()
    for row in rows:
        kinds |= {float if row.typecode in "fd" else int} if type(row) is array and row else set(map(type, row))
    if kinds == {bool}:
        return "?"
    if bool in kinds:
        raise UnfitError("bools and numbers in one list")
    if float in kinds or not kinds:
        return "d"
    if max(max(row) for row in rows if row) < _BIGGEST:
        return "q"
    if min(min(row) for row in rows if row) < 0:
        raise UnfitError("ints that fit neither in int64 nor in uint64")
    return "Q"


def extension(d: bytes, p: int) -> tuple[memoryview, int]:
    """Return the data of the array at a position of a message, and its end; raise Mismatch for any other value."""
    family, begin, length = value_header(d, p)
    if family != EXT or d[begin] != CODE or begin + 1 + length > len(d):
        raise Mismatch
    return memoryview(d)[begin + 1 : begin + 1 + length], begin + 1 + length


# --- views of memory ----------------------------------------------------------------------------------------------


def view_of(payload: memoryview) -> memoryview:
    """
    Return the items of the array in the data of an extension value, as a memoryview with their format.

    Raises UnfitError for items that a memoryview cannot show, and ExtensionError for invalid data.
    """
    _, dtype, shape, start = read_head(payload)
    item = dtype[1:].partition("[")[0]
    format: Any = _FORMATS.get(item, "e")
    if format == "e" or dtype[0] not in _ORDERS:
        raise UnfitError(f"an array of {_name(item)}" + ("" if dtype[0] in _ORDERS else " in another byte order"))
    items: Any = payload[start:]
    if not len(items):  # an empty memoryview cannot be cast
        if len(shape) != 1 or format == "?":
            raise UnfitError(f"an array of shape {shape}")
        return memoryview(array(format)).toreadonly()
    found: memoryview = (items if len(items) >= SMALLEST_VIEW else memoryview(bytes(items))).cast(format, shape)
    return found


def read_view(d: bytes, p: int) -> tuple[memoryview, int]:
    """
    Return the memoryview of `view_of` for the array at a position of a message, and the end of the array.

    Raises the exceptions of `extension` and `view_of`.
    """
    payload, end = extension(d, p)
    return view_of(payload), end


def view_extension(d: bytes, begin: int, end: int) -> memoryview:
    """Return the memoryview of `view_of` for the data `d[begin:end]`; raise Mismatch where `view_of` raises."""
    try:
        return view_of(memoryview(d)[begin:end])
    except (ExtensionError, UnfitError):
        raise Mismatch from None


# --- annotations --------------------------------------------------------------------------------------------------


def is_code(mark: object) -> bool:
    """Return whether a part of Annotated's metadata is the type code of an array.array."""
    return isinstance(mark, str) and mark in _CODES


def with_code(node: Node, metadata: tuple[object, ...]) -> Node:
    """Return the node of an array.array with the type code in its Annotated; without a type code, `node` itself."""
    codes = [mark for mark in metadata if is_code(mark)]
    if node.cls is not array or not codes:
        return node
    code: Any = codes[-1]
    return _node(array, Numbers((_CODES[code],), f"array({code!r})", code=code), _no_union)


def _no_union(parts: list[Node]) -> Node:
    raise AssertionError


def node_of(cls: Annotation, args: tuple[Any, ...], union: Union, plain: Callable[[Any], Any]) -> Node:
    """
    Return the node of an array class with parameters; raise TypeError for items that messages cannot hold.

    `union` returns the node of a union of several nodes. `plain` returns the type that a type variable or alias
    stands for.
    """
    if cls is array:
        number = plain(args[0]) if args else None
        kinds = "iu" if number is int else "f" if number is float else "iuf"
        name = f"array[{number.__name__}]" if number in (int, float) else "array"
        return _node(cls, Numbers(tuple([item for item in _OF_PYTHON if item[0] in kinds]), name), union)
    numpy = sys.modules["numpy"]
    shape, dtype = map(plain, args) if len(args) == 2 else (None, None)
    sizes = typing.get_args(shape)
    dims = -1 if not sizes or ... in sizes else len(sizes)
    scalar = plain((typing.get_args(dtype) or (numpy.generic,))[0])
    scalar = typing.get_origin(scalar) or scalar
    if not isinstance(scalar, type):  # Any
        scalar = numpy.generic
    items = tuple([item for item in _ALL if issubclass(numpy.dtype(item).type, scalar)])
    if not items:
        raise TypeError(f"cannot decode an array of {scalar.__name__}: expected numbers, bools or times")
    name = "ndarray" if scalar is numpy.generic else f"NDArray[{scalar.__name__}]"
    if dims >= 0:
        name += f" of {dims} dimension{'s' * (dims != 1)}"
    return _node(cls, Numbers(items, name, dims=dims, numpy=numpy), union)


def _node(cls: Annotation, numbers: Numbers, union: Union) -> Node:
    node = Node("numbers", numbers.name, cls)
    node.numbers = numbers
    if numbers.format is None:
        node.families = node.families[1:]
        return node
    item = _number(numbers.format, union)
    for _ in range(max(numbers.dims, 1)):
        node.item = Node(ARRAY, "list", list)
        node.item.item = item
        item = node.item
    if numbers.dims < 0:  # lists nested to any depth
        item.item = union([item.item, item])
    return node


def _number(format: str, union: Union) -> Node:
    """
    Return the node of a number in a list that becomes an array with this format; "" accepts bools, ints and floats.
    """
    if not format:
        return union([Node(BOOL, "bool", bool), Node(INT, "int", int), Node(FLOAT, "float", float)])
    item = _ITEMS[format]
    kind = BOOL if item[0] == "b" else FLOAT if item[0] == "f" else INT
    node = Node(kind, _name(item), {BOOL: bool, INT: int, FLOAT: float}[kind])
    if kind == INT:
        bits = 8 * int(item[1:])
        node.checks = Checks()
        node.checks.ge = -(1 << bits - 1) if item[0] == "i" else 0
        node.checks.le = (1 << bits - (item[0] == "i")) - 1
    return node
