# SPDX-License-Identifier: Apache-2.0
"""Options, names and constraints of classes and fields, and descriptions of types."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, make_dataclass
from datetime import datetime, timezone
from typing import Annotated, Any, Dict, List, NamedTuple, Optional, Tuple, TypedDict, Union

import annotated_types as at
import pytest

import cpkg
from cpkg import typed
from purepy.base.errors import TruncatedError


@typed.options(rename="camel", forbid_unknown_fields=True, omit_defaults=True)
@dataclass
class Order:
    order_id: int
    ship_to: Annotated[str, typed.Name("address")] = "home"
    line_items: List[str] = field(default_factory=list)


@typed.options(array_like=True)
@dataclass
class Row:
    a: int
    b: str = "b"


@dataclass
class Plain:
    a: int
    b: str = "b"


def test_names_and_omitted_fields():
    assert typed.encode(Order(1)) == cpkg.packb({"orderId": 1})
    full = Order(1, "there", ["x"])
    assert typed.encode(full) == cpkg.packb({"orderId": 1, "address": "there", "lineItems": ["x"]})
    assert typed.decode(typed.encode(full), Order) == full
    assert typed.decode(typed.encode([Order(1)]), List[Order]) == [Order(1)]
    assert typed.to_builtins(full) == {"orderId": 1, "address": "there", "lineItems": ["x"]}
    for key in ("order_id", "extra"):
        with pytest.raises(typed.ValidationError, match="Order"):
            typed.decode(cpkg.packb({"orderId": 1, key: 1}), Order)


@pytest.mark.parametrize("value", [[1] * 20, {str(number): [number] for number in range(20)}, [[2] * 70_000, "x"]])
def test_unknown_fields_of_any_length_are_skipped(monkeypatch, value):
    monkeypatch.setattr(typed.Decoder, "_walk", None)  # no second pass
    for data in ({"x": value, "a": 1}, {"a": 1, "x": value, "b": "c"}):
        assert typed.decode(cpkg.packb(data), Plain) == Plain(1, data.get("b", "b"))


STYLES = [
    ("camel", "twoWords"), ("pascal", "TwoWords"), ("kebab", "two-words"), ("upper", "TWO_WORDS"),
    ("lower", "two_words"), (lambda name: name[:3], "two"), ({"two_words": "2"}, "2"), ({}, "two_words"),
]  # fmt: skip


@pytest.mark.parametrize(("rename", "key"), STYLES)
def test_styles_of_renaming(rename, key):
    @typed.options(rename=rename)
    @dataclass
    class Renamed:
        two_words: int

    assert typed.decode(cpkg.packb({key: 1}), Renamed) == Renamed(1)
    assert typed.encode(Renamed(1)) == cpkg.packb({key: 1})


@pytest.mark.parametrize("obj", ["text", 5, None])
def test_the_error_names_a_type_that_is_not_a_buffer(obj: Any) -> None:
    with pytest.raises(TypeError, match=f"^a bytes-like object is required, not '{type(obj).__name__}'$"):
        typed.decode(obj, int)


def test_the_error_says_that_the_input_is_empty():
    with pytest.raises(TruncatedError, match=r"^Unpack failed: incomplete input: the input is empty, expected "):
        typed.decode(b"", int)


@pytest.mark.parametrize(
    ("name", "value", "error", "text"),
    [
        ("dec_hook", 5, TypeError, "a function or None, not 5"),
        ("max_errors", "x", TypeError, "an int, not str"),
        ("max_memory", -2, ValueError, "0 or more, or -1 for no limit, not -2"),
        ("max_str_len", "x", TypeError, "an int, not str"),
        ("max_total_bytes", None, TypeError, "an int, not NoneType"),
        ("max_total_items", 1.0, TypeError, "an int, not float"),
    ],
)
def test_an_error_names_a_wrong_option(name, value, error, text):
    with pytest.raises(error, match=f"^{name} must be {text}$"):
        typed.Decoder(int, **{name: value})
    if name == "dec_hook":
        with pytest.raises(error, match=f"^enc_hook must be {text}$"):
            typed.to_builtins(1, enc_hook=value)


def test_invalid_options_are_refused():
    with pytest.raises(ValueError, match="rename"):
        typed.options(rename="snail")

    @typed.options(rename=lambda name: "same")
    @dataclass
    class Twice:
        a: int
        b: int

    with pytest.raises(TypeError, match="two fields have the same key in messages, 'same'"):
        typed.Decoder(Twice)


def test_a_subclass_switches_off_inherited_options():
    on = {"rename": "upper", "omit_defaults": True, "forbid_unknown_fields": True}
    base = typed.options(**on)(make_dataclass("Base", [("a", int, 1)]))
    kept = typed.options(array_like=False)(make_dataclass("Kept", [], bases=(base,)))
    off = typed.options(**{**dict.fromkeys(on, False), "rename": None})(make_dataclass("Off", [], bases=(base,)))
    assert typed.encode(kept()) == cpkg.packb({})
    with pytest.raises(typed.ValidationError, match="unknown key 'a'"):
        typed.decode(cpkg.packb({"a": 1}), kept)
    assert typed.encode(off()) == cpkg.packb({"a": 1})
    assert typed.decode(cpkg.packb({"a": 2, "b": 3}), off) == off(2)


class Pair(NamedTuple):
    a: int


class Keys(TypedDict):
    a: int


@pytest.mark.parametrize(
    ("cls", "options", "error", "text"),
    [
        (Pair, {"array_like": False}, TypeError, "array_like=.* not namedtuple"),
        (Keys, {"array_like": True}, TypeError, "array_like=.* not typeddict"),
        (Keys, {"rename": "upper"}, TypeError, "rename=.* not typeddict"),
        (Plain, {"rename": "snail"}, ValueError, "rename must be one of .*, not 'snail'"),
        (Plain, {"rename": 5}, ValueError, "rename must be one of .*, not 5"),
        (Plain, {"rname": "upper"}, TypeError, "'rname'"),
        (Plain, 5, TypeError, "must be a mapping, not int"),
    ],
)
def test_options_in_a_class_are_checked(cls, options, error, text):
    wrong = type("Wrong", (cls,), {}) if cls is not Keys else TypedDict("Wrong", {"a": int})  # type: ignore[misc]
    wrong.__typed_options__ = options
    with pytest.raises(error, match=rf"^Wrong(\.__typed_options__)?: .*{text}"):
        typed.Decoder(wrong)


def test_a_class_without_fields_is_refused_with_advice():
    class Bare:
        a: int

    with pytest.raises(
        TypeError, match=r"Bare: it is not a dataclass, .*; add @dataclass, or use cpkg.typed.Decoder with dec_hook="
    ):
        typed.Decoder(Bare)
    with pytest.raises(TypeError, match=r"decorator of classes, not of 5"):
        typed.options(array_like=True)(5)  # type: ignore[type-var]


Short = Annotated[str, at.Len(1, 3)]
CONSTRAINTS = [
    (Annotated[int, at.Gt(0)], [1], [0]), (Annotated[int, at.Ge(0), at.Lt(10)], [0, 9], [-1, 10]),
    (Annotated[float, at.Interval(ge=0, le=1)], [0, 1.0], [1.5, float("nan")]),
    (Annotated[int, at.MultipleOf(3)], [9], [10]), (Short, ["a", "abc"], ["", "abcd"]),
    (Annotated[List[int], at.MaxLen(1)], [[], [1]], [[1, 2]]),
    (Annotated[Dict[Short, int], at.MinLen(1)], [{"a": 1}], [{}, {"abcd": 1}]),
    (Annotated[bytes, at.MinLen(1)], [b"x"], [b""]), (Annotated[str, typed.Pattern("^[a-z]+$")], ["ab"], ["aB"]),
    (Annotated[str, re.compile("b")], ["abc"], ["ac"]), (at.LowerCase[str], ["ab"], ["AB"]),
    (Annotated[Union[int, None], at.Predicate(lambda x: x != 3)], [2], [3]),
    (Tuple[Annotated[int, at.Gt(0)], ...], [[1]], [[1, 0]]), (Optional[Annotated[int, at.Gt(0)]], [None, 1], [0]),
]  # fmt: skip


@pytest.mark.parametrize(("tp", "good", "bad"), CONSTRAINTS)
def test_constraints(tp, good, bad):
    decoder = typed.Decoder(tp)
    for value in good:
        made = decoder.decode(cpkg.packb(value))
        assert made == (tuple(value) if isinstance(made, tuple) else value)
        decoder.convert(value)
    for value in bad:
        with pytest.raises(typed.ValidationError):
            decoder.decode(cpkg.packb(value))
        with pytest.raises(typed.ValidationError):
            decoder.convert(value)


def test_constraints_of_times():
    aware = typed.Decoder(Annotated[datetime, at.Timezone(...)])
    now = datetime.now(timezone.utc)
    assert aware.decode(cpkg.dumps(now)) == now
    with pytest.raises(typed.ValidationError, match="offset from UTC"):
        aware.decode(cpkg.dumps(datetime(2024, 1, 1)))


# --- convert, to_builtins, schema, inspect --------------------------------------------------------------------------


class Loose:
    order_id = 3
    ship_to = "x"


def test_convert_from_objects():
    assert typed.convert({"orderId": 1}, Order) == Order(1)
    order = Order(1)
    assert typed.convert([order], List[Order])[0] is order
    with pytest.raises(typed.ValidationError):
        typed.convert(Loose(), Order)
    assert typed.convert(Loose(), Order, from_attributes=True) == Order(3, "x")
    assert typed.convert("AAE=", bytes) == b"\x00\x01"
    with pytest.raises(typed.ValidationError, match=r"^\$\[0\]: expected int, found str$"):
        typed.convert(["x"], List[int])


def test_to_builtins_keeps_the_chosen_types():
    now = datetime(2024, 1, 1, tzinfo=timezone.utc)
    assert typed.to_builtins([now, {1}, (2,), b"\x00"]) == ["2024-01-01T00:00:00Z", [1], [2], "AA=="]
    assert typed.to_builtins([now], builtin_types=(datetime,)) == [now]
    with pytest.raises(TypeError, match="enc_hook"):
        typed.to_builtins(Loose())


def test_schema():
    made = typed.schema(Dict[str, List[Order]])
    assert made["additionalProperties"]["items"] == {"$ref": "#/$defs/Order"}
    assert made["$defs"]["Order"] == {
        "title": "Order",
        "type": "object",
        "properties": {
            "orderId": {"type": "integer"},
            "address": {"type": "string", "default": "home"},
            "lineItems": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["orderId"],
        "additionalProperties": False,
    }
    made = typed.schema(Annotated[int, at.Gt(0), at.Le(9)])
    assert (made["exclusiveMinimum"], made["maximum"]) == (0, 9)
    assert typed.schema(Row)["$defs"]["Row"]["minItems"] == 1


def test_inspect():
    made = typed.inspect(Order)
    assert [(f["name"], f["key"], f["required"]) for f in made["fields"]] == [
        ("order_id", "orderId", True), ("ship_to", "address", False), ("line_items", "lineItems", False),
    ]  # fmt: skip
    assert made["fields"][1]["default"] == "home"
    assert typed.inspect(Annotated[int, at.Gt(0)])["checks"] == {"gt": 0}
    assert typed.inspect(Any)["kind"] == "any"
