# SPDX-License-Identifier: Apache-2.0
"""
Convert dataclasses, attrs classes and values of the standard library and numpy into types that MessagePack has.

The packers of all backends share `convert`, so that an object packs to the same bytes on each. A packer calls `convert`
only for objects that it cannot pack itself, so that plain data takes no longer.
"""

from __future__ import annotations

import sys

from purepy.msgpack.options import hook_attribute

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Final

    from purepy.base.types import OptionValues

DATACLASS: Final = 1
DATE: Final = 2
UUID: Final = 4
ENUM: Final = 8
DECIMAL: Final = 16
NUMPY: Final = 32
LEAVE_ARRAYS: Final = 64
"""With NUMPY: do not convert arrays."""


class _Slotted:
    __slots__ = ("slot",)


SLOT: Final = type(vars(_Slotted)["slot"])
"""The type of the descriptors that `__slots__` creates."""

NOT_CONVERTED: Final = object()
"""Returned by `convert` for an object that no requested conversion covers."""

ARRAY_FORMATS: Final = {
    **dict.fromkeys("bhilq", "i"),
    **dict.fromkeys("BHILQ", "u"),
    **dict.fromkeys("fd", "f"),
}
"""The number formats of array.array, each with its kind in numpy's dtypes."""

# Arrays of these kinds are converted: bool, int, unsigned, float, str, bytes, and objects (each item is packed).
# For complex numbers, times and records there is no form that a reader would expect: `default` gets such arrays.
_NUMPY_KINDS: Final = "biufUSO"


def conversion_flags(options: OptionValues) -> int:
    """Return the options of a packer as the bits that `convert` takes; 0 for no conversion."""
    return (
        (DATACLASS if options.dataclass else 0)
        | (DATE if options.date else 0)
        | (UUID if options.uuid else 0)
        | (ENUM if options.enum else 0)
        | (DECIMAL if options.decimal else 0)
        | (NUMPY if options.numpy else 0)
        | (LEAVE_ARRAYS if options.numpy and hook_attribute(options.default, "find_form") else 0)
    )


def field_names(kind: Any) -> tuple[str, ...] | None:
    """Return the names of the fields of a dataclass or attrs class; None for any other class."""
    if hasattr(kind, "__dataclass_fields__"):
        return tuple(field.name for field in sys.modules["dataclasses"].fields(kind))
    fields = getattr(kind, "__attrs_attrs__", None)
    return None if fields is None else tuple(field.name for field in fields)


def convert(flags: int, obj: object) -> object:
    """
    Return the object to pack instead of `obj`, or NOT_CONVERTED.

    The result needs no further conversion itself: an Enum member whose value is a UUID becomes a str. If the result is
    a container, the packer converts its items. Errors of the object's own methods pass unchanged.
    """
    replacement = _convert_once(flags, obj)
    if replacement is NOT_CONVERTED:
        return NOT_CONVERTED
    deeper = convert(flags, replacement)
    return replacement if deeper is NOT_CONVERTED else deeper


def _convert_once(flags: int, obj: object) -> object:
    # While a module is not imported, no object can have one of its types. So nothing is imported here.
    modules = sys.modules
    if flags & ENUM and "enum" in modules and isinstance(obj, modules["enum"].Enum):
        return obj.value
    if flags & DATACLASS:
        names = field_names(type(obj))
        if names is not None:
            return {name: getattr(obj, name) for name in names}
    if flags & DATE and "datetime" in modules:
        datetime = modules["datetime"]
        # a datetime is also a date, but would lose its time; it has its own option
        if isinstance(obj, datetime.date) and not isinstance(obj, datetime.datetime):
            return obj.isoformat()
    if flags & UUID and "uuid" in modules and isinstance(obj, modules["uuid"].UUID):
        return str(obj)
    if flags & DECIMAL and "decimal" in modules and isinstance(obj, modules["decimal"].Decimal):
        return str(obj)
    if flags & NUMPY and hasattr(type(obj), "tolist"):  # which few other types have
        if "array" in modules and isinstance(obj, modules["array"].array):
            return NOT_CONVERTED if flags & LEAVE_ARRAYS else _convert_array(modules["array"].array, obj)
        if modules.get("numpy") is not None:
            return _convert_numpy(modules["numpy"], obj, flags)
    return NOT_CONVERTED


def _convert_array(array: Any, obj: Any) -> object:
    with memoryview(obj) as view:  # also for subclasses
        if view.format not in ARRAY_FORMATS:
            return NOT_CONVERTED
        if view.format != "f":
            return view.tolist()
        swapped = array("f", view.tobytes())
    if sys.byteorder == "little":
        swapped.byteswap()
    return Singles(swapped.tobytes())


def _convert_numpy(numpy: Any, obj: Any, flags: int) -> object:
    if isinstance(obj, numpy.ndarray):
        if flags & LEAVE_ARRAYS or obj.dtype.kind not in _NUMPY_KINDS:
            return NOT_CONVERTED
        # a subclass with its own tolist(), such as a masked array, holds more than its items
        if obj.shape and type(obj).tolist is numpy.ndarray.tolist:
            if obj.dtype.str[1:] == "f4":
                bits = numpy.asarray(obj).view(f"{obj.dtype.str[0]}u4")  # swapping ints leaves the bits of NaNs alone
                return _singles(bits.astype(">u4").tobytes(), obj.shape)
            if obj.ndim == 1 and obj.dtype.isnative and obj.dtype.char in ARRAY_FORMATS:
                from array import array  # PyPy packs its list up to 20 times as fast as the list that numpy makes

                return array(obj.dtype.char, obj.tobytes()).tolist()
        return obj.tolist()
    if isinstance(obj, numpy.bool_):
        return bool(obj)
    if isinstance(obj, numpy.integer) and not isinstance(obj, numpy.timedelta64):
        return int(obj)
    if isinstance(obj, numpy.floating):
        return float(obj)
    # subclasses of str and bytes, which come here only if strict_types refused them
    if isinstance(obj, numpy.str_):
        return str(obj)
    if isinstance(obj, numpy.bytes_):
        return bytes(obj)
    return NOT_CONVERTED


def _singles(data: bytes, shape: tuple[int, ...]) -> object:
    """Return an array as nested lists, the innermost as Singles; `data` holds big-endian floats of 4 bytes."""
    if len(shape) == 1:
        return Singles(data)
    size = len(data) // shape[0] if shape[0] else 0
    return [_singles(data[i * size : (i + 1) * size], shape[1:]) for i in range(shape[0])]


class Singles:
    """A list of big-endian floats of 4 bytes (Python's float has 8 bytes)."""

    __slots__ = ("data",)

    _PIECE: Final = 1 << 16
    """The number of floats to pack at once; signal handlers run between the pieces."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def __len__(self) -> int:
        return len(self.data) // 4

    def write(self, append: Callable[[bytes], object]) -> None:
        """Pass the packed numbers to `append`, in pieces, without an array header."""
        for start in range(0, len(self.data), 4 * self._PIECE):
            piece = self.data[start : start + 4 * self._PIECE]
            packed = bytearray(b"\xca") * (len(piece) // 4 * 5)
            for i in range(4):
                packed[i + 1 :: 5] = piece[i::4]
            append(bytes(packed))
