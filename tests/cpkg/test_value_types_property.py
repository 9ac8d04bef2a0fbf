# SPDX-License-Identifier: Apache-2.0
"""Dates, UUIDs, Decimals, Enums, sets, dataclasses and attrs: every backend packs and reads them like `pure`."""

from __future__ import annotations

import collections
import dataclasses
import datetime as dt
import decimal
import enum
import pickle
import random
import re
import struct
import sys
import uuid
import weakref
from types import ModuleType
from typing import Annotated, Any, Callable, ClassVar, Literal, Optional, Union

import annotated_types as at
import attr
import pytest
from any_codecs import codecs_of, decode, encode
from extent import IS_THOROUGH
from msgpack_oracle import outcome
from processes import run_alone
from seeds import SEED

import purepy.msgpack
from cpkg import typed
from cpkg.typed import codecs as typed_codecs
from purepy.msgpack.ext import ExtType, Raw, Timestamp

DRAWN = 2000 if IS_THOROUGH else 40
PURE = codecs_of(purepy.msgpack)
OPTIONS: list[dict[str, Any]] = [
    {},
    *({name: True} for name in ("datetime", "date", "uuid", "decimal", "enum", "dataclass")),
    {"enum": True, "uuid": True, "date": True, "decimal": True, "dataclass": True, "use_bin_type": False},
    {"enum": True, "dataclass": True, "sort_keys": True, "strict_types": True, "default": repr},
]


class Colour(enum.Enum):
    RED = "red"
    ALSO_RED = "red"  # noqa: PIE796
    PAIR = (1, "two")
    NOTHING = None
    LARGE = 2**70
    DAY = dt.date(2024, 2, 29)
    MEMBERS = frozenset({2, 1})


class Level(enum.IntEnum):
    HIGH = 3


class Access(enum.Flag):
    READ = 1
    WRITE = 2


class Titled(enum.Enum):
    ONE = 1

    @property
    def value(self) -> str:  # type: ignore[override]
        return "first"


class Veiled(enum.Enum):
    ONE = 1

    def __getattribute__(self, name: str) -> Any:
        return "first" if name == "value" else super().__getattribute__(name)


class Stamp(dt.datetime):
    pass


class Odd(dt.tzinfo):
    def utcoffset(self, _: dt.datetime | None) -> dt.timedelta:
        return dt.timedelta(hours=1, seconds=1, microseconds=1)


class Refusing(dt.tzinfo):
    """A time zone whose utcoffset() returns or raises a given object."""

    def __init__(self, offset: Any) -> None:
        self.offset = offset

    def utcoffset(self, _: dt.datetime | None) -> Any:
        if self.offset is ValueError:
            raise self.offset("no offset")
        return self.offset


class Number(decimal.Decimal):
    def __str__(self) -> str:
        return "1"


@dataclasses.dataclass
class Point:
    x: int
    y: Any = None
    origin: ClassVar[int] = 7
    scale: dataclasses.InitVar[int] = 2


class Inheriting(Point):
    @property
    def x(self) -> int:  # type: ignore[override]
        return 8

    @x.setter
    def x(self, value: int) -> None:
        pass


@dataclasses.dataclass(frozen=True)
class Slim:
    __slots__ = ("a",)
    a: frozenset[int]


@attr.s(slots=True)
class Private:
    _x: Any = attr.ib()
    counted: int = attr.ib(init=False, default=3)


@attr.s(frozen=True)
class Loose:
    a = attr.ib()

    @property
    def other(self) -> int:
        return 1


class LooseToo(Loose):
    pass


class Odder(Loose):
    a = property(lambda self: 1 // 0, lambda self, value: None)


class NoFields:
    __attrs_attrs__ = None


class WrongFields:
    __attrs_attrs__ = (1,)


Both = dataclasses.make_dataclass("Both", [("b", int, 1)], bases=(Private,))
Wide = dataclasses.make_dataclass("Wide", [(f"field{number}", int) for number in range(40)])
WideToo = attr.make_class("WideToo", [f"field{number}" for number in range(40)])
Given = dataclasses.make_dataclass("Given", [("a", int), ("s", dataclasses.InitVar)], frozen=True)
Extra = enum.Enum("Extra", {"value": 1, "other": 2})  # type: ignore[misc]
NAN_PAYLOAD = decimal.Decimal("-sNaN123456789012345678901234567890")


def broken(cls: type, name: str, value: Any, **arguments: Any) -> Any:
    """Return an object with an attribute that it should not have, or without one."""
    obj = cls(**arguments)
    if value is None:
        object.__delattr__(obj, name)
    else:
        object.__setattr__(obj, name, value)
    return obj


def zones() -> list[dt.tzinfo | None]:
    spans = ({"hours": 14}, {"hours": -5, "minutes": -30}, {"seconds": 1}, {"hours": -1, "microseconds": 1})
    return [None, dt.timezone.utc, *(dt.timezone(dt.timedelta(**span)) for span in spans), Odd()]


EXTREMES: list[Any] = [
    *(moment.replace(tzinfo=zone) for moment in (dt.datetime.min, dt.datetime.max) for zone in zones()),
    *(dt.time(23, 59, 59, 999999, tzinfo=zone, fold=1) for zone in zones()),
    *(dt.datetime(1970, 1, 1, 0, 0, 0, 1, tzinfo=zone, fold=1) for zone in zones()),
    *(dt.datetime(year, month, 1, tzinfo=dt.timezone.utc) for year in (1, 4, 1900, 2000, 2400) for month in (1, 2, 3)),
    *(dt.date.min, dt.date.max, dt.time.min, dt.time.max, dt.timedelta.min, dt.timedelta.max, dt.timedelta(-1)),
    *(Stamp(2024, 1, 1), Stamp(2024, 1, 1, tzinfo=dt.timezone.utc), type("Day", (dt.date,), {})(2024, 1, 1)),
    *(uuid.UUID(int=value) for value in (0, 1, 2**30 - 1, 2**60, 2**90, 2**120, 2**128 - 1)),
    *(broken(uuid.UUID, "int", value, int=5) for value in (-1, 2**128, 2**200, "text", None)),
    *map(decimal.Decimal, ("0", "-0", "1.50", "0E-20", "1E+1000", "NaN", "-NaN123", "sNaN", "Infinity", "-Infinity")),
    *map(decimal.Decimal, ("1E-99999999999999999", "1.5E+99999999999999999", "9" * 28, "9" * 300, "9" * 4097)),
    *map(decimal.Decimal, ("1E+999999999999999999", "-1.5E-123456789012345678", "1." + "3" * 27)),
    *(NAN_PAYLOAD, Number(5), *Colour, Level.HIGH, *Access, Access.READ | Access.WRITE, Titled.ONE, *Extra),
    *(set(), {1}, {-1, 2**63, -(2**63)}, {2**64, 1}, {"b", "a", "ä", "\U0001f600"}, {True, 1.5}, {1, "a", None}),
    *({b"b", b"a"}, frozenset({dt.date.max, dt.date.min}), {frozenset({1}), frozenset()}, {"\ud800"}, {float("nan")}),
    *({-(2**64), 5}, {(2, 1), (1, 2)}, type("Group", (set,), {})({2, 1}), {Colour.RED, Colour.PAIR}, {"x" * 300}),
    *(Point(1, {"k": {3, 1}}), Inheriting(1, 2), Slim(frozenset({2, 1})), Wide(*range(40)), Point, Colour),
    *(broken(Point, "x", None, x=1), [[Point(1, Point(2, [dt.date.max]))]], {Colour.RED: Point(3)}),
    *(
        Private(Loose({2, 1})),
        Loose(Point(1)),
        LooseToo(1),
        Odder(1),
        NoFields(),
        WrongFields(),
        Loose,
        WideToo(*range(40)),
    ),
    *(broken(Private, "_x", None, x=1), Both(1), {Loose(5): 1}, {Given(1, 2), "a", Loose(1)}, Veiled.ONE),
    *(dt.datetime(2024, 1, 1, tzinfo=Refusing(offset)) for offset in (None, ValueError, 5, dt.timedelta(1))),
    *(dt.time(1, tzinfo=Refusing(offset)) for offset in (None, ValueError, 5, dt.timedelta(1))),
    *(collections.deque([dt.date.max]), bytearray(b"x"), {dt.date.min: uuid.UUID(int=1)}, 1j, object),
]


def drawn() -> list[Any]:
    """Return random values of each type."""
    draw = random.Random(SEED)
    makers: list[Callable[[], Any]] = [
        lambda: dt.datetime.min + dt.timedelta(microseconds=draw.randrange(315537897600 * 10**6)),
        lambda: dt.datetime.fromordinal(draw.randrange(2, 3652059)).replace(tzinfo=draw.choice(zones())),
        lambda: dt.date.fromordinal(draw.randrange(1, 3652060)),
        lambda: (dt.datetime.min + dt.timedelta(microseconds=draw.randrange(86400 * 10**6))).time(),
        lambda: dt.timedelta(draw.randrange(-(10**9), 10**9), draw.randrange(86400), draw.randrange(10**6)),
        lambda: uuid.UUID(int=draw.getrandbits(draw.choice([16, 61, 128]))),
        lambda: decimal.Decimal(
            (draw.randrange(2), (draw.randrange(10),) * draw.randrange(1, 40), draw.randrange(-40, 40))
        ),
        lambda: {draw.randrange(-(2**66), 2**66) >> draw.randrange(66) for _ in range(draw.randrange(20))},
        lambda: frozenset(chr(draw.randrange(0x250)) * draw.randrange(3) for _ in range(draw.randrange(20))),
    ]
    return [make() for make in makers for _ in range(DRAWN)]


VALUES = EXTREMES + drawn()


def test_dumps_and_loads(msgpack: ModuleType) -> None:
    codecs = codecs_of(msgpack)
    for value in VALUES:
        for obj in (value, [value], {"k": value}):
            packed = outcome(encode, PURE, obj, compress=False)
            assert outcome(encode, codecs, obj, compress=False) == packed, obj
            assert outcome(encode, codecs, obj, compress=False, default=repr, sort_keys=True) == outcome(
                encode, PURE, obj, compress=False, default=repr, sort_keys=True
            )
        try:
            message = encode(PURE, value, compress=False)
        except (TypeError, ValueError, ArithmeticError, AttributeError):
            continue
        assert outcome(decode, codecs, message) == outcome(decode, PURE, message), value


TEXTS = [
    *("2024-02-29", "2023-02-29", "1900-02-29", "2024-00-01", "2024-13-01", "0000-01-01", "2024-1-01-", "2024-01-32"),
    *("2024-02-29T12:30:59", "2024-02-29T12:30:59.000001", "2024-02-29 12:30:59", "2024-02-29T24:00:00", "12:30"),
    *("12:30:59", "12:60:00", "12:00:60", "12:30:59.12345", "12:30:59.1234567", "12:30:59+01:00", "12:30:59.1+01:00"),
    *("1", "-.5", "5.", ".", "", "+", "1.2.3", "1e", "1e+", "1e5", "1E-99999", "1e100000", "0x1", "1_0", " 1", "1e5e5"),
    *(
        "2024-02-29T12:30:59Z",
        "2024-02-29T12:30:59.1Z",
        "2024-02-29Z",
        "12:30:59Z",
        "P1DT2H",
        "2024-02-29T12:30:59+01:00",
    ),
    *("12345678-1234-5678-1234-567812345678", "12345678-1234-5678-1234-56781234567g", "1234567812345678" * 2, "{}"),
    *(
        "P1DT2H",
        "-PT1.5S",
        "PT1.S",
        "P",
        "PT",
        "P1DT",
        "+P1D",
        "PT1M2H",
        "P1H",
        "PT1D",
        "P1DT1H2M3.000004S",
        "PT1.1234567S",
    ),
    *(
        "P999999999DT23H59M59.999999S",
        "P999999999DT24H",
        "-P999999999D",
        "-P999999999DT1S",
        "P1000000000D",
        "PT9999999999S",
    ),
    *(
        "PT999999999999S",
        "PT1234567890123S",
        "P1DT",
        "PT\0",
        "PT1",
        "PT1.5M",
        "T1S",
        "PP1D",
        "P1D2D",
        "-P",
        "--P1D",
        "P-1D",
    ),
    *(
        "2024-02-29T12:30:59.1+01:00",
        "2024-02-29T12:30:59-00:00",
        "2024-02-29T12:30:59-23:59",
        "2024-02-29T12:30:59+24:00",
    ),
    *(
        "2024-02-29T12:30:59+01:00:01",
        "2024-02-29T12:30:59.123456789Z",
        "2024-02-29T12:30:59.Z",
        "2024-02-29T12:30:59z",
    ),
    *(
        "2024-02-29T12:30:59.1234567",
        "12:30:59.000001Z",
        "12:30:59-01:30",
        "12:30:59.5",
        "2024-02-29T12:30:59+0100",
        "1" * 32,
    ),
    *("Infinity", "-sNaN12", "NaN5", "nan", "9" * 256, "9" * 257, "\xff1", "1\0", "\uff11"),
]


def texts_and_extensions() -> list[bytes]:
    """Return messages with valid, invalid and random texts, alone and as extension values."""
    draw = random.Random(SEED)
    payloads = [text.encode() for text in TEXTS] + [draw.randbytes(size) for size in (12, 16) * 3]
    payloads += [struct.pack(">iii", *parts) for parts in ((1, 86400, 0), (1, 0, 10**6), (-(10**9), 0, 0), (0, -1, -1))]
    extensions = [ExtType(code, payload) for code in (*map(ord, "DLNPTU"), 5) for payload in payloads]
    return [purepy.msgpack.packb([value, 1]) for value in TEXTS + extensions]


def test_loads_of_any_text(msgpack: ModuleType) -> None:
    codecs, draw = codecs_of(msgpack), random.Random(SEED)
    for message in texts_and_extensions():
        assert outcome(decode, codecs, message) == outcome(decode, PURE, message), message
    for value in VALUES[-9 * DRAWN : -2 * DRAWN : 5]:
        if getattr(value, "tzinfo", None) is not None:
            continue  # the texts of a year that is too large differ
        damaged = bytearray(encode(PURE, [value], compress=False))
        damaged[draw.randrange(len(damaged))] = draw.randrange(128)
        assert outcome(decode, codecs, bytes(damaged)) == outcome(decode, PURE, bytes(damaged)), damaged


class Hooked:
    pass


def hook(cls: type, value: Any) -> Any:
    """Return an object of the class or of another class, or refuse the value."""
    if value == "12:30":
        raise ValueError(value)
    return value if value == "." else cls()


class Answer(enum.Enum):
    YES = "12:30:59"
    DAY = "2024-02-29"
    ONE = 1
    TRUE = True

    @classmethod
    def _missing_(cls, value: object) -> Any:
        ASKED.append(value)
        if value == "1":
            return cls.YES
        if value == ".":
            raise KeyError(value)
        return None


Mixed = enum.Enum("Mixed", {"DAY": dt.date(2024, 2, 29), "NAME": "12:30:59", "PAIR": (1, 2)})  # type: ignore[misc]
Mode = enum.IntFlag("Mode", {"R": 1, "W": 2})  # type: ignore[misc]
ASKED: list[object] = []
"""The values with which code of the caller was called."""


def is_short(value: Any) -> bool:
    """Refuse some values, and raise for others."""
    ASKED.append(value)
    if value == 1:
        raise ZeroDivisionError
    if repr(value).endswith("59)"):
        raise RuntimeError("59")
    return len(repr(value)) % 3 != 0


SHORT = at.Predicate(is_short)
MOMENT = dt.datetime(2024, 2, 29, 12)


def errors_of(decoder: typed.Decoder, message: bytes) -> list[str]:
    """Return each error of a message."""
    try:
        decoder.decode(message)
    except typed.ValidationError as exc:
        return [str(error) for error in exc.errors]
    except Exception as exc:
        return [repr(exc)]
    return []


KINDS: dict[str, Any] = {
    **{
        kind.__name__: kind
        for kind in (dt.datetime, dt.date, dt.time, dt.timedelta, uuid.UUID, decimal.Decimal, ExtType, Raw, Hooked)
    },
    "Timestamp": Timestamp,
    "Enum": Answer,
    "Enum of dates": Mixed,
    "Flag": Mode,
    "Literal": Union[Literal["12:30:59", 1], None],
    "date after": Annotated[dt.date, at.Gt(dt.date(2024, 2, 28))],
    "datetime after": Annotated[dt.datetime, at.Ge(MOMENT)],
    "datetime in UTC after": Annotated[dt.datetime, at.Ge(MOMENT.replace(tzinfo=dt.timezone.utc))],
    "datetime after an odd one": Annotated[dt.datetime, at.Ge(MOMENT.replace(tzinfo=Odd()))],
    "aware": Annotated[dt.datetime, at.Timezone(...), SHORT],
    "naive": Annotated[dt.time, at.Timezone(None)],
    "time before": Annotated[dt.time, at.Lt(dt.time(12, 30, 59, 1))],
    "timedelta within": Annotated[dt.timedelta, at.Interval(ge=dt.timedelta(0), lt=dt.timedelta(2))],
    "Decimal within": Annotated[decimal.Decimal, at.Ge(0), at.Lt(decimal.Decimal(100)), at.MultipleOf(1)],
    "Decimal above": Annotated[decimal.Decimal, at.Gt(1.5), SHORT],
    "int below": Annotated[int, at.Lt(2**60), at.Gt(0.5)],
    "str after": Annotated[str, at.Ge("2")],
    **{f"short {kind.__name__}": Annotated[kind, SHORT] for kind in (uuid.UUID, Raw, ExtType, Answer, Hooked)},
    "short Literal": Annotated[Literal["12:30:59", 1], SHORT],
    "date or int": Union[dt.date, int],
    "short date or int": Annotated[Union[dt.date, int], SHORT],
    "short date, or int": Union[Annotated[dt.date, SHORT], Annotated[int, at.Ge(1)]],
    "date or datetime": Union[dt.date, dt.datetime],
    "date or str": Union[dt.date, str],
    "Timestamp or time": Union[Timestamp, dt.time, None],
    "UUID or ExtType": Union[uuid.UUID, ExtType, int],
    "Decimal or float": Union[decimal.Decimal, float],
    "Enum or date": Union[Mixed, decimal.Decimal],
    "text Enum or date": Union[enum.Enum("Word", {"A": "12:30:59", "B": "5."}), dt.date],  # type: ignore[misc]
    "Literal or date": Union[Literal["12:30:59", 1], dt.date],
    "Literal, date or time": Union[Literal["12:30:59"], dt.date, dt.time],
    "short Literal or date": Union[Annotated[Literal["12:30:59"], SHORT], dt.date],
}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_typed_decode_of_any_text(msgpack: ModuleType, monkeypatch: pytest.MonkeyPatch, kind: Any) -> None:
    """All backends agree: in calls of the caller's code, in all errors and in a limit."""
    messages = texts_and_extensions() + [purepy.msgpack.packb([value, 1]) for value in (1, None, [[1], {2: 3}], b"x")]
    messages += [
        b"\x92\xa1\xff\x01",
        b"\x92\xc7",
        b"\x92\xc1\x01",
        b"\x92\x91",
        b"\x92\xd6\xff\0\0\0\1\1",
        b"\x92\xd4\xfe\0\1",
    ]
    messages.append(purepy.msgpack.packb([str(uuid.UUID(int=2**128 - 7)).upper(), 1]))
    messages.append(purepy.msgpack.packb(["2024-02-29T12:30:59.000001Z", 1]))
    found = []
    for module in (purepy.msgpack, msgpack):
        monkeypatch.setattr(typed_codecs, "msgpack_module", lambda module=module: module)
        found.append([])
        for options in ({}, {"all_errors": True}, {"max_memory": 200}):
            options = {**options, "dec_hook": hook} if "Hooked" in str(kind) else options
            decoder = typed.Decoder(tuple[Optional[kind], int], **options)  # type: ignore[valid-type]
            for message in messages[len(options) :: 1 if IS_THOROUGH or not options else 7]:
                ASKED.clear()
                done = outcome(decoder.decode, message)
                errors = errors_of(decoder, message) if "all_errors" in options else None
                found[-1].append((message, re.sub("0x[0-9a-f]+", "", f"{done} {ASKED} {errors}")))
    for pure, ours in zip(*found):
        assert ours == pure


def test_objects_that_loads_makes_are_whole(msgpack: ModuleType) -> None:
    """They have the same attributes as objects from their constructors, and can be pickled."""
    codecs = codecs_of(msgpack)
    values = [
        uuid.UUID(int=7),
        dt.datetime(2024, 1, 1, tzinfo=dt.timezone.utc),
        decimal.Decimal("1.50"),
        dt.timedelta(1),
    ]
    for _ in range(2):  # their modules are found meanwhile
        back = decode(codecs, encode(codecs, values))
        assert pickle.loads(pickle.dumps(back)) == back == values
        assert hash(back[0]) == hash(values[0])
        assert back[0].is_safe is values[0].is_safe is uuid.SafeUUID.unknown
        assert back[1].tzinfo is dt.timezone.utc
        assert weakref.ref(back[0])() is back[0]


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: "-".join(options) or "none")
def test_packb(msgpack: ModuleType, options: dict[str, Any]) -> None:
    for value in VALUES:
        assert outcome(msgpack.packb, [value], **options) == outcome(purepy.msgpack.packb, [value], **options), value


def test_typed_encode(msgpack: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    for hook in (None, lambda _: {dt.date.max}):
        found = []
        for module in (purepy.msgpack, msgpack):
            monkeypatch.setattr(typed_codecs, "msgpack_module", lambda module=module: module)
            encoder = typed.Encoder(enc_hook=hook)
            found.append([outcome(encoder.encode, [value]) for value in VALUES])
        assert found[0] == found[1]


class Pretending:
    __class__ = dt.date  # type: ignore[assignment]

    def isoformat(self) -> str:
        return "2024-02-29"


FOR_A_HOOK: list[Any] = [
    *(
        Hooked(),
        type("Deeper", (Hooked,), {"__slots__": ()})(),
        type("deque", (), {"__iter__": lambda _: iter("ab")})(),
    ),
    *(type("Id", (uuid.UUID,), {})(int=1), type("Both", (Hooked, uuid.UUID), {})(int=1), Pretending()),
    *(enum.Enum("Kept", {"A": [Hooked()]}).A, Mixed.DAY, type("Items", (list,), {})([1]), type("Empty", (), {})),  # type: ignore[attr-defined]
    *(typed.options(array_like=True)(dataclasses.make_dataclass("Row", [("a", int)]))(1), Point(1), 1j, object()),
]


def test_what_an_enc_hook_returns(msgpack: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []

    def hook(obj: object) -> object:
        asked.append(obj)
        if replacement is KeyError:
            raise KeyError("no")
        return replacement

    for obj in FOR_A_HOOK:
        for replacement in (
            "text",
            5,
            2**63,
            2**64,
            None,
            1.5,
            {"k": [Hooked]},
            dt.date.max,
            {1},
            [obj],
            KeyError,
            obj,
        ):
            found = []
            for module in (purepy.msgpack, msgpack):
                monkeypatch.setattr(typed_codecs, "msgpack_module", lambda module=module: module)
                encode = typed.Encoder(enc_hook=hook, max_depth=9).encode
                for _ in range(2):
                    asked.clear()
                    found.append((outcome(encode, [obj, obj]), list(map(id, asked))))
            assert found[1:] == found[:-1], (obj, replacement)


def test_a_default_returns_any_of_them(msgpack: ModuleType) -> None:
    codecs = codecs_of(msgpack)
    for value in EXTREMES:
        options = {"default": {1j: value, 2**64: value}.get}
        for obj in (1j, [1j, 2**64]):
            assert outcome(encode, codecs, obj, **options) == outcome(encode, PURE, obj, **options), value


@pytest.mark.skipif(sys.implementation.name != "cpython", reason="PyPy does not count references")
def test_packing_keeps_no_references(msgpack: ModuleType) -> None:
    values = [value for value in EXTREMES if type(value) is not int]
    codecs = codecs_of(msgpack)
    calls = [lambda value: encode(codecs, value), *(lambda value, o=o: msgpack.packb(value, **o) for o in OPTIONS)]
    for value in values:
        for call in calls:
            outcome(call, value)
            before = sys.getrefcount(value), sys.getrefcount(type(value))
            for _ in range(3):
                outcome(call, value)
            assert (sys.getrefcount(value), sys.getrefcount(type(value))) == before, value


IMPORTS = """
assert msgpack.packb(1) and "uuid" not in sys.modules
try:
    msgpack.packb([1j], uuid=True, decimal=True, date=True)
except TypeError:
    pass
assert "uuid" not in sys.modules
import datetime, decimal, uuid
values = {"uuid": uuid.UUID(int=1), "decimal": decimal.Decimal("1.5"), "date": datetime.date(1, 2, 3)}
for option, value in values.items():
    assert msgpack.packb(value, **{option: True}) == msgpack.packb(str(value))
"""


def test_classes_are_found_once_their_modules_are_imported(msgpack: ModuleType) -> None:
    done = run_alone(msgpack, "msgpack", IMPORTS)
    assert done.returncode == 0, done.stderr


CONTEXTS = """
import decimal
decimal.DefaultContext.prec, decimal.DefaultContext.clamp, decimal.DefaultContext.Emax = 2, 1, 5
for signal in decimal.DefaultContext.traps:
    decimal.DefaultContext.traps[signal] = True
from any_codecs import codecs_of, decode
codecs = codecs_of(msgpack)
for text in ("1E+99999", "1E-99999", "0E+9", "-12345.67890", "1" * 250, "000.10e5", ".5"):
    value = decode(codecs, codecs.dumps(decimal.Decimal(text)))
    assert value.as_tuple() == decimal.Decimal(text).as_tuple(), text
    value = decode(codecs, codecs.packb(msgpack.ExtType(ord("N"), text.encode())))
    assert value.as_tuple() == decimal.Decimal(text).as_tuple(), text
"""


def test_decimals_do_not_depend_on_a_context(msgpack: ModuleType) -> None:
    done = run_alone(msgpack, "msgpack", CONTEXTS)
    assert done.returncode == 0, done.stderr
