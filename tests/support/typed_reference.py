# SPDX-License-Identifier: Apache-2.0
"""
A second implementation of typed decoding, with which tests compare the results of `cpkg.typed`.

It unpacks a message first and then follows the type by reflection. It shares no code with the decoding of `cpkg.typed`.
Maps become Pairs, so that duplicate keys are visible. The module also creates random types, values and messages.
"""

from __future__ import annotations

import dataclasses
import datetime
import enum
import math
import sys
import typing
from decimal import Decimal
from typing import Annotated, Any, Dict, FrozenSet, Generic, List, Literal, NamedTuple, Optional, Set, Tuple, Union
from uuid import UUID

if sys.version_info >= (3, 11):
    from typing import NotRequired, TypedDict
else:  # before 3.11 the TypedDict of typing does not record which keys are required
    from typing_extensions import NotRequired, TypedDict

import annotated_types as at
from typed_classes import ABSENT, MEANINGS, Field, Maker, Meaning, T, meaning_of

from cpkg import typed
from cpkg.msgpack import ExtType, unpackb
from cpkg.objects.types_written import unpack_ext


class Refused(Exception):
    """The value is not valid for the type."""


class Pairs(list):
    """The pairs of a map in the order of the message, with duplicate keys."""


class AnyOrder(list):
    """The array into which a set is encoded; equal to a list of the same items in another order."""

    __hash__ = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, list) and sorted(map(repr, self)) == sorted(map(repr, other))


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
    """Return the result of `unpack` with dicts instead of Pairs, and their keys in random order."""
    if isinstance(value, Pairs):
        pairs = [(shuffled(rng, key), shuffled(rng, item)) for key, item in value]
        return dict(rng.sample(pairs, len(pairs)))
    return type(value)([shuffled(rng, item) for item in value]) if type(value) in (list, tuple) else value


TEXTS = {datetime.datetime, datetime.date, datetime.time, datetime.timedelta, UUID, Decimal}
"""Types whose values may also be text in a message."""


def check(ok: bool) -> None:
    if not ok:
        raise Refused


def make(tp: Any, value: Any) -> Any:
    """Return the object of type `tp` for an unpacked value. Raise Refused if the value is not valid."""
    origin, args = typing.get_origin(tp), typing.get_args(tp)
    if tp is Any:
        return plain(value)
    if tp in CHECKED:
        result = make(args[0], value)
        check(CHECKED[tp](result))
        return result
    if tp is float and type(value) is int:
        return float(value)
    if tp in (bool, int, float, str, bytes, type(None)):
        check(type(value) is tp)
        return value
    if tp is bytearray:
        check(type(value) is bytes)
        return bytearray(value)
    if tp in TEXTS:
        if type(value) is str:
            raise NotImplementedError  # text is tested separately
        check(type(value) is tp)
        return value
    if tp is ExtType:
        if type(value) not in (type(None), bool, int, float, str, bytes, list, Pairs, ExtType):
            raise NotImplementedError  # `unpack` has already converted an ext type that typed decoding leaves as it is
        check(type(value) is ExtType)
        return value
    if origin is Literal:
        check(any(type(value) is type(arg) and value == arg for arg in args))
        return value
    if origin is Union:
        if type(value) is str and not {str} & set(args) and TEXTS & set(args):
            raise NotImplementedError
        check(type(value) is not Pairs or _tag(args) in (None, *[key for key, _ in value]))
        for arg in sorted(args, key=lambda arg: arg in (float, str)):
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
    meaning = meaning_of(tp)
    if meaning is None:
        check(type(value) in (int, str))
        check(value in [member.value for member in tp])
        return tp(value)
    fields = meaning.taken
    if meaning.array_like:
        least = sum(field.default is None for field in fields)
        check(type(value) in (list, tuple) and least <= len(value))
        closed = meaning.style == "namedtuple" or meaning.options.get("forbid_unknown_fields")
        check(len(value) <= len(meaning.written) or not closed)
        found = {field.name: make(field.type, item) for field, item in zip(fields, value)}
    else:
        check(type(value) is Pairs and all(type(key) is str for key, _ in value))
        by_key = {field.key: field for field in fields}
        passed = {field.key for field in meaning.written if not field.takes}
        found = {}
        for key, item in value:
            if key in by_key:
                found[by_key[key].name] = make(by_key[key].type, item)
            else:
                check(key in passed or not meaning.options.get("forbid_unknown_fields"))
    for field in fields:
        check(field.default is not None or field.name in found)
    try:
        return (origin or tp)(**{field.parameter: found[field.name] for field in fields if field.name in found})
    except (ValueError, TypeError):
        raise Refused from None


def _tag(args: tuple[Any, ...]) -> str | None:
    """Return the key that distinguishes the classes of a union: its Literals have no value in common. Or None."""
    meanings = [meaning for meaning in map(meaning_of, args) if meaning is not None and not meaning.array_like]
    for shared in meanings[0].taken if len(meanings) > 1 else ():
        tags = [
            {(type(tag), tag) for tag in typing.get_args(field.type)}
            for meaning in meanings
            for field in meaning.taken
            if field.key == shared.key and typing.get_origin(field.type) is Literal
        ]
        if len(tags) == len(meanings) and len(set().union(*tags)) == sum(map(len, tags)):
            return shared.key
    return None


def written(value: Any) -> Any:
    """Return the expected result of `unpack` for the encoded form of an object."""
    meaning = MEANINGS.get(type(value))
    if meaning is not None and meaning.style != "typeddict":
        if meaning.array_like:
            return [written(getattr(value, field.name)) for field in meaning.written]
        pairs = Pairs()
        for field in meaning.written:
            item = getattr(value, field.name)
            is_default = field.omits and same(item, field.default())
            if not (is_default and meaning.options.get("omit_defaults")):
                pairs.append((field.key, written(item)))
        return pairs
    if isinstance(value, dict):
        return Pairs([(_as_key(written(key)), written(item)) for key, item in value.items()])
    if isinstance(value, (set, frozenset)):
        return AnyOrder([written(item) for item in value])
    if isinstance(value, (list, tuple)) and type(value) is not ExtType:
        return [written(item) for item in value]
    if isinstance(value, enum.Enum):
        return value.value
    return bytes(value) if type(value) is bytearray else value


def _as_key(value: Any) -> Any:
    return tuple([_as_key(item) for item in value]) if type(value) is list else value


def same(one: Any, two: Any) -> bool:
    """Return whether values are equal and have the same types at all levels."""
    if type(one) is not type(two):
        return False
    if isinstance(one, float):
        return one == two or (math.isnan(one) and math.isnan(two))
    if isinstance(one, (list, tuple)):
        return len(one) == len(two) and all(map(same, one, two))
    if isinstance(one, (set, frozenset)):
        return sorted(map(repr, one)) == sorted(map(repr, two))
    if isinstance(one, dict):
        return same(list(one.items()), list(two.items()))
    if type(one) in MEANINGS:
        return same(_state(one), _state(two))
    return bool(one == two)


def _state(value: Any) -> dict[str, Any]:
    names = [field.name for field in MEANINGS[type(value)].fields if field.writes]
    return {**{name: getattr(value, name, ABSENT) for name in names}, **getattr(value, "__dict__", {})}


def _family(tp: Any) -> Any:
    origin = typing.get_origin(tp)
    if origin in (list, set, frozenset, tuple) or (isinstance(tp, type) and issubclass(tp, tuple)):
        return list
    meaning = meaning_of(tp)
    if meaning is not None:
        return list if meaning.array_like else Pairs
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


@dataclasses.dataclass
class Tree:
    value: int
    below: List[Tree] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Chain(Generic[T]):
    content: T
    rest: Optional[Chain[T]] = None


MEANINGS[Movie] = Meaning("typeddict", [Field("name", "name", str), Field("year", "year", int, ABSENT)])
MEANINGS[Place] = Meaning("namedtuple", [Field("lat", "lat", float), Field("lon", "lon", float, lambda: 0.5)])
MEANINGS[Tree] = Meaning("dataclass", [Field("value", "value", int), Field("below", "below", List[Tree], list)])
MEANINGS[Chain] = Meaning(
    "dataclass",
    [Field("content", "content", T), Field("rest", "rest", Optional[Chain[T]], lambda: None)],
    parameters=(T,),
)

SCALARS = [
    bool, int, float, str, bytes, bytearray, type(None), Any, Color, Size, Optional[Literal["a", "bc", 3, True]],
    Union[str, Color], Union[Color, Literal["a", "bc"], None], Union[int, Literal["only"], str],  # noqa: PYI051
    Literal["ärger"], Literal["y" * 32, "z" * 300, "a"], Literal["only"],
    *sorted(TEXTS, key=repr), ExtType, Movie, Place, Union[datetime.date, int], Union[UUID, datetime.time, None],
    Union[Decimal, float, Color], Union[ExtType, datetime.timedelta, str], Union[Literal["a", "bc"], datetime.date],
    Tree, Chain[int], Chain[List[str]], Chain,
]  # fmt: skip
CHECKED = {
    Annotated[int, at.Ge(0), at.Lt(70000)]: lambda value: 0 <= value < 70000,
    Annotated[int, at.MultipleOf(2)]: lambda value: value % 2 == 0,
    Annotated[float, at.Gt(-1.5)]: lambda value: value > -1.5,
    Annotated[str, at.MaxLen(31)]: lambda value: len(value) <= 31,
    Annotated[str, typed.Pattern("^[a-z]")]: lambda value: "a" <= value[:1] <= "z",
    Annotated[bytes, at.Len(1, 299)]: lambda value: 1 <= len(value) <= 299,
    Annotated[List[int], at.MaxLen(2)]: lambda value: len(value) <= 2,
    Annotated[Dict[str, int], at.MinLen(1)]: lambda value: len(value) > 0,
    Annotated[Set[int], at.MinLen(2)]: lambda value: len(value) >= 2,
    Annotated[Decimal, at.Ge(Decimal(1)), at.MultipleOf(Decimal("0.5"))]: lambda value: value >= 1
    and not value % Decimal("0.5"),
    Annotated[datetime.date, at.Gt(datetime.date(2024, 2, 9))]: lambda value: value > datetime.date(2024, 2, 9),
    Annotated[datetime.timedelta, at.Lt(datetime.timedelta(2))]: lambda value: value < datetime.timedelta(2),
    Annotated[datetime.datetime, at.Timezone(...)]: lambda value: value.tzinfo is not None,
    Annotated[UUID, at.Predicate(lambda value: value.int % 3 > 0)]: lambda value: value.int % 3 > 0,
    Annotated[ExtType, at.Predicate(lambda value: value.code < 40)]: lambda value: value.code < 40,
    Annotated[Color, at.Predicate(lambda color: color is Color.RED)]: lambda value: value is Color.RED,
    Annotated[Literal["a", 3], at.Predicate(lambda value: value == 3)]: lambda value: value == 3,
}
"""Types with constraints, each with a function that returns whether a value satisfies the constraints."""
SCALARS.extend(CHECKED)
HASHABLE = [int, str, bool, float, bytes, Color, Tuple[int, str], datetime.date]
SHAPES = [
    *("list", "set", "frozenset", "tuple", "tuple of any length", "dict"),
    *("optional", "union", "tagged", "apart", "object", "object"),
]


def random_type(rng: Any, depth: int = 3) -> Any:
    shape = rng.choice(SHAPES) if depth > 0 and rng.random() < 0.75 else "scalar"
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
    maker = Maker(rng, lambda depth: random_type(rng, depth), lambda tp: random_object(rng, tp), HASHABLE)
    if shape == "tagged":
        tags = rng.sample(["a", "bc", "ärger", "x" * 32, 7], rng.randint(2, 4))
        return Union[tuple(maker.make(depth, [("tag", Literal[tag])]) for tag in tags)]
    if shape == "apart":
        return Union[tuple(maker.make(depth, [(name, random_type(rng, 0))]) for name in ("for_one", "for_two"))]
    return maker.make(depth)


def random_object(rng: Any, tp: Any) -> Any:
    """Return an object of a type."""
    for _ in range(10_000):
        try:
            return make(tp, unpack(typed.encode(random_value(rng, tp))))
        except (Refused, NotImplementedError):  # a constructor refuses the value, or the value is text for a date
            continue
    raise AssertionError(f"{tp}: 10,000 random values, none of which fits")


def random_value(rng: Any, tp: Any, depth: int = 0) -> Any:
    """Return an object of plain types that a message may contain for a type."""
    origin, args = typing.get_origin(tp), typing.get_args(tp)
    if tp in CHECKED:
        return random_value(rng, args[0], depth)
    depth += 1
    several = range(rng.choice([0, 1, 2, 3, 17]) if depth < 6 else 0)
    if origin is list and rng.random() < 0.2:
        return [random_value(rng, args[0], depth)] * len(several)
    if origin in (list, set, frozenset):
        return origin([random_value(rng, args[0], depth) for _ in several])
    if origin is tuple:
        if args[1:] == (...,):
            return tuple([random_value(rng, args[0], depth) for _ in several])
        return tuple([random_value(rng, arg, depth) for arg in args])
    if origin is dict:
        return {random_value(rng, args[0], depth): random_value(rng, args[1], depth) for _ in several}
    if origin in (Union, Literal):
        arg = rng.choice(args) if depth < 9 or type(None) not in args else type(None)
        return rng.choice(args) if origin is Literal else random_value(rng, arg, depth)
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
        datetime.time: datetime.time(rng.randint(0, 23), 5, 6),
        datetime.timedelta: datetime.timedelta(rng.randint(-1, 3), 5),
        datetime.datetime: datetime.datetime(2024, 2, 3, 4, 5, 6, tzinfo=datetime.timezone.utc),
        UUID: UUID(int=rng.getrandbits(128)),
        Decimal: Decimal("1.50"),
        ExtType: ExtType(rng.randint(0, 60), b"data"),
    }
    if tp in made:
        return made[tp]
    meaning = meaning_of(tp)
    if meaning is None:
        return rng.choice(list(tp))
    if meaning.array_like:
        fields = meaning.taken
        least = sum(field.default is None for field in fields)
        return [
            random_value(rng, field.type, depth) for field in fields[: rng.choice([least, len(fields), len(fields)])]
        ]
    found = {}
    for field in meaning.fields:
        if field.takes and (field.default is None or rng.random() < 0.7):
            found[field.key] = random_value(rng, field.type, depth)
        elif not field.takes and rng.random() < 0.3:
            found[field.key] = random_object(rng, field.type)  # encode writes this object in its own form
    if rng.random() < 0.1:
        found["of no field"] = [1, {"x": None}]
    return found


def below(tp: Any) -> list[Any]:
    """Return a type and all types in it."""
    found: list[Any] = []
    todo = [tp]
    while todo:
        one = todo.pop()
        if one not in found:
            found.append(one)
            meaning = meaning_of(one)
            todo.extend([field.type for field in meaning.fields] if meaning else ())
            todo.extend(typing.get_args(one) if typing.get_origin(one) is not Literal else ())
    return found


def is_kept(tp: Any) -> bool:
    """Return whether encoding and decoding preserves objects of a type."""
    return all(meaning.builds() for meaning in map(meaning_of, below(tp)) if meaning)


def has_text_for_others(tp: Any) -> bool:
    """Return whether `to_builtins` writes text that `convert` may interpret as something else."""
    texts = {bytes, bytearray, *TEXTS}
    return any(
        one in (Any, ExtType) or (typing.get_origin(one) is Union and str in below(one) and texts & set(below(one)))
        for one in below(tp)
    )


def mutated(rng: Any, message: bytes) -> bytes:
    """Return a message with a few bytes changed, removed or inserted."""
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
