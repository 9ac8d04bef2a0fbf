# SPDX-License-Identifier: Apache-2.0
"""Text for times, UUIDs and similar types; and such types while a test freezes time."""

from __future__ import annotations

import datetime as dt
import os
import sys
from dataclasses import make_dataclass
from uuid import UUID

import annotated_types as at
import pytest
from processes import run_python
from typing_extensions import Annotated

import cpkg
from cpkg import typed
from cpkg.msgpack import Timestamp

HEX = "12345678" * 4


@pytest.mark.parametrize("text", [HEX, str(UUID(HEX)), str(UUID(HEX)).upper(), "ABCDEF12" * 4])
def test_uuids_have_two_forms(text):
    assert typed.decode(cpkg.packb(text), UUID) == typed.convert(text, UUID) == UUID(text)


@pytest.mark.parametrize(
    "text",
    [
        f"0x{HEX[2:]}", "1_2_3_4_5_6_7_8_9_0_1_2_3_4_5_67", f" {HEX[1:]}", f"+{HEX[1:]}", "\u0661" * 32, f"{HEX}----",
        f"{{{HEX}}}{{{{", "-1-2-3-4-12345678123456781234567812", f"{{{HEX}}}", f"urn:uuid:{HEX}", f"{HEX}\n", "g" * 32,
        f"{HEX[:8]}-{HEX[8:]}", "",
    ],
)  # fmt: skip
def test_invalid_uuids_are_refused(text):
    for refuse in (lambda: typed.decode(cpkg.packb(text), UUID), lambda: typed.convert(text, UUID)):
        with pytest.raises(typed.ValidationError, match="expected UUID"):
            refuse()


OFFSETS = [dt.timedelta(hours=1, seconds=30), -dt.timedelta(hours=11, minutes=7, seconds=1, microseconds=25)]


@pytest.mark.parametrize("offset", OFFSETS)
def test_offsets_with_seconds_are_read_back(offset):
    zone = dt.timezone(offset)
    for value in (dt.datetime(2020, 5, 6, 7, 8, 9, 10, zone), dt.datetime(1900, 1, 1, tzinfo=zone)):
        text = typed.to_builtins(value)
        for made in (typed.convert(text, dt.datetime), typed.decode(cpkg.packb(text), dt.datetime)):
            assert (made, made.utcoffset()) == (value, offset)
    clock = dt.time(7, 8, 9, 10, zone)
    assert typed.convert(typed.to_builtins(clock), dt.time) == clock


def test_timestamps_of_offsets_with_seconds():
    assert typed.convert("1970-01-01T00:00:31.000000001+00:00:30", Timestamp) == Timestamp(1, 1)
    with pytest.raises(typed.ValidationError):
        typed.convert("1970-01-01T00:00:31+00:00:30.5", Timestamp)


LAX = [
    ("2024-01-02T03:04:05.123456789+0100", dt.datetime, "2024-01-02T03:04:05.123456+01:00"),
    ("2024-01-02 03:04:05.1234567", dt.datetime, "2024-01-02T03:04:05.123456"),
    ("2024-01-02T03:04:05-0000", dt.datetime, "2024-01-02T03:04:05+00:00"),
    ("2024-01-02T03:04:05z", dt.datetime, "2024-01-02T03:04:05+00:00"),
    ("03:04:05.123456789+0530", dt.time, "03:04:05.123456+05:30"),
]


@pytest.mark.parametrize(("text", "tp", "usual"), LAX)
def test_other_forms_of_times_are_accepted_if_not_strict(text, tp, usual):
    expected = tp.fromisoformat(usual)
    for made in (typed.decode(cpkg.packb(text), tp, strict=False), typed.convert(text, tp, strict=False)):
        assert (made, made.utcoffset()) == (expected, expected.utcoffset())
    for refuse in (lambda: typed.decode(cpkg.packb(text), tp), lambda: typed.convert(text, tp)):
        with pytest.raises(typed.ValidationError):
            refuse()


@pytest.mark.parametrize(
    "text", ["2024-01-02T03:04:05.1234567890", "2024-01-02T03:04:05+01000", "2024-01-02", "x+0000"]
)
def test_invalid_times_are_refused_everywhere(text):
    with pytest.raises(typed.ValidationError):
        typed.decode(cpkg.packb(text), dt.datetime, strict=False)


# --- frozen time ------------------------------------------------------------------------------------------------------


class Frozen:
    """Replace datetime.datetime and datetime.date, with a metaclass (as freezegun does) or without."""

    def __init__(self, monkeypatch, with_metaclass):
        real = dt.datetime, dt.date

        class OfDate(type):
            def __instancecheck__(cls, obj):
                return isinstance(obj, real[1])

        class OfDatetime(type):
            def __instancecheck__(cls, obj):
                return isinstance(obj, real[0])

        kinds = (OfDatetime, OfDate) if with_metaclass else (type, type)
        for name, base, kind in zip(("datetime", "date"), real, kinds):
            monkeypatch.setattr(dt, name, kind(f"Fake{name}", (base,), {}))


# PyPy's datetimes are written in Python, and comparing them needs the metaclass
@pytest.mark.parametrize("with_metaclass", [True] if sys.implementation.name == "pypy" else [True, False])
def test_types_are_the_same_while_time_is_frozen(monkeypatch, with_metaclass):
    moment, day = dt.datetime(2024, 5, 5, tzinfo=dt.timezone.utc), dt.date(2024, 5, 5)
    data = cpkg.dumps({"a": moment, "b": day})
    texts = {"a": "2024-05-05T00:00:00Z", "b": "2024-05-05"}
    with monkeypatch.context() as patch:
        Frozen(patch, with_metaclass)
        cls = make_dataclass("Token", [("a", dt.datetime), ("b", dt.date)])
        made = typed.decode(data, cls)
        assert (made.a, made.b) == (moment, day)
        assert typed.to_builtins([moment, day]) == list(texts.values())
        made = typed.convert(texts, cls)
        assert (made.a, made.b) == (moment, day)
        aware = Annotated[dt.datetime, at.Gt(moment)]
        with pytest.raises(typed.ValidationError, match="expected datetime >"):
            typed.convert(moment, aware)
    real = make_dataclass("Token", [("a", dt.datetime), ("b", dt.date)])
    assert typed.decode(data, real) == real(moment, day)


FIRST_USE = """
import datetime
from typing import Tuple
real = datetime.datetime, datetime.date
datetime.datetime, datetime.date = type("FakeDatetime", (real[0],), {}), type("FakeDate", (real[1],), {})
import cpkg
from cpkg import typed
message = cpkg.packb(["2024-05-05T00:00:00Z", "2024-05-05"])
moment, day = typed.decode(message, Tuple[datetime.datetime, datetime.date])
datetime.datetime, datetime.date = real
from cpkg.msgpack import Timestamp
assert typed.decode(message, Tuple[datetime.datetime, datetime.date]) == (moment, day)
assert (type(moment), type(day)) == real
assert typed.to_builtins([moment, day]) == ["2024-05-05T00:00:00Z", "2024-05-05"]
assert typed.convert(moment, datetime.datetime) is moment
"""


def test_types_are_the_same_if_time_is_frozen_at_their_first_use(msgpack):
    backend = "pure" if msgpack.typed_packb is None else "auto"
    done = run_python("-c", FIRST_USE, env={**os.environ, "CPKG_MSGPACK_BACKEND": backend})
    assert not done.returncode, done.stderr
