# SPDX-License-Identifier: Apache-2.0
"""Functions generated for a type: names are only data in them, types may nest deeply, and unused ones are freed."""

from __future__ import annotations

import builtins
import gc
import linecache
import traceback
from dataclasses import dataclass, make_dataclass
from typing import Dict, List, Literal, Optional, Tuple, TypedDict, Union

import pytest

import cpkg
from cpkg import typed

NAMES = ["class", "None", "__debug__", "a b", "x, y=ran()", "x); ran(", "'", '"', "\\", "\n", "{x}", "ﬁ", "ª", "é", ""]


def taking_anything(name):
    """Return a dataclass with a field of any name, whose constructor accepts keywords."""

    class Base:
        __hash__ = None

        def __init__(self, **values):
            self.__dict__.update(values)

        def __eq__(self, other):
            return self.__dict__ == other.__dict__

    names = {"__annotations__": {name: int}, "__init__": Base.__init__}
    return dataclass(init=False, repr=False, eq=False)(type("Odd", (Base,), names))


@pytest.mark.parametrize("name", NAMES)
def test_names_of_fields_are_data(monkeypatch, name):
    def ran(*_):
        raise AssertionError("a name is executed")

    monkeypatch.setattr(builtins, "ran", ran, raising=False)
    cls = taking_anything(name)
    for value in (1, "x"):
        assert typed.encode(cls(**{name: value})) == cpkg.packb({name: value})
    assert typed.decode(cpkg.packb({name: 1}), cls) == cls(**{name: 1})
    with pytest.raises(typed.ValidationError):
        typed.decode(cpkg.packb({name: "x"}), cls)
    keyed = TypedDict("keyed", {name: int})
    assert typed.decode(cpkg.packb({name: 1}), keyed) == {name: 1}
    renamed = typed.options(rename={"a": name}, omit_defaults=True)(make_dataclass("Plain", [("a", int, 5)]))
    assert typed.decode(typed.encode(renamed(1)), renamed) == renamed(1)
    literal = Literal[name]  # type: ignore[valid-type]
    assert typed.decode(cpkg.packb([name]), List[literal]) == [name]


@pytest.mark.parametrize("name", [*NAMES, "1", "1_2", "def", "²"])
def test_names_of_classes_are_data(name):
    cls = make_dataclass("Made", [("a", int), ("b", Optional[List[str]], None)])
    cls.__name__ = name
    for tp, value in ((cls, cls(1, ["x"])), (List[cls], [cls(1)]), (Union[cls, int], cls(2))):
        assert typed.decode(typed.encode(value), tp) == value


def test_names_of_functions_are_different():
    inner = make_dataclass("A", [("x", int)])
    for number in range(4):  # a function of the inner class gets a number
        outer = make_dataclass(f"A_{number}", [(f"f{index}", inner) for index in range(9)])
        value = outer(*[inner(index) for index in range(9)])
        assert typed.decode(typed.encode(value), outer) == value


WAYS = {
    "lists": (21, lambda tp, value: (List[tp], [value])),
    "more lists": (120, lambda tp, value: (List[tp], [value])),
    "dicts": (120, lambda tp, value: (Dict[str, tp], {"a": value})),
    "tuples": (120, lambda tp, value: (Tuple[tp, int], (value, 1))),
    "tuples of any length": (120, lambda tp, value: (Tuple[tp, ...], (value,))),
    # typing takes exponential time for Unions within Unions before 3.10
    "optional": (8, lambda tp, value: (Optional[List[List[List[tp]]]], [[[value]]])),
    "unions": (8, lambda tp, value: (Union[Dict[str, List[Dict[str, tp]]], str], {"k": [{"k": value}]})),
}


@pytest.mark.parametrize("way", WAYS)
def test_types_nest_deep(way):
    depth, wrap = WAYS[way]
    tp, value = int, 1
    for _ in range(depth):
        tp, value = wrap(tp, value)
    decoder, data = typed.Decoder(tp), typed.encode(value)
    assert decoder.decode(data) == decoder.decode(data) == value
    with pytest.raises(typed.ValidationError) as info:
        decoder.decode(data.replace(b"\x01", b"\xc3"))
    assert len(info.value.path) >= depth


def test_the_source_lines_of_a_function_are_freed_with_it():
    def shown():
        return [name for name in linecache.cache if "Fleeting" in name]

    def use():
        cls = make_dataclass("Fleeting", [("a", int)])
        assert typed.decode(typed.encode(cls(1)), cls) == cls(1)

    for _ in range(3):
        use()
    for _ in range(4):
        gc.collect()
    assert shown() == []


def test_tracebacks_show_the_lines_of_generated_functions(monkeypatch, msgpack):
    if msgpack.typed_packb is not None:
        pytest.skip("no function is generated")

    class Lazy:
        def __get__(self, obj, cls):
            if obj is None:
                return 0
            raise LookupError("no value")

        def __set__(self, obj, value):
            pass

    cls = make_dataclass("Told", [("a", int, 0)])
    cls.a = Lazy()
    with pytest.raises(LookupError) as info:
        typed.encode(cls())
    assert "v0 = o.a" in "".join(traceback.format_tb(info.value.__traceback__))
