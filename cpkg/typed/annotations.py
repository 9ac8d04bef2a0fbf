# SPDX-License-Identifier: Apache-2.0
"""
Convert annotations to nodes, and refuse unsupported or ambiguous types with TypeError.

`typing` differs between Python 3.9 and 3.15, and from typing_extensions. So forms of types are recognised by their
attributes (`__supertype__`, `__value__`), or looked up by name in whichever of the two modules are loaded.
"""

from __future__ import annotations

import collections
import collections.abc
import dataclasses
import datetime
import enum
import functools
import typing
from decimal import Decimal

from cpkg.typed.class_options import Exclude, Name, key_of, options_of
from cpkg.typed.constraints import add_check, fitting, flat
from cpkg.typed.fields import BOTH, TAKEN, WRITTEN, calls_post_init, reader_of, settable
from cpkg.typed.kept import Kept, kept_with
from cpkg.typed.nodes import ARRAY, EXT, FAMILIES, FAMILIES_OF, MAP, MISSING, NIL, STR, UNSET, Checks, Node, UnsetType
from cpkg.typed.scopes import QUALIFIERS, Scope, class_scopes, special_form, unwrapped
from cpkg.typed.texts import DATE, DATETIME, KINDS
from purepy.base.errors import exception_text, raise_if_from_handler
from purepy.base.lazy import imported
from purepy.msgpack.ext import ExtType, Raw

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Final

    from cpkg.typed.class_options import Rename
    from cpkg.typed.fields import Fields
    from cpkg.typed.nodes import Annotation, Field
    from cpkg.typed.scopes import Variables

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
    **KINDS,
    Raw: "raw",
    ExtType: "ext",
    UnsetType: "unset",
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
_scalars: Final[dict[object, Node]] = {}
"""The nodes of the types in _SIMPLE, which all models share."""
_ZEROS: Final = {"int": int, "float": float, "str": str, "bool": bool, "bytes": bytes, "decimal": Decimal}


class Model:
    """Converts types to nodes. A decoder has one model for all of its types."""

    def __init__(
        self, hooked: bool = False, namespace: Mapping[str, object] | None = None, *, lenient: bool = False
    ) -> None:
        """
        With `hooked`, unsupported classes become nodes for a `dec_hook`; otherwise they raise TypeError.

        `namespace` has names for annotations that are text, in addition to the names of their modules. A `lenient`
        model describes one class, only for encoding: the type of a field that cannot be decoded becomes Any, and
        another class with fields becomes "custom".
        """
        self._hooked = hooked
        self._namespace = namespace
        self._lenient = lenient
        self._known: dict[object, Node] = {}
        self._awaited: set[int] = set()  # ids of nodes of types given as text that refer to themselves
        self._unread: list[Callable[[], None]] = []  # read the fields of classes; not recursive, for deep nesting
        self._later: list[Callable[[], None]] = []

    def read(self, tp: object) -> Node:
        """Return the node of a type; raise TypeError for a type that cannot be decoded or is ambiguous."""
        node = self._node(tp, Scope(None, self._namespace))
        while self._unread or self._later:
            (self._unread or self._later).pop(0)()
        return node

    def describe(self, cls: Annotation) -> Node:
        """Return the Node that describes a class with fields; encoding objects of the class needs it."""
        node, fill = self._object(cls, (), Scope())
        fill()
        return node

    def _node(self, tp: Annotation, scope: Scope) -> Node:
        if tp is datetime.datetime or tp is datetime.date:  # or a replacement that freezes time in tests
            tp = DATETIME if tp is datetime.datetime else DATE
        try:
            kind = _SIMPLE.get(tp)
        except TypeError:
            if typing.get_origin(tp) is None:  # so it is not Annotated with unhashable metadata
                raise TypeError(f"cannot decode {tp!r}: expected a type") from None
            kind = None
        if kind is not None:
            node = _scalars.get(tp)
            if node is None:
                name = "None" if kind == "none" else getattr(tp, "__name__", "Any")
                node = Node(kind, name, tp)
                if tp is memoryview:  # it may show an array
                    node.families += FAMILIES_OF["numbers"][1:]
                node = _scalars.setdefault(tp, node)
            return node
        origin = typing.get_origin(tp)
        if origin is None or tp is typing.Tuple:  # noqa: UP006
            return self._plain(tp, scope)
        if hasattr(tp, "__metadata__"):
            return self._annotated(tp.__origin__, tp.__metadata__, scope)
        args = typing.get_args(tp)
        if _is_alias(origin):
            return self._alias(origin, args, scope)
        form = special_form(origin)
        if form == "Literal":
            return _literal(args, str(tp).replace("typing.", ""))
        if form == "Union":
            return self._union([self._node(arg, scope) for arg in args])
        if form in QUALIFIERS:
            return self._node(args[0], scope)
        return self._class(origin, args, scope)

    def _plain(self, tp: Annotation, scope: Scope) -> Node:
        """Return the node of a type without parameters."""
        if isinstance(tp, (str, typing.ForwardRef)):
            return self._reference(tp, scope)
        if isinstance(tp, typing.TypeVar):
            return self._variable(tp, scope)
        if hasattr(tp, "__supertype__"):  # NewType
            return self._node(tp.__supertype__, scope)
        if tp in (tuple, typing.Tuple):  # noqa: UP006 - of any items; `tuple[()]` is the empty tuple
            return self._array(tuple, typing.Any, scope)
        if _is_alias(tp):
            return self._alias(tp, (), scope)
        form = special_form(tp)
        if form == "Self" and scope.node is not None:
            return scope.node
        return self._node(str, scope) if form == "LiteralString" else self._class(tp, (), scope)

    def _reference(self, tp: Annotation, scope: Scope) -> Node:
        """Return the node of a type that is given as text or as a ForwardRef, and may refer to itself."""
        found = scope.evaluate(tp)
        if isinstance(found, type) and not typing.get_args(found):
            return self._node(found, scope)
        key = (tp if isinstance(tp, str) else tp.__forward_arg__, scope)
        if key in self._known:
            self._awaited.add(id(self._known[key]))
        else:
            node = self._known[key] = Node("", key[0])
            found = self._node(found, scope)
            if id(node) in self._awaited:
                self._copy(found, node)
            else:
                self._known[key] = found
        return self._known[key]

    def _variable(self, tp: Annotation, scope: Scope) -> Node:
        if tp in scope.variables:
            value, outer = scope.variables[tp]
            return self._node(value, outer)
        first, *others = [self._node(each, scope) for each in _without_value(tp)]
        return self._union([first, *others]) if others else first

    def _alias(self, alias: Annotation, args: tuple[object, ...], scope: Scope) -> Node:
        key = scope.key(alias, args)
        if key not in self._known:
            node = self._known[key] = Node("", alias.__name__)
            depths = scope.depths_within(alias, args)
            inner = Scope(alias, self._namespace, scope.bind(alias, args), lenient=self._lenient, depths=depths)
            found = self._node(_value_of(alias), inner)
            if not found.kind:
                raise TypeError(f"the type alias {alias} refers only to itself")
            self._copy(found, node)
        return self._known[key]

    def _copy(self, node: Node, to: Node) -> None:
        """
        Copy one node into another, first now and a second time when all nodes are complete.

        `to` keeps its name, and its own constraints if it has any.
        """

        def copy() -> None:
            checks = to.checks
            for slot in Node.__slots__:
                if slot not in ("__weakref__", "name"):
                    setattr(to, slot, getattr(node, slot))
            to.checks = checks or node.checks

        copy()
        self._later.append(copy)

    def _annotated(self, tp: object, metadata: tuple[object, ...], scope: Scope) -> Node:
        node = self._node(tp, scope)
        if node.kind == "numbers":
            node = imported("cpkg.typed.arrays").with_code(node, metadata)
        checks = Checks()
        constrained = False
        for item in flat(metadata):
            constrained |= add_check(checks, item)
        return self._checked(node, checks) if constrained else node

    def _checked(self, node: Node, checks: Checks) -> Node:
        """
        Return a copy of a node with more constraints; raise TypeError for a constraint that does not apply to the type.

        In a union, each part gets the constraints that fit it, and predicates apply to the union as a whole.
        """
        if node.kind in ("union", "choice") and node.checks is None:
            whole = Checks()
            whole.predicates, checks.predicates = checks.predicates, ()
            alternatives = node.alternatives()
            fits = [fitting(checks, part) for part in alternatives]
            refused = [name for name in checks.given() if not any(name in found for found in fits)]
            if refused:
                raise _misfit(refused, node)
            parts = [
                self._checked(part, checks.only(found)) if found else part for part, found in zip(alternatives, fits)
            ]
            union = self._union(parts) if any(fits) else node
            return self._checked_as_whole(union, whole) if whole.predicates else union
        refused = [name for name in checks.given() if name not in fitting(checks, node)]
        if refused:
            raise _misfit(refused, node)
        return self._checked_as_whole(node, checks)

    def _checked_as_whole(self, node: Node, checks: Checks) -> Node:
        copy = Node(node.kind, node.name, node.cls)
        self._copy(node, copy)
        copy.checks = checks if node.checks is None else checks.over(node.checks)
        return copy

    # --- classes --------------------------------------------------------------------------------------------------

    def _class(self, cls: Annotation, args: tuple[object, ...], scope: Scope) -> Node:
        if not isinstance(cls, type):
            cls = typing.get_origin(cls) or cls  # `List` without parameters, on 3.9
        if cls is tuple:
            return self._tuple(args, scope)
        if cls in _ARRAYS:
            return self._array(_ARRAYS[cls], args[0] if args else typing.Any, scope)
        if cls in _DICTS:
            return self._dict(cls, args or (typing.Any, typing.Any), scope)
        if not isinstance(cls, type):
            raise TypeError(f"cannot decode {cls!r}: expected a type")
        if (cls.__module__, cls.__name__) in (("numpy", "ndarray"), ("array", "array")):
            plain = functools.partial(_plain_value, scope)
            return imported("cpkg.typed.arrays").node_of(cls, args, self._union, plain)  # type: ignore[no-any-return]
        if issubclass(cls, enum.Enum):
            return self._enum(cls)
        if reader_of(cls) is not None and not self._lenient:
            key = scope.key(cls, args)
            if key not in self._known:
                self._known[key], fill = self._object(cls, args, scope)
                self._unread.append(fill)
            return self._known[key]
        if self._hooked or self._lenient:
            return Node("custom", cls.__name__, cls)
        raise TypeError(
            f"cannot decode {cls.__module__}.{cls.__qualname__}: it is not a dataclass, attrs class, NamedTuple, "
            "TypedDict or supported builtin; add @dataclass, or use cpkg.typed.Decoder with dec_hook=, a function that "
            "creates it"
        )

    def _enum(self, cls: Annotation) -> Node:
        try:
            node = _table("enum", cls.__name__, [(member.value, member) for member in cls])
        except TypeError:
            raise TypeError(
                f"cannot decode the Enum {cls.__qualname__}: the values of its members are unhashable"
            ) from None
        node.cls = cls
        if issubclass(cls, enum.Flag):
            node.families = ("int",)
        elif EXT in node.families:  # the values are decoded by their own types, then looked up
            types = {tuple if isinstance(member.value, tuple) else type(member.value): None for member in cls}
            if all(tp is tuple or tp in _SIMPLE for tp in types):
                node.item = self._union([self._node(tp, Scope()) for tp in types])
                node.families = node.item.families
        return node

    def _object(self, cls: Annotation, args: tuple[object, ...], scope: Scope) -> tuple[Node, Callable[[], None]]:
        """Return the node of a class with fields, and a function that reads the fields and completes the node."""
        found = reader_of(cls)
        assert found is not None
        style, read = found
        kept = kept_with(cls) or Kept(cls)
        if kept.options is None:  # from now on the options do not change
            kept.options = options_of(cls)
        settings = kept.options
        node = Node("object", cls.__name__, cls)
        node.style = style
        node.array_like = settings.get("array_like", style == "namedtuple")
        node.forbid = settings.get("forbid_unknown_fields", False)
        node.families = (ARRAY,) if node.array_like else (MAP,)
        if style in ("typeddict", "namedtuple"):
            for option, fixed in (("rename", False), ("array_like", style == "namedtuple")):
                if bool(settings.get(option, fixed)) != fixed:
                    raise TypeError(
                        f"{cls.__qualname__}: typed.options({option}=) supports only dataclasses and attrs classes, "
                        f"not {style}"
                    )
        depths = scope.depths_within(cls, args)

        def scope_of(base: Annotation, variables: Variables) -> Scope:
            return Scope(base, self._namespace, variables, node, self._lenient, depths)

        def fill() -> None:
            scopes = class_scopes(cls, scope.bind(cls, args), scope_of)
            self._fill(node, read(cls, scopes), scopes, settings.get("rename"))
            if not node.array_like:
                node.omitted = frozenset([field for field in node.written if _is_omitted(field, settings)])

        return node, fill

    def _fill(self, node: Node, fields: Fields, scopes: dict[Annotation, Scope], rename: Rename) -> None:
        """Set the fields of an object's node, and how the object is created, from the fields of its class."""
        cls = node.cls
        found: list[tuple[Field, str]] = []
        has_excluded = False
        for field, annotation, owner, use in fields:
            scope = scopes[owner]
            marks: list[object] = []
            is_excluded = False
            try:
                if isinstance(annotation, (str, typing.ForwardRef)):
                    annotation = scope.evaluate(annotation)
                while isinstance(annotation, dataclasses.InitVar):
                    annotation = annotation.type
                marks = _marks(annotation, scope)
                is_excluded = bool(marks) and any(isinstance(mark, Exclude) for mark in marks)
                if not is_excluded:
                    is_loose = use == WRITTEN and not self._lenient
                    model = Model(namespace=self._namespace, lenient=True) if is_loose else self
                    field.node = model._node(annotation, scope)
            except TypeError:
                if use != WRITTEN and not self._lenient:
                    raise
                field.node = Node("any", "Any")
            if is_excluded:
                if field.required or node.style not in ("dataclass", "attrs"):
                    raise TypeError(
                        f"{cls.__qualname__}.{field.name} cannot be excluded:"
                        " expected a field with a default, of a dataclass or an attrs class"
                    )
                has_excluded = True
                continue
            key = None
            if marks and any(part.kind == "numbers" for part in field.node.alternatives()):
                marks = [mark for mark in marks if not imported("cpkg.typed.arrays").is_code(mark)]
            if marks:
                field.title = _text_of(marks, "title")
                field.doc = field.doc or _text_of(marks, "", "documentation", "description")
                key = next((mark.key for mark in marks if isinstance(mark, Name)), None)
            field.key = key_of(field.name, rename) if key is None else key
            found.append((field, use))
        taken = [field for field, use in found if use != WRITTEN]
        written = [field for field, use in found if use != TAKEN]
        passed = [field for field, use in found if use == WRITTEN]
        if node.array_like:
            written.sort(key=passed.__contains__)  # decoded fields keep their positions in the array
            init_vars = [field.name for field, use in found if use == TAKEN]
            if init_vars:
                raise TypeError(
                    f"{cls.__qualname__}: typed.options(array_like=True) does not support an InitVar"
                    f" ({init_vars[0]}), which has no position in the array"
                )
        keys = [field.key for field, _ in found]
        if len(set(keys)) < len(keys):
            twice = next(key for key in keys if keys.count(key) > 1)
            raise TypeError(f"{cls.__qualname__}: two fields have the same key in messages, {twice!r}")
        node.fields, node.written = tuple(taken), tuple(written)
        node.passed = frozenset([field.key for field in passed])
        if node.style in ("dataclass", "attrs"):
            plain = not has_excluded and all(use == BOTH for _, use in found)
            node.build = "set" if plain and settable(cls, taken) else "call"
            node.post_init = node.build == "set" and node.style == "dataclass" and calls_post_init(cls)

    # --- containers and unions ------------------------------------------------------------------------------------

    def _array(self, cls: Annotation, item: object, scope: Scope) -> Node:
        node = Node("array", cls.__name__, cls)
        node.item = self._node(item, scope)
        if cls in (set, frozenset):
            self._later.append(lambda: _refuse_unhashable(node.item, cls.__name__))
        return node

    def _tuple(self, args: tuple[object, ...], scope: Scope) -> Node:
        if len(args) == 2 and args[1] is ...:
            return self._array(tuple, args[0], scope)
        node = Node("tuple", "tuple", tuple)
        node.parts = tuple([self._node(arg, scope) for arg in args if arg != ()])
        return node

    def _dict(self, cls: object, args: tuple[object, ...], scope: Scope) -> Node:
        node = Node("dict", "dict", _DICTS[cls])
        node.key = self._node(args[0], scope)
        node.item = self._node(args[1], scope)
        self._later.append(lambda: _refuse_unhashable(node.key, "key of a dict"))
        if cls is collections.defaultdict:

            def find_factory() -> None:
                node.cls = functools.partial(collections.defaultdict, _factory(node.item))

            self._later.append(find_factory)
        return node

    def _union(self, nodes: list[Node]) -> Node:
        parts: list[Node] = []
        for node in nodes:
            if node.kind != "unset" or len(nodes) == 1:  # messages have no UNSET
                parts.extend(node.alternatives() if node.checks is None else (node,))
        literals = [part for part in parts if part.kind == "literal" and part.checks is None]
        if len(literals) > 1:
            merged = _literal(tuple([key[1] for part in literals for key in part.table]), "Literal")
            for part in literals:
                merged.table.update(part.table)
            parts = [part for part in parts if part not in literals] + [merged]
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
        different = _with_choice(different)
        if len(different) == 1:
            return different[0]
        union = Node("union", " | ".join([part.name for part in different]))
        union.parts = tuple(different)
        for part in different:
            if not part.kind:
                raise TypeError(f"the union {union.name} contains itself as an alternative")
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


def _with_choice(parts: list[Node]) -> list[Node]:
    """
    Return the parts of a union, with its str, enums and literals of text combined into one node, a "choice".

    In a choice, the values of enums and literals take precedence over other text. Returns the parts unchanged if
    fewer than two can be combined, or if several are str. Raises TypeError if two of them have the same value.
    """
    texts = [part for part in parts if STR in part.families and part.kind in ("str", "enum", "literal")]
    texts = [part for part in texts if part.kind == "str" or (part.checks is part.item is None)]
    rest = [part for part in texts if part.kind == "str"]
    if len(texts) < 2 or len(rest) > 1:
        return parts
    choice = Node("choice", " | ".join([part.name for part in texts]))
    choice.parts = tuple(texts)
    choice.item = rest[0] if rest else None
    choice.families = tuple(dict.fromkeys([family for part in texts for family in part.families]))
    owners: dict[tuple[type, object], Node] = {}
    for part in texts:
        for key in part.table:
            if owners.setdefault(key, part) is not part:
                raise _ambiguous(choice, owners[key], part)
        choice.table.update(part.table)
    return [choice, *[part for part in parts if part not in texts]]


def _misfit(names: list[str], node: Node) -> TypeError:
    return TypeError(f"the constraint {', '.join(names)} in Annotated does not apply to {node.name}")


def _marks(annotation: Annotation, scope: Scope, within: tuple[object, ...] = ()) -> list[object]:
    """
    Return the metadata in the Annotated forms of a field's type, also inside Final, unions and aliases.

    The metadata of the outermost Annotated come first.
    """
    found: list[object] = []
    if type(annotation) is type:
        return found
    for form, tp in unwrapped(annotation, scope):
        if form == "Annotated":
            found += reversed(tp.__metadata__)
    parts: tuple[Annotation, ...] = ()
    if _is_alias(tp):
        parts = (_value_of(tp),)
    elif special_form(typing.get_origin(tp)) == "Union":
        parts = typing.get_args(tp)
    if parts and not any(tp is each for each in within):
        for part in parts:
            found += _marks(part, scope, (*within, tp))
    return found


def _is_alias(tp: object) -> bool:
    return type(tp).__name__ == "TypeAliasType" and type(tp).__module__ in ("typing", "typing_extensions")


def _plain_value(scope: Scope, tp: Annotation) -> Annotation:
    """Return the type that a type variable or alias stands for; another type with its variables replaced by values."""
    tp = scope.resolved(tp)
    while _is_alias(tp):
        tp = _value_of(tp)
    if not isinstance(tp, typing.TypeVar):
        return tp
    first, *others = _without_value(tp)
    return typing.Any if others else first


def _without_value(variable: Annotation) -> tuple[Annotation, ...]:
    """Return the types that a type variable without a value may be: its constraints, or its default or bound."""
    default = getattr(variable, "__default__", None)
    if variable.__constraints__:
        return variable.__constraints__  # type: ignore[no-any-return]
    if default is not None and special_form(default) != "NoDefault":
        return (default,)
    return (typing.Any if variable.__bound__ is None else variable.__bound__,)


def _value_of(alias: Annotation) -> Annotation:
    """Return the type that an alias names, which Python evaluates only now; raise TypeError if that fails."""
    try:
        return alias.__value__
    except Exception as exc:
        raise_if_from_handler(exc)
        raise TypeError(f"cannot evaluate the type alias {alias}: {type(exc).__name__}: {exception_text(exc)}") from exc


def _is_omitted(field: Field, settings: Mapping[str, object]) -> bool:
    """
    Return whether messages omit a field with its default, because of the options `settings` or because it is UNSET.
    """
    if field.default is UNSET or (settings.get("omit_none") and field.default is None):
        return True
    return bool(settings.get("omit_defaults")) and (field.factory is not None or field.default is not MISSING)


def _text_of(marks: list[object], *names: str) -> str:
    """
    Return the first text that is not empty among the attributes `names` of each mark, or "".

    The name "" means the mark itself.
    """
    texts = [getattr(mark, name, None) if name else mark for mark in marks for name in names]
    return next((text for text in texts if isinstance(text, str) and text), "")


def _factory(node: Node) -> Callable[[], object] | None:
    """Return the factory for missing values of a defaultdict; None if the type has no obvious default."""
    if node.kind == "object":
        made = node.style in ("dataclass", "attrs") and not any(field.required for field in node.fields)
        return node.cls if made else None
    if node.kind in ("array", "dict"):
        return node.cls  # type: ignore[no-any-return]
    return _ZEROS.get(node.kind)


def _ambiguous(union: Node, one: Node, two: Node, advice: str = "leave one of them out") -> TypeError:
    return TypeError(f"the union {union.name} is ambiguous: in a message {one.name} looks like {two.name}; {advice}")


def _tell_apart(union: Node) -> None:
    """
    Choose how to distinguish the objects of a union: by the value of a Literal field, or by their required keys.

    Sets `tag` for a Literal field. Otherwise sorts `objects` so that each object except the last has a required key
    that no later object has. Raises TypeError if neither is possible.
    """
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
    left = sorted(objects, key=lambda node: -sum(field.required for field in node.fields))
    order = []
    while len(left) > 1:
        able = [node for node in left if _own_keys(node, left)]
        if not able:
            raise _ambiguous(union, left[0], left[1], "add a Literal field with a different value to each class")
        left.remove(able[0])
        order.append(able[0])
    union.objects = (*order, *left)


def _own_keys(node: Node, objects: Sequence[Node]) -> frozenset[str]:
    """Return the required keys of an object that no other object in `objects` has."""
    others = {field.key for other in objects if other is not node for field in other.fields}
    return frozenset({field.key for field in node.fields if field.required} - others)


def unique_keys(union: Node) -> list[tuple[Node, frozenset[str]]]:
    """
    Return the objects of a union without a tag, each with its required keys that no later object has.

    The last object has no keys in the result: every map that fits no other object is read as the last object.
    """
    *objects, last = union.objects
    return [*((node, _own_keys(node, union.objects[at:])) for at, node in enumerate(objects)), (last, frozenset())]


def _refuse_unhashable(node: Node, where: str) -> None:
    for part in node.parts if node.kind == "union" else (node,):
        unhashable = part.kind in ("dict", "numbers") or (part.kind == "array" and part.cls not in (tuple, frozenset))
        if part.kind == "object":
            unhashable = part.style == "typeddict" or part.cls.__hash__ is None
        if unhashable or (part.kind == "bytes" and part.cls is bytearray):
            raise TypeError(f"{part.name} cannot be used in a {where}: it is unhashable")


def _table(kind: str, name: str, pairs: list[tuple[object, object]]) -> Node:
    """
    Return the node of an enum or literal (`kind`), given pairs of a value in messages and the object that it becomes.
    """
    node = Node(kind, name)
    node.table = {(type(value), value): result for value, result in pairs}
    families = {type(value).__name__ if value is not None else NIL for value, _ in pairs}
    node.families = tuple(sorted(family if family in FAMILIES else EXT for family in families))
    return node


def _literal(args: tuple[object, ...], name: str) -> Node:
    for value in args:
        if not isinstance(value, (int, str, bytes, enum.Enum, type(None))):
            raise TypeError(
                f"{name}: a Literal cannot contain {value!r}: expected an int, str, bytes, bool, Enum member or None"
            )
    return _table("literal", name, [(arg.value if isinstance(arg, enum.Enum) else arg, arg) for arg in args])
