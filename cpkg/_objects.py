# SPDX-License-Identifier: Apache-2.0
"""
How `dumps` packs the objects that MessagePack has no type for, and how `loads` gives them back.

Values that come back as what they were are extension types, whose codes are the letters below: in a dump of the
bytes `c7 04 4e 31 2e 35 30` shows its type (`4e` is N) and its text. Codes belong to the file format; never change
one. A reader that does not know them sees `ExtType(78, b"1.50")`. docs/objects.md has the table.
"""

from __future__ import annotations

import datetime
import re
import struct
import sys
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from cpkg._set_order import in_order
from purepy.errors import FormatError
from purepy.msgpack.ext import ExtType, Timestamp
from purepy.msgpack.formats import ARRAY, EXT, MAP, TIMESTAMP_CODE, value_header

DATE: Final = ord("D")
LOCAL_DATETIME: Final = ord("L")
DECIMAL: Final = ord("N")
DURATION: Final = ord("P")
TIME: Final = ord("T")
UUID: Final = ord("U")

_SEARCHED: Final = 4 * 2**20
"""The longest message in bytes in which the place of a bad extension value is looked for; it takes about a second."""

MAX_DECIMAL_LENGTH: Final = 4096
"""The longest Decimal in characters: calculating with it takes quadratic time, and interpreters limit int(str)."""

_LONG_DECIMAL: Final = 1024

# The texts that isoformat() writes. fromisoformat() reads more since Python 3.11, and not the same in each version.
# Of an hour 24 and of minutes and seconds beyond 59 in an offset, some versions make another time.
_CLOCK = r"([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{6})?"
_OFFSET = r"[+-]([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{6})?)?"
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_TIME = re.compile(f"{_CLOCK}({_OFFSET})?", re.ASCII)
_LOCAL_DATETIME = re.compile(rf"\d{{4}}-\d\d-\d\dT{_CLOCK}", re.ASCII)
# Decimal() also takes spaces, underscores and every alphabet's digits. What exponents it takes depends on how Python
# was built; 17 digits fit everywhere but on 32-bit machines.
_DECIMAL = re.compile(r"[+-]?((\d+\.?\d*|\.\d+)([eE][+-]?\d{1,17})?|Infinity|s?NaN\d*)", re.ASCII)
_DURATION = struct.Struct(">iii")  # days, seconds, microseconds, normalised as timedelta does


class ExtensionError(FormatError):
    """An extension value that is not what its code says."""


def pack_default(obj: Any) -> Any:
    """Return what stands for `obj` in a message; raise TypeError if nothing does. For a packer's `default`."""
    replacement = _convert(obj)
    if replacement is None:
        raise TypeError(
            f"cannot pack an object of type {type(obj).__qualname__!r}: "
            "pass default=, a function that returns what to pack in its place"
        )
    return replacement


def with_default(default: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a packer's `default` that asks the caller's `default` for the objects this module does not know."""

    def pack_with_default(obj: Any) -> Any:
        try:
            replacement = _convert(obj)
        except OverflowError:
            replacement = None
        if replacement is not None:
            return replacement
        replacement = default(obj)
        # a packer asks once for each object: it would refuse a set or a date in place of one
        converted = _convert(replacement)
        return replacement if converted is None else converted

    return pack_with_default


def _convert(obj: Any) -> Any:
    """Return what stands for `obj`, or None."""
    if isinstance(obj, datetime.datetime):
        return _convert_datetime(obj)
    if isinstance(obj, datetime.date):
        return ExtType(DATE, obj.isoformat().encode())
    # An object cannot be of a module's type while the module is not imported, which spares importing it here.
    modules = sys.modules
    if "uuid" in modules and isinstance(obj, modules["uuid"].UUID):
        return ExtType(UUID, obj.bytes)
    if "decimal" in modules and isinstance(obj, modules["decimal"].Decimal):
        text = str(obj)
        if len(text) > MAX_DECIMAL_LENGTH:
            raise ValueError(f"a Decimal of {len(text)} characters: at most {MAX_DECIMAL_LENGTH} can be packed")
        if _DECIMAL.fullmatch(text) is None:
            raise ValueError(f"the exponent of Decimal {text[-30:]!r} has more than 17 digits")
        return ExtType(DECIMAL, text.encode())
    if isinstance(obj, datetime.timedelta):
        return ExtType(DURATION, _DURATION.pack(obj.days, obj.seconds, obj.microseconds))
    if isinstance(obj, datetime.time):
        return ExtType(TIME, obj.isoformat().encode())
    if isinstance(obj, (set, frozenset)):
        return in_order(obj)
    if isinstance(obj, int):
        raise OverflowError(
            f"an integer of {obj.bit_length()} bits: MessagePack has -2**63 to 2**64-1; pack it as a str or a Decimal"
        )
    return None


def _convert_datetime(obj: datetime.datetime) -> Any:
    if obj.tzinfo is not None and obj.utcoffset() is not None:
        return Timestamp.from_datetime(obj)
    text = obj.replace(tzinfo=None).isoformat()
    if _LOCAL_DATETIME.fullmatch(text) is None:
        raise TypeError(f"cannot pack {obj!r}: it is a datetime without a date and time")  # pandas.NaT is one
    return ExtType(LOCAL_DATETIME, text.encode())


def unpack_ext(code: int, data: bytes) -> Any:
    """Return the object that an extension value stands for; one of an unknown code stays an ExtType."""
    reader = _READERS.get(code)
    if reader is not None:
        return reader(bytes(data))
    if code < 0:
        raise ExtensionError(f"extension type {code} is not defined by the MessagePack specification")
    return ExtType(code, bytes(data))


# Its results refer to nothing that refers back: native unpackers keep the collector off while it runs.
unpack_ext.makes_no_cycles = True  # type: ignore[attr-defined]


def with_ext_hook(ext_hook: Callable[[int, bytes], Any]) -> Callable[[int, bytes], Any]:
    """Return an ext hook that hands the codes that are not this module's to the caller's `ext_hook`."""

    def unpack_with_hook(code: int, data: bytes) -> Any:
        reader = _READERS.get(code)
        return ext_hook(code, data) if reader is None else reader(bytes(data))

    return unpack_with_hook


def find_bad_extension(message: bytes) -> int | None:
    """Return the offset of the first extension value that `unpack_ext` refuses, or None in a very long message."""
    message = bytes(message[: _SEARCHED + 1])
    position = 0
    while position < min(len(message), _SEARCHED):
        family, end, length = value_header(message, position)
        if family in (ARRAY, MAP):
            length = 0  # what is in a container follows at once, value after value
        elif family == EXT:
            code = int.from_bytes(message[end : end + 1], "big", signed=True)
            end += 1
            try:
                if code != TIMESTAMP_CODE:
                    unpack_ext(code, message[end : end + length])
            except ExtensionError:
                return position
        position = end + length
    return None


def _text(data: bytes, pattern: re.Pattern[str], code: int, what: str) -> str:
    text = data.decode("ascii", "replace")
    if len(text) > MAX_DECIMAL_LENGTH or pattern.fullmatch(text) is None:
        raise ExtensionError(f"extension type {code} ({what}): {text[:40]!r} is none")
    return text


def _read_date(data: bytes) -> Any:
    return _checked(datetime.date.fromisoformat, _text(data, _DATE, DATE, "date"), "date")


def _read_time(data: bytes) -> Any:
    return _checked(datetime.time.fromisoformat, _text(data, _TIME, TIME, "time"), "time")


def _read_local_datetime(data: bytes) -> Any:
    text = _text(data, _LOCAL_DATETIME, LOCAL_DATETIME, "datetime")
    return _checked(datetime.datetime.fromisoformat, text, "datetime")


def _read_duration(data: bytes) -> Any:
    if len(data) != _DURATION.size:
        raise ExtensionError(
            f"extension type {DURATION} (timedelta): expected {_DURATION.size} bytes, found {len(data)}"
        )
    days, seconds, microseconds = _DURATION.unpack(data)
    return _checked(lambda _: datetime.timedelta(days, seconds, microseconds), data, "timedelta")


_exact: Callable[[Any], Any] | None = None
"""Decimal, once one is met: the module takes as long to import as all of this package."""


def _read_decimal(data: bytes) -> Any:
    global _exact
    if _exact is None:
        import decimal

        # an exponent beyond what Decimal can hold is refused, whatever the thread's context would make of it
        _exact = partial(decimal.Decimal, context=decimal.Context(traps=[decimal.InvalidOperation]))
    text = _text(data, _DECIMAL, DECIMAL, "Decimal")
    return _checked(_exact, text if len(text) <= _LONG_DECIMAL else _decimal_parts(text), "Decimal")


def _decimal_parts(text: str) -> tuple[int, tuple[int, ...], int | str]:
    """Return the sign, digits and exponent of a Decimal's text, which takes Decimal itself quadratic time on PyPy."""
    sign = 1 if text[0] == "-" else 0
    number = text.lstrip("+-")
    exponent: int | str
    if "N" in number:
        digits = number.lstrip("sNa")
        exponent = "N" if number[0] == "s" else "n"
    else:
        mantissa, _, power = number.lower().partition("e")
        whole, _, fraction = mantissa.partition(".")
        digits = whole + fraction
        exponent = int(power or "0") - len(fraction)
    return sign, tuple([byte - 0x30 for byte in digits.encode()]), exponent


def _read_uuid(data: bytes) -> Any:
    import uuid

    if len(data) != 16:
        raise ExtensionError(f"extension type {UUID} (UUID): expected 16 bytes, found {len(data)}")
    return uuid.UUID(bytes=data)


def _checked(make: Callable[[Any], Any], value: Any, what: str) -> Any:
    """Call `make`, turning what it thinks of a bad value into an ExtensionError."""
    try:
        return make(value)
    except (ValueError, ArithmeticError) as exc:
        raise ExtensionError(f"{value!r} is not a {what}: {str(exc) or type(exc).__name__}") from exc


_READERS: Final[dict[int, Callable[[bytes], Any]]] = {
    DATE: _read_date,
    LOCAL_DATETIME: _read_local_datetime,
    DECIMAL: _read_decimal,
    DURATION: _read_duration,
    TIME: _read_time,
    UUID: _read_uuid,
}
