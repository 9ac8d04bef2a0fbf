# SPDX-License-Identifier: Apache-2.0
"""Convert values such as times, which have no MessagePack type, from extension types and text, and to text."""

from __future__ import annotations

import base64
import datetime
import re
from decimal import Decimal
from uuid import UUID

from cpkg.objects.types_read import DATE_TEXT, DECIMAL_TEXT, OFFSET_PATTERN, READERS, TIME_TEXT
from cpkg.objects.types_written import MAX_DECIMAL_LENGTH
from purepy.msgpack.ext import Timestamp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Final


def _real(cls: type) -> Any:
    """Return the original class of the module datetime, if a test tool has replaced it by a subclass."""
    return next((base for base in cls.__mro__ if base.__module__ == "datetime"), cls)


# tools that freeze time in tests replace these two classes, perhaps before this module is imported
DATETIME: Final[type[datetime.datetime]] = _real(datetime.datetime)
DATE: Final[type[datetime.date]] = _real(datetime.date)

EXACT: Final[dict[type, Callable[[Any], object]]] = {
    str: str.__str__, int: lambda value: int.__add__(value, 0), float: lambda value: float.__mul__(value, 1.0)
}  # fmt: skip
"""Functions that convert an instance of a subclass to the class itself, even if it overrides `__str__` or `__int__`."""

_MOMENT = re.compile(
    r"(?P<day>\d{4}-\d\d-\d\d)[T ](?P<clock>([01]\d|2[0-3]):[0-5]\d:[0-5]\d)(\.(?P<fraction>\d{1,9}))?"
    rf"(?P<offset>Z|{OFFSET_PATTERN})?",
    re.ASCII,
)
_UUID = re.compile(r"[0-9a-f]{8}(-?)[0-9a-f]{4}\1[0-9a-f]{4}\1[0-9a-f]{4}\1[0-9a-f]{12}", re.ASCII | re.IGNORECASE)
EPOCH: Final = DATETIME(1970, 1, 1, tzinfo=datetime.timezone.utc)
_SECOND: Final = datetime.timedelta(seconds=1)
_DURATION = re.compile(
    r"([+-]?)P(?:(\d{1,9})D)?(?:T(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,12})(?:\.(\d{1,6}))?S)?)?", re.ASCII
)


def from_ext(kind: str, code: int, data: bytes) -> object:
    """
    Return the object in an extension value with this code.

    Raises ValueError if the data is invalid, and OverflowError for a datetime outside the years 1 to 9999.

    For code -1, the object is a Timestamp if `kind` is "timestamp", else a datetime.
    """
    if code != -1:
        return READERS[code](data)
    moment = Timestamp.from_bytes(data)
    return moment if kind == "timestamp" else moment.to_datetime()


def _moment(text: str) -> datetime.datetime:
    match = _MOMENT.fullmatch(text)
    if match is None:
        raise ValueError(text)
    day, clock, fraction, offset = match.group("day", "clock", "fraction", "offset")
    if fraction and len(fraction) > 6:
        raise ValueError(text)
    whole = f"{day}T{clock}.{(fraction or '').ljust(6, '0')}{'+00:00' if offset == 'Z' else offset or ''}"
    return DATETIME.fromisoformat(whole)


def _timestamp(text: str) -> Timestamp:
    match = _MOMENT.fullmatch(text)
    if match is None or match["offset"] is None:
        raise ValueError(text)
    seconds, rest = divmod(_moment(f"{match['day']}T{match['clock']}{match['offset']}") - EPOCH, _SECOND)
    if rest:  # the UTC offset has a fraction of a second
        raise ValueError(text)
    return Timestamp(seconds, int((match["fraction"] or "").ljust(9, "0")))


def usual_time(text: str) -> str:
    """Normalise the text of a time: insert a missing colon in the UTC offset, and cut nanoseconds to microseconds."""
    text = re.sub(r"(:\d\d(?:\.\d+)?[+-]\d\d)(\d\d)$", r"\1:\2", text)
    return re.sub(r"(\.\d{6})\d{1,3}(?!\d)", r"\1", text)


def _date(text: str) -> datetime.date:
    if DATE_TEXT.fullmatch(text) is None:
        raise ValueError(text)
    return DATE.fromisoformat(text)


def _time(text: str) -> datetime.time:
    text = text[:-1] + "+00:00" if text.endswith("Z") else text
    if TIME_TEXT.fullmatch(text) is None:
        raise ValueError(text)
    return datetime.time.fromisoformat(text)


def _duration(text: str) -> datetime.timedelta:
    match = _DURATION.fullmatch(text)
    if match is None or text.endswith(("P", "T")):
        raise ValueError(text)
    sign, days, hours, minutes, seconds, fraction = match.groups()
    span = datetime.timedelta(
        int(days or 0), int(seconds or 0), int((fraction or "").ljust(6, "0")), 0, int(minutes or 0), int(hours or 0)
    )
    return -span if sign == "-" else span


def _decimal(text: str) -> Decimal:
    if len(text) > MAX_DECIMAL_LENGTH or DECIMAL_TEXT.fullmatch(text) is None:
        raise ValueError(text)
    return Decimal(text)


def _uuid(text: str) -> UUID:
    if _UUID.fullmatch(text) is None:
        raise ValueError(text)
    return UUID(text)


def from_base64(text: str) -> bytes:
    """Return the bytes in a base64 text; raise ValueError if it is invalid."""
    return base64.b64decode(text, validate=True)


KINDS: Final[dict[object, str]] = {
    DATETIME: "datetime",
    DATE: "date",
    datetime.time: "time",
    datetime.timedelta: "timedelta",
    Decimal: "decimal",
    UUID: "uuid",
    Timestamp: "timestamp",
}
"""The kind of each class whose values may also be text."""

FROM_TEXT: Final[dict[str, Callable[[str], object]]] = {
    "datetime": _moment,
    "date": _date,
    "time": _time,
    "timedelta": _duration,
    "decimal": _decimal,
    "uuid": _uuid,
    "timestamp": _timestamp,
}
"""A parser of text for each kind; it raises ValueError, OverflowError or ArithmeticError for invalid text."""


def _duration_text(span: datetime.timedelta) -> str:
    sign, span = ("-", -span) if span.days < 0 else ("", span)
    fraction = f".{span.microseconds:06}".rstrip("0") if span.microseconds else ""
    return f"{sign}P{span.days}DT{span.seconds}{fraction}S" if span.seconds or fraction else f"{sign}P{span.days}D"


def to_text(value: object) -> str | None:
    """
    Return the text of a value: ISO 8601 for dates, times, Timestamps and timedeltas, base64 for bytes-like objects.

    The text of a UUID or Decimal is its str. Returns None for any other value.
    """
    if isinstance(value, (DATE, datetime.time)):
        text = value.isoformat()
        return text[:-6] + "Z" if text.endswith("+00:00") else text
    if isinstance(value, Timestamp):
        fraction = f".{value.nanoseconds:09}".rstrip("0") if value.nanoseconds else ""
        return f"{(EPOCH + value.seconds * _SECOND).isoformat()[:-6]}{fraction}Z"
    if isinstance(value, datetime.timedelta):
        return _duration_text(value)
    if isinstance(value, (UUID, Decimal)):
        return str(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return base64.b64encode(value if type(value) is bytes else memoryview(value).tobytes()).decode()
    return None
