# SPDX-License-Identifier: Apache-2.0
"""
How `dumps` packs objects that MessagePack has no type for, and how `loads` restores them.

Values that keep their types are packed as extension types, whose codes are the letters below. A hex dump such as
`c7 04 4e 31 2e 35 30` shows the type (`4e` is N) and the text. The codes are part of the file format: never change one.
A reader that does not know them sees `ExtType(78, b"1.50")`. docs/objects.md has the table.
"""

from __future__ import annotations

import struct
import sys

from purepy.base.errors import FormatError
from purepy.base.lazy import Later, imported
from purepy.msgpack.ext import ExtType, readable_timestamp

TYPE_CHECKING = False
if TYPE_CHECKING:
    import datetime
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any, Final, TypeVar

    from purepy.base.types import Keywords

    Function = TypeVar("Function", bound="Callable[..., Any] | None")

ARRAY: Final = ord("A")
DATE: Final = ord("D")
LOCAL_DATETIME: Final = ord("L")
DECIMAL: Final = ord("N")
DURATION: Final = ord("P")
TIME: Final = ord("T")
UUID: Final = ord("U")

MAX_DECIMAL_LENGTH: Final = 4096
"""The longest Decimal, in characters: arithmetic takes quadratic time, and interpreters limit int(str)."""

DURATION_FIELDS = struct.Struct(">iii")  # days, seconds, microseconds, normalised as timedelta does

_forms = Later("cpkg.objects.extension_forms")
_ordinary = Later("cpkg.objects.extension_values")

_values: ModuleType | None = None
"""The module cpkg.objects.types_read; None until it is first needed, as its imports take longer than a first call."""

_readers: dict[int, Callable[[bytes], object]] = {}
"""The functions that read extension values, by their codes; empty before the first such value."""


class ExtensionError(FormatError):
    """An extension value whose data is invalid for its code, or whose negative code is not defined."""


def _find_form(kind: type) -> object:
    """Return the form (see `purepy.msgpack.forms`) of a type that this module packs, or None."""
    return _forms.find(kind)


def default_of(option: str) -> Callable[[object], object]:
    """
    Return a packer's `default`, which returns the ExtType or plain value to pack for an object, or raises TypeError.

    The text of the TypeError advises the caller to pass `option`, for example "default= of records.open". An int, a
    Decimal or a datetime that is out of range raises the errors of `_convert`.
    """

    def pack_default(obj: object) -> object:
        replacement = _convert(obj)
        if replacement is None:
            raise TypeError(
                f"cannot pack an object of type {type(obj).__qualname__!r}{_items_of(obj) if _is_array(obj) else ''}: "
                f"convert it first, or pass {option}, a function that returns what to pack instead"
            )
        return replacement

    # If a `default` has this attribute, packers use it to find the forms of types, and leave arrays to `default`.
    pack_default.find_form = _find_form  # type: ignore[attr-defined]
    return pack_default


pack_default: Final = default_of("default=")


def checked_hook(name: str, hook: Function) -> Function:
    """Return `hook`, the argument `name`; raise TypeError if it is neither callable nor None."""
    if hook is not None and not callable(hook):
        raise TypeError(f"{name} must be a function or None, not {hook!r}")
    return hook


def with_default(default: Callable[[Any], object]) -> Callable[[object], object]:
    """
    Return a packer's `default` that calls the caller's `default` for what the format cannot hold.

    These are values of unsupported types, ints of more than 64 bits, and datetimes outside the years 1 to 9999 in UTC.
    Raises TypeError if the caller's `default` is not callable.
    """
    checked_hook("default", default)

    def pack_with_default(obj: object) -> object:
        try:
            replacement = _convert(obj)
        except OverflowError:
            replacement = None
        if replacement is not None:
            return replacement
        return converted(default(obj))

    pack_with_default.find_form = _find_form  # type: ignore[attr-defined]
    return pack_with_default


def converted(replacement: object) -> object:
    """
    Return the ExtType or plain value to pack for the result of a caller's `default`, or the result itself.

    This is needed because a packer does not call `default` again for that result.
    """
    found = _convert(replacement)
    return replacement if found is None else found


def _convert(obj: object) -> object:
    """
    Return the ExtType or plain value to pack for `obj`; None for an object that this module does not convert.

    Raises OverflowError for an int of more than 64 bits or a datetime outside the years 1 to 9999 in UTC, ValueError
    for a Decimal that is too long or has an exponent of more than 17 digits, and TypeError for a datetime without a
    date and time, such as pandas.NaT.
    """
    # While a module is not imported, no object can have one of its types. So nothing is imported here.
    modules = sys.modules
    if "datetime" in modules:
        found = _convert_time(modules["datetime"], obj)
        if found is not None:
            return found
    if "uuid" in modules and isinstance(obj, modules["uuid"].UUID):
        return ExtType(UUID, obj.bytes)
    if "decimal" in modules and isinstance(obj, modules["decimal"].Decimal):
        text = str(obj)
        if len(text) > MAX_DECIMAL_LENGTH:
            raise ValueError(f"cannot pack a Decimal of {len(text)} characters: the limit is {MAX_DECIMAL_LENGTH}")
        if not _matches("DECIMAL_TEXT", text):
            raise ValueError(f"the exponent of Decimal {text[-30:]!r} has more than 17 digits")
        return ExtType(DECIMAL, text.encode())
    if isinstance(obj, (set, frozenset)):
        return imported("cpkg.objects.set_order").in_order(obj)
    if isinstance(obj, int):
        if -(2**63) <= obj < 2**64:
            return None
        raise OverflowError(
            f"cannot pack an integer of {obj.bit_length()} bits: MessagePack has -2**63 to 2**64-1; "
            "convert it to a str or a Decimal"
        )
    if hasattr(type(obj), "tolist") and _is_array(obj):
        return imported("cpkg.objects.arrays").replacement(obj)
    return None


def _is_array(obj: object) -> bool:
    """Return whether an object is a numpy array or an array.array."""
    numpy, array = sys.modules.get("numpy"), sys.modules.get("array")
    return (numpy is not None and isinstance(obj, numpy.ndarray)) or (
        array is not None and isinstance(obj, array.array)
    )


def _items_of(array: Any) -> str:
    return f" with items of type {str(getattr(array, 'dtype', None) or array.typecode)!r}"


def _convert_time(module: ModuleType, obj: object) -> object:
    """Return the ExtType or plain value to pack for an object of the module datetime; None for any other object."""
    if isinstance(obj, module.datetime):
        return _convert_datetime(obj)
    if isinstance(obj, module.date):
        return ExtType(DATE, obj.isoformat().encode())
    if isinstance(obj, module.timedelta):
        return ExtType(DURATION, DURATION_FIELDS.pack(obj.days, obj.seconds, obj.microseconds))
    if isinstance(obj, module.time):
        return ExtType(TIME, obj.isoformat().encode())
    return None


def _convert_datetime(obj: datetime.datetime) -> object:
    if obj.tzinfo is not None and obj.utcoffset() is not None:
        return readable_timestamp(obj)
    text = obj.replace(tzinfo=None).isoformat()
    if not _matches("LOCAL_DATETIME_TEXT", text):
        raise TypeError(f"cannot pack {obj!r}: {text!r} is not a date and time; pack None for pandas.NaT")
    return ExtType(LOCAL_DATETIME, text.encode())


def _matches(pattern: str, text: str) -> bool:
    """Return whether a text matches the pattern with this name in `cpkg.objects.types_read`, which reads the text."""
    return getattr(_values or _load_values(), pattern).fullmatch(text) is not None


def _load_values() -> ModuleType:
    global _values
    _values = imported("cpkg.objects.types_read")
    return _values


def _load_readers() -> dict[int, Callable[[bytes], object]]:
    global _readers
    _readers = _load_values().READERS
    return _readers


def unpack_ext(code: int, data: bytes) -> object:
    """
    Return the object in an extension value; an ExtType for an unknown code, and for a numpy array if numpy is missing.

    Raises ExtensionError for invalid data, and for a negative code; unpackers decode timestamps (-1) themselves.
    """
    reader = (_readers or _load_readers()).get(code)
    if reader is not None:
        return reader(data)
    if code < 0:
        raise ExtensionError(f"extension type {code} is not defined by the MessagePack specification")
    return ExtType(code, bytes(data))


def _read_ext(data: bytes, start: int, end: int) -> object:
    """
    Return the object in an extension value, or raise Unread, as `cpkg.objects.extension_values.read_ext` does.

    That module is loaded with the first value.
    """
    return _ordinary.read_ext(data, start, end)


unpack_ext.read_ext = _read_ext  # type: ignore[attr-defined]
# The results are never part of a reference cycle, so native unpackers switch the garbage collector off for this call.
unpack_ext.makes_no_cycles = True  # type: ignore[attr-defined]
# The data of this extension type is passed as a memoryview of the message, which an array can use without a copy.
unpack_ext.viewed_code = ARRAY  # type: ignore[attr-defined]


PACKING: Final[Keywords] = {"default": pack_default, "datetime": True, "dataclass": True, "enum": True, "numpy": True}
"""The packer options for the types of `dumps`."""

TIMESTAMP: Final = 3
"""Timestamps become datetimes."""

UNPACKING: Final[Keywords] = {"ext_hook": unpack_ext, "timestamp": TIMESTAMP}
"""The unpacker options for the types of `loads`."""


def with_ext_hook(ext_hook: Callable[[int, bytes], object]) -> Callable[[int, bytes], object]:
    """
    Return an ext hook that calls the caller's `ext_hook` for codes that this module does not support.

    Raises TypeError if the caller's `ext_hook` is not callable.
    """
    checked_hook("ext_hook", ext_hook)

    def unpack_with_hook(code: int, data: bytes) -> object:
        reader = (_readers or _load_readers()).get(code)
        return ext_hook(code, data) if reader is None else reader(data)

    unpack_with_hook.viewed_code = ARRAY  # type: ignore[attr-defined]
    unpack_with_hook.read_ext = _read_ext  # type: ignore[attr-defined]
    return unpack_with_hook
