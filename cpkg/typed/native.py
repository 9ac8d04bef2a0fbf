# SPDX-License-Identifier: Apache-2.0
"""Describe a type for the compiled module, in the form that ffi_build/msgpack/typed/table.c reads."""

from __future__ import annotations

import copyreg
import datetime
import sys
from array import array
from decimal import Decimal
from functools import partial
from itertools import islice

from cpkg.objects import types_written
from cpkg.typed.annotations import unique_keys
from cpkg.typed.inputs import Message
from cpkg.typed.kept import pickled_as_none
from cpkg.typed.nodes import ARRAY, BIN, BOOL, EXT, FLOAT, INT, MAP, MISSING, NIL, STR, TEXT_KINDS, is_default
from cpkg.typed.readers import Mismatch, Refused, as_tuples
from cpkg.typed.source import packed_key, packed_texts
from cpkg.typed.texts import DATE, DATETIME
from purepy.base.lazy import imported
from purepy.msgpack import formats

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Final, Protocol

    from cpkg._backend_protocols import Function
    from cpkg.typed.functions import Functions
    from cpkg.typed.nodes import Checks, Field, Node
    from purepy.base.types import Named

    class Table(Protocol):
        """A TypedTable, which C implements."""

        def decode(self, data: bytes, depth: int, room: int, /) -> object: ...


KINDS: Final = (
    "slow", "any", "none", "bool", "int", "float", "str", "bytes", "extension", "ext", "raw", "custom", "numbers",
    "list", "set", "frozenset", "tuple", "fixed tuple", "dict", "object", "row", "choice", "union",
)  # fmt: skip
"""The kinds of nodes, in the order of their numbers in `enum typed_kind`."""

_SLOW_KINDS: Final = [KINDS.index(kind) for kind in ("slow", "extension", "choice", "union")]
"""Kinds for which C leaves some or all values to a Python function."""

_SET, _KEYWORD, _POSITION, _DICT = range(4)
_REQUIRED, _VALUE, _FACTORY, _NEW_LIST, _NEW_DICT, _ABSENT = range(6)
_MOST_FIELDS: Final = 64
_FIRST_TEXTS: Final = 8
"""The most texts of an enum, literal or tag to compare one by one, before a lookup in a table."""
_CODES, _OBJECTS, _TEXTS, _NOTHING = 0xFC, 0xFD, 0xFE, 0xFF
_SIGNS: Final = {"gt": ">", "ge": "g", "lt": "<", "le": "l"}
_SCALARS: Final = ("none", "bool", "int", "float", "str", "bytes")


def _family(byte: int) -> str | None:
    """Return the family of values with this first byte; None for 0xc1, which begins no value."""
    family = formats.FAMILY[byte]
    if family == formats.IMMEDIATE:
        return NIL if byte == 0xC0 else BOOL if byte in (0xC2, 0xC3) else INT
    if family == formats.NUMBER:
        return FLOAT if byte <= 0xCB else INT
    names = {formats.STR: STR, formats.BIN: BIN, formats.ARRAY: ARRAY, formats.MAP: MAP, formats.EXT: EXT}
    return names.get(family)


def make_table(table: Function, node: Node, functions: Functions) -> Table:
    """Return a TypedTable for a type; `functions` decode the values that C leaves to Python."""
    made: Table = table(_Describer(functions).describe_all(node), Mismatch, Refused, types_written.unpack_ext)
    return made


def make_class(module: Named, node: Node) -> object:
    """Return a TypedClass that encodes the objects of a class; None for more than _MOST_FIELDS fields."""
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
        self._indexes: dict[int, int] = {}
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
        """Return the index of a node's description in the table; the description itself is written later."""
        number = self._indexes.get(id(node))
        if number is None:
            number = self._indexes[id(node)] = len(self._specs)
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
        if spec["kind"] in _SLOW_KINDS:
            spec["slow"] = self._functions.namespace[self._functions.walk(node)]
        if node.checks is not None:
            _describe_checks(node.checks, node, spec)

    def _bytes(self, node: Node, spec: dict[str, object]) -> None:
        spec["kind"] = KINDS.index("bytes")
        if node.cls is not bytes:
            spec["made"] = node.cls
        if node.cls is memoryview:
            spec["hook"] = imported("cpkg.typed.arrays").view_extension

    def _numbers(self, node: Node, spec: dict[str, object]) -> None:
        numbers = node.numbers
        spec.update(kind=KINDS.index("numbers"), hook=numbers.read_extension, required=numbers.dims)
        if node.cls is not array:
            bits = [5 * "biufc".find(item[0]) + int(item[1:]).bit_length() - 1 for item in numbers.items]
            spec["numpy_items"] = sum(1 << bit for bit in bits if bit >= 0)
        if numbers.format == "e":  # the C code does not support floats of two bytes
            spec["slow"] = self._functions.namespace[self._functions.walk(node)]
        elif numbers.format is not None:
            made = numbers.maker(numbers.format) if numbers.format else numbers.maker
            spec.update(made=made, code=ord(numbers.format or "\0"))

    def _extension(self, node: Node, spec: dict[str, object]) -> None:
        spec.update(kind=KINDS.index("extension"), code=node.families[-1])

    _datetime = _date = _time = _timedelta = _uuid = _decimal = _timestamp = _extension

    def _custom(self, node: Node, spec: dict[str, object]) -> None:
        if self._functions.hook is None:
            spec["kind"] = 0
        else:
            spec.update(kind=KINDS.index("custom"), cls=node.cls, hook=self._functions.hook)

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
        spec["kind"] = KINDS.index("choice")
        spec["by_str"] = _table_of(node, str)
        spec["by_int"] = _table_of(node, int)
        spec["texts"] = _first_texts(node.table)
        if node.kind == "enum" and node.item is None:
            spec["made"] = node.cls
        if node.checks is None and node.table.get((type(None), None), MISSING) is None:
            spec["nullable"] = True
        if node.kind == "choice" and node.item is not None:
            spec["item"] = self._number(node.item)

    _literal = _choice = _enum

    def _union(self, node: Node, spec: dict[str, object]) -> None:
        by_family = dict(node.by_family)
        texts = [part for part in node.parts if _takes_text(part)]
        several = bool(texts)  # whether several parts may accept text
        values = by_family.get(STR)
        if values is not None:
            several &= bool(values.table) and values.item is None
            if several and values.checks is None:
                spec["by_str"] = _table_of(values, str)
                if len(texts) == 1 and values.kind != "enum":  # an enum's `_missing_` may accept any text
                    spec["item"] = self._number(texts[0])
        elif len(texts) == 1:
            by_family[STR] = texts[0]
            several = False
        # parts that are chosen by a first byte come first: their indices must fit in a byte
        parts = list(dict.fromkeys([*by_family.values(), *node.parts]))
        codes = [by_family.get(code, by_family.get(EXT)) for code in (*range(128), *range(-128, 0))]
        by_byte = bytearray()
        for byte in range(256):
            family = _family(byte)
            part = None if family is None else by_family.get(family)
            if part is None and family == INT:
                part = by_family.get(FLOAT)
            if family == STR and several:
                by_byte.append(_TEXTS)
            elif family == EXT:
                by_byte.append(_CODES)
            elif part is None:
                by_byte.append(_NOTHING)
            else:
                by_byte.append(_OBJECTS if family == MAP and node.objects else parts.index(part))
        spec.update(
            kind=KINDS.index("union"),
            parts=[self._number(part) for part in parts],
            by_byte=bytes(by_byte),
            by_code=bytes([_NOTHING if part is None else parts.index(part) for part in codes]),
        )
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


def _table_of(node: Node, kind: type) -> dict[object, object] | None:
    """
    Return a dict from the values of one type in an enum or literal to its members; None if there are no such values.
    """
    return {value: member for (of, value), member in node.table.items() if of is kind} or None


def _first_texts(table: Mapping[tuple[type, Any], object]) -> dict[bytes, object]:
    """Return up to _FIRST_TEXTS entries of a table whose values are text, by the packed form of the text."""
    return dict(islice(packed_texts(table).items(), _FIRST_TEXTS))


def _takes_text(node: Node) -> bool:
    """Return whether a type that is not packed as text also accepts text."""
    return node.kind in TEXT_KINDS or (node.kind == "union" and any(map(_takes_text, node.parts)))


def _describe_hashed(node: Node, spec: dict[str, object]) -> None:
    """Note in `spec` that hashing items or keys of the type `node` may run Python code, unless `node` is scalar."""
    if node.kind not in _SCALARS:
        spec["runs_python"] = True
        spec["as_tuples"] = as_tuples


def _describe_tag(tag: tuple[str, dict[tuple[type, Any], Node]], parts: list[Node], spec: dict[str, object]) -> None:
    """Describe how the value of one key selects an object of a union."""
    key, values = tag
    numbers = {value: parts.index(part) for value, part in values.items()}
    spec["tag"] = packed_key(key)
    spec["tag_text_size"] = len(key.encode())
    spec["texts"] = _first_texts(numbers)
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
    """
    Describe constraints in `spec`; a Python function checks the predicates.

    If C does not support one of the other constraints, that function checks all constraints.
    """
    spec["checked"] = True
    left = set(checks.given()) - {"predicates"}
    if node.rechecks():
        left = _describe_known_checks(checks, node, spec, left)
    if left:
        spec["problem"] = checks.problem
    elif checks.predicates:
        spec["problem"] = checks.predicate


def _describe_known_checks(checks: Checks, node: Node, spec: dict[str, object], given: set[str]) -> set[str]:
    """Describe those constraints in `given` that C supports; return the names of the others."""
    bounds = {name: getattr(checks, name) for name in given & _SIGNS.keys()}
    if all(map(_compares_in_c, bounds.values())):
        spec["bounds"] = [(_SIGNS[name], bound) for name, bound in bounds.items()]
        given = given - bounds.keys()
    if node.kind in ("str", "array", "tuple", "dict") or (node.kind == "bytes" and node.cls is bytes):
        spec.update(min_len=checks.min_len, max_len=checks.max_len)
        given = given - {"min_len", "max_len"}
    if checks.pattern is not None and node.kind == "str":
        spec["search"] = checks.pattern.search
        given = given - {"pattern"}
    if checks.tz is not MISSING:
        spec["is_aware"] = bool(checks.tz)
        given = given - {"tz"}
    return given


def _compares_in_c(bound: object) -> bool:
    """Return whether C can compare values with a bound without running Python code."""
    zone = getattr(bound, "tzinfo", None)
    return type(bound) in _COMPARED and (zone is None or type(zone) is datetime.timezone)


_COMPARED: Final = frozenset((
    int, float, str, bytes, Decimal, DATE, DATETIME, datetime.time, datetime.timedelta
))  # fmt: skip
