# SPDX-License-Identifier: Apache-2.0
"""Dates, UUIDs, Decimals, Enum members, dataclasses and sets: lists of a thousand, packed and read.

Each library reads its own output, into the same types: what callers write for a type that a library does not know is
part of the call.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import random
import uuid
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import Any, NamedTuple

import cpkg
from bench.cells import OURS, Case, Group, NotHere, Works, reason
from bench.typed_peers import PEERS, Both
from cpkg import typed

try:
    import attr
except ImportError:
    attr = None  # type: ignore[assignment]

COUNT = 1000
PACKING, READING = ("dumps", "packb", "typed.encode"), ("loads", "typed.decode")


class Colour(enum.Enum):
    RED = "red"
    GREEN = "green"


@dataclasses.dataclass
class Point:
    x: int
    y: str


if attr is not None:

    @attr.define
    class Place:
        x: int
        y: str


def _naive(draw: random.Random) -> dt.datetime:
    return dt.datetime(2024, 1, 1) + dt.timedelta(microseconds=draw.randrange(10**15))


def _fields(value: Any) -> dict[str, object]:
    return {"x": value.x, "y": value.y}


def _parts(value: dt.timedelta) -> tuple[int, ...]:
    return value.days, value.seconds, value.microseconds


class Kind(NamedTuple):
    """A type, how to draw a value of it, and packb's option for it, if it has one.

    forth, back: what callers write for it around a library that does not know it: its `default`, and the way back.
    """

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
    "timedelta": Kind(
        dt.timedelta, lambda draw: _naive(draw) - _naive(draw), None, _parts, lambda parts: dt.timedelta(*parts)
    ),
    "UUID": Kind(
        uuid.UUID,
        lambda draw: uuid.UUID(int=draw.getrandbits(128)),
        "uuid",
        lambda value: value.bytes,
        lambda data: uuid.UUID(bytes=data),
    ),
    "Decimal": Kind(Decimal, lambda draw: Decimal(draw.randrange(10**6)).scaleb(-2), "decimal", str, Decimal),
    "Enum": Kind(Colour, lambda draw: draw.choice(list(Colour)), "enum", lambda value: value.value, Colour),
    "dataclass of 2": Kind(
        Point, lambda draw: Point(draw.randrange(1000), "name"), "dataclass", _fields, lambda found: Point(**found)
    ),
    "attrs of 2": Kind(
        attr and Place,
        lambda draw: Place(draw.randrange(1000), "name"),
        "dataclass",
        _fields,
        lambda found: Place(**found),
    ),
    "set of 3 int": Kind(set[int], lambda draw: set(draw.sample(range(100000), 3)), None, list, set),
    "frozenset of 3 str": Kind(
        frozenset[str], lambda draw: frozenset(map(str, draw.sample(range(100000), 3))), None, list, frozenset
    ),
}


def _msgpack(name: str) -> Both:
    import msgpack

    forth, back = KINDS[name].forth, KINDS[name].back
    if forth is None or back is None:
        return partial(msgpack.packb, datetime=True), partial(msgpack.unpackb, timestamp=3)
    return partial(msgpack.packb, default=forth), lambda data: [back(found) for found in msgpack.unpackb(data)]


def _ormsgpack(name: str) -> Both:
    import ormsgpack

    forth, back = KINDS[name].forth, KINDS[name].back
    if forth is None or back is None:
        option = ormsgpack.OPT_DATETIME_AS_TIMESTAMP_EXT
        return partial(ormsgpack.packb, option=option), partial(ormsgpack.unpackb, option=option)
    if name == "UUID":  # packed as text, without `default`
        back = uuid.UUID
    return partial(ormsgpack.packb, default=forth), lambda data: [back(found) for found in ormsgpack.unpackb(data)]


UNTYPED = {"msgpack": _msgpack, "ormsgpack": _ormsgpack}
TYPED = ("msgspec", "mashumaro", "cattrs")
THEIRS = {"packb": tuple(UNTYPED), "typed.encode": TYPED, "typed.decode": TYPED}
"""The peers that have the same operation; all others are compared with every peer."""


def works(case: Case, operation: str) -> Works:
    """Pack a thousand values of a type, or read them back."""
    kind = KINDS[case.name]
    if kind.kind is None:
        raise NotHere("attrs is not installed")
    draw = random.Random(47)
    values = [kind.draw(draw) for _ in range(COUNT)]
    reads = operation in READING
    message = typed.encode(values)
    typed_decode = typed.Decoder(list[kind.kind]).decode  # type: ignore[name-defined]
    calls: dict[str, Callable[[], Any]] = {
        "dumps": partial(cpkg.dumps, values, compress=False),
        "packb": partial(cpkg.msgpack.packb, values, **({kind.option: True} if kind.option else {})),
        "typed.encode": partial(typed.encode, values),
        "loads": partial(cpkg.loads, message),
        "typed.decode": partial(typed_decode, message),
    }
    readers: dict[str, Callable[[bytes], Any]] = {}
    found = Works({OURS: calls[operation]}, values=COUNT)
    for peer in THEIRS.get(operation, (*TYPED, *UNTYPED, "pickle")):
        try:
            pack, unpack = UNTYPED[peer](case.name) if peer in UNTYPED else PEERS[peer](list[kind.kind], values)
            found.calls[peer] = partial(unpack, pack(values)) if reads else partial(pack, values)
            readers[peer] = unpack
        except Exception as error:
            found.missing[peer] = reason(error)

    def check(library: str, result: Any) -> None:
        if not reads:
            result = readers.get(library, typed_decode)(result)
        # `loads` returns the values that the message's types give: for some types another one
        assert (operation, library) == ("loads", OURS) or result == values, "gives other values back"

    found.check = check
    return found


GROUP = Group(
    "Value types",
    [Case(name, quick=name in ("date", "UUID"), small=name == "Decimal") for name in KINDS],
    lambda case: [each for each in (*PACKING, *READING) if each != "packb" or KINDS[case.name].option],
    works,
)
