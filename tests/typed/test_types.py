# SPDX-License-Identifier: Apache-2.0
"""The supported types, the values that each accepts, and types that the constructor of a decoder refuses."""

from __future__ import annotations

import collections
import datetime
import enum
import struct
import sys
from dataclasses import asdict, dataclass, field, make_dataclass
from typing import Annotated, Any, Generic, List, Literal, NamedTuple, NewType, Optional, Tuple, TypeVar, Union

import annotated_types as at
import pytest
from typed_ways import decode_in_all_ways, refusals, rows_of

import cpkg
from cpkg import typed
from cpkg.msgpack import ExtType
from cpkg.typed import codecs, source
from purepy.base.errors import TruncatedError

if sys.version_info >= (3, 11):
    from typing import NotRequired, Required, TypedDict
else:
    from typing_extensions import NotRequired, Required, TypedDict


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Access(enum.IntFlag):
    READ = 1
    WRITE = 2


@dataclass
class Point:
    lat: float
    lon: float = 0.0


@dataclass
class Cat:
    kind: Literal["cat"]
    lives: int = 9


@dataclass
class Dog:
    kind: Literal["dog"]
    name: str = ""


@dataclass
class ByUrl:
    url: str
    size: int = 0
    is_old: bool = False


@dataclass
class ByPath:
    path: str
    size: int = 0


@dataclass
class Tree:
    value: int
    children: List[Tree] = field(default_factory=list)


class Key(enum.Enum):
    A = b"a"


class Place(NamedTuple):
    lat: float
    lon: float = 0.5


class Movie(TypedDict, total=False):
    name: Required[str]
    year: int


class Song(TypedDict):
    name: str
    year: NotRequired[int]


T = TypeVar("T")


@dataclass
class Box(Generic[T]):
    content: T
    next: Optional[Box[T]] = None


@dataclass
class Boxes(Box[str]):
    count: int = 0


UserId = NewType("UserId", int)
utc = datetime.timezone.utc


HEX = "12345678" * 4
NOT_6 = at.Predicate(lambda value: value != 6)
EvenButNot6 = NewType("EvenButNot6", Annotated[int, at.Gt(0), at.MultipleOf(2), NOT_6])  # type: ignore[valid-newtype]


def zone(**offset: int) -> datetime.timezone:
    return datetime.timezone(datetime.timedelta(**offset))


VALUES = rows_of("values", globals())


@pytest.mark.parametrize(
    ("tp", "value"), VALUES, ids=[f"{index}-{value!r:.20}" for index, (_, value) in enumerate(VALUES)]
)
def test_values_survive_a_round_trip(tp, value):
    for made in (typed.decode(typed.encode(value), tp), typed.Decoder(tp).decode(memoryview(typed.encode(value)))):
        assert made == value
        assert type(made) is type(value)
    if not isinstance(value, ExtType):
        again = typed.convert(typed.to_builtins(value), tp)
        assert again == value
        assert type(again) is type(value)
    typed.schema(tp)
    assert typed.inspect(tp)["kind"]


def test_messages_are_the_same_as_from_dumps():
    for _, value in VALUES:
        if not isinstance(value, (tuple, collections.deque)):
            assert typed.encode(value) == cpkg.dumps(value, compress=False)


class Loud(enum.Enum):
    RED = "RED"
    TEN = 10


A = Literal["a"]
SEVERAL = Union[Color, Loud, A, str, None]


@pytest.mark.parametrize(("tp", "value", "wanted"), rows_of("values_like_text", globals()))
def test_values_of_enums_and_literals_come_before_other_text(tp, value, wanted):
    decoder = typed.Decoder(tp)
    message = cpkg.packb(value)
    assert decoder.decode(message) == wanted
    assert typed.Decoder(tp, strict=False).decode(message) == wanted
    assert typed.convert(value, tp) == wanted
    assert typed.convert(wanted, tp) == wanted
    assert decoder.decode(typed.encode(wanted)) == wanted
    if value == "red":  # in a longer format than needed
        assert decoder.decode(b"\xd9\x03red") == wanted


def test_unions_of_text_are_described():
    assert [part["kind"] for part in typed.inspect(Optional[Union[Color, str]])["parts"]] == ["enum", "str", "none"]
    assert len(typed.schema(SEVERAL)["anyOf"]) == 5


@pytest.mark.parametrize(("tp", "value"), rows_of("values_refused", globals()))
def test_values_of_other_types_are_refused(tp, value):
    with pytest.raises(typed.ValidationError) as info:
        typed.decode(cpkg.packb(value), tp)
    assert info.value.offset is not None
    with pytest.raises(typed.ValidationError):
        typed.convert(value, tp)


@pytest.mark.parametrize(("tp", "value", "wanted"), rows_of("values_converted", globals()))
def test_only_not_strict_converts_between_text_and_numbers(tp, value, wanted):
    for refuse in (lambda: typed.decode(cpkg.packb(value), tp), lambda: typed.convert(value, tp)):
        with pytest.raises(typed.ValidationError):
            refuse()
    for made in (typed.decode(cpkg.packb(value), tp, strict=False), typed.convert(value, tp, strict=False)):
        assert repr(made) == repr(wanted)


@pytest.mark.parametrize(("tp", "text", "wanted"), rows_of("values_from_text", globals()))
def test_text_of_other_encoders_is_accepted_for_times_and_similar_types(tp, text, wanted):
    assert typed.decode(cpkg.packb(text), Union[tp, str]) == text
    made = typed.decode(cpkg.packb(text), tp), typed.convert(text, tp), typed.convert(typed.to_builtins(wanted), tp)
    assert list(map(repr, made)) == [repr(wanted)] * 3


@pytest.mark.parametrize(("tp", "good", "bad"), rows_of("constraints", globals()))
def test_constraints(tp, good, bad):
    assert [decode_in_all_ways(value, tp) for value in good] == good
    for value in bad:
        refusals(value, tp)


class Unknown:
    pass


def test_a_class_of_a_union_may_lack_a_key_of_its_own():
    few = make_dataclass("Few", [("a", int), ("b", int, 0), ("c", int, 0)])
    many = make_dataclass("Many", [("b", int), ("c", int)])
    for tp in (Union[few, many], Union[many, few]):
        for value in (few(1), few(1, 2, 3), many(2, 3)):
            assert decode_in_all_ways(asdict(value), tp) == value


@pytest.mark.parametrize(("tp", "words"), rows_of("types_refused", globals()))
def test_ambiguous_and_unknown_types_are_refused_by_the_constructor(tp, words):
    if words is None:
        typed.Decoder(tp)
    else:
        with pytest.raises(TypeError, match=words):
            typed.Decoder(tp)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="PEP 695")
def test_type_statements_and_new_generics():
    names: dict[str, Any] = {"dataclass": dataclass}
    source = (
        "type Json = dict[str, Json] | list[Json] | str | int | None\n"
        "type Pair[A] = tuple[A, A]\n"
        "@dataclass\nclass Crate[A]:\n    content: A\n    pair: Pair[A] | None = None\n"
    )
    exec(compile(source, "<types>", "exec", dont_inherit=True), names)
    deep = {"a": [1, {"b": [None, "x"]}]}
    assert typed.decode(typed.encode(deep), names["Json"]) == deep
    with pytest.raises(typed.ValidationError, match=r"\$\.a\[0\]"):
        typed.decode(typed.encode({"a": [1.5]}), names["Json"])
    crate = names["Crate"](1, (2, 3))
    assert typed.decode(typed.encode(crate), names["Crate"][int]) == crate
    with pytest.raises(typed.ValidationError):
        typed.decode(typed.encode(crate), names["Crate"][str])
    assert "Json" in typed.schema(names["Json"])["$defs"]


def test_a_default_is_created_for_each_object():
    one, two = typed.decode(cpkg.packb([{"value": 1}, {"value": 2}]), List[Tree])
    assert one.children is not two.children


class Money:
    def __init__(self, cents):
        self.cents = cents


def test_hooks_decode_and_encode_other_types():
    def make(cls, value):
        assert cls is Money
        if value < 0:
            raise ValueError("debt")
        return Money(value)

    decoder = typed.Decoder(List[Optional[Money]], dec_hook=make)
    assert [money and money.cents for money in decoder.decode(cpkg.packb([1, None]))] == [1, None]
    with pytest.raises(typed.ValidationError, match=r"\$\[1\]: expected Money, found ValueError: debt"):
        decoder.decode(cpkg.packb([1, -1]))
    assert typed.encode([Money(5)], enc_hook=lambda money: money.cents) == b"\x91\x05"
    with pytest.raises(TypeError):
        typed.encode(Money(5))
    assert typed.to_builtins(Money(5), enc_hook=lambda money: money.cents) == 5


def test_valid_messages_need_one_pass_and_functions_are_compiled_once(monkeypatch):
    def refuse(self, data):
        raise AssertionError("the walker was called")

    compiled = []
    compile_source = source.Source.compile

    def compile_counted(self, name):
        compiled.append(name)
        return compile_source(self, name)

    monkeypatch.setattr(typed.Decoder, "_walk", refuse)
    monkeypatch.setattr(source.Source, "compile", compile_counted)
    for tp, value in VALUES:
        decoder, data = typed.Decoder(tp), typed.encode(value)
        compiled.clear()
        assert decoder.decode(data) == decoder.decode(data) == value
        assert len(set(compiled)) == len(compiled)


def test_functions_are_compiled_once_walking_has_taken_as_long(monkeypatch, msgpack):
    monkeypatch.setattr(codecs, "WALKED", 16)
    sizes = []
    walk = typed.Decoder._walk
    monkeypatch.setattr(typed.Decoder, "_walk", lambda *args: (sizes.append(len(args[1])), walk(*args))[1])
    data = typed.encode([Point(1.0, 2.0)])
    decoder = typed.Decoder(List[Point])
    for _ in range(9):
        assert decoder.decode(data) == [Point(1.0, 2.0)]
    walked = 0 if msgpack.TypedTable is not None else 2
    assert sizes == [len(data)] * walked
    decoder = typed.Decoder(List[Point])
    assert len(decoder.decode(typed.encode([Point(1.0)] * 100))) == 100
    assert len(sizes) == walked


@pytest.mark.parametrize("count", [3, 4, 40])
@pytest.mark.parametrize("code", "BHIQbhiq")
def test_lists_of_numbers_of_one_format(code, count):
    size = struct.calcsize(code)
    first = bytes([0xCC + "BHIQbhiq".index(code)])
    numbers = [
        (index * 0x0102030405060708 + 5) % 256 ** (size - 1) - (count if code.islower() else 0)
        for index in range(count)
    ]
    header = b"\xdc" + struct.pack(">H", count)
    data = header + b"".join([first + struct.pack(">" + code, number) for number in numbers])
    assert typed.decode(data, List[int]) == numbers
    assert typed.decode(data, Tuple[float, ...]) == tuple(map(float, numbers))
    with pytest.raises(TruncatedError):
        typed.decode(data[:-1], List[int])
    other = data[: -size - 1] + b"\xc3"
    with pytest.raises(typed.ValidationError) as info:
        typed.decode(other, List[int])
    assert (info.value.path, info.value.offset) == ((count - 1,), len(other) - 1)
    assert typed.decode(header + b"\x07" * count, List[int]) == [7] * count
    assert typed.decode(header + (b"\xcb" + struct.pack(">d", 1.5)) * count, List[float]) == [1.5] * count


def test_text_of_a_literal_in_any_format_and_place():
    long = "x" * 255
    tp = List[Union[Cat, Dog]]
    for kind in (b"\xa3dog", b"\xd9\x03dog", b"\xda\x00\x03dog", b"\xdb\x00\x00\x00\x03dog"):
        for message in (b"\x82\xa4kind" + kind + b"\xa4name\xa1x", b"\x82\xa4name\xa1x\xa4kind" + kind):
            assert typed.decode(b"\x92" + message * 2, tp) == [Dog("dog", "x")] * 2
        assert typed.decode(kind, Literal["dog"]) == typed.decode(kind, Literal["dog", "y" * 40, 3]) == "dog"
    assert typed.decode(cpkg.packb([long, "x" * 256]), List[Literal["a", long, "x" * 256]]) == [long, "x" * 256]
    for message in (b"\x91\x82\xa4kind\xa3dag\xa4name\xa1x", b"\x91\x81\xa4kind\x03"):
        with pytest.raises(typed.ValidationError) as info:
            typed.decode(message, tp)
        assert (info.value.path, info.value.offset) == ((0, "kind"), 7)
