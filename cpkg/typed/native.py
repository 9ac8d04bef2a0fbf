# SPDX-License-Identifier: Apache-2.0
"""Describes a type to the compiled module, as ffi_build/msgpack/typed/table.c reads it."""

from __future__ import annotations

import copyreg
import sys
from functools import partial

from cpkg.objects import types_written
from cpkg.typed.annotations import unique_keys
from cpkg.typed.inputs import Message
from cpkg.typed.kept import pickled_as_none
from cpkg.typed.nodes import ARRAY, BIN, BOOL, EXT, FLOAT, INT, MAP, MISSING, NIL, STR, TEXT_KINDS, is_default
from cpkg.typed.readers import Mismatch, Refused, as_tuples
from cpkg.typed.source import packed_key
from purepy.msgpack import formats

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final, Protocol

    from cpkg._backend_protocols import Function
    from cpkg.typed.functions import Functions
    from cpkg.typed.nodes import Checks, Field, Node
    from purepy.base.types import Named

    class Table(Protocol):
        """A TypedTable of C."""

        def decode(self, data: bytes, depth: int, room: int, /) -> object: ...


KINDS: Final = (
    "slow", "any", "none", "bool", "int", "float", "str", "bytes", "datetime", "list", "set", "frozenset", "tuple",
    "fixed tuple", "dict", "object", "row", "choice", "union",
)  # fmt: skip
"""The kinds of nodes, by their numbers in `enum typed_kind`."""

_SLOW_KINDS: Final = [KINDS.index(kind) for kind in ("slow", "datetime", "choice", "union")]
"""Kinds of which C leaves some values, or all, to a function of Python."""

_SET, _KEYWORD, _POSITION, _DICT = range(4)
_REQUIRED, _VALUE, _FACTORY, _NEW_LIST, _NEW_DICT, _ABSENT = range(6)
_MOST_FIELDS: Final = 64
_OBJECTS, _SLOW, _NOTHING = 0xFD, 0xFE, 0xFF
_SCALARS: Final = ("none", "bool", "int", "float", "str", "bytes")


def _family(byte: int) -> str | None:
    """Return the family of the values that begin with a byte."""
    family = formats.FAMILY[byte]
    if family == formats.IMMEDIATE:
        return NIL if byte == 0xC0 else BOOL if byte in (0xC2, 0xC3) else INT
    if family == formats.NUMBER:
        return FLOAT if byte <= 0xCB else INT
    names = {formats.STR: STR, formats.BIN: BIN, formats.ARRAY: ARRAY, formats.MAP: MAP, formats.EXT: EXT}
    return names.get(family)


def make_table(table: Function, node: Node, functions: Functions) -> Table:
    """Return a TypedTable for a type; what it leaves to Python goes to `functions`."""
    made: Table = table(_Describer(functions).describe_all(node), Mismatch, Refused, types_written.unpack_ext)
    return made


def make_class(module: Named, node: Node) -> object:
    """Return a TypedClass for the objects of a class that are encoded; None for one of too many fields."""
    if len(node.written) > _MOST_FIELDS:
        return None
    copyreg.pickle(module.TypedClass, pickled_as_none)
    fields = [
        {
            **_describe_field(field),
            "slot": field.slot,
            **({"is_default": partial(is_default, field)} if field in node.omitted else {}),
        }
        for field in node.written
    ]
    return module.TypedClass(node.cls, fields, node.array_like, bool(node.omitted))


class _Describer:
    def __init__(self, functions: Functions) -> None:
        self._functions = functions
        self._numbers: dict[int, int] = {}
        self._todo: list[tuple[Node, bool, dict[str, object]]] = []
        self._kept: list[Node] = []

    def describe_all(self, node: Node) -> list[dict[str, object]]:
        specs: list[dict[str, object]] = []
        self._specs = specs
        self._number(node)
        while self._todo:
            part, nullable, spec = self._todo.pop()
            self._describe(part, spec)
            if nullable:
                spec["nullable"] = True
        return specs

    def _number(self, node: Node) -> int:
        """Return the number of a node's description, which is written later."""
        number = self._numbers.get(id(node))
        if number is None:
            number = self._numbers[id(node)] = len(self._specs)
            others = [part for part in node.parts if part.kind != "none"]
            optional = node.kind == "union" and len(others) == 1 and node.checks is None
            self._kept.append(node)
            self._specs.append({})
            self._todo.append((others[0] if optional else node, optional, self._specs[number]))
        return number

    def _describe(self, node: Node, spec: dict[str, object]) -> None:
        kind = node.kind
        if node.extra:
            spec.update(extra=node.extra, extra_item=node.extra_item)
        write = getattr(self, "_" + kind, None)
        if write is not None:
            spec["kind"] = -1
            write(node, spec)
        elif kind in KINDS:
            spec["kind"] = KINDS.index(kind)
        else:
            spec["kind"] = 0
        if node.checks is not None and spec["kind"]:
            if kind in ("enum", "literal", "choice", "datetime"):
                spec.clear()
                spec["kind"] = 0
            else:
                _describe_checks(node.checks, node, spec)
        if spec["kind"] in _SLOW_KINDS:
            spec["slow"] = self._functions.namespace[self._functions.walk(node)]

    def _bytes(self, node: Node, spec: dict[str, object]) -> None:
        spec["kind"] = KINDS.index("bytes")
        if node.cls is not bytes:
            spec["made"] = node.cls

    def _array(self, node: Node, spec: dict[str, object]) -> None:
        name = node.cls.__name__
        spec.update(kind=KINDS.index(name if name in KINDS else "list"), item=self._number(node.item))
        if name not in KINDS:
            spec["made"] = node.cls
        if node.cls in (set, frozenset):
            _describe_hashed(node.item, spec)

    def _tuple(self, node: Node, spec: dict[str, object]) -> None:
        spec.update(kind=KINDS.index("fixed tuple"), parts=[self._number(part) for part in node.parts])

    def _dict(self, node: Node, spec: dict[str, object]) -> None:
        spec.update(kind=KINDS.index("dict"), key=self._number(node.key), item=self._number(node.item))
        if node.cls is not dict:
            spec["made"] = node.cls
        _describe_hashed(node.key, spec)

    def _enum(self, node: Node, spec: dict[str, object]) -> None:
        if all(family in (STR, INT) for family in node.families):
            spec["kind"] = KINDS.index("choice")
            for name, kind in (("by_str", str), ("by_int", int)):
                table = {value: member for (of, value), member in node.table.items() if of is kind}
                if table:
                    spec[name] = table
            if node.kind == "choice" and node.item is not None:
                spec["item"] = self._number(node.item)
        else:
            spec["kind"] = 0

    _literal = _choice = _enum

    def _union(self, node: Node, spec: dict[str, object]) -> None:
        # parts that a first byte chooses come first: their numbers are bytes
        parts = list(dict.fromkeys([*node.by_family.values(), *node.parts]))
        has_text = any(part.kind in TEXT_KINDS for part in parts)
        by_byte = bytearray()
        for byte in range(256):
            family = _family(byte)
            part = None if family is None else node.by_family.get(family)
            if part is None and family == INT:
                part = node.by_family.get(FLOAT)
            slow = family == EXT and any(isinstance(code, int) or code == EXT for code in node.by_family)
            slow |= family == STR and has_text and (part is None or bool(part.table and not part.item))
            if slow:
                by_byte.append(_SLOW)
            elif part is None:
                by_byte.append(_NOTHING)
            else:
                by_byte.append(_OBJECTS if family == MAP and node.objects else parts.index(part))
        spec.update(kind=KINDS.index("union"), parts=[self._number(part) for part in parts], by_byte=bytes(by_byte))
        if node.tag is not None:
            _describe_tag(node.tag, parts, spec)
        elif node.objects:
            unique: dict[str, int] = {}
            choices = []
            for part, keys in unique_keys(node):
                for key in keys:
                    unique[key] = len(unique)
                choices.append((parts.index(part), len(unique)))
            spec.update(unique=unique, choices=choices)

    def _object(self, node: Node, spec: dict[str, object]) -> None:
        spec.update(
            kind=KINDS.index("row" if node.array_like else "object"),
            cls=node.cls,
            fields=[self._field(field, node) for field in node.fields],
            required=sum(field.required for field in node.fields),
        )
        if node.forbid or node.style == "namedtuple":
            spec["forbid"] = True
        if node.passed:
            spec["passed"] = node.passed
        if node.style == "typeddict":
            spec["build"] = _DICT
        elif node.style == "namedtuple":
            spec["build"] = _POSITION
        elif node.build == "set":
            spec["build"] = _SET
            if node.post_init:
                spec["post_init"] = sys.intern("__post_init__")
        else:
            spec.update(build=_KEYWORD, keywords=tuple([sys.intern(field.parameter) for field in node.fields]))

    def _field(self, field: Field, node: Node) -> dict[str, object]:
        spec = {**_describe_field(field), "node": self._number(field.node)}
        if node.build == "set":
            spec["slot"] = field.slot
        return spec


def _describe_hashed(node: Node, spec: dict[str, object]) -> None:
    """Describe the items of a set or the keys of a dict."""
    if node.kind not in _SCALARS:
        spec["runs_python"] = True
        spec["as_tuples"] = as_tuples


def _describe_tag(tag: tuple[str, dict[tuple[type, Any], Node]], parts: list[Node], spec: dict[str, object]) -> None:
    """Describe how the objects of a union differ by the value of one key."""
    key, values = tag
    numbers = {value: parts.index(part) for value, part in values.items()}
    spec["tag"] = packed_key(key)
    spec["tag_text_size"] = len(key.encode())
    spec["tag_values"] = {value: number for (of, value), number in numbers.items() if of in (int, str)}
    if not all(of in (int, str) for of, _ in numbers):

        def choose(data: bytes, position: int) -> int:
            value = Message(data, {}).look(position)[1]
            return numbers.get((type(value), value), -1)

        spec["choose"] = choose


def _describe_field(field: Field) -> dict[str, object]:
    spec: dict[str, object] = {
        "name": sys.intern(str(field.name)),
        "packed": packed_key(field.key),
        "text_size": len(field.key.encode()),
    }
    if field.factory is not None:
        spec["fallback"] = field.factory
        spec["how"] = _NEW_LIST if field.factory is list else _NEW_DICT if field.factory is dict else _FACTORY
    elif field.default is not MISSING:
        spec.update(how=_VALUE, fallback=field.default)
    elif not field.required:
        spec["how"] = _ABSENT
    if field.extra:
        spec["extra"] = field.extra
    return spec


def _describe_checks(checks: Checks, node: Node, spec: dict[str, object]) -> None:
    """Describe constraints; those that C does not know are one function that asks for all of them."""
    spec["checked"] = True
    if not node.rechecks():
        spec["problem"] = checks.problem
        return
    left = checks.multiple_of is not None or checks.tz is not MISSING or bool(checks.predicates)
    bounds = [
        (sign, bound)
        for sign, bound in ((">", checks.gt), ("g", checks.ge), ("<", checks.lt), ("l", checks.le))
        if bound is not None
    ]
    if node.kind in ("int", "float") and all(
        (type(bound) is int and -(2**53) <= bound <= 2**53) or (type(bound) is float and node.kind == "float")
        for _, bound in bounds
    ):
        spec["bounds"] = bounds
    else:
        left |= bool(bounds)
    if node.kind in ("str", "array", "tuple", "dict") or (node.kind == "bytes" and node.cls is bytes):
        spec.update(min_len=checks.min_len, max_len=checks.max_len)
    else:
        left |= checks.min_len is not None or checks.max_len is not None
    if checks.pattern is not None:
        if node.kind == "str":
            spec["search"] = checks.pattern.search
        else:
            left = True
    if left:
        spec["problem"] = checks.problem
