# SPDX-License-Identifier: Apache-2.0
"""Options of classes and names of fields, and their descriptions."""

from __future__ import annotations

from dataclasses import dataclass, field, make_dataclass
from typing import Annotated, Dict, List

import pytest

import cpkg
from cpkg import typed


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
    assert typed.schema(Row)["$defs"]["Row"]["minItems"] == 1


def test_inspect():
    made = typed.inspect(Order)
    assert [(f["name"], f["key"], f["required"]) for f in made["fields"]] == [
        ("order_id", "orderId", True), ("ship_to", "address", False), ("line_items", "lineItems", False),
    ]  # fmt: skip
    assert made["fields"][1]["default"] == "home"
