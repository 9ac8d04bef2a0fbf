# SPDX-License-Identifier: Apache-2.0
"""
Fast packing of sets, and of objects that `dumps` packs as extension values: one function ("form") per type.

`purepy.msgpack.forms` uses these functions. They return the bytes that packing with `cpkg.objects.types_written` gives,
or None for an object that they leave to that module. This module is loaded with the first object that needs it.
"""

from __future__ import annotations

from cpkg.objects.types_written import (
    DATE,
    DECIMAL,
    DURATION,
    DURATION_FIELDS,
    LOCAL_DATETIME,
    MAX_DECIMAL_LENGTH,
    TIME,
    UUID,
)
from purepy.base.pypy import content
from purepy.msgpack.encoder import ext_header
from purepy.msgpack.forms import is_of, iso_date, iso_datetime, iso_time, scalars, uuid_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    import datetime
    from typing import Any, Final

    from purepy.msgpack.plain_writer import Form

_DATE_HEADER: Final = ext_header(DATE, 10)
_WHOLE_TIME: Final = ext_header(TIME, 8)
_TIME_HEADER: Final = ext_header(TIME, 15)
_WHOLE_DATETIME: Final = ext_header(LOCAL_DATETIME, 19)
_DATETIME_HEADER: Final = ext_header(LOCAL_DATETIME, 26)
_DURATION_HEADER: Final = ext_header(DURATION, 12)
_pack_duration: Final = DURATION_FIELDS.pack
_UUID_HEADER: Final = ext_header(UUID, 16)
_DECIMAL_HEADERS: Final = [ext_header(DECIMAL, length) for length in range(20)]


def _date(value: datetime.date) -> bytes:
    return _DATE_HEADER + iso_date(value)


def _time(value: datetime.time) -> bytes | None:
    if value.tzinfo is not None:
        return None
    text = iso_time(value)
    return (_TIME_HEADER if len(text) > 8 else _WHOLE_TIME) + text


def _datetime(value: datetime.datetime) -> bytes | None:
    if value.tzinfo is not None:
        return None
    text = iso_datetime(value)
    return (_DATETIME_HEADER if len(text) > 19 else _WHOLE_DATETIME) + text


def _timedelta(value: datetime.timedelta) -> bytes:
    return _DURATION_HEADER + _pack_duration(value.days, value.seconds, value.microseconds)


def _uuid(value: Any) -> bytes | None:
    packed = uuid_bytes(value)
    return None if packed is None else _UUID_HEADER + packed


def _decimal(value: Any) -> bytes | None:
    text = content(str(value))
    size = len(text)
    if size < len(_DECIMAL_HEADERS):
        return _DECIMAL_HEADERS[size] + text
    # only a longer number can have an exponent that is refused
    if size > MAX_DECIMAL_LENGTH or b"E" in text or b"e" in text:
        return None
    return ext_header(DECIMAL, size) + text


_CLASSES: Final[dict[tuple[str, str], Form]] = {
    ("datetime", "datetime"): _datetime,
    ("datetime", "date"): _date,
    ("datetime", "time"): _time,
    ("datetime", "timedelta"): _timedelta,
    ("uuid", "UUID"): _uuid,
    ("decimal", "Decimal"): _decimal,
}


def find(kind: type) -> Form | None:
    """Return the form for set, frozenset or one of _CLASSES; None for any other type, including subclasses."""
    if kind is set or kind is frozenset:
        return scalars
    for (module, name), form in _CLASSES.items():
        if is_of(kind, module, name):
            return form
    return None
