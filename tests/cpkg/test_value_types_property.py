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
import typing
import uuid
import weakref
from collections.abc import Iterator
from functools import partial
from types import ModuleType
from typing import Any, Callable, ClassVar, Optional

import annotated_types as at
import attr
import pytest
from any_codecs import PURE, check_like_pure, codecs_of, decode, encode
from extent import IS_THOROUGH
from msgpack_oracle import outcome
from processes import run_alone, sections
from seeds import SEED

import purepy.msgpack
from cpkg import typed
from cpkg.typed import codecs as typed_codecs
from purepy.msgpack import ext
from purepy.msgpack.ext import ExtType

DRAWN = 2000 if IS_THOROUGH else 40
OPTIONS: list[dict[str, Any]] = [
    {},
    *({name: True} for name in ("datetime", "date", "uuid", "decimal", "enum", "dataclass")),
    {"enum": True, "uuid": True, "date": True, "decimal": True, "dataclass": True, "use_bin_type": False},
    {"enum": True, "dataclass": True, "sort_keys": True, "strict_types": True, "default": repr},
]


class Titled(enum.Enum):
    ONE = 1

    @property
    def value(self) -> str:  # type: ignore[override]
        return "first"


class Veiled(enum.Enum):
    ONE = 1

    def __getattribute__(self, name: str) -> Any:
        return "first" if name == "value" else super().__getattribute__(name)


class Refusing(dt.tzinfo):
    """A time zone whose utcoffset() returns or raises a given object."""

    def __init__(self, offset: Any) -> None:
        self.offset = offset

    def utcoffset(self, _: dt.datetime | None) -> Any:
        if self.offset is ValueError:
            raise self.offset("no offset")
        return self.offset


COLOURS = {"RED": "red", "ALSO_RED": "red", "PAIR": (1, "two"), "NOTHING": None, "LARGE": 2**70}
Colour = enum.Enum("Colour", {**COLOURS, "DAY": dt.date(2024, 2, 29), "MEMBERS": frozenset({2, 1})})
Point = dataclasses.make_dataclass(
    "Point", ["x", ("y", Any, None), ("origin", ClassVar[int], 7), ("scale", dataclasses.InitVar[int], 2)]
)
Inheriting = type("Inheriting", (Point,), {"x": property(lambda _: 8, lambda *_: None)})
Slim = dataclasses.make_dataclass("Slim", ["a"], namespace={"__slots__": ("a",)}, frozen=True)
Private = attr.make_class("Private", {"_x": attr.ib(), "counted": attr.ib(init=False, default=3)}, slots=True)
Loose = attr.make_class("Loose", ["a"], (type("Base", (), {"other": property(lambda _: 1)}),), frozen=True)
Both = dataclasses.make_dataclass("Both", [("b", int, 1)], bases=(Private,))
Wide = dataclasses.make_dataclass("Wide", [(f"field{number}", int) for number in range(40)])
WideToo = attr.make_class("WideToo", [f"field{number}" for number in range(40)])
Given = dataclasses.make_dataclass("Given", [("a", int), ("s", dataclasses.InitVar)], frozen=True)
Extra = enum.Enum("Extra", {"value": 1, "other": 2})  # type: ignore[misc]
Level = enum.IntEnum("Level", {"HIGH": 3})
Access = enum.Flag("Access", {"READ": 1, "WRITE": 2})
Stamp = type("Stamp", (dt.datetime,), {})
Odd = partial(Refusing, dt.timedelta(hours=1, seconds=1, microseconds=1))
Number = type("Number", (decimal.Decimal,), {"__str__": lambda _: "1"})
LooseToo = type("LooseToo", (Loose,), {})
Odder = type("Odder", (Loose,), {"a": property(lambda _: 1 // 0, lambda *_: None)})
NoFields, WrongFields = (type("Odd fields", (), {"__attrs_attrs__": fields}) for fields in (None, (1,)))
Hooked = type("Hooked", (), {})
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


DATA = sections(__file__, "value_types.txt")


def data(section: str, brackets: str = "[]") -> Any:
    """Return the list or dict with the items of a section of value_types.txt."""
    names = {"collections": collections, **vars(typing), **vars(ext), **globals()}
    return eval(f"{brackets[0]}{DATA[section]}{brackets[1]}", names)


EXTREMES: list[Any] = data("values")


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
            for options in ({}, {"default": repr, "sort_keys": True}):
                check_like_pure(codecs, encode, obj, compress=False, **options)
        try:
            message = encode(PURE, value, compress=False)
        except (TypeError, ValueError, ArithmeticError, AttributeError):
            continue
        check_like_pure(codecs, decode, message)


TEXTS: list[str] = data("texts")


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
        check_like_pure(codecs, decode, message)
    for value in VALUES[-9 * DRAWN : -2 * DRAWN : 5]:
        if getattr(value, "tzinfo", None) is not None:
            continue  # the texts of a year that is too large differ
        damaged = bytearray(encode(PURE, [value], compress=False))
        damaged[draw.randrange(len(damaged))] = draw.randrange(128)
        check_like_pure(codecs, decode, bytes(damaged))


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


KINDS: dict[str, Any] = data("types", "{}")
OTHERS = [1, None, [[1], {2: 3}], b"x", str(uuid.UUID(int=2**128 - 7)).upper(), "2024-02-29T12:30:59.000001Z"]


def each_backend(msgpack: ModuleType, patch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let `typed` use the pure backend, and then the tested one."""
    for module in (purepy.msgpack, msgpack):
        patch.setattr(typed_codecs, "msgpack_module", lambda module=module: module)
        yield


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_typed_decode_of_any_text(msgpack: ModuleType, monkeypatch: pytest.MonkeyPatch, kind: Any) -> None:
    """All backends agree: in calls of the caller's code, in all errors and in a limit."""
    messages = texts_and_extensions() + [purepy.msgpack.packb([value, 1]) for value in OTHERS]
    messages += map(bytes.fromhex, ("92a1ff01", "92c7", "92c101", "9291", "92d6ff0000000101", "92d4fe0001"))
    found = []
    for _ in each_backend(msgpack, monkeypatch):
        found.append([])
        for options in ({}, {"all_errors": True}, {"max_memory": 200}):
            options = {**options, "dec_hook": hook} if "Hooked" in str(kind) else options
            decoder = typed.Decoder(tuple[Optional[kind], int], **options)  # type: ignore[valid-type]
            for message in messages[len(options) :: 1 if IS_THOROUGH or not options else 7]:
                ASKED.clear()
                done = f"{outcome(decoder.decode, message)} {ASKED}"
                found[-1].append((message, re.sub("0x[0-9a-f]+", "", done)))
    assert found[0] == found[1]


def test_objects_that_loads_makes_are_whole(msgpack: ModuleType) -> None:
    """They have the same attributes as objects from their constructors, and can be pickled."""
    codecs = codecs_of(msgpack)
    moment = dt.datetime(2024, 1, 1, tzinfo=dt.timezone.utc)
    values = [uuid.UUID(int=7), moment, decimal.Decimal("1.50"), dt.timedelta(1)]
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
        for _ in each_backend(msgpack, monkeypatch):
            encoder = typed.Encoder(enc_hook=hook)
            found.append([outcome(encoder.encode, [value]) for value in VALUES])
        assert found[0] == found[1]


Pretending = type("Pretending", (), {"__class__": dt.date, "isoformat": lambda _: "2024-02-29"})
REPLACEMENTS: list[Any] = ["text", 5, 2**63, 2**64, None, 1.5, {"k": [Hooked]}, dt.date.max, {1}, KeyError]
FOR_A_HOOK: list[Any] = data("values for a hook")


def test_what_an_enc_hook_returns(msgpack: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []

    def hook(obj: object) -> object:
        asked.append(obj)
        if replacement is KeyError:
            raise KeyError("no")
        return replacement

    for obj in FOR_A_HOOK:
        for replacement in (*REPLACEMENTS, [obj], obj):
            found = []
            for _ in each_backend(msgpack, monkeypatch):
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
            check_like_pure(codecs, encode, obj, **options)


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


@pytest.mark.parametrize(
    "name", ["classes are found once their modules are imported", "Decimals do not depend on a context"]
)
def test_a_program(msgpack: ModuleType, name: str) -> None:
    done = run_alone(msgpack, "msgpack", DATA[name])
    assert done.returncode == 0, done.stderr
