# SPDX-License-Identifier: Apache-2.0
"""Describe types: as JSON Schema 2020-12 for other programs, and as dicts for Python tools."""

from __future__ import annotations

import contextlib
import enum
import inspect as _inspect
import math
from urllib.parse import quote

from cpkg.typed.annotations import Model
from cpkg.typed.builtin_types import builtins_of
from cpkg.typed.nodes import MISSING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, Final

    from cpkg.typed.nodes import Checks, Field, Node

_PLAIN: Final[dict[str, dict[str, object]]] = {
    "any": {},
    "raw": {},
    "custom": {},
    "unset": {"not": {}},
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


def schema(
    type: object,
    *,
    ref_template: str = "#/$defs/{name}",
    schema_hook: Callable[[type], dict[str, object] | None] | None = None,
    namespace: Mapping[str, object] | None = None,
) -> dict[str, object]:
    """
    Return the JSON Schema (2020-12) of a type, as a dict.

    The schema describes the result of `to_builtins` for values of the type: its properties are the keys of the fields,
    not their names. Text in a field's Annotated becomes its description, and a `Title` its title. Classes and Enums are
    under `$defs`. `ref_template` is a reference to one of them, with `{name}` for its name: change it if you move the
    definitions. `schema_hook(cls)` returns the schema of a class that only a `dec_hook` can create, or None for a
    schema that accepts anything. `namespace` is the same as for `Decoder`. Raises TypeError for a type that cannot be
    decoded.
    """
    maker = _Maker(ref_template, schema_hook)
    made = maker.describe(Model(hooked=True, namespace=namespace).read(type))
    maker.finish()
    result = {"$schema": "https://json-schema.org/draft/2020-12/schema", **made}
    if maker.definitions:
        result["$defs"] = maker.definitions
    return result


class _Maker:
    """Creates the parts of a schema, once for each class."""

    def __init__(self, ref_template: str, hook: Callable[[type], dict[str, object] | None] | None) -> None:
        self.definitions: dict[str, object] = {}
        self._ref_template = ref_template
        self._hook = hook
        self._names: dict[int, str] = {}
        self._open: set[int] = set()
        self._todo: list[Node] = []  # referenced classes, which are described later, since they may nest deep

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
                self._todo.append(node)
            self._name(node)
            made = self._reference(node)
        return {**made, **_constraints(node.checks, node)} if node.checks is not None else made

    def finish(self) -> None:
        """Add the schemas of all referenced classes to `definitions`."""
        while self._todo:
            node = self._todo.pop(0)
            self.definitions[self._name(node)] = self._made(node)

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
        return {"$ref": self._ref_template.replace("{name}", quote(name))}

    def _made(self, node: Node) -> dict[str, object]:
        kind = node.kind
        if kind == "custom" and self._hook is not None:
            return self._hook(node.cls) or {}
        if kind in _PLAIN:
            return dict(_PLAIN[kind])
        if kind == "array":
            made: dict[str, object] = {"type": "array", "items": self.describe(node.item)}
            return {**made, "uniqueItems": True} if node.cls in (set, frozenset) else made
        if kind == "numbers":
            return {"type": "array"} if node.item is None else self._made(node.item)
        if kind == "tuple":
            return _row([self.describe(part) for part in node.parts], len(node.parts), closed=True)
        if kind == "dict":
            made = {"type": "object", "additionalProperties": self.describe(node.item)}
            if node.key.checks is not None:
                made["propertyNames"] = _constraints(node.key.checks, node.key)
            return made
        if kind in ("enum", "literal"):
            return self._choice(node)
        if kind in ("union", "choice"):
            return {"anyOf": [self.describe(part) for part in node.alternatives()]}
        return self._object(node)

    def _choice(self, node: Node) -> dict[str, object]:
        if node.kind == "enum" and issubclass(node.cls, enum.Flag):  # combined members are values as well
            return {"type": "integer", "title": node.name}
        values = [_builtins(value) for _, value in node.table]
        made: dict[str, object] = (
            {"const": values[0]} if node.kind == "literal" and len(values) == 1 else {"enum": values}
        )
        return {**made, "title": node.name} if node.kind == "enum" else made

    def _object(self, node: Node) -> dict[str, object]:
        made: dict[str, object] = {"title": node.name}
        # only its own docstring, read through the class: on 3.15, `vars` of a dataclass has no text yet
        doc = node.cls.__doc__ if "__doc__" in vars(node.cls) else None
        if doc and not doc.startswith((f"{node.cls.__name__}(", "Alias for")):
            made["description"] = _inspect.cleandoc(doc)
        # the fields that are read and those that are written; keys that are only written are skipped when read
        properties = {field.key: self._field(field) for field in (*node.written, *node.fields)}
        for key in node.passed:
            properties[key] = {**properties[key], "readOnly": True}
        written = {field.key for field in node.written}
        required = [field.key for field in node.fields if field.required and field.key in written]
        if node.array_like:
            closed = node.forbid or node.style == "namedtuple"
            return {**made, **_row(list(properties.values()), len(required), closed=closed)}
        made.update(type="object", properties=properties)
        if required:
            made["required"] = required
        if node.forbid:
            made["additionalProperties"] = False
        return made

    def _field(self, field: Field) -> dict[str, object]:
        made = self.describe(field.node)
        made = {**made, **_texts(field)}
        if field.default is not MISSING:
            with contextlib.suppress(TypeError, ValueError):
                made = {**made, "default": _builtins(field.default)}
        return made


def _texts(field: Field) -> dict[str, object]:
    """Return the title and the description of a field, as a part of its schema; an empty dict if it has neither."""
    return {name: text for name, text in (("title", field.title), ("description", field.doc)) if text}


def _builtins(value: object) -> object:
    return builtins_of(value, (), None, lambda cls: None)


def _row(items: list[dict[str, object]], least: int, *, closed: bool) -> dict[str, object]:
    """
    Return the schema of an array with one schema per item, the first `least` required; `closed` allows no more items.
    """
    made: dict[str, object] = {"type": "array", "minItems": least}
    if items:  # in JSON Schema, this list must not be empty
        made["prefixItems"] = items
    return {**made, "maxItems": len(items)} if closed else made


def _constraints(checks: Checks, node: Node) -> dict[str, object]:
    """Return the JSON Schema keywords for constraints. Predicates, and bounds of values shown as text, have none."""
    made: dict[str, object] = {}
    if node.kind in _NUMBERS:
        step: Any = checks.multiple_of
        bounds: dict[str, Any] = {
            "exclusiveMinimum": checks.gt,
            "minimum": checks.ge,
            "exclusiveMaximum": checks.lt,
            "maximum": checks.le,
            "multipleOf": abs(step) if step else None,
        }
        made = {name: bound for name, bound in bounds.items() if type(bound) in (int, float) and math.isfinite(bound)}
    size = _SIZES.get(node.kind, "Items")
    for name, length in ((f"min{size}", checks.min_len), (f"max{size}", checks.max_len)):
        if length is not None:
            made[name] = (length + 2) // 3 * 4 if node.kind == "bytes" else length  # the length of the base64 text
    if checks.pattern is not None:
        made["pattern"] = checks.pattern.pattern
    return made


_NUMBERS: Final = ("int", "float", "any", "custom")
_SIZES: Final = {"str": "Length", "bytes": "Length", "dict": "Properties"}


def inspect(type: object, *, namespace: Mapping[str, object] | None = None) -> dict[str, Any]:
    """
    Describe a type for tools: a dict with "kind", "name", "type" and further keys that depend on the kind.

    Kinds are "int", "array", "dict", "union", "object" and so on. Objects have "fields", a list of dicts with "name",
    "key", "type" (again such a dict) and "required", and, if the field has one, "default", "factory", "title" and
    "description". Objects also have "array_like" and "forbid_unknown_fields". Arrays have "item", dicts "key" and
    "item", tuples and unions "parts", enums and literals "values". Constraints are under "checks". A type that refers
    to itself contains its own dict. `namespace` is the same as for `Decoder`. Raises TypeError for a type that cannot
    be decoded.
    """
    root = Model(hooked=True, namespace=namespace).read(type)
    nodes = root.walk()
    made: dict[int, dict[str, Any]] = {
        number: {"kind": "union" if node.kind == "choice" else node.kind, "name": node.name, "type": node.cls}
        for number, node in nodes.items()
    }
    for number, node in nodes.items():
        result = made[number]
        if node.kind in ("union", "choice"):
            result["parts"] = [made[id(part)] for part in node.alternatives()]
        elif node.item is not None:
            result["item"] = made[id(node.item)]
        if node.key is not None:
            result["key"] = made[id(node.key)]
        if node.kind == "tuple":
            result["parts"] = [made[id(part)] for part in node.parts]
        if node.kind in ("enum", "literal"):
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
                    "type": made[id(field.node)],
                    "required": field.required,
                    **({} if field.default is MISSING else {"default": field.default}),
                    **({} if field.factory is None else {"factory": field.factory}),
                    **_texts(field),
                }
                for field in node.fields
            ]
    return made[id(root)]
