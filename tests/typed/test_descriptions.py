# SPDX-License-Identifier: Apache-2.0
"""Schemas are JSON Schema, accept encoded objects, contain references, and describe fields."""

from __future__ import annotations

import datetime as dt
import enum
import json
from dataclasses import InitVar, dataclass, field, make_dataclass
from decimal import Decimal
from types import SimpleNamespace
from typing import Any, Dict, FrozenSet, List, NamedTuple, Optional, Tuple, Union

import annotated_types as at
import pytest
from jsonschema import Draft202012Validator
from typing_extensions import Annotated, Doc

from cpkg import typed


class Empty(NamedTuple):
    pass


class Access(enum.IntFlag):
    READ = 1
    WRITE = 2


@typed.options(array_like=True, forbid_unknown_fields=True)
@dataclass
class Line:
    made: int = field(init=False, default=7)
    a: int = 1


@typed.options(forbid_unknown_fields=True)
@dataclass
class Part:
    a: int
    seed: InitVar[int]
    made: int = field(init=False, default=0)


Bytes = Annotated[bytes, at.Len(1, 4)]
GOOD = [
    (Annotated[Decimal, at.Gt(Decimal(0)), at.Lt(9)], Decimal(1)),
    (Annotated[dt.timedelta, at.Ge(dt.timedelta(0))], dt.timedelta(1)),
    (Annotated[dt.date, at.Le(dt.date(2024, 1, 1))], dt.date(2023, 1, 1)),
    (Annotated[str, at.Gt("a")], "b"),
    (Annotated[float, at.Ge(float("-inf")), at.Gt(0.5)], 1.5),
    (Annotated[int, at.MultipleOf(-3)], 9),
    (Bytes, b"a"), (Bytes, b"abcd"), (Dict[Bytes, int], {b"abcd": 1}), (Empty, Empty()), (Tuple[()], ()),
    (Access, Access.READ | Access.WRITE), (Access, Access(0)), (List[Line], [Line()]), (Part, Part(1, 2)),
    (Optional[FrozenSet[str]], frozenset("ab")), (Annotated[Dict[str, int], at.MinLen(1)], {"a": 1}),
    (make_dataclass("a/b~c d%[e]", [("x", int)]), None),
]  # fmt: skip


@pytest.mark.parametrize(("tp", "value"), GOOD, ids=[str(index) for index in range(len(GOOD))])
def test_schemas_are_json_schema_and_accept_encoded_objects(tp, value):
    schema = json.loads(json.dumps(typed.schema(tp)))
    Draft202012Validator.check_schema(schema)
    value = tp(1) if value is None else value
    instance = json.loads(json.dumps(typed.to_builtins(value)))
    assert not list(Draft202012Validator(schema).iter_errors(instance))


def test_values_that_a_schema_refuses():
    for tp, wrong in ((Annotated[float, at.Gt(0.5)], 0.5), (Bytes, ""), (Bytes, "YWJjZGVmZw=="), (Line, [1, 2, 3])):
        assert list(Draft202012Validator(typed.schema(tp)).iter_errors(wrong))
    part = typed.schema(Part)["$defs"]["Part"]
    assert part["required"] == ["a"]
    assert part["properties"]["made"] == {"type": "integer", "default": 0, "readOnly": True}


@dataclass
class Site:
    name: str


@dataclass
class Server:
    host: Annotated[str, "Where it runs."]
    port: Annotated[int, at.Gt(0), Doc("The port."), "Its number."] = 80
    name: Optional[Annotated[str, at.doc("What people call it.")]] = None
    size: Annotated[int, SimpleNamespace(title="Size", description="In bytes.", gt=None)] = 0
    home: Annotated[Optional[Site], typed.Title("Where it is")] = field(default_factory=lambda: Site("x"))


def test_text_in_annotations_describes_fields():
    properties = typed.schema(Server)["$defs"]["Server"]["properties"]
    assert properties["host"] == {"type": "string", "description": "Where it runs."}
    assert properties["port"]["description"] == "Its number."
    assert properties["name"]["description"] == "What people call it."
    assert properties["size"] == {"type": "integer", "title": "Size", "description": "In bytes.", "default": 0}
    assert properties["home"] == {
        "anyOf": [{"$ref": "#/$defs/Site"}, {"type": "null"}], "title": "Where it is"
    }  # fmt: skip
    Draft202012Validator.check_schema(typed.schema(Server))
    fields = typed.inspect(Server)["fields"]
    assert [(each.get("title"), each.get("description")) for each in fields] == [
        (None, "Where it runs."), (None, "Its number."), (None, "What people call it."), ("Size", "In bytes."),
        ("Where it is", None),
    ]  # fmt: skip
    with pytest.raises(TypeError, match="Title expects a str"):
        typed.Title(3)


class Money:
    pass


def test_references_and_hooks_can_be_chosen():
    made = typed.schema(List[Server], ref_template="#/components/schemas/{name}")
    assert made["items"] == {"$ref": "#/components/schemas/Server"}
    asked = []

    def describe(cls):
        asked.append(cls)
        return {"type": "string", "pattern": "^[0-9]+ EUR$"} if cls is Money else None

    made = typed.schema(Dict[str, Union[Money, None]], schema_hook=describe)
    assert made["additionalProperties"]["anyOf"] == [{"type": "string", "pattern": "^[0-9]+ EUR$"}, {"type": "null"}]
    assert typed.schema(List[complex], schema_hook=describe)["items"] == {}
    assert asked == [Money, complex]


def test_classes_that_nest_deep():
    cls = make_dataclass("Class0", [("a", int)])
    for number in range(1, 500):
        cls = make_dataclass(f"Class{number}", [("inside", Optional[cls])])
    made = typed.schema(cls)
    assert made["$ref"] == "#/$defs/Class499"
    assert made["$defs"]["Class1"]["properties"]["inside"]["anyOf"][0] == {"$ref": "#/$defs/Class0"}
    assert len(made["$defs"]) == 500
    described, depth = typed.inspect(cls), 0
    while described["kind"] != "int":
        depth += described["kind"] == "object"
        described = described["fields"][0]["type"] if described["kind"] == "object" else described["parts"][0]
    assert depth == 500


def test_defaults_that_json_cannot_express_are_omitted():
    cls = make_dataclass("Made", [("a", Any, ({b"a": 1, "YQ==": 2},)), ("b", Any, 3), ("c", Any, Money())])
    properties = typed.schema(cls)["$defs"]["Made"]["properties"]
    assert properties == {"a": {}, "b": {"default": 3}, "c": {}}
