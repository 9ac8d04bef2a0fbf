# SPDX-License-Identifier: Apache-2.0
"""Values that have no type of MessagePack's: from extension types and from text, and to text."""

from __future__ import annotations

import base64
import datetime
import re
from decimal import Decimal
from uuid import UUID

from cpkg.objects.types_read import DATE_TEXT, DECIMAL_TEXT, READERS, TIME_TEXT
from cpkg.objects.types_written import MAX_DECIMAL_LENGTH
from purepy.msgpack.ext import Timestamp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Final

_MOMENT = re.compile(
    r"(\d{4}-\d\d-\d\d)[T ](([01]\d|2[0-3]):[0-5]\d:[0-5]\d)(?:\.(\d{1,9}))?(Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)?",
    re.ASCII,
)
_EPOCH: Final = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
_SECOND: Final = datetime.timedelta(seconds=1)
_DURATION = re.compile(
    r"([+-]?)P(?:(\d{1,9})D)?(?:T(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,12})(?:\.(\d{1,6}))?S)?)?", re.ASCII
)


def from_ext(kind: str, code: int, data: bytes) -> object:
    """Return the value of a kind that an extension value stands for; ValueError if it is none."""
    if code != -1:
        return READERS[code](data)
    moment = Timestamp.from_bytes(data)
    return moment if kind == "timestamp" else moment.to_datetime()


def _moment(text: str) -> datetime.datetime:
    match = _MOMENT.fullmatch(text)
    if match is None:
        raise ValueError(text)
    day, clock, _, fraction, offset = match.groups()
    if fraction and len(fraction) > 6:
        raise ValueError(text)
    whole = f"{day}T{clock}.{(fraction or '').ljust(6, '0')}{'+00:00' if offset == 'Z' else offset or ''}"
    return datetime.datetime.fromisoformat(whole)


def _timestamp(text: str) -> Timestamp:
    match = _MOMENT.fullmatch(text)
    if match is None or match[5] is None:
        raise ValueError(text)
    seconds = (_moment(f"{match[1]}T{match[2]}{match[5]}") - _EPOCH) // _SECOND
    return Timestamp(seconds, int((match[4] or "").ljust(9, "0")))


def _date(text: str) -> datetime.date:
    if DATE_TEXT.fullmatch(text) is None:
        raise ValueError(text)
    return datetime.date.fromisoformat(text)


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
    if len(text) not in (32, 36):
        raise ValueError(text)
    return UUID(text)


FROM_TEXT: Final[dict[str, Callable[[str], object]]] = {
    "datetime": _moment,
    "date": _date,
    "time": _time,
    "timedelta": _duration,
    "decimal": _decimal,
    "uuid": _uuid,
    "timestamp": _timestamp,
}
"""What makes a value of each kind from text; ValueError, OverflowError or ArithmeticError if it is none."""


def _duration_text(span: datetime.timedelta) -> str:
    sign, span = ("-", -span) if span.days < 0 else ("", span)
    fraction = f".{span.microseconds:06}".rstrip("0") if span.microseconds else ""
    return f"{sign}P{span.days}DT{span.seconds}{fraction}S" if span.seconds or fraction else f"{sign}P{span.days}D"


def to_text(value: object) -> str | None:
    """Return what stands for a value in builtin types, as ISO 8601 has it; None for a value that has a type there."""
    if isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
        text = value.isoformat()
        return text[:-6] + "Z" if text.endswith("+00:00") else text
    if isinstance(value, Timestamp):
        fraction = f".{value.nanoseconds:09}".rstrip("0") if value.nanoseconds else ""
        return f"{(_EPOCH + value.seconds * _SECOND).isoformat()[:-6]}{fraction}Z"
    if isinstance(value, datetime.timedelta):
        return _duration_text(value)
    if isinstance(value, (UUID, Decimal)):
        return str(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return base64.b64encode(value).decode()
    return None
