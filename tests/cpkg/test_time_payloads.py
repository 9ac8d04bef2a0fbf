# SPDX-License-Identifier: Apache-2.0
"""Times in messages: what `isoformat()` writes and nothing else, the same on every version of Python."""

from __future__ import annotations

import datetime
from types import ModuleType

import pytest

import cpkg
from cpkg.objects import dumps_loads
from purepy.errors import FormatError
from purepy.msgpack.ext import ExtType


@pytest.fixture
def codecs(msgpack: ModuleType, zstd: ModuleType) -> dumps_loads.Codecs:
    """Every combination of the backends that load."""
    return dumps_loads.Codecs(msgpack, zstd)


@pytest.mark.parametrize("clock", ["24:00:00", "24:00:00.000000", "25:00:00", "10:60:00", "10:00:60", "9:00:00"])
def test_no_time_of_day(codecs: dumps_loads.Codecs, clock: str) -> None:
    """Python 3.14 reads 24:00:00 as midnight, of a datetime that of the next day; others refuse it."""
    for code, text in (("T", clock), ("T", clock + "+01:00"), ("L", "2024-01-01T" + clock)):
        with pytest.raises(FormatError):
            dumps_loads.decode(codecs, codecs.packb(ExtType(ord(code), text.encode())))


@pytest.mark.parametrize("offset", ["+24:00", "-24:00", "+10:60", "+10:99", "+10:00:60", "+23:59:60", "+1:00"])
def test_no_offset(codecs: dumps_loads.Codecs, offset: str) -> None:
    """An offset of more than 59 minutes or seconds would come back as another."""
    with pytest.raises(FormatError):
        dumps_loads.decode(codecs, codecs.packb(ExtType(ord("T"), f"12:00:00{offset}".encode())))


@pytest.mark.parametrize(
    "offset",
    [
        datetime.timedelta(),
        datetime.timedelta(hours=23, minutes=59, seconds=59, microseconds=999999),
        -datetime.timedelta(hours=23, minutes=59, seconds=59, microseconds=999999),
        datetime.timedelta(hours=-1, microseconds=1),
        None,
    ],
    ids=str,
)
def test_what_isoformat_writes(offset: datetime.timedelta | None) -> None:
    """The ends of the ranges come back."""
    zone = None if offset is None else datetime.timezone(offset)
    for time in (datetime.time(0, 0), datetime.time(23, 59, 59, 999999), datetime.time(19, 9, 59)):
        assert cpkg.loads(cpkg.dumps(time.replace(tzinfo=zone))) == time.replace(tzinfo=zone)
        assert cpkg.loads(cpkg.dumps(time.replace(tzinfo=zone))).utcoffset() == offset
