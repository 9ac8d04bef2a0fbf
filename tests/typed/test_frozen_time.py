# SPDX-License-Identifier: Apache-2.0
"""Types of times while a test freezes time."""

from __future__ import annotations

import datetime as dt
import os
import sys
from dataclasses import make_dataclass

import annotated_types as at
import pytest
from processes import run_python
from typing_extensions import Annotated

import cpkg
from cpkg import typed


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
