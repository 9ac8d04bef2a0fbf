# SPDX-License-Identifier: Apache-2.0
"""Decoding into classes: fields, names in annotations, constructors, and the data kept with a class."""

from __future__ import annotations

import collections
import copy
import dataclasses
import datetime
import decimal
import enum
import gc
import pickle
import sys
import types
import typing
import uuid
import weakref
from dataclasses import dataclass, field
from typing import (
    Any,
    DefaultDict,
    Dict,
    Final,
    Generic,
    List,
    NamedTuple,
    Optional,
    Tuple,
    TypeVar,
    Union,
)

import pytest
from typed_ways import decode_in_all_ways, refusals
from typing_extensions import Annotated, LiteralString, Self

import cpkg
from cpkg import typed
from cpkg.typed.nodes import MISSING

pytestmark = pytest.mark.interpreter
T = TypeVar("T")


def module_of(name: str, source: str, **names: object) -> types.ModuleType:
    module = types.ModuleType(name)
    vars(module).update(names)
    sys.modules[name] = module
    exec(compile(source, f"<{name}>", "exec", dont_inherit=True), vars(module))
    return module


@pytest.fixture
def models():
    """A module with its own User class, whose annotations are text."""
    yield module_of(
        "typed_models",
        "from __future__ import annotations\n"
        "from dataclasses import dataclass\n"
        "from typing import List, NamedTuple, Optional, Union, Dict\n"
        "@dataclass\nclass User:\n    id: int\n"
        "@dataclass\nclass Owned:\n    owner: User\n    others: List['User']\n"
        "class Pair(NamedTuple):\n    user: User\n"
        "Json = Union[int, List['Json'], Dict[str, 'Json']]\n"
        "@dataclass\nclass Holder:\n    json: Json\n",
    )
    del sys.modules["typed_models"]


# --- the names and variables in annotations -------------------------------------------------------------------------


def test_a_bases_annotations_are_evaluated_in_its_own_module(models):
    @dataclass
    class User(models.Owned):
        extra: int = 0

    message = {"owner": {"id": 1}, "others": [{"id": 2}]}
    made = decode_in_all_ways(message, User)
    assert made == User(models.User(1), [models.User(2)], 0)
    assert [type(each) for each in (made.owner, *made.others)] == [models.User] * 2

    class Pair(models.Pair):
        pass

    assert type(typed.decode(cpkg.packb([{"id": 1}]), Pair).user) is models.User


UNQUOTED = """
@dataclass
class Base(Generic[T]):
    v: T

@dataclass
class Child(Base[int]):
    w: int = 0

@dataclass
class GrandChild(Base[List[int]], Generic[T]):
    u: Optional[T] = None

class Record(TypedDict):
    n: int

class Longer(Record, total=False):
    m: str
"""


@pytest.mark.parametrize("head", ["", "from __future__ import annotations\n"])
def test_fields_of_a_generic_base_have_its_arguments_as_types(head):
    source = "from dataclasses import dataclass\nfrom typing import *\nfrom typing_extensions import TypedDict\n"
    module = module_of("typed_generics", head + source + "T = TypeVar('T')\n" + UNQUOTED)
    try:
        assert decode_in_all_ways({"v": 1}, module.Child) == module.Child(1)
        assert refusals({"v": "x"}, module.Child) == "$.v: expected int, found str"
        grand = module.GrandChild[str]
        assert decode_in_all_ways({"v": [1], "u": "x"}, grand) == module.GrandChild([1], "x")
        assert refusals({"v": ["x"]}, grand) == "$.v[0]: expected int, found str"
        assert refusals({"v": [1], "u": 1}, grand) == "$.u: expected str | None, found int"
        assert refusals({"n": "x"}, module.Longer) == "$.n: expected int, found str"
    finally:
        del sys.modules["typed_generics"]


@dataclass
class Growing(Generic[T]):
    value: T
    more: Optional[Growing[List[T]]] = None


@dataclass
class Swapped(Generic[T]):
    value: T
    more: Optional[Swapped[int]] = None


@dataclass
class Crate(Generic[T]):
    value: T


def test_type_parameters_that_change_at_each_level():
    message = {"value": "x", "more": {"value": 1, "more": {"value": 2}}}
    assert decode_in_all_ways(message, Swapped[str]).more.more == Swapped(2)
    message["more"]["more"]["value"] = "x"
    assert refusals(message, Swapped[str]) == "$.more.more.value: expected int, found str"
    with pytest.raises(TypeError, match="Growing refers to itself endlessly, each time with other parameters"):
        typed.Decoder(Growing[int])
    deep: Any = int
    for _ in range(12):
        deep = Crate[deep]
    assert "Crate" in repr(typed.Decoder(deep)._node)


def test_the_order_of_a_union_is_part_of_the_type():
    one, two = Union[Crate[int], None, str], Union[str, None, Crate[int]]
    assert one == two
    for tp, words in ((one, "Crate | None | str"), (two, "str | None | Crate"), (one, "Crate | None | str")):
        with pytest.raises(typed.ValidationError, match=words.replace("|", r"\|")):
            typed.decode(b"\x01", tp)


@pytest.mark.parametrize("text", ["collections.nothing", "1 +", "1/0", "Nobody", "[][1]"])
def test_only_decoders_refuse_an_annotation_that_cannot_be_evaluated(text):
    cls = dataclasses.make_dataclass("Made", [("x", text, 0), ("y", "List[Nobody]", field(default=1))])
    cls.__module__ = __name__
    with pytest.raises(TypeError, match=r"Made: cannot resolve the forward reference .* \(\w+Error: .+\)"):
        typed.Decoder(cls)
    assert typed.encode(cls(5)) == cpkg.packb({"x": 5, "y": 1})
    assert typed.to_builtins(cls(5)) == {"x": 5, "y": 1}


@pytest.mark.skipif(sys.version_info < (3, 12), reason="PEP 695")
def test_type_statements_with_unknown_names_or_endless_growth():
    source = "type X = undefined\ntype G[A] = list[G[list[A]]] | A\n@dataclass\nclass A:\n    x: X\n"
    source += "type Y = Y | int\n@dataclass\nclass B:\n    y: Y\n"
    module = module_of("typed_aliases", source, dataclass=dataclass)
    try:
        for tp in (module.X, module.A):
            with pytest.raises(TypeError, match="NameError"):
                typed.Decoder(tp)
        with pytest.raises(TypeError, match="endlessly"):
            typed.Decoder(module.G[int])
        with pytest.raises(TypeError, match="itself as an alternative"):
            typed.Decoder(module.B)
        assert typed.encode(module.A(1)) == cpkg.packb({"x": 1})
    finally:
        del sys.modules["typed_aliases"]


def test_a_namespace_supplies_missing_names(models):
    @dataclass
    class Local:
        x: int

    @dataclass
    class Outer:
        local: Optional[Local] = None
        named: Annotated[Optional[Local], typed.Name("n")] = None

    with pytest.raises(TypeError, match=r"'Optional\[Local\]'.*or use namespace= of cpkg.typed.Decoder"):
        typed.Decoder(Outer)
    message = {"local": {"x": 1}, "n": {"x": 2}}
    made = decode_in_all_ways(message, Outer, namespace={"Local": Local})
    assert made == Outer(Local(1), Local(2))
    assert typed.encode(made) == cpkg.packb(message)
    json = {"a": [1, {"b": []}]}
    assert decode_in_all_ways(json, models.Json, namespace=vars(models)) == json
    assert decode_in_all_ways({"json": json}, models.Holder) == models.Holder(json)
    assert refusals({"json": [["x"]]}, models.Holder) == "$.json[0][0]: expected Json, found str"
    for tp in (models.Json, "int"):
        with pytest.raises(TypeError, match=r"forward reference .* or use namespace= of cpkg.typed.Decoder"):
            typed.Decoder(tp)


@dataclass
class Shadows:
    class Inner(NamedTuple):
        n: int

    other: Optional[Inner]
    also: List[str]
    type: str = ""
    str: int = 0
    List: int = 1
    collections: int = 2


def test_names_in_annotations_do_not_refer_to_fields():
    made = decode_in_all_ways({"other": [1], "also": ["x"], "type": "t", "str": 5}, Shadows)
    assert made == Shadows(Shadows.Inner(1), ["x"], "t", 5)
    assert refusals({"other": None, "also": [], "type": 1}, Shadows) == "$.type: expected str, found int"


@dataclass
class Linked:
    next: Optional[Self] = None
    text: LiteralString = ""


@dataclass
class Longer(Linked):
    size: int = 0


def test_self_is_the_decoded_class():
    made = decode_in_all_ways({"next": {"text": "a", "size": 2}}, Longer)
    assert made == Longer(Longer(None, "a", 2))
    assert refusals({"next": {"size": "x"}}, Longer) == "$.next.size: expected int, found str"


class Unhashable:
    __hash__ = None  # type: ignore[assignment]


def test_metadata_may_be_unhashable():
    tp = Annotated[int, {"a": 1}, Unhashable()]
    assert decode_in_all_ways([1], List[tp]) == [1]
    box = Crate[tp]
    assert decode_in_all_ways([{"value": 1}], List[box]) == [Crate(1)]
    assert typed.decode(b"\x01", tp) == 1
    assert refusals([{"value": "x"}], List[box]) == "$[0].value: expected int, found str"


def test_classes_may_nest_deeper_than_the_recursion_limit():
    cls: Any = int
    message: object = 1
    for number in range(400):
        cls = dataclasses.make_dataclass(f"Level{number}", [("x", cls)])
        message = {"x": message}
    made = typed.Decoder(cls).decode(cpkg.packb(message))
    assert dataclasses.asdict(made.x.x) == message["x"]["x"]  # type: ignore[index]


# --- which fields, and how they are set ----------------------------------------------------------------------------


def test_attrs_fields_without_init_are_written():
    attr = pytest.importorskip("attr")

    @attr.s
    class Attrs:
        x = attr.ib(type=int)
        y = attr.ib(init=False, default=3)
        z = attr.ib(init=False, default=None)

    made = Attrs(1)
    made.z = "z"
    written = {"x": 1, "y": 3, "z": "z"}
    assert typed.encode(made) == cpkg.packb(attr.asdict(made)) == cpkg.packb(written)
    assert decode_in_all_ways({**written, "y": 100}, Attrs).y == 3
    assert refusals({"x": "one"}, Attrs) == "$.x: expected int, found str"


def test_a_field_with_an_attrs_converter_has_the_converters_type():
    attr = pytest.importorskip("attr")

    def from_text(value: Union[str, int]) -> int:
        return int(value)

    @attr.s
    class Attrs:
        x = attr.ib(type=int, converter=from_text)
        y = attr.ib(type=List[int], converter=tuple, factory=list)

    assert decode_in_all_ways({"x": "5", "y": [1]}, Attrs) == Attrs(5, [1])
    assert refusals({"x": []}, Attrs) == "$.x: expected str | int, found array"
    assert refusals({"x": 1, "y": ["x"]}, Attrs) == "$.y[0]: expected int, found str"


@typed.options(forbid_unknown_fields=True)
@dataclass
class Strict:
    name: str
    size: int = field(init=False, default=7)


@typed.options(array_like=True, forbid_unknown_fields=True)
@dataclass
class Row:
    size: int = field(init=False, default=7)
    name: str


def test_fields_without_init_are_ignored():
    assert typed.encode(Strict("a")) == cpkg.packb({"name": "a", "size": 7})
    for message in ({"name": "a", "size": [1]}, {"size": None, "name": "a"}):
        assert decode_in_all_ways(message, Strict) == Strict("a")
    assert "'other'" in refusals({"name": "a", "other": 1}, Strict)
    assert typed.encode(Row("a")) == cpkg.packb(["a", 7])
    for row in (["a"], ["a", "x"]):
        assert decode_in_all_ways(row, Row) == Row("a")
    assert refusals(["a", 7, 7], Row) == "$: expected array of length 1 to 2, found length 3"


def test_array_like_classes_refuse_an_init_var():
    @typed.options(array_like=True)
    @dataclass
    class Wrong:
        x: int
        scale: dataclasses.InitVar[int] = 2

    for use in (typed.Decoder, lambda cls: typed.encode(cls(1))):
        with pytest.raises(TypeError, match=r"does not support an InitVar \(scale\)"):
            use(Wrong)


def test_excluded_fields_are_neither_written_nor_read():
    @typed.options(forbid_unknown_fields=True)
    @dataclass
    class Account:
        name: str
        password: Annotated[str, typed.Exclude()] = "secret"
        token: Annotated[Optional[str], typed.Exclude()] = field(default=None, init=False)

    Account.__annotations__.clear()  # locals, as text
    for each, tp in (("password", Annotated[str, typed.Exclude()]), ("token", Annotated[None, typed.Exclude()])):
        Account.__dataclass_fields__[each].type = tp
    assert typed.encode(Account("a", "other")) == cpkg.packb({"name": "a"})
    assert typed.to_builtins(Account("a", "other")) == {"name": "a"}
    assert decode_in_all_ways({"name": "a"}, Account) == Account("a")
    assert "unknown key 'password'" in refusals({"name": "a", "password": "x"}, Account)
    needed = dataclasses.make_dataclass("Needed", [("x", Annotated[int, typed.Exclude()])])
    with pytest.raises(TypeError, match=r"Needed\.x cannot be excluded"):
        typed.Decoder(needed)


@dataclass
class Named:
    x: Final[Annotated[int, typed.Name("y")]]  # type: ignore[misc]
    z: Optional[Annotated[int, typed.Name("w")]] = None
    both: Annotated[Optional[Annotated[int, typed.Name("inner")]], typed.Name("outer")] = None


def test_a_name_applies_within_other_annotations():
    message = {"y": 1, "w": 2, "outer": 3}
    assert typed.encode(Named(1, 2, 3)) == cpkg.packb(message)
    assert decode_in_all_ways(message, Named) == Named(1, 2, 3)


# --- constructors and layout ----------------------------------------------------------------------------------------


OWN_INIT = """
class Account:
    balance: int
    def __init__(self, balance):
        if balance < 0:
            raise ValueError("negative")
        self.balance = balance
Account = dataclass(Account)
"""
SWAPPING = """class Swap:
    def __init__(self, x, y): self.x, self.y = y, x
    x: int
    y: int
"""


def test_a_constructor_defined_by_exec_is_called():
    names: dict[str, Any] = {"__name__": __name__, "dataclass": dataclass}
    exec(OWN_INIT, names)
    account = names["Account"]
    assert decode_in_all_ways({"balance": 1}, account) == account(1)
    assert refusals({"balance": -1}, account) == "$: expected Account, found ValueError: negative"
    exec(SWAPPING, names)
    made = typed.decode(cpkg.packb({"x": 1, "y": 2}), dataclass(names["Swap"]))
    assert (made.x, made.y) == (2, 1) or sys.version_info < (3, 11)


def test_a_constructor_without_some_fields_is_called():
    @dataclass
    class One:
        x: int

    @dataclass(init=False)
    class Two(One):
        y: int = 0

    assert "TypeError" in refusals({"x": 1, "y": 2}, Two)

    class Later(One):
        def __post_init__(self) -> None:
            raise ValueError("the constructor does not call this")

    assert decode_in_all_ways({"x": 1}, Later) == Later(1)


def shapes_of_attrs(attr: Any) -> Dict[str, Any]:
    """Return attrs classes with a field `x` and, in some, a field `_y` with the default 3."""

    class Own:
        def __setattr__(self, name: str, value: Any) -> None:
            object.__setattr__(self, name, [value])

    x, y = attr.ib(type=int), attr.ib(type=int, default=3, kw_only=True)
    made = {
        "slots": attr.s(slots=True)(type("Made", (), {"x": x, "_y": y})),
        "dict": attr.s(type("Made", (), {"x": x, "_y": y})),
        "frozen": attr.s(frozen=True)(type("Made", (), {"x": x, "_y": y})),
        "frozen slots": attr.s(frozen=True, slots=True)(type("Made", (), {"x": x, "_y": y})),
        "factory": attr.s(type("Made", (), {"x": x, "z": attr.ib(type=list, factory=list)})),
        "frozen attribute": attr.s(type("Made", (), {"x": attr.ib(type=int, on_setattr=attr.setters.frozen)})),
        "own __setattr__": attr.s(type("Made", (Own,), {"x": x})),
        "validator": attr.s(type("Made", (), {"x": attr.ib(type=int, validator=attr.validators.in_([1]))})),
        "converter": attr.s(type("Made", (), {"x": attr.ib(type=int, converter=lambda value: [value])})),
        "post_init": attr.s(type("Made", (), {"x": x, "__attrs_post_init__": lambda self: setattr(self, "x", 9)})),
        "pre_init": attr.s(type("Made", (), {"x": x, "__attrs_pre_init__": lambda self: setattr(self, "w", 9)})),
        "self": attr.s(type("Made", (), {"x": x, "_y": attr.ib(type=int, default=attr.Factory(id, takes_self=True))})),
        "hash": attr.s(frozen=True, eq=True, cache_hash=True)(type("Made", (), {"x": x})),
    }
    made["derived"] = type("Made", (made["dict"],), {"__setattr__": Own.__setattr__})
    made["property"] = type("Made", (made["dict"],), {"x": property(lambda self: 8, lambda self, value: None)})
    return made


def test_attrs_objects_equal_those_from_constructors():
    attr = pytest.importorskip("attr")
    for name, cls in shapes_of_attrs(attr).items():
        data = cpkg.packb({"x": 1})
        for made in (
            typed.decode(data, cls),
            typed.Decoder(cls, strict=False).decode(data),
            typed.convert({"x": 1}, cls),
        ):
            expected = cls(1)
            assert list(getattr(made, "__dict__", ())) == list(getattr(expected, "__dict__", ())), name
            if name != "self":
                assert (repr(made), made) == (repr(expected), expected), name
            assert name != "hash" or hash(made) == hash(expected)
    slots = shapes_of_attrs(attr)["slots"]
    assert typed.decode(typed.encode(slots(1, y=2)), slots) == slots(1, y=2)
    with pytest.raises(typed.ValidationError, match="'x' must be in"):
        typed.decode(cpkg.packb({"x": 2}), shapes_of_attrs(attr)["validator"])


@pytest.mark.skipif(sys.implementation.name == "pypy", reason="PyPy's JIT compiles the constructor with its caller")
def test_an_attrs_constructor_that_only_sets_fields_is_skipped():
    shapes = shapes_of_attrs(pytest.importorskip("attr"))
    data = cpkg.packb({"x": 1, "_y": 2})
    for name, passed in (("slots", True), ("dict", True), ("factory", True), ("validator", False), ("derived", False)):
        called: List[str] = []
        decoder = typed.Decoder(shapes[name])
        decoder.decode(data)
        sys.setprofile(lambda frame, event, arg: called.append(frame.f_code.co_name))  # noqa: B023
        try:
            decoder.decode(data)
        finally:
            sys.setprofile(None)
        assert ("__init__" in called) is not passed, name


class Config:
    __slots__ = (*"abcdefgh", "timeout")


def test_a_slot_of_another_class_is_refused():
    other = Config.timeout  # type: ignore[attr-defined]
    request = dataclass(type("Request", (), {"__annotations__": {"timeout": float}, "timeout": other}))
    with pytest.raises(TypeError, match=r"Request\.timeout is the slot 'timeout' of Config"):
        typed.Decoder(request)
    child = dataclass(type("Child", (Config,), {"__annotations__": {"a": int}, "a": Config.b}))  # type: ignore[attr-defined]
    with pytest.raises(TypeError, match=r"Child\.a is the slot 'b' of Config"):
        typed.Decoder(child)
    broken = object.__new__(request)
    with pytest.raises(TypeError):
        typed.encode(broken)


def class_of_three() -> Any:
    return dataclasses.make_dataclass("Three", [("a", int), ("b", str), ("c", float, field(default=2.0))])


def test_attributes_are_read_from_any_instance_dict():
    three = class_of_three()
    asked, reordered, replaced, crowded, again = (three(1, "b") for _ in range(5))
    assert len(vars(asked)) == 3
    vars(reordered).clear()
    reordered.c, reordered.b, reordered.a = 2.0, "b", 1
    replaced.__dict__ = {"a": 1, "b": "b", "c": 2.0, 3: 4}
    for number in range(40):
        setattr(crowded, f"more_{number}", number)
    del again.a, again.c
    again.a = 1
    written = typed.encode(three(1, "b"))
    assert written == cpkg.packb({"a": 1, "b": "b", "c": 2.0})
    assert [typed.encode(each) for each in (asked, reordered, replaced, crowded, again)] == [written] * 5
    del again.a
    with pytest.raises(AttributeError, match="'a'"):
        typed.encode(again)


def test_attributes_are_set_in_the_order_of_fields():
    data = cpkg.packb({"b": "b", "a": 1})
    three, reverse = class_of_three(), class_of_three()
    other = object.__new__(reverse)
    other.more, other.c, other.a = 0, 1, 2
    for cls in (three, reverse):
        decoder = typed.Decoder(cls)
        for _ in range(3):
            made = decoder.decode(data)
            assert made == cls(1, "b")
            assert list(vars(made)) == ["a", "b", "c"]
            made.more = made.a = 5
            assert vars(made) == {"a": 5, "b": "b", "c": 2.0, "more": 5}
    values = {f"f{i}": i for i in range(40)}
    wide = dataclasses.make_dataclass("Wide", [(name, int) for name in values])
    (many,) = typed.decode(cpkg.packb([values]), List[wide])  # type: ignore[valid-type]
    assert vars(many) == values


@pytest.mark.parametrize("changes", [0, 1000])
def test_a_property_that_comes_later_counts(changes):
    three = class_of_three()
    old = three(1, "b")
    written = typed.encode(old)
    for number in range(changes):  # after 1000 changes CPython no longer marks a change of the class
        three.other = number
        typed.encode(old)
    decoder = typed.Decoder(three)
    assert decoder.decode(written) == old
    three.b = property(lambda self: self.kept.upper(), lambda self, value: setattr(self, "kept", value + "!"))
    new = decoder.decode(written)
    assert vars(new) == {"a": 1, "kept": "b!", "c": 2.0}
    old.kept = "c"
    assert typed.encode(new) == cpkg.packb({"a": 1, "b": "B!", "c": 2.0})
    assert typed.encode(old) == cpkg.packb({"a": 1, "b": "C", "c": 2.0})
    three.__getattribute__ = lambda self, name: 7 if name == "a" else object.__getattribute__(self, name)
    assert typed.encode(new) == cpkg.packb({"a": 7, "b": "B!", "c": 2.0})
    del three.b, three.__getattribute__
    assert typed.encode(old) == written


@pytest.mark.parametrize("base", [dict, list, int, str, float, bytes, tuple, bytearray])
def test_subclasses_of_builtins_pack_as_builtins_even_with_fields(base):
    cls = dataclass(type("Made", (base,), {"__annotations__": {"a": int}, "a": 0}))
    for _ in range(2):
        assert typed.encode(cls()) == cpkg.dumps(cls())
    with pytest.raises(TypeError, match="dec_hook"):
        typed.Decoder(cls)


class Pair(NamedTuple):
    a: int
    b: int


@dataclass
class Defaults:
    x: int = 1


FACTORIES = [
    (DefaultDict[str, int], 0), (DefaultDict[str, List[int]], []), (DefaultDict[str, Defaults], Defaults()),
    (DefaultDict[str, DefaultDict[str, int]], collections.defaultdict(int)), (DefaultDict[str, Tuple[int, ...]], ()),
    *[(DefaultDict[str, tp], MISSING) for tp in (Tuple[int, int], Any, Optional[int], None, Crate[int], Pair)],
]  # fmt: skip


@pytest.mark.parametrize(("tp", "new"), FACTORIES)
def test_the_factory_of_a_defaultdict_is_the_type_of_its_items(tp, new):
    for made in (typed.decode(b"\x80", tp), typed.convert({}, tp)):
        again = pickle.loads(pickle.dumps(made))
        for each in (made, again):
            if new is MISSING:
                with pytest.raises(KeyError):
                    each["new"]
            else:
                assert each["new"] == new
    made = typed.decode(cpkg.packb({"a": {}}), DefaultDict[str, DefaultDict[str, int]])
    assert made["a"]["b"] == made["c"]["d"] == 0


class Day(enum.Enum):
    FIRST = datetime.date(2024, 1, 1)
    LAST = datetime.date(2024, 12, 31)


class Mixed(enum.Enum):
    DAY = datetime.date(2024, 1, 1)
    PRICE = decimal.Decimal("1.50")
    PAIR = (1, ("x", None))
    NUMBER = 5
    SPAN = datetime.timedelta(1)


@pytest.mark.parametrize("tp", [Day, Mixed, Optional[Mixed], Union[Day, bool], List[Mixed], Dict[Mixed, int]])
def test_enums_of_times_numbers_and_tuples_round_trip(tp):
    members = Mixed if "Mixed" in str(tp) else Day
    for member in members:
        value = [member] if "List" in str(tp) else {member: 1} if "Dict" in str(tp) else member
        for strict in (True, False):
            decoder = typed.Decoder(tp, strict=strict)
            assert decoder.decode(typed.encode(value)) == value
            if "Dict" not in str(tp):
                assert decoder.convert(typed.to_builtins(value)) == value
    for wrong in (datetime.date(2025, 1, 1), [1], [True, ["x", None]], [{}], 5.0, {}, "x", decimal.Decimal(2)):
        with pytest.raises(typed.ValidationError, match=r"datetime.date\(2024, 1, 1\)"):
            typed.decode(cpkg.dumps(wrong), members)


# --- data kept with a class -------------------------------------------------------------------------------------------


def test_classes_are_freed():
    @dataclass
    class Kept:
        x: int = 1
        y: DefaultDict[str, int] = field(default_factory=dict)  # type: ignore[assignment]

    class Word(enum.Enum):
        TEXT = "text"

    for _ in range(2):
        assert typed.decode(typed.encode(Kept()), Kept) == Kept()
    typed.decode(b"\x90", list[Kept])
    keys = str, datetime.date, decimal.Decimal, uuid.UUID
    many = [Kept, list[Kept], collections.deque[Kept], *(dict[key, Kept] for key in keys), Crate[Kept]]
    for tp in (*many, typing.NewType("Other", Kept), typing.Literal[Word.TEXT]):
        with pytest.raises(typed.ValidationError):
            typed.decode(b"\x01", tp)
    references = [weakref.ref(Kept), weakref.ref(Word)]
    del Kept, Word, many, tp
    for clean in typing._cleanups:  # type: ignore[attr-defined]
        clean()
    for _ in range(3):
        gc.collect()
    assert [reference() for reference in references] == [None, None]


def test_a_dataclass_that_was_pickled_by_value():
    """As cloudpickle does with classes of `__main__`: before Python 3.15 it copies dataclasses.MISSING as well."""

    @dataclass
    class Point:
        x: int
        y: int = 2
        z: List[int] = field(default_factory=list)

    for each in dataclasses.fields(Point):
        each.default, each.default_factory = copy.copy(each.default), copy.copy(each.default_factory)
    assert (dataclasses.fields(Point)[0].default is dataclasses.MISSING) == (sys.version_info >= (3, 15))
    assert decode_in_all_ways({"x": 1}, Point) == Point(1)
    assert "'x'" in refusals({}, Point)


def test_kept_data_pickles_as_none():
    @dataclass
    class Kept:
        x: int

    assert typed.decode(typed.encode(Kept(1)), Kept) == Kept(1)
    mine = {name: value for name, value in vars(Kept).items() if name.startswith("__typed")}
    assert mine
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        assert set(pickle.loads(pickle.dumps(mine, protocol)).values()) == {None}
    assert set(copy.copy(list(mine.values()))) == set(mine.values())
    again = type("Kept", (), {**vars(Kept), "__dict__": None, "__weakref__": None, **dict.fromkeys(mine)})
    assert typed.encode(again(2)) == cpkg.packb({"x": 2})


@pytest.mark.parametrize("use", [
    lambda cls: typed.decode(b"\x80", cls), lambda cls: typed.encode(cls()), typed.schema, typed.to_builtins,
    lambda cls: typed.Decoder(Dict[str, cls]),
])  # fmt: skip
def test_options_come_before_the_first_use(use):
    cls = dataclasses.make_dataclass("Point", [("x", int, 0)])
    derived = dataclasses.make_dataclass("Derived", [("y", int, 0)], bases=(cls,))
    use(cls() if use is typed.to_builtins else cls)
    with pytest.raises(TypeError, match=r"Point is already in use: apply typed\.options before"):
        typed.options(array_like=True)(cls)
    cls.__typed_options__ = {"array_like": True}  # type: ignore[attr-defined]
    assert typed.decode(typed.encode(cls(3)), cls) == typed.Decoder(List[cls]).decode(typed.encode([cls(3)]))[0]  # type: ignore[valid-type]
    del cls.__typed_options__  # type: ignore[attr-defined]
    assert typed.encode(typed.options(array_like=True)(derived)()) == b"\x92\x00\x00"
    base = dataclasses.make_dataclass("Base", [("x", int, 0)])
    below = dataclasses.make_dataclass("Below", [("y", int, 0)], bases=(base,))
    use(below() if use is typed.to_builtins else below)
    with pytest.raises(TypeError, match="Base is already in use"):
        typed.options(rename="upper")(base)
