# SPDX-License-Identifier: Apache-2.0
"""Dates, UUIDs, Decimals, Enum members, dataclasses and sets: lists of a thousand, packed and read.

Each library reads its own output, into the same types: what callers write for a type that a library does not know is
part of the call.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import importlib
import random
import uuid
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import Any, NamedTuple

import cpkg
from bench.cells import OURS, Case, Group, NotHere, Pair, Works, coded
from bench.peers import TYPED
from cpkg import typed

try:
    import attr

    @attr.define
    class Place:
        x: int
        y: str
except ImportError:
    Place = None  # type: ignore[assignment]

COUNT = 1000
READING = ("loads", "typed.decode")
Colour = enum.Enum("Colour", {"RED": "red", "GREEN": "green"})


@dataclasses.dataclass
class Point:
    x: int
    y: str


def _naive(draw: random.Random) -> dt.datetime:
    return dt.datetime(2024, 1, 1) + dt.timedelta(microseconds=draw.randrange(10**15))


def _uuid(draw: random.Random) -> uuid.UUID:
    return uuid.UUID(int=draw.getrandbits(128))


def _two(kind: Any, draw: random.Random) -> object:
    return kind(draw.randrange(1000), "name")


def _fields(value: Any) -> dict[str, object]:
    return {"x": value.x, "y": value.y}


def _parts(value: dt.timedelta) -> tuple[int, ...]:
    return value.days, value.seconds, value.microseconds


class Kind(NamedTuple):
    """A type, a function that draws a value, packb's option for it, and callers' code for libraries that lack it."""

    kind: Any
    draw: Callable[[random.Random], object]
    option: str | None
    forth: Callable[[Any], object] | None = None
    back: Callable[[Any], object] | None = None


KINDS = {
    "naive datetime": Kind(dt.datetime, _naive, None, dt.datetime.isoformat, dt.datetime.fromisoformat),
    "aware datetime": Kind(dt.datetime, lambda draw: _naive(draw).replace(tzinfo=dt.timezone.utc), "datetime"),
    "date": Kind(dt.date, lambda draw: _naive(draw).date(), "date", dt.date.isoformat, dt.date.fromisoformat),
    "time": Kind(dt.time, lambda draw: _naive(draw).time(), None, dt.time.isoformat, dt.time.fromisoformat),
    "timedelta": Kind(dt.timedelta, lambda draw: _naive(draw) - _naive(draw), None, _parts, lambda p: dt.timedelta(*p)),
    "UUID": Kind(uuid.UUID, _uuid, "uuid", lambda value: value.bytes, lambda data: uuid.UUID(bytes=data)),
    "Decimal": Kind(Decimal, lambda draw: Decimal(draw.randrange(10**6)).scaleb(-2), "decimal", str, Decimal),
    "Enum": Kind(Colour, lambda draw: draw.choice(list(Colour)), "enum", lambda value: value.value, Colour),
    "dataclass of 2": Kind(Point, partial(_two, Point), "dataclass", _fields, lambda found: Point(**found)),
    "attrs of 2": Kind(Place, partial(_two, Place), "dataclass", _fields, lambda found: Place(**found)),
    "set of 3 int": Kind(set[int], lambda draw: set(draw.sample(range(100000), 3)), None, list, set),
    "frozenset of 3 str": Kind(
        frozenset[str], lambda draw: frozenset(map(str, draw.sample(range(100000), 3))), None, list, frozenset
    ),
}


def _untyped(library: str, name: str) -> Pair:
    module = importlib.import_module(library)
    packb, unpackb, forth, back = module.packb, module.unpackb, KINDS[name].forth, KINDS[name].back
    if forth is None or back is None:
        if library == "msgpack":
            return partial(packb, datetime=True), partial(unpackb, timestamp=3)
        option = module.OPT_DATETIME_AS_TIMESTAMP_EXT
        return partial(packb, option=option), partial(unpackb, option=option)
    if (library, name) == ("ormsgpack", "UUID"):  # packed as text, without `default`
        back = uuid.UUID
    return partial(packb, default=forth), lambda data: [back(found) for found in unpackb(data)]


UNTYPED, BY_TYPE = ("msgpack", "ormsgpack"), ("msgspec", "mashumaro", "cattrs")
THEIRS = {"packb": UNTYPED, "typed.encode": BY_TYPE, "typed.decode": BY_TYPE}
"""The peers of operations that only some peers have; all other operations are compared with every peer."""


def works(case: Case, operation: str) -> Works:
    """Pack a thousand values of a type, or read them back."""
    of = KINDS[case.name]
    if of.kind is None:
        raise NotHere("attrs is not installed")
    draw, kind = random.Random(47), list[of.kind]  # type: ignore[name-defined]
    values = [of.draw(draw) for _ in range(COUNT)]
    decode = typed.Decoder(kind).decode
    ours: dict[str, Pair] = {
        "dumps": (partial(cpkg.dumps, compress=False), decode),
        "packb": (partial(cpkg.msgpack.packb, **({of.option: True} if of.option else {})), decode),
        "typed.encode": (typed.encode, decode),
        "loads": (typed.encode, cpkg.loads),
        "typed.decode": (typed.encode, decode),
    }
    peers = THEIRS.get(operation, (*BY_TYPE, *UNTYPED, "pickle"))
    ways = {
        OURS: ours[operation],
        **{n: partial(_untyped, n, case.name) if n in UNTYPED else partial(TYPED[n], kind, values) for n in peers},
    }
    found = coded(ways, values, operation not in READING, values=COUNT)
    check = found.check
    # `loads` does not know the original type, so for some types it returns values of another type
    found.check = lambda library, result: (operation, library) == ("loads", OURS) or check(library, result)
    return found


def operations(case: Case) -> list[str]:
    """Return the operations of a case; packb is one of them only if it has an option for the type."""
    return ["dumps", *(["packb"] if KINDS[case.name].option else []), "typed.encode", *READING]


CASES = [Case(name, quick=name in ("date", "UUID"), small=name == "Decimal") for name in KINDS]
GROUPS = [Group("Value types", CASES, operations, works)]
