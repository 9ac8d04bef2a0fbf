# SPDX-License-Identifier: Apache-2.0
"""What encoders write and omit, and how encoders and decoders are pickled."""

from __future__ import annotations

import collections
import copy
import datetime as dt
import pickle
from dataclasses import dataclass, field, make_dataclass
from typing import Any, Dict, FrozenSet, List, Optional, Union

import pytest
from typed_ways import rows_of

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


@pytest.mark.parametrize(("default", "same", "others"), rows_of("defaults", globals()))
def test_a_field_is_omitted_if_its_value_is_exactly_the_default(default, same, others):
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


# --- to_builtins ------------------------------------------------------------------------------------------------------


def test_cycles_are_too_deep():
    cycle: List[Any] = []
    cycle.append({"a": (cycle,)})
    for make in (typed.encode, typed.to_builtins):
        with pytest.raises(ValueError, match="recursion limit exceeded"):
            make(cycle)


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


def test_decoders_and_encoders_are_pickled_by_their_arguments():
    decoder = typed.Decoder(List[Patch], strict=False, max_depth=7, dec_hook=hooked)
    assert decoder.decode(typed.encode([Patch(1)])) == [Patch(1)]
    for made in (pickle.loads(pickle.dumps(decoder)), copy.copy(decoder), copy.deepcopy(decoder)):
        assert made.decode(cpkg.packb([{"id": "5"}])) == [Patch(5)]
        assert (made.type, made.strict, made._limits.max_depth, made.dec_hook) == (List[Patch], False, 7, hooked)
    assert pickle.loads(pickle.dumps(typed.Decoder())).decode(b"\x01") == 1
    made = pickle.loads(pickle.dumps(typed.Encoder(enc_hook=str, max_depth=3)))
    assert made.encode([1j]) == cpkg.packb(["1j"])
    assert (made.enc_hook, made.max_depth) == (str, 3)
    assert typed.decode(pickle.loads(pickle.dumps(typed.Encoder())).encode([frozenset([1])]), List[FrozenSet[int]])
