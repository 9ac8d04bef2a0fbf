# SPDX-License-Identifier: Apache-2.0
"""
A second implementation of typed decoding, for tests: by reflection over `typing`, on a message unpacked.

It shares nothing with `cpkg.typed` but the rules. Maps are Pairs, so that keys that come twice are seen. Also random
types, values of them, and messages.
"""

from __future__ import annotations

import dataclasses
import datetime
import enum
import sys
import typing
from decimal import Decimal
from typing import (
    Any,
    Dict,
    FrozenSet,
    List,
    Literal,
    NamedTuple,
    Optional,
    Set,
    Tuple,
    Union,
)
from uuid import UUID

if sys.version_info >= (3, 11):
    from typing import NotRequired, TypedDict, get_type_hints
else:  # typing's own TypedDict forgets what is required
    from typing_extensions import NotRequired, TypedDict, get_type_hints

from cpkg.msgpack import ExtType, unpackb
from cpkg.objects.types_written import unpack_ext


class Refused(Exception):
    """A value is not of a type."""


class Pairs(list):
    """A map as it is in a message."""


def unpack(message: bytes) -> Any:
    return unpackb(
        message, object_pairs_hook=Pairs, ext_hook=unpack_ext, strict_map_key=False, tuple_keys=True, timestamp=3
    )


def plain(value: Any) -> Any:
    if isinstance(value, Pairs):
        return {plain(key): plain(item) for key, item in value}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return tuple(plain(item) for item in value) if type(value) is tuple else value


def shuffled(rng: Any, value: Any) -> Any:
    """Return what `unpack` gives as dicts whose keys are in another order."""
    if isinstance(value, Pairs):
        pairs = [(shuffled(rng, key), shuffled(rng, item)) for key, item in value]
        return dict(rng.sample(pairs, len(pairs)))
    return type(value)([shuffled(rng, item) for item in value]) if type(value) in (list, tuple) else value


def check(ok: bool) -> None:
    if not ok:
        raise Refused


def fields_of(tp: Any) -> dict[str, tuple[Any, bool, Any]]:
    """Return name -> (type, required, a function that makes the default) of a class with fields."""
    hints = get_type_hints(tp)
    if dataclasses.is_dataclass(tp):
        found = {}
        for field in dataclasses.fields(tp):
            make = None
            if field.default_factory is not dataclasses.MISSING:
                make = field.default_factory
            elif field.default is not dataclasses.MISSING:
                make = lambda default=field.default: default  # noqa: E731
            found[field.name] = hints[field.name], make is None, make
        return found
    if issubclass(tp, tuple):
        defaults = tp._field_defaults
        return {n: (hints[n], n not in defaults, lambda n=n: defaults[n]) for n in tp._fields}
    return {n: (hints[n], n in tp.__required_keys__, None) for n in hints}


def make(tp: Any, value: Any) -> Any:
    """Return the object of a type that a value stands for; Refused if it is none."""
    origin, args = typing.get_origin(tp), typing.get_args(tp)
    if tp is Any:
        return plain(value)
    if tp is float and type(value) is int:
        return float(value)
    if tp in (bool, int, float, str, bytes, type(None)):
        check(type(value) is tp)
        return value
    if tp is bytearray:
        check(type(value) is bytes)
        return bytearray(value)
    if tp in (datetime.datetime, datetime.date, UUID, Decimal):
        if type(value) is str:
            raise NotImplementedError  # text has tests of its own
        check(type(value) is tp)
        return value
    if tp is ExtType:
        if type(value) not in (type(None), bool, int, float, str, bytes, list, Pairs, ExtType):
            raise NotImplementedError  # `unpack` has made an object of an ext type that is asked for as it is
        check(type(value) is ExtType)
        return value
    if origin is Literal:
        check(any(type(value) is type(arg) and value == arg for arg in args))
        return value
    if origin is Union:
        if (
            type(value) is str
            and not {str} & set(args)
            and {datetime.date, UUID, Decimal, datetime.datetime} & set(args)
        ):
            raise NotImplementedError
        for arg in sorted(args, key=lambda arg: arg is float):
            try:
                return make(arg, value)
            except Refused:
                if _family(arg) is type(value) and type(value) is not Pairs:
                    raise
        raise Refused
    if origin in (list, set, frozenset):
        check(type(value) in (list, tuple))
        return origin([make(args[0], item) for item in value])
    if origin is tuple:
        check(type(value) in (list, tuple))
        if args[1:] == (...,):
            return tuple([make(args[0], item) for item in value])
        check(len(value) == len(args))
        return tuple([make(arg, item) for arg, item in zip(args, value)])
    if origin is dict:
        check(type(value) is Pairs)
        return {make(args[0], key): make(args[1], item) for key, item in value}
    if issubclass(tp, enum.Enum):
        check(type(value) in (int, str))
        check(value in [member.value for member in tp])
        return tp(value)
    fields = fields_of(tp)
    if issubclass(tp, tuple) or getattr(tp, "array_like", False):
        least = sum(required for _, required, _ in fields.values())
        check(type(value) in (list, tuple) and least <= len(value))
        check(len(value) <= len(fields) or not issubclass(tp, tuple))
        found = {name: make(kind, item) for (name, (kind, _, _)), item in zip(fields.items(), value)}
    else:
        check(type(value) is Pairs and all(type(key) is str for key, _ in value))
        found = {}
        for key, item in value:
            if key in fields:
                found[key] = make(fields[key][0], item)
    for name, (_, required, default) in fields.items():
        check(not required or name in found)
        if name not in found and default is not None:
            found[name] = default()
    return tp(**{name: found[name] for name in fields if name in found})


def _family(tp: Any) -> Any:
    origin = typing.get_origin(tp)
    if origin in (list, set, frozenset, tuple) or (isinstance(tp, type) and issubclass(tp, tuple)):
        return list
    return tp


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Size(enum.IntEnum):
    SMALL = 1
    LARGE = 300


Movie = TypedDict("Movie", {"name": str, "year": NotRequired[int]})  # noqa: UP013 - with types, not text


class Place(NamedTuple):
    lat: float
    lon: float = 0.5


SCALARS = [
    bool, int, float, str, bytes, bytearray, type(None), Any, Color, Size, Optional[Literal["a", "bc", 3, True]],
    Literal["ärger"], Literal["y" * 32, "z" * 300, "a"], Literal["only"],
    datetime.date, datetime.datetime, UUID, Decimal, ExtType, Movie, Place,
]  # fmt: skip
HASHABLE = [int, str, bool, float, bytes, Color, Tuple[int, str], datetime.date]
SHAPES = ["list", "set", "frozenset", "tuple", "tuple of any length", "dict", "optional", "union", "tagged", "object"]


def random_type(rng: Any, depth: int = 3) -> Any:
    shape = rng.choice(SHAPES) if depth and rng.random() < 0.75 else "scalar"
    if shape == "scalar":
        return rng.choice(SCALARS)
    if shape == "list":
        return List[random_type(rng, depth - 1)]
    if shape == "set":
        return Set[rng.choice(HASHABLE)]
    if shape == "frozenset":
        return FrozenSet[rng.choice(HASHABLE)]
    if shape == "tuple":
        return Tuple[tuple(random_type(rng, depth - 1) for _ in range(rng.randint(1, 3)))]
    if shape == "tuple of any length":
        return Tuple[random_type(rng, depth - 1), ...]
    if shape == "dict":
        return Dict[rng.choice(HASHABLE), random_type(rng, depth - 1)]
    if shape == "optional":
        return Optional[random_type(rng, depth - 1)]
    if shape == "union":
        parts = [rng.choice([bool, int, float]), rng.choice([str, Color]), rng.choice([bytes, bytearray])]
        parts += [rng.choice([List[random_type(rng, depth - 1)], Place]), rng.choice([Dict[str, int], Movie])]
        parts += [rng.choice([datetime.date, UUID, type(None)])]
        return Union[tuple(rng.sample(parts, rng.randint(2, 5)))]
    if shape == "tagged":
        tags = rng.sample(["a", "bc", "ärger", "x" * 32, 7], rng.randint(2, 4))
        return Union[tuple(random_class(rng, depth, [("tag", Literal[tag])]) for tag in tags)]
    return random_class(rng, depth)


def random_class(rng: Any, depth: int, before: Any = ()) -> Any:
    names = rng.sample(
        ["id", "name", "a_field_with_a_long_name", "ärger", "x", "kind", "tags", "value"], rng.randint(0, 6)
    )
    fields = list(before)
    for name in names:
        kind = random_type(rng, depth - 1)
        if (fields and len(fields[-1]) == 3) or rng.random() < 0.3:
            value = random_value(rng, kind)
            fields.append((name, kind, dataclasses.field(default_factory=lambda value=value: value)))
        else:
            fields.append((name, kind))
    options = {"frozen": rng.random() < 0.3}
    if sys.version_info >= (3, 10):
        options["slots"] = rng.random() < 0.5
    made = dataclasses.make_dataclass(f"Class{rng.randint(0, 999)}", fields, **options)
    made.__module__ = __name__
    if rng.random() < 0.2 and not before:
        made.array_like = True
        made.__typed_options__ = {"array_like": True}
    return made


def random_value(rng: Any, tp: Any) -> Any:
    origin, args = typing.get_origin(tp), typing.get_args(tp)
    several = range(rng.choice([0, 1, 2, 3, 17]))
    if origin is list and rng.random() < 0.2:
        return [random_value(rng, args[0])] * len(several)
    if origin in (list, set, frozenset):
        return origin([random_value(rng, args[0]) for _ in several])
    if origin is tuple:
        if args[1:] == (...,):
            return tuple([random_value(rng, args[0]) for _ in several])
        return tuple([random_value(rng, arg) for arg in args])
    if origin is dict:
        return {random_value(rng, args[0]): random_value(rng, args[1]) for _ in several}
    if origin in (Union, Literal):
        arg = rng.choice(args)
        return arg if origin is Literal else random_value(rng, arg)
    if tp is Any:
        return rng.choice([None, 1, "x", [1, {"a": b"b"}], {"k": [True]}, -3.5])
    if tp is int:
        return rng.choice([0, 127, 128, -1, -32, -33, 255, 256, 65535, 65536, 2**32, 2**63 - 1, 2**64 - 1, -(2**63)])
    if tp is float:
        return rng.choice([0.0, -1.5, 1e300, 3.0])
    if tp is str:
        return rng.choice(["", "a", "ärger", "x" * 31, "y" * 32, "z" * 300, "😀"])
    if tp in (bytes, bytearray):
        return tp(rng.choice([b"", b"a", b"\xff" * 300]))
    made = {
        bool: rng.random() < 0.5,
        type(None): None,
        datetime.date: datetime.date(2024, 2, rng.randint(1, 29)),
        datetime.datetime: datetime.datetime(2024, 2, 3, 4, 5, 6, tzinfo=datetime.timezone.utc),
        UUID: UUID(int=rng.getrandbits(128)),
        Decimal: Decimal("1.50"),
        ExtType: ExtType(rng.randint(0, 60), b"data"),
    }
    if tp in made:
        return made[tp]
    if issubclass(tp, enum.Enum):
        return rng.choice(list(tp))
    found = {}
    for name, (kind, required, _) in fields_of(tp).items():
        if required or rng.random() < 0.7 or issubclass(tp, tuple):
            found[name] = random_value(rng, kind)
    return tp(**found)


def mutated(rng: Any, message: bytes) -> bytes:
    """Return a message with a few bytes changed, taken out or put in."""
    data = bytearray(message)
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(data) + 1)
        change = rng.randrange(4)
        if change == 0:
            data[at : at + 1] = bytes((rng.choice([0xC0, 0xC3, 0x01, 0xA1, 0x80, 0x91, 0xCB, 0xD6, 0xDD, 0xDF, 0xC1]),))
        elif change == 1:
            del data[at : at + rng.randint(1, 4)]
        elif change == 2:
            data[at:at] = bytes((rng.randrange(256),))
        elif at < len(data):
            data[at] ^= 1 << rng.randrange(8)
    return bytes(data)
