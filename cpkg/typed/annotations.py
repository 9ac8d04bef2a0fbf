# SPDX-License-Identifier: Apache-2.0
"""
Annotations to nodes: reads a type as it is written in Python and refuses with TypeError what has no one meaning.

`typing` differs between Python 3.9 and 3.15 and typing_extensions: forms of types are recognized by their attributes
(`__supertype__`, `__value__`), or looked up by name in whichever of the two modules are there.
"""

from __future__ import annotations

import collections
import collections.abc
import dataclasses
import datetime
import enum
import typing
from decimal import Decimal
from uuid import UUID

from cpkg.typed.class_options import ATTRIBUTE, Name, key_of
from cpkg.typed.constraints import add_check, flat, refuse_misfits
from cpkg.typed.fields import (
    attrs_fields,
    dataclass_fields,
    hints_of,
    namedtuple_fields,
    scopes_of,
    settable,
    special,
    typeddict_fields,
)
from cpkg.typed.nodes import ARRAY, EXT, FAMILIES, MAP, MISSING, NIL, Checks, Node
from purepy.msgpack.ext import ExtType, Raw, Timestamp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Final

    from cpkg.typed.class_options import Rename
    from cpkg.typed.fields import Fields, Scope
    from cpkg.typed.nodes import Annotation, Field

_SIMPLE: Final[dict[object, str]] = {
    None: "none",
    type(None): "none",
    typing.Any: "any",
    object: "any",
    bool: "bool",
    int: "int",
    float: "float",
    str: "str",
    bytes: "bytes",
    bytearray: "bytes",
    memoryview: "bytes",
    datetime.datetime: "datetime",
    datetime.date: "date",
    datetime.time: "time",
    datetime.timedelta: "timedelta",
    UUID: "uuid",
    Decimal: "decimal",
    Raw: "raw",
    ExtType: "ext",
    Timestamp: "timestamp",
}
_ABC: Final = collections.abc
_ARRAYS: Final[dict[object, object]] = {
    list: list,
    _ABC.Sequence: list,
    _ABC.MutableSequence: list,
    _ABC.Collection: list,
    _ABC.Iterable: list,
    set: set,
    _ABC.Set: set,
    _ABC.MutableSet: set,
    frozenset: frozenset,
    collections.deque: collections.deque,
}
_DICTS: Final[dict[object, object]] = {
    dict: dict,
    _ABC.Mapping: dict,
    _ABC.MutableMapping: dict,
    collections.OrderedDict: collections.OrderedDict,
    collections.defaultdict: collections.defaultdict,
}
_SCALARS: Final = set(_SIMPLE.values())
_ZEROS: Final = {"int": int, "float": float, "str": str, "bool": bool, "bytes": bytes}


class Model:
    """Reads types into nodes; one for all types that belong to a decoder."""

    def __init__(self, hooked: bool = False, typed: bool = True) -> None:
        """
        With `hooked`, classes that are not known become nodes for a `dec_hook`; otherwise they are a TypeError.

        Without `typed` the types of fields are not read, which nobody asks for who only encodes.
        """
        self._hooked = hooked
        self._typed = typed
        self._known: dict[object, Node] = {}
        self._later: list[Callable[[], None]] = []

    def read(self, tp: object) -> Node:
        """Return the node of a type; TypeError for one that cannot be decoded or is ambiguous."""
        node = self._node(tp, {})
        while self._later:
            self._later.pop(0)()
        return node

    def _node(self, tp: Annotation, env: Scope) -> Node:
        try:
            kind = _SIMPLE.get(tp)
        except TypeError:  # not hashable
            raise TypeError(f"{tp!r} is not a type") from None
        if kind is not None:
            return Node(kind, "None" if kind == "none" else getattr(tp, "__name__", "Any"), tp)
        if isinstance(tp, (str, typing.ForwardRef)):
            raise TypeError(f"cannot resolve the forward reference {tp!r}: name the type itself, or refer from a class")
        if isinstance(tp, typing.TypeVar):
            return self._variable(tp, env)
        if hasattr(tp, "__supertype__"):  # NewType
            return self._node(tp.__supertype__, env)
        if tp in (tuple, typing.Tuple):  # noqa: UP006 - of anything; `tuple[()]` is the empty one
            return self._array(tuple, typing.Any, env)
        origin, args = typing.get_origin(tp), typing.get_args(tp)
        if hasattr(tp, "__value__") and type(tp).__name__ == "TypeAliasType":
            return self._alias(tp, tp, (), env)
        if hasattr(origin, "__value__"):
            return self._alias(tp, origin, args, env)
        if origin is None:
            return self._class(tp, (), env)
        if hasattr(tp, "__metadata__"):
            return self._annotated(tp.__origin__, tp.__metadata__, env)
        if origin in special("Literal"):
            return _literal(args, str(tp).replace("typing.", ""))
        if origin in (*special("Union"), *special("UnionType")) or getattr(origin, "__name__", "") == "UnionType":
            return self._union(args, env)
        if any(origin in special(name) for name in ("Final", "Required", "NotRequired", "ReadOnly")):
            return self._node(args[0], env)
        return self._class(origin, args, env)

    def _variable(self, tp: Annotation, env: Scope) -> Node:
        if tp in env:
            value, outer = env[tp]
            return self._node(value, outer)
        if tp.__constraints__:
            return self._union(tp.__constraints__, env)
        default = getattr(tp, "__default__", None)
        if default is not None and not any(default is nothing for nothing in special("NoDefault")):
            return self._node(default, env)
        return self._node(typing.Any if tp.__bound__ is None else tp.__bound__, env)

    def _alias(self, tp: object, alias: Annotation, args: tuple[object, ...], env: Scope) -> Node:
        key = (tp, _resolved(env, args))
        if key not in self._known:
            node = self._known[key] = Node("", alias.__name__)
            inner = {name: (value, env) for name, value in zip(alias.__type_params__, args)}
            found = self._node(alias.__value__, inner)
            if not found.kind:
                raise TypeError(f"{alias} stands for itself alone")
            self._copy(found, node)
        return self._known[key]

    def _copy(self, node: Node, to: Node) -> None:
        """Make one node the same as another, now and again once all are complete."""

        def copy() -> None:
            checks = to.checks
            for slot in Node.__slots__:
                if slot not in ("__weakref__", "name"):
                    setattr(to, slot, getattr(node, slot))
            to.checks = checks or node.checks

        copy()
        self._later.append(copy)

    def _annotated(self, tp: object, metadata: tuple[object, ...], env: Scope) -> Node:
        node = self._node(tp, env)
        checks = Checks()
        constrained = False
        for item in flat(metadata):
            constrained |= add_check(checks, item)
        if not constrained:
            return node
        refuse_misfits(checks, node)
        copy = Node(node.kind, node.name, node.cls)
        self._copy(node, copy)
        if node.checks is not None:
            for name in Checks.__slots__:
                if getattr(checks, name) in (None, MISSING, ()):
                    setattr(checks, name, getattr(node.checks, name))
        copy.checks = checks
        return copy

    # --- classes --------------------------------------------------------------------------------------------------

    def _class(self, cls: object, args: tuple[object, ...], env: Scope) -> Node:
        if not isinstance(cls, type):
            cls = typing.get_origin(cls) or cls  # `List` without parameters, on 3.9
        if cls is tuple:
            return self._tuple(args, env)
        if cls in _ARRAYS:
            return self._array(_ARRAYS[cls], args[0] if args else typing.Any, env)
        if cls in _DICTS:
            return self._dict(cls, args or (typing.Any, typing.Any), env)
        if not isinstance(cls, type):
            raise TypeError(f"{cls!r} is not a type that can be decoded")
        if issubclass(cls, enum.Enum):
            node = _table("enum", cls.__name__, [(member.value, member) for member in cls])
            if issubclass(cls, enum.Flag):
                node.families = ("int",)
            node.cls = cls
            return node
        key = (cls, _resolved(env, args))
        if key in self._known:
            return self._known[key]
        if dataclasses.is_dataclass(cls):
            style, read = "dataclass", dataclass_fields
        elif hasattr(cls, "__attrs_attrs__"):
            style, read = "attrs", attrs_fields
        elif issubclass(cls, tuple) and hasattr(cls, "_fields"):
            style, read = "namedtuple", namedtuple_fields
        elif issubclass(cls, dict) and hasattr(cls, "__total__"):
            style, read = "typeddict", typeddict_fields
        elif self._hooked:
            return Node("custom", cls.__name__, cls)
        else:
            raise TypeError(f"cannot decode {cls.__module__}.{cls.__qualname__}: pass dec_hook= to make it")
        node = self._known[key] = Node("object", cls.__name__, cls)
        settings = getattr(cls, ATTRIBUTE, {})
        node.style = style
        node.array_like = settings.get("array_like", style == "namedtuple")
        node.forbid = settings.get("forbid_unknown_fields", False)
        node.omit_defaults = settings.get("omit_defaults", False)
        node.families = (ARRAY,) if node.array_like else (MAP,)
        if style in ("typeddict", "namedtuple") and settings.get("rename"):
            raise TypeError(
                f"{cls.__qualname__}: rename is for dataclasses and attrs classes, whose names are not the keys"
            )
        self._fill(node, args, env, read, settings.get("rename"))
        return node

    def _fill(
        self,
        node: Node,
        args: tuple[object, ...],
        env: Scope,
        read: Callable[[Annotation, Node], Fields],
        rename: Rename,
    ) -> None:
        """Read the fields of an object."""
        cls = node.cls
        hints = hints_of(cls) if self._typed else {}
        scopes = scopes_of(cls, args, env)
        fields: list[Field] = []
        node.build = "set"
        for field, kind in read(cls, node):
            annotation = hints.get(field.name, typing.Any) if kind is None else kind
            while isinstance(annotation, dataclasses.InitVar):
                annotation = annotation.type
            owner = next((c for c in cls.__mro__ if field.name in c.__dict__.get("__annotations__", ())), cls)
            field.node = self._node(annotation, scopes.get(owner, scopes[cls])) if self._typed else Node("any", "Any")
            names = [item.key for item in getattr(annotation, "__metadata__", ()) if isinstance(item, Name)]
            field.key = names[-1] if names else key_of(field.name, rename)
            fields.append(field)
        if len({field.key for field in fields}) < len(fields):
            raise TypeError(f"{cls.__qualname__} has two fields of the same key in a message")
        node.fields = tuple(fields)
        if node.style in ("dataclass", "attrs") and (node.style == "attrs" or not settable(cls, fields)):
            node.build = "call"

    # --- containers and unions ------------------------------------------------------------------------------------

    def _array(self, cls: Annotation, item: object, env: Scope) -> Node:
        node = Node("array", cls.__name__, cls)
        node.item = self._node(item, env)
        if cls in (set, frozenset):
            self._later.append(lambda: _refuse_unhashable(node.item, cls.__name__))
        return node

    def _tuple(self, args: tuple[object, ...], env: Scope) -> Node:
        if len(args) == 2 and args[1] is ...:
            return self._array(tuple, args[0], env)
        node = Node("tuple", "tuple", tuple)
        node.parts = tuple([self._node(arg, env) for arg in args if arg != ()])
        return node

    def _dict(self, cls: object, args: tuple[object, ...], env: Scope) -> Node:
        node = Node("dict", "dict", _DICTS[cls])
        node.key = self._node(args[0], env)
        node.item = self._node(args[1], env)
        self._later.append(lambda: _refuse_unhashable(node.key, "key of a dict"))
        if cls is collections.defaultdict:
            factory = _ZEROS.get(node.item.kind, node.item.cls)
            node.cls = lambda pairs: collections.defaultdict(factory, pairs)
        return node

    def _union(self, args: tuple[object, ...], env: Scope) -> Node:
        parts: list[Node] = []
        for arg in args:
            node = self._node(arg, env)
            parts.extend(node.parts if node.kind == "union" and node.checks is None else (node,))
        literals = [part for part in parts if part.kind == "literal"]
        if len(literals) > 1:
            merged = _literal(tuple([key[1] for part in literals for key in part.table]), "Literal")
            for part in literals:
                merged.table.update(part.table)
            parts = [part for part in parts if part.kind != "literal"] + [merged]
        different: list[Node] = []
        for part in parts:
            if part.kind == "any" and part.checks is None:
                return part
            if not any(
                part is other or (part.kind == other.kind and part.cls is other.cls and part.kind in _SCALARS
                                  and not part.checks and not other.checks)
                for other in different
            ):  # fmt: skip
                different.append(part)
        if len(different) == 1:
            return different[0]
        union = Node("union", " | ".join([part.name for part in different]))
        union.parts = tuple(different)
        for part in different:
            if not part.kind:
                raise TypeError(f"the union {union.name} has itself as an alternative")
            families = part.families
            if part.kind in ("custom", "raw", "any"):
                taken = {family for other in different if other is not part for family in other.families}
                if taken - {NIL}:
                    raise _ambiguous(union, part, different[0] if different[0] is not part else different[1])
                families = tuple([family for family in FAMILIES if family not in taken])
            for family in families:
                other = union.by_family.get(family)
                if other is None:
                    union.by_family[family] = part
                elif family == MAP and part.kind == other.kind == "object":
                    union.objects = (*(union.objects or (other,)), part)
                else:
                    raise _ambiguous(union, other, part)
        union.families = tuple(union.by_family)
        if union.objects:
            self._later.append(lambda: _tell_apart(union))
        return union


def _ambiguous(union: Node, one: Node, two: Node) -> TypeError:
    return TypeError(f"{union.name} is ambiguous: a message does not distinguish {one.name} from {two.name}")


def _tell_apart(union: Node) -> None:
    """Find out by what the objects of a union differ: a Literal field, or fields that the others do not have."""
    objects = union.objects
    names = [{field.key for field in node.fields if field.node.kind == "literal"} for node in objects]
    for key in [field.key for field in objects[0].fields if all(field.key in found for found in names)]:
        values: dict[tuple[type, object], Node] = {}
        count = 0
        for node in objects:
            table = next(field.node.table for field in node.fields if field.key == key)
            count += len(table)
            values.update(dict.fromkeys(table, node))
        if len(values) == count:
            union.tag = (key, values)
            return
    order = sorted(objects, key=lambda node: -sum(field.required for field in node.fields))
    for index, node in enumerate(order[:-1]):
        others = {field.key for other in order[index + 1 :] for field in other.fields}
        if not {field.key for field in node.fields if field.required} - others:
            raise _ambiguous(union, node, order[index + 1])
    union.objects = tuple(order)


def unique_keys(union: Node) -> list[tuple[Node, frozenset[str]]]:
    """Return the objects of a union without a tag, each with the keys of which none is there in those that follow."""
    found = []
    for index, node in enumerate(union.objects):
        others = {field.key for other in union.objects[index + 1 :] for field in other.fields}
        required = {field.key for field in node.fields if field.required}
        found.append((node, frozenset(required - others if index + 1 < len(union.objects) else ())))
    return found


def _refuse_unhashable(node: Node, where: str) -> None:
    for part in node.parts if node.kind == "union" else (node,):
        unhashable = part.kind == "dict" or (part.kind == "array" and part.cls not in (tuple, frozenset))
        if part.kind == "object":
            unhashable = part.style == "typeddict" or part.cls.__hash__ is None
        if unhashable or (part.kind == "bytes" and part.cls is bytearray):
            raise TypeError(f"{part.name} cannot be in a {where}: it has no hash")


def _table(kind: str, name: str, pairs: list[tuple[object, object]]) -> Node:
    """Return the node of a type that has a few values."""
    node = Node(kind, name)
    node.table = {(type(value), value): result for value, result in pairs}
    families = {type(value).__name__ if value is not None else NIL for value, _ in pairs}
    node.families = tuple(sorted(family if family in FAMILIES else EXT for family in families))
    return node


def _literal(args: tuple[object, ...], name: str) -> Node:
    for value in args:
        if not isinstance(value, (int, str, bytes, enum.Enum, type(None))):
            raise TypeError(f"{name}: {value!r} cannot be in a Literal")
    return _table("literal", name, [(arg.value if isinstance(arg, enum.Enum) else arg, arg) for arg in args])


def _resolved(env: Scope, args: tuple[object, ...]) -> object:
    """Return a key for type arguments: what their variables stand for belongs to it."""
    if not any(isinstance(arg, typing.TypeVar) or getattr(arg, "__parameters__", ()) for arg in args):
        return args
    bound = [env.get(name, (name,))[0] for arg in args for name in (getattr(arg, "__parameters__", ()) or (arg,))]
    return (args, tuple(bound))
