# SPDX-License-Identifier: Apache-2.0
"""
The model of a type: a node for each type in it, which all that decodes, checks or describes values works from.

`cpkg.typed.annotations` makes the nodes. A type that refers to itself is a node that refers to itself.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Callable
    from typing import Any, Final

    from typing_extensions import TypeAlias

    from purepy.base.types import Value

    Annotation: TypeAlias = Any
    """A type as it is written in Python."""
    Hook: TypeAlias = Callable[[Annotation, Value], Value]
    """The caller's function that makes an instance of a class: `dec_hook(cls, value)`."""
    Family: TypeAlias = "str | int"

MISSING: Final[Value] = type("Missing", (), {"__repr__": lambda self: "MISSING"})()
"""In the place of a value or a default that is not there."""

# What a value can be in a message. A family is one of these or an extension type's code as an int.
NIL, BOOL, INT, FLOAT, STR, BIN, ARRAY, MAP, EXT = "None", "bool", "int", "float", "str", "bytes", "array", "map", "ext"
FAMILIES: Final = (NIL, BOOL, INT, FLOAT, STR, BIN, ARRAY, MAP, EXT)

FAMILIES_OF: Final[dict[str, tuple[Family, ...]]] = {
    "any": FAMILIES,
    "raw": FAMILIES,
    "none": (NIL,),
    "bool": (BOOL,),
    "int": (INT,),
    "float": (FLOAT,),
    "str": (STR,),
    "bytes": (BIN,),
    "ext": (EXT,),
    "array": (ARRAY,),
    "tuple": (ARRAY,),
    "dict": (MAP,),
    "timestamp": (-1,),
    "datetime": (-1, ord("L")),
    "date": (ord("D"),),
    "time": (ord("T"),),
    "timedelta": (ord("P"),),
    "uuid": (ord("U"),),
    "decimal": (ord("N"),),
    "custom": FAMILIES,
}
"""What a value of each kind of node is written as."""

TEXT_KINDS: Final = ("datetime", "date", "time", "timedelta", "uuid", "decimal", "timestamp")
"""Kinds whose values may also come as text (ISO 8601 and the like), unless a union has str."""


class Checks:
    """Constraints on a value, from Annotated: None, or no predicates, where there is none."""

    __slots__ = ("ge", "gt", "le", "lt", "max_len", "min_len", "multiple_of", "pattern", "predicates", "tz")

    def __init__(self) -> None:
        self.gt: object = None
        self.ge: object = None
        self.lt: object = None
        self.le: object = None
        self.multiple_of: object = None
        self.min_len: int | None = None
        self.max_len: int | None = None
        self.pattern: re.Pattern[str] | None = None  # searched for as JSON Schema does
        self.tz: object = MISSING  # True: aware; None: naive
        self.predicates: tuple[Callable[[Value], object], ...] = ()

    def problem(self, value: Value) -> str | None:
        """Return what is expected of a value that breaks a constraint, or None."""
        for name, sign, holds in _BOUNDS:
            bound = getattr(self, name)
            if bound is not None and not holds(value, bound):
                return f"{sign} {bound}"
        if self.multiple_of is not None and value % self.multiple_of:
            return f"a multiple of {self.multiple_of}"
        if self.min_len is not None and len(value) < self.min_len:
            return f"a length of at least {self.min_len}"
        if self.max_len is not None and len(value) > self.max_len:
            return f"a length of at most {self.max_len}"
        if self.pattern is not None and self.pattern.search(value) is None:
            return f"text that matches {self.pattern.pattern!r}"
        if self.tz is not MISSING and (value.tzinfo is not None) is not self.tz:
            return "a time with an offset from UTC" if self.tz else "a time without an offset from UTC"
        for predicate in self.predicates:
            if not predicate(value):
                return f"a value that passes {getattr(predicate, '__qualname__', predicate)}"
        return None


_BOUNDS: Final[tuple[tuple[str, str, Callable[[Value, Value], bool]], ...]] = (
    ("gt", ">", lambda value, bound: value > bound),
    ("ge", ">=", lambda value, bound: value >= bound),
    ("lt", "<", lambda value, bound: value < bound),
    ("le", "<=", lambda value, bound: value <= bound),
)


class Field:
    """A field of an object: its attribute, its key in a message, its type and its default."""

    __slots__ = ("default", "factory", "key", "name", "node", "parameter", "required")

    def __init__(
        self, name: str, key: str, node: Node, required: bool, default: object, factory: Callable[[], object] | None
    ) -> None:
        self.name = name
        self.key = key
        self.node = node
        self.required = required
        self.default = default  # MISSING for none, as in a TypedDict
        self.factory = factory
        self.parameter = name  # of the constructor

    def make_default(self) -> object:
        return self.default if self.factory is None else self.factory()


class Node:
    """
    A type.

    `kind` names what it is; the other attributes depend on that:

    - "any", "raw", "none", "bool", "int", "float", "str", "ext" and those of FAMILIES_OF above: `cls` at most
    - "bytes": `cls` is bytes, bytearray or memoryview
    - "array": `cls` made of any number of `item`; "tuple": one value of each of `parts`
    - "dict": `key` and `item`; `cls` is dict, or what makes the result from a dict
    - "enum", "literal": `table` has the values, each under (its type, itself)
    - "object": `cls`, `fields`, `style` ("dataclass", "attrs", "typeddict" or "namedtuple") and options
    - "union": `by_family` has the one of `parts` that takes a family; `objects` those that share maps
    - "custom": `cls`, which the caller's `dec_hook` makes
    """

    __slots__ = (
        "__weakref__",
        "array_like",
        "build",
        "by_family",
        "checks",
        "cls",
        "families",
        "fields",
        "forbid",
        "item",
        "key",
        "kind",
        "name",
        "objects",
        "omit_defaults",
        "parts",
        "style",
        "table",
        "tag",
    )  # fmt: skip

    def __init__(self, kind: str, name: str, cls: Annotation = None) -> None:
        self.kind = kind
        self.name = name  # as errors have it
        self.cls = cls
        self.families: tuple[Family, ...] = FAMILIES_OF.get(kind, ())
        self.checks: Checks | None = None
        self.item: Any = None
        self.key: Any = None
        self.parts: tuple[Node, ...] = ()
        self.fields: tuple[Field, ...] = ()
        self.table: dict[tuple[type, Value], Value] = {}
        self.by_family: dict[Family, Node] = {}
        self.objects: tuple[Node, ...] = ()
        self.tag: tuple[str, dict[tuple[type, Value], Node]] | None = None
        self.style = ""
        self.build = ""  # "set": attributes are set on a bare instance; "call": the constructor is called
        self.array_like = self.forbid = self.omit_defaults = False

    def __repr__(self) -> str:
        return f"<type {self.name}>"

    def below(self) -> list[Node]:
        """Return the types of what a value holds directly."""
        found = [self.key, self.item, *self.parts, *[field.node for field in self.fields]]
        return [node for node in found if node is not None]

    def walk(self) -> dict[int, Node]:
        """Return this node and all below it, by their ids, in the order in which they are met."""
        seen = {}
        todo = [self]
        while todo:
            node = todo.pop()
            if id(node) not in seen:
                seen[id(node)] = node
                todo.extend(reversed(node.below()))
        return seen

    def loops(self) -> set[int]:
        """Return ids of nodes among this one and all below it, of which each circle of types has at least one."""
        found = set()
        seen: dict[int, bool] = {}  # whether the walk is below the node
        todo = [(self, True)]
        while todo:
            node, enters = todo.pop()
            if not enters:
                seen[id(node)] = False
            elif id(node) not in seen:
                seen[id(node)] = True
                todo.append((node, False))
                todo.extend((child, True) for child in node.below())
            elif seen[id(node)]:
                found.add(id(node))
        return found


def is_default(field: Field, value: object) -> bool:
    """Tell whether a field has its default, as omit_defaults has it: the same object, or an equal one of its type."""
    if field.factory is not None:
        return field.factory in (list, dict, set) and type(value) is field.factory and not value
    default = field.default
    return value is default or (type(value) is type(default) and value == default)
