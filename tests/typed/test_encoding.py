# SPDX-License-Identifier: Apache-2.0
"""What encoders write and omit, and how encoders and decoders are pickled."""

from __future__ import annotations

import collections
import copy
import datetime as dt
import math
import pickle
from dataclasses import dataclass, field, make_dataclass
from decimal import Decimal
from typing import Any, Dict, FrozenSet, List, Optional, Union
from uuid import UUID

import pytest

import cpkg
from cpkg import typed
from cpkg.typed import UNSET, UnsetType

utc = dt.timezone.utc
noon = dt.datetime(2020, 1, 1, 12, tzinfo=utc)
later = dt.timezone(dt.timedelta(hours=2))


@dataclass(frozen=True)
class Corner:
    x: float = 0.0
    hidden: int = field(default=0, compare=False, repr=False)


Defaults = {
    "whole": (1000, [int("1000")], [True, 1000.0, 2]),
    "real": (0.0, [0.0], [-0.0, 0, False]),
    "nan": (math.nan, [float("nan")], [0.0]),
    "text": ("a", [str(b"a", "ascii")], ["b", b"a"]),
    "pair": ((1, 2.0), [(1, float("2"))], [(True, 2.0), (1, 2), (1,), [1, 2.0]]),
    "few": (frozenset([1, 2]), [frozenset([2, 1])], [frozenset([True, 2]), frozenset([1.0, 2])]),
    "number": (Decimal("1.0"), [Decimal("1.0")], [Decimal("1.00"), Decimal(1), Decimal("sNaN"), 1.0]),
    "moment": (noon, [noon.replace()], [noon.astimezone(later), noon.replace(tzinfo=None)]),
    "naive": (dt.datetime(2020, 1, 1), [dt.datetime(2020, 1, 1)], [dt.datetime(2020, 1, 1, fold=1)]),
    "clock": (dt.time(1, tzinfo=utc), [dt.time(1, tzinfo=utc)], [dt.time(3, tzinfo=later)]),
    "span": (dt.timedelta(1), [dt.timedelta(hours=24)], [dt.timedelta(2)]),
    "uuid": (UUID(int=1), [UUID(int=1)], [UUID(int=2)]),
    "corner": (Corner(), [Corner()], [Corner(-0.0), Corner(hidden=1), Corner(0)]),
    "nothing": (None, [None], [0, False, ""]),
    "flag": (False, [False], [True, 0, None]),
}


@pytest.mark.parametrize("name", Defaults)
def test_a_field_is_omitted_if_its_value_is_exactly_the_default(name):
    default, same, others = Defaults[name]
    cls = typed.options(omit_defaults=True)(make_dataclass("Made", [("value", Any, field(default=default))]))
    assert typed.encode(cls()) == b"\x80"
    for value in same:
        assert typed.encode(cls(value)) == b"\x80", value
        assert typed.to_builtins(cls(value)) == {}
    for value in others:
        assert typed.encode(cls(value)) != b"\x80", value
        assert "value" in typed.to_builtins(cls(value))


def test_defaults_of_attrs_classes_are_compared_by_their_fields():
    attr = pytest.importorskip("attr")
    pair = attr.make_class("Pair", {"x": attr.ib(), "y": attr.ib(eq=False)}, frozen=True)
    cls = typed.options(omit_defaults=True)(make_dataclass("Made", [("value", Any, pair(0.0, 1))]))
    assert typed.encode(cls(pair(0.0, 1))) == b"\x80"
    for value in (pair(-0.0, 1), pair(0.0, 2), pair(0, 1)):
        assert typed.encode(cls(value)) != b"\x80"


@pytest.mark.parametrize("factory", [list, dict, set, tuple, frozenset])
def test_empty_containers_from_factories_are_omitted(factory):
    cls = typed.options(omit_defaults=True)(make_dataclass("Made", [("value", Any, field(default_factory=factory))]))
    assert typed.encode(cls()) == b"\x80"
    assert typed.to_builtins(cls()) == {}
    for value in (factory(["a1"]), None, 0, collections.OrderedDict()):
        assert typed.encode(cls(value)) != b"\x80"
    other = typed.options(omit_defaults=True)(make_dataclass("Made", [("value", Any, field(default_factory=int))]))
    assert typed.encode(other()) == cpkg.packb({"value": 0})


def test_an_error_of_a_comparison_is_raised_unchanged():
    class Odd:
        __hash__ = object.__hash__

        def __eq__(self, other):
            raise LookupError("cannot compare")

    for default, value in ((Odd(), Odd()), ((Odd(),), (Odd(),))):
        cls = typed.options(omit_defaults=True)(make_dataclass("Made", [("value", Any, field(default=default))]))
        with pytest.raises(LookupError, match="cannot compare"):
            typed.encode(cls(value))


def test_array_like_objects_omit_nothing():
    @typed.options(array_like=True, omit_defaults=True, omit_none=True)
    @dataclass
    class Line:
        a: int = 1
        b: Optional[int] = None
        c: int = 3

    assert typed.to_builtins(Line(c=4)) == cpkg.loads(typed.encode(Line(c=4))) == [1, None, 4]


@pytest.mark.parametrize("count", [70, 300])
def test_objects_with_many_fields(count):
    names = [f"f{index}" for index in range(count)]
    cls = typed.options(omit_defaults=True)(make_dataclass("Wide", [(name, int, 0) for name in names]))
    made = cls(f7=7)
    assert typed.encode(made) == cpkg.packb({"f7": 7})
    assert typed.decode(typed.encode(made), cls) == made


@dataclass
class Patch:
    id: int
    size: Union[int, UnsetType, None] = UNSET
    name: Union[str, UnsetType] = UNSET


@typed.options(omit_none=True)
@dataclass
class Sparse:
    a: Optional[int] = None
    b: Optional[int] = 3
    c: List[int] = field(default_factory=list)


@pytest.mark.parametrize(
    ("obj", "form"),
    [
        (Patch(1), {"id": 1}),
        (Patch(1, None), {"id": 1, "size": None}),
        (Patch(1, 2, "x"), {"id": 1, "size": 2, "name": "x"}),
        (Sparse(), {"b": 3, "c": []}),
        (Sparse(1, None, [2]), {"a": 1, "b": None, "c": [2]}),
    ],
)
def test_unset_fields_and_missing_attributes_are_omitted(obj, form):
    assert cpkg.loads(typed.encode(obj)) == typed.to_builtins(obj) == form
    assert typed.decode(typed.encode(obj), type(obj)) == typed.convert(form, type(obj)) == obj


def test_unset_is_one_object_and_not_a_value():
    assert pickle.loads(pickle.dumps(UNSET)) is copy.deepcopy(UNSET) is UnsetType() is UNSET
    assert not UNSET
    assert repr(UNSET) == "UNSET"
    for obj in (UNSET, [UNSET], Patch(UNSET)):
        with pytest.raises(TypeError, match="UnsetType"):
            typed.encode(obj)
        with pytest.raises(TypeError, match="UnsetType"):
            typed.to_builtins(obj)
    for tp in (Patch, UnsetType):
        with pytest.raises(typed.ValidationError):
            typed.decode(cpkg.packb({"id": 1, "name": 5}), tp)
    assert typed.schema(Patch)["$defs"]["Patch"]["properties"]["name"] == {"type": "string"}


@dataclass
class Number:
    value: int
    more: Dict[str, List[int]] = field(default_factory=dict)


@pytest.mark.parametrize("value", [2**64, -(2**63) - 1, 10**40])
def test_the_hook_receives_integers_beyond_64_bits(value):
    for obj in (value, [value], {"a": value}, {value: 1}, Number(value), Number(1, {"a": [value]})):
        packed = typed.encode(obj, enc_hook=str)
        assert str(value).encode() in packed
        cpkg.loads(packed)
        for encode in (typed.encode, lambda obj: typed.encode(obj, enc_hook=lambda number: number)):
            with pytest.raises(OverflowError):
                encode(obj)
    for inside in (2**64 - 1, -(2**63)):
        assert typed.encode(Number(inside), enc_hook=str) == cpkg.packb({"value": inside, "more": {}})


class Price(Decimal):
    pass


class Unknown:
    pass


@pytest.mark.parametrize("obj", [Price("1.5"), Decimal("1" * 300), collections.deque([1])])
def test_the_hook_receives_no_objects_of_known_types(obj):
    assert typed.encode(obj, enc_hook=repr) == typed.encode(obj)


@pytest.mark.parametrize("obj", [Number(1), collections.deque([1])])
def test_the_result_of_the_hook_is_encoded_as_if_alone(obj):
    assert typed.encode(Unknown(), enc_hook=lambda _: obj) == typed.encode(obj)


# --- to_builtins ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "obj",
    [
        {dt.date(2024, 1, 1): 1, "2024-01-01": 2},
        {b"a": 1, "YQ==": 2},
        [{"x": {UUID(int=1): 1, str(UUID(int=1)): 2}}],
        {(b"a",): 1, ("YQ==",): 2},
    ],
)
def test_keys_that_become_equal_are_refused(obj):
    with pytest.raises(ValueError, match="two keys of a dict both become"):
        typed.to_builtins(obj)


def test_keys_of_builtins_are_hashable():
    assert typed.to_builtins({((1, 2), 3): 1, dt.date(2024, 1, 1): 2}) == {((1, 2), 3): 1, "2024-01-01": 2}
    with pytest.raises(TypeError, match="dict"):
        typed.to_builtins({Corner(): 1})


def test_cycles_are_too_deep():
    cycle: List[Any] = []
    cycle.append({"a": (cycle,)})
    for make in (typed.encode, typed.to_builtins):
        with pytest.raises(ValueError, match="recursion limit exceeded"):
            make(cycle)


@pytest.mark.parametrize("value", [set(), {1}, {1, "a"}, frozenset("ab"), [1]])
def test_a_set_counts_as_a_level_like_a_list(value):
    for make in (typed.encode, cpkg.dumps):
        make([value], max_depth=2)
        with pytest.raises(ValueError, match="recursion limit exceeded"):
            make([value], max_depth=1)


def test_instances_of_subclasses_become_plain_values():
    class Text(str):
        __slots__ = ()

        def __str__(self):
            return "another"

    class Whole(int):
        def __int__(self):
            return 7

        __index__ = __int__

    class Real(float):
        def __float__(self):
            return 7.0

    made = typed.to_builtins([Text("a"), Whole(1), Real(2.5), Real(-0.0)])
    assert repr(made) == repr(["a", 1, 2.5, -0.0])
    assert [type(value) for value in made] == [str, int, float, float]


# --- pickling ---------------------------------------------------------------------------------------------------------


def hooked(cls, value):
    return complex(value)


def test_an_error_names_the_option_of_the_call():
    for encode in (typed.encode, typed.Encoder().encode):
        with pytest.raises(TypeError, match=r"'complex': pass enc_hook=, a function that returns what to pack instead"):
            encode([Patch(1), 1j])


def test_decoders_and_encoders_are_pickled_by_their_arguments():
    decoder = typed.Decoder(List[Patch], strict=False, max_depth=7, dec_hook=hooked)
    assert decoder.decode(typed.encode([Patch(1)])) == [Patch(1)]
    for made in (pickle.loads(pickle.dumps(decoder)), copy.copy(decoder), copy.deepcopy(decoder)):
        assert made.decode(cpkg.packb([{"id": "5"}])) == [Patch(5)]
        assert (made.type, made.strict, made.limits.max_depth, made.dec_hook) == (List[Patch], False, 7, hooked)
    assert pickle.loads(pickle.dumps(typed.Decoder())).decode(b"\x01") == 1
    made = pickle.loads(pickle.dumps(typed.Encoder(enc_hook=str, max_depth=3)))
    assert made.encode([1j]) == cpkg.packb(["1j"])
    assert (made.enc_hook, made.max_depth) == (str, 3)
    assert typed.decode(pickle.loads(pickle.dumps(typed.Encoder())).encode([frozenset([1])]), List[FrozenSet[int]])
