# SPDX-License-Identifier: Apache-2.0
"""
Read most extension values of `dumps`, and timestamps, directly from a message.

Arrays, unknown codes, and values that are invalid or in a rare form raise Unread. The caller then passes the code and
the data to the slower function for extension values, which returns the object or raises an error. This module is loaded
with the first extension value that is read in Python.
"""

from __future__ import annotations

import datetime
import struct
import sys

from cpkg.objects.types_read import READERS
from cpkg.objects.types_written import (
    DATE,
    DECIMAL,
    DURATION,
    DURATION_FIELDS,
    LOCAL_DATETIME,
    TIME,
    UUID,
    ExtensionError,
)
from purepy.base.lazy import Later
from purepy.base.pypy import JIT, read_u32
from purepy.msgpack.ext import EPOCH_ORDINAL, FIRST_SECOND, LAST_SECOND
from purepy.msgpack.plain_reader import Unread

TYPE_CHECKING = False
if TYPE_CHECKING:
    import uuid
    from collections.abc import Callable
    from typing import Final, NoReturn

    from typing_extensions import TypeAlias

    Reader: TypeAlias = Callable[[bytes, int, int], object]
else:
    uuid = Later("uuid")

_UTC: Final = datetime.timezone.utc
_EPOCH: Final = datetime.datetime(1970, 1, 1, tzinfo=_UTC)
_new: Final = object.__new__
_set: Final = object.__setattr__
_TIMESTAMP96: Final = struct.Struct(">Iq")


def read_ext(data: bytes, start: int, end: int) -> object:
    """Return the object in an extension value that has its code at `start` and ends at `end`, or raise Unread."""
    return _READ[data[start]](data, start + 1, end)


def _unread(data: bytes, start: int, end: int) -> NoReturn:
    raise Unread


def _timestamp(data: bytes, start: int, end: int) -> object:
    size = end - start
    if size == 4:
        return _moment(read_u32(data, start)[0], 0)
    if size == 8:
        first = read_u32(data, start)[0]
        return _moment((first & 3) << 32 | read_u32(data, start + 4)[0], first >> 2)
    if size == 12:
        nanoseconds, seconds = _TIMESTAMP96.unpack_from(data, start)
        return _moment(seconds, nanoseconds)
    raise Unread


def date_of(day: int) -> tuple[int, int, int]:
    """
    Return the year, month and day of the date that is `day` days after 1970-01-01, as date.fromordinal() has them.

    Uses only arithmetic: on PyPy, date.fromordinal() takes as long as all other steps of decoding a timestamp.
    Years begin with March here, so that February 29 is the last day of a year.
    """
    day += EPOCH_ORDINAL + 305  # after March 1 of the year 0, with which four centuries begin
    centuries, day = day // 146097, day % 146097
    year = (day - day // 1460 + day // 36524 - day // 146096) // 365
    day -= 365 * year + year // 4 - year // 100
    month = (5 * day + 2) // 153
    day -= (153 * month + 2) // 5 - 1
    year += 400 * centuries
    return (year, month + 3, day) if month < 10 else (year + 1, month - 9, day)


def _moment(seconds: int, nanoseconds: int) -> datetime.datetime:
    if not FIRST_SECOND <= seconds <= LAST_SECOND or nanoseconds > 999_999_999:
        raise Unread
    if not JIT:
        return _EPOCH + datetime.timedelta(0, seconds, nanoseconds // 1000)
    year, month, day = date_of(seconds // 86400)
    seconds %= 86400
    clock = seconds // 3600, seconds // 60 % 60, seconds % 60, nanoseconds // 1000
    return datetime.datetime(year, month, day, clock[0], clock[1], clock[2], clock[3], _UTC)


def _duration(data: bytes, start: int, end: int) -> object:
    if end - start != DURATION_FIELDS.size:
        raise Unread
    days, seconds, microseconds = DURATION_FIELDS.unpack_from(data, start)
    if not (0 <= seconds < 86400 and 0 <= microseconds < 1_000_000 and -1_000_000_000 < days < 1_000_000_000):
        raise Unread
    return datetime.timedelta(days, seconds, microseconds)


def _uuid(data: bytes, start: int, end: int) -> object:
    if end - start != 16:
        raise Unread
    # the constructor would test all of its ten arguments; a UUID has only these two attributes
    made = _new(uuid.UUID)
    _set(made, "int", int.from_bytes(data[start:end], "big"))
    _set(made, "is_safe", uuid.SafeUUID.unknown)
    return made


def _by_text(code: int) -> Reader:
    """
    Return a reader of an extension type with text as data; it raises Unread where `unpack_ext` raises ExtensionError.
    """
    reader = READERS[code]

    def read(data: bytes, start: int, end: int) -> object:
        try:
            return reader(data[start:end])
        except ExtensionError:
            raise Unread from None

    return read


_READ: Final[list[Reader]] = [_unread] * 256
_READ[0xFF] = _timestamp
_READ[DURATION] = _duration
_READ[UUID] = _uuid
for _code in (DATE, LOCAL_DATETIME, TIME, DECIMAL):
    _READ[_code] = _by_text(_code)

if JIT:
    # On PyPy the interpreter's functions are Python code with regular expressions and slices; arithmetic is faster.
    _DIGITS: Final = [byte - 0x30 if 0x30 <= byte <= 0x39 else 1 << 20 for byte in range(256)]
    """The value of each digit; any other byte makes its number too large."""
    _DAYS: Final = (0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
    _LONGEST: Final = 64

    def _day_of(data: bytes, at: int) -> tuple[int, int, int]:
        """Return the year, month and day in the text YYYY-MM-DD at position `at`; raise Unread if it is not a date."""
        year = _DIGITS[data[at]] * 1000 + _DIGITS[data[at + 1]] * 100 + _DIGITS[data[at + 2]] * 10
        year += _DIGITS[data[at + 3]]
        month = _DIGITS[data[at + 5]] * 10 + _DIGITS[data[at + 6]]
        day = _DIGITS[data[at + 8]] * 10 + _DIGITS[data[at + 9]]
        if data[at + 4] != 0x2D or data[at + 7] != 0x2D or not 0 < year < 10000 or not 0 < month < 13:
            raise Unread
        if not 0 < day <= _DAYS[month] or (day == 29 and month == 2 and (year % 4 or (year % 100 == 0 and year % 400))):
            raise Unread
        return year, month, day

    def _clock_of(data: bytes, at: int, end: int) -> tuple[int, int, int, int]:
        """
        Return the hour, minute, second and microsecond in the text HH:MM:SS or HH:MM:SS.ffffff from `at` to `end`.

        Raises Unread for any other text, for example with a UTC offset.
        """
        hour = _DIGITS[data[at]] * 10 + _DIGITS[data[at + 1]]
        minute = _DIGITS[data[at + 3]] * 10 + _DIGITS[data[at + 4]]
        second = _DIGITS[data[at + 6]] * 10 + _DIGITS[data[at + 7]]
        if data[at + 2] != 0x3A or data[at + 5] != 0x3A or hour > 23 or minute > 59 or second > 59:
            raise Unread
        if end - at == 8:
            return hour, minute, second, 0
        fraction = _DIGITS[data[at + 9]] * 100_000 + _DIGITS[data[at + 10]] * 10_000 + _DIGITS[data[at + 11]] * 1000
        fraction += _DIGITS[data[at + 12]] * 100 + _DIGITS[data[at + 13]] * 10 + _DIGITS[data[at + 14]]
        if end - at != 15 or data[at + 8] != 0x2E or fraction > 999_999:
            raise Unread
        return hour, minute, second, fraction

    def _date(data: bytes, start: int, end: int) -> object:
        if end - start != 10:
            raise Unread
        year, month, day = _day_of(data, start)
        return datetime.date(year, month, day)

    def _time(data: bytes, start: int, end: int) -> object:
        if end - start < 8:
            raise Unread
        hour, minute, second, fraction = _clock_of(data, start, end)
        return datetime.time(hour, minute, second, fraction)

    def _datetime(data: bytes, start: int, end: int) -> object:
        if end - start < 19 or data[start + 10] != 0x54:
            raise Unread
        year, month, day = _day_of(data, start)
        hour, minute, second, fraction = _clock_of(data, start + 11, end)
        return datetime.datetime(year, month, day, hour, minute, second, fraction)

    _READ[DATE] = _date
    _READ[TIME] = _time
    _READ[LOCAL_DATETIME] = _datetime

    def _of_parts(sign: int, digits: str, exponent: int) -> object:
        """
        Raise Unread; the first Decimal replaces this function by a constructor of Decimals from parts, if there is any.
        """
        raise Unread

    def _decimal(data: bytes, start: int, end: int) -> object:
        if not 0 < end - start < _LONGEST:
            raise Unread
        sign = 1 if data[start] == 0x2D else 0
        text = data[start + sign : end]
        point = text.find(b".")
        exponent = 0
        if point >= 0:
            exponent = point + 1 - len(text)
            text = text[:point] + text[point + 1 :]
        if not text.isdigit():
            raise Unread
        return _of_parts(sign, (text.lstrip(b"0") or b"0").decode(), exponent)

    def _first_decimal(data: bytes, start: int, end: int) -> object:
        """Read the first Decimal: import `decimal`, and choose the reader for this and all later Decimals."""
        global _of_parts
        import decimal

        of_parts = getattr(sys.modules.get("_pydecimal"), "_dec_from_triple", None)
        _READ[DECIMAL] = _by_text(DECIMAL)
        if of_parts is not None and repr(of_parts(1, "150", -2)) == repr(decimal.Decimal("-1.50")):
            _of_parts = of_parts
            _READ[DECIMAL] = _decimal
        return _READ[DECIMAL](data, start, end)

    _READ[DECIMAL] = _first_decimal
