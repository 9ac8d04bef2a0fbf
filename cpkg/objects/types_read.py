# SPDX-License-Identifier: Apache-2.0
"""
Read the extension values that `dumps` writes (`cpkg.objects.types_written`): objects from codes and bytes.

This module is loaded when it is first needed, since it imports regular expressions and dates.
"""

from __future__ import annotations

import datetime
import re
from functools import partial

from cpkg.objects.types_written import (
    ARRAY,
    DATE,
    DECIMAL,
    DURATION,
    DURATION_FIELDS,
    LOCAL_DATETIME,
    MAX_DECIMAL_LENGTH,
    TIME,
    UUID,
    ExtensionError,
    unpack_ext,
)
from purepy.base.lazy import imported
from purepy.msgpack import formats
from purepy.msgpack.formats import EXT, MAP, TIMESTAMP_CODE, value_header

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Final

_SEARCHED: Final = 4 * 2**20
"""The largest part of a message, in bytes, that is searched for a bad extension value; it takes about a second."""

_LONG_DECIMAL: Final = 1024

# The texts that isoformat() writes. Since Python 3.11 fromisoformat() accepts more, and each version accepts different
# texts. Some versions turn an hour of 24, or an offset with minutes or seconds above 59, into a different time.
_CLOCK = r"([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{6})?"
OFFSET_PATTERN = r"[+-]([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{6})?)?"
DATE_TEXT = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
TIME_TEXT = re.compile(f"{_CLOCK}({OFFSET_PATTERN})?", re.ASCII)
LOCAL_DATETIME_TEXT = re.compile(rf"\d{{4}}-\d\d-\d\dT{_CLOCK}", re.ASCII)
# Decimal() also accepts spaces, underscores and digits of other scripts. The largest exponent depends on the build of
# Python; 17 digits fit on all 64-bit machines.
DECIMAL_TEXT = re.compile(r"[+-]?((\d+\.?\d*|\.\d+)([eE][+-]?\d{1,17})?|Infinity|s?NaN\d*)", re.ASCII)


def find_bad_extension(message: bytes) -> int | None:
    """
    Return the offset of the first extension value that `unpack_ext` refuses, except timestamps.

    Returns None if the first _SEARCHED bytes contain none.
    """
    message = bytes(message[: _SEARCHED + 1])
    position = 0
    while position < min(len(message), _SEARCHED):
        family, end, length = value_header(message, position)
        if family in (formats.ARRAY, MAP):
            length = 0  # the items of a container follow directly
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
        raise ExtensionError(f"extension type {code} ({what}): {text[:40]!r} is not a valid {what}")
    return text


def _read_date(data: bytes) -> object:
    return _checked(datetime.date.fromisoformat, _text(data, DATE_TEXT, DATE, "date"), DATE, "date")


def _read_time(data: bytes) -> object:
    return _checked(datetime.time.fromisoformat, _text(data, TIME_TEXT, TIME, "time"), TIME, "time")


def _read_local_datetime(data: bytes) -> object:
    text = _text(data, LOCAL_DATETIME_TEXT, LOCAL_DATETIME, "datetime")
    return _checked(datetime.datetime.fromisoformat, text, LOCAL_DATETIME, "datetime")


def _read_duration(data: bytes) -> object:
    if len(data) != DURATION_FIELDS.size:
        raise ExtensionError(
            f"extension type {DURATION} (timedelta): expected {DURATION_FIELDS.size} bytes, found {len(data)}"
        )
    days, seconds, microseconds = DURATION_FIELDS.unpack(data)
    return _checked(lambda _: datetime.timedelta(days, seconds, microseconds), data, DURATION, "timedelta")


_exact: Callable[[object], object] | None = None
"""Creates a Decimal; set at the first one, since importing `decimal` takes as long as importing this whole package."""


def _read_decimal(data: bytes) -> object:
    global _exact
    if _exact is None:
        import decimal

        # with this context Decimal refuses an exponent that is too large, whatever the thread's context allows
        _exact = partial(decimal.Decimal, context=decimal.Context(traps=[decimal.InvalidOperation]))
    text = _text(data, DECIMAL_TEXT, DECIMAL, "Decimal")
    return _checked(_exact, text if len(text) <= _LONG_DECIMAL else _decimal_parts(text), DECIMAL, "Decimal")


def _decimal_parts(text: str) -> tuple[int, tuple[int, ...], int | str]:
    """
    Return the sign, digits and exponent in the text of a finite Decimal or a NaN, as Decimal() accepts them.

    On PyPy, Decimal(text) takes quadratic time.
    """
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


def _read_uuid(data: bytes) -> object:
    import uuid

    if len(data) != 16:
        raise ExtensionError(f"extension type {UUID} (UUID): expected 16 bytes, found {len(data)}")
    return uuid.UUID(bytes=data)


def _checked(make: Callable[[Any], Any], value: Any, code: int, what: str) -> object:
    """Return `make(value)`; if that fails, raise an ExtensionError with `what`, the name of the expected type."""
    try:
        return make(value)
    except (ValueError, ArithmeticError) as exc:
        raise ExtensionError(
            f"extension type {code} ({what}): {value!r} is not a valid {what}: {str(exc) or type(exc).__name__}"
        ) from exc


def _read_array(data: bytes | memoryview) -> object:
    found: object = imported("cpkg.objects.arrays").read_array(data)
    return found


READERS: Final[dict[int, Callable[[Any], object]]] = {
    ARRAY: _read_array,
    DATE: _read_date,
    LOCAL_DATETIME: _read_local_datetime,
    DECIMAL: _read_decimal,
    DURATION: _read_duration,
    TIME: _read_time,
    UUID: _read_uuid,
}
