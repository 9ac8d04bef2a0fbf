# SPDX-License-Identifier: Apache-2.0
"""Types described: JSON Schema 2020-12 for other programs, plain dicts for tools in Python."""

from __future__ import annotations

import inspect as _inspect

from cpkg.typed.annotations import Model
from cpkg.typed.builtin_types import builtins_of
from cpkg.typed.nodes import MISSING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

    from cpkg.typed.nodes import Checks, Field, Node

_PLAIN: Final[dict[str, dict[str, object]]] = {
    "any": {},
    "raw": {},
    "custom": {},
    "none": {"type": "null"},
    "bool": {"type": "boolean"},
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "str": {"type": "string"},
    "bytes": {"type": "string", "contentEncoding": "base64"},
    "ext": {},
    "timestamp": {"type": "string", "format": "date-time"},
    "datetime": {"type": "string", "format": "date-time"},
    "date": {"type": "string", "format": "date"},
    "time": {"type": "string", "format": "time"},
    "timedelta": {"type": "string", "format": "duration"},
    "uuid": {"type": "string", "format": "uuid"},
    "decimal": {"type": "string", "format": "decimal"},
}


def schema(type: object) -> dict[str, object]:
    """
    Return the JSON Schema (2020-12) of a type, as a dict.

    It describes what `to_builtins` makes of the type's values, with keys in the place of names. Classes are under
    `$defs`. Raises TypeError for a type that cannot be decoded.
    """
    maker = _Maker()
    made = maker.describe(Model(hooked=True).read(type))
    result = {"$schema": "https://json-schema.org/draft/2020-12/schema", **made}
    if maker.definitions:
        result["$defs"] = maker.definitions
    return result


class _Maker:
    """Makes the parts of a schema; those of classes once each."""

    def __init__(self) -> None:
        self.definitions: dict[str, object] = {}
        self._names: dict[int, str] = {}
        self._open: set[int] = set()

    def describe(self, node: Node) -> dict[str, object]:
        shared = node.kind in ("object", "enum") or (id(node) in self._open)
        if not shared:
            self._open.add(id(node))
            made = self._made(node)
            self._open.discard(id(node))
            if id(node) in self._names:  # an alias that refers to itself
                self.definitions[self._names[id(node)]] = made
                made = self._reference(node)
        else:
            if id(node) not in self._names and node.kind in ("object", "enum"):
                name = self._name(node)
                self.definitions[name] = {}
                self.definitions[name] = self._made(node)
            self._name(node)
            made = self._reference(node)
        return {**made, **_constraints(node.checks, node)} if node.checks is not None else made

    def _name(self, node: Node) -> str:
        if id(node) not in self._names:
            name = base = node.name
            count = 1
            while name in self._names.values():
                count += 1
                name = f"{base}_{count}"
            self._names[id(node)] = name
        return self._names[id(node)]

    def _reference(self, node: Node) -> dict[str, object]:
        name = self._names[id(node)].replace("~", "~0").replace("/", "~1")
        return {"$ref": f"#/$defs/{name}"}

    def _made(self, node: Node) -> dict[str, object]:
        kind = node.kind
        if kind in _PLAIN:
            return dict(_PLAIN[kind])
        if kind == "array":
            made: dict[str, object] = {"type": "array", "items": self.describe(node.item)}
            return {**made, "uniqueItems": True} if node.cls in (set, frozenset) else made
        if kind == "tuple":
            count = len(node.parts)
            made = {"type": "array", "minItems": count, "maxItems": count, "items": False}
            return {**made, "prefixItems": [self.describe(part) for part in node.parts]} if count else made
        if kind == "dict":
            made = {"type": "object", "additionalProperties": self.describe(node.item)}
            if node.key.checks is not None:
                made["propertyNames"] = _constraints(node.key.checks, node.key)
            return made
        if kind in ("enum", "literal"):
            values = [builtins_of(value, (), None, lambda cls: None) for _, value in node.table]
            made = {"const": values[0]} if kind == "literal" and len(values) == 1 else {"enum": values}
            return {**made, "title": node.name} if kind == "enum" else made
        if kind == "union":
            return {"anyOf": [self.describe(part) for part in node.parts]}
        return self._object(node)

    def _object(self, node: Node) -> dict[str, object]:
        made: dict[str, object] = {"title": node.name}
        # its own alone, read through the class: on 3.15 a dataclass keeps what makes the text there
        doc = node.cls.__doc__ if "__doc__" in vars(node.cls) else None
        if doc and not doc.startswith((f"{node.cls.__name__}(", "Alias for")):
            made["description"] = _inspect.cleandoc(doc)
        properties = {field.key: self._field(field) for field in node.fields}
        required = [field.key for field in node.fields if field.required]
        if node.array_like:
            made.update(type="array", prefixItems=list(properties.values()), minItems=len(required))
            if node.forbid or node.style == "namedtuple":
                made["maxItems"] = len(properties)
            return made
        made.update(type="object", properties=properties)
        if required:
            made["required"] = required
        if node.forbid:
            made["additionalProperties"] = False
        return made

    def _field(self, field: Field) -> dict[str, object]:
        made = self.describe(field.node)
        if field.default is not MISSING:
            try:
                made = {**made, "default": builtins_of(field.default, (), None, lambda cls: None)}
            except TypeError:
                pass
        return made


def _constraints(checks: Checks, node: Node) -> dict[str, object]:
    sizes = {"str": "Length", "bytes": "Length", "dict": "Properties"}
    size = sizes.get(node.kind, "Items")
    found = {
        "exclusiveMinimum": checks.gt,
        "minimum": checks.ge,
        "exclusiveMaximum": checks.lt,
        "maximum": checks.le,
        "multipleOf": checks.multiple_of,
        f"min{size}": checks.min_len,
        f"max{size}": checks.max_len,
        "pattern": None if checks.pattern is None else checks.pattern.pattern,
    }
    return {name: builtins_of(value, (), None, lambda cls: None) for name, value in found.items() if value is not None}


def inspect(type: object) -> dict[str, Any]:
    """
    Return what a type is, for tools: a dict with "kind", "name", "type" and what belongs to the kind.

    The kinds are "int", "array", "dict", "union", "object" and so on. Objects have "fields", a list of dicts
    with "name", "key", "type", "required", "default" and "factory" (the last two if there is one); arrays have "item",
    maps "key" and "item", tuples and unions "parts", enums and literals "values"; constraints are under "checks". What
    refers to itself is the same dict again. Raises TypeError for a type that cannot be decoded.
    """
    made: dict[int, dict[str, object]] = {}

    def describe(node: Node) -> dict[str, object]:
        if id(node) in made:
            return made[id(node)]
        result = made[id(node)] = {"kind": node.kind, "name": node.name, "type": node.cls}
        if node.item is not None:
            result["item"] = describe(node.item)
        if node.key is not None:
            result["key"] = describe(node.key)
        if node.parts:
            result["parts"] = [describe(part) for part in node.parts]
        if node.table:
            result["values"] = [value for _, value in node.table]
        if node.checks is not None:
            every = {name: getattr(node.checks, name) for name in node.checks.__slots__}
            result["checks"] = {name: value for name, value in every.items() if value not in (None, MISSING, ())}
        if node.kind == "object":
            result["array_like"], result["forbid_unknown_fields"] = node.array_like, node.forbid
            result["fields"] = [
                {
                    "name": field.name,
                    "key": field.key,
                    "type": describe(field.node),
                    "required": field.required,
                    **({} if field.default is MISSING else {"default": field.default}),
                    **({} if field.factory is None else {"factory": field.factory}),
                }
                for field in node.fields
            ]
        return result

    return describe(Model(hooked=True).read(type))
