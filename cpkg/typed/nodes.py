# SPDX-License-Identifier: Apache-2.0
"""
The model of a type: one node for each type in it. Decoders, encoders, checks and schemas are derived from the nodes.

`cpkg.typed.annotations` creates the nodes. A type that refers to itself is a node that refers to itself.
"""

from __future__ import annotations

import collections

from purepy.msgpack.ext import Raw

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
    """The caller's function that creates an instance of a class: `dec_hook(cls, value)`."""
    Family: TypeAlias = "str | int"

MISSING: Final[Value] = type("Missing", (), {"__repr__": lambda self: "MISSING"})()
"""Stands for a missing value or default."""


class UnsetType:
    """
    The type of UNSET, a default unlike any value in a message: `field: Union[int, UnsetType] = UNSET`.

    A message without the key gives UNSET, and an object with UNSET is encoded without the key.
    """

    __module__ = "cpkg.typed"
    __slots__ = ()

    def __new__(cls) -> UnsetType:
        return UNSET

    def __repr__(self) -> str:
        return "UNSET"

    def __bool__(self) -> bool:
        return False

    def __reduce__(self) -> str:
        return "UNSET"


UNSET: Final[UnsetType] = object.__new__(UnsetType)

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
    "numbers": (ARRAY, ord("A")),
    "custom": FAMILIES,
}
"""The families of values in messages that each kind of node accepts; a float may also be an int."""

TEXT_KINDS: Final = ("datetime", "date", "time", "timedelta", "uuid", "decimal", "timestamp")
"""Kinds whose values may also be text (ISO 8601 and so on), unless the union around them contains str."""


class Checks:
    """Constraints on a value, from Annotated; a missing constraint is None, MISSING or an empty tuple."""

    __slots__ = ("ge", "gt", "le", "lt", "max_len", "min_len", "multiple_of", "pattern", "predicates", "tz")

    def __init__(self) -> None:
        self.gt: object = None
        self.ge: object = None
        self.lt: object = None
        self.le: object = None
        self.multiple_of: object = None
        self.min_len: int | None = None
        self.max_len: int | None = None
        self.pattern: re.Pattern[str] | None = None  # may match anywhere in the text, as in JSON Schema
        self.tz: object = MISSING  # True: aware; False: naive
        self.predicates: tuple[Callable[[Value], object], ...] = ()

    def given(self) -> list[str]:
        """Return the names of the constraints that are set."""
        found = [name for name in self.__slots__ if name != "tz" and getattr(self, name) not in (None, ())]
        return found if self.tz is MISSING else [*found, "tz"]

    def only(self, names: list[str]) -> Checks:
        """Return a copy with only the constraints that have these names."""
        checks = Checks()
        for name in names:
            setattr(checks, name, getattr(self, name))
        return checks

    def add(self, name: str, value: Value) -> None:
        """Add a constraint; an earlier one with the same name stays in force as well, except for `tz`."""
        before = getattr(self, name)
        if name == "predicates":
            value = before + value
        elif name in _NARROWER and before is not None:
            value = _NARROWER[name](before, value)
        elif name == "pattern" and before not in (None, value):
            self.predicates += (before.search,)
        elif name == "multiple_of" and before not in (None, value):
            self.predicates += (lambda number: not number % before,)
        setattr(self, name, value)

    def over(self, others: Checks) -> Checks:
        """Return a copy of `others` with these constraints added."""
        checks = others.only(others.given())
        for name in self.given():
            checks.add(name, getattr(self, name))
        return checks

    def problem(self, value: Value) -> str | None:
        """
        Return a text that describes the expected value if a constraint refuses `value`, else None.

        If a constraint raises an exception in REFUSING, the constraint refuses `value`; other exceptions propagate.
        """
        return self.bound(value) or self.predicate(value)

    def bound(self, value: Value) -> str | None:
        """Return what `problem` would return without the predicates."""
        try:
            return self._bound(value)
        except REFUSING as exc:
            return unchecked_by(exc)

    def _bound(self, value: Value) -> str | None:
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
        return None

    def predicate(self, value: Value) -> str | None:
        """Return what `problem` would return with the predicates alone."""
        try:
            for predicate in self.predicates:
                if not predicate(value):
                    return expected_by(predicate)
        except REFUSING as exc:
            return unchecked_by(exc)
        return None


def expected_by(predicate: Callable[[Value], object]) -> str:
    """Return the text that an error gives as the expected value, if `predicate` refuses the value that was found."""
    return f"a value that passes {getattr(predicate, '__qualname__', predicate)}"


def unchecked_by(error: Exception) -> str:
    """Return the text that an error gives as the expected value, if a constraint raises `error` for the value found."""
    return f"a value that can be checked ({type(error).__name__}: {error})"


REFUSING: Final = (ValueError, TypeError, ArithmeticError, LookupError, AttributeError)
"""The exceptions by which a constraint may refuse a value."""
_NARROWER: Final[dict[str, Callable[[Value, Value], Value]]] = {
    "gt": max, "ge": max, "min_len": max, "lt": min, "le": min, "max_len": min,
}  # fmt: skip
"""Functions that choose the narrower of two constraints with the same name."""
_BOUNDS: Final[tuple[tuple[str, str, Callable[[Value, Value], bool]], ...]] = (
    ("gt", ">", lambda value, bound: value > bound),
    ("ge", ">=", lambda value, bound: value >= bound),
    ("lt", "<", lambda value, bound: value < bound),
    ("le", "<=", lambda value, bound: value <= bound),
)


# The memory of values beyond their weight in `purepy.msgpack.weigher`: rough figures of CPython, where they are large.
_ATTRIBUTES: Final = 88
"""Bytes of an instance with attributes, without their values, beyond those of an empty map."""
_EXTRA: Final[dict[object, tuple[int, int]]] = {
    collections.deque: (700, 0),
    set: (152, 64),
    frozenset: (152, 64),
    collections.OrderedDict: (80, 64),
    bytearray: (64, 0),
    memoryview: (192, 0),
    Raw: (96, 0),
}
"""For each class: the bytes of an instance, and of each of its items, beyond those that headers show."""
_ARRAY_OF_NUMBERS: Final = 96
"""Bytes that an array takes in addition to a list with the same number of items; items take at most 8 bytes."""
_MADE: Final[tuple[tuple[object, int], ...]] = (
    (list, 64), (dict, 64), (set, 216), (collections.deque, 760), (collections.OrderedDict, 144), (frozenset, 0),
    (tuple, 0), (str, 0), (bytes, 0), (int, 0), (float, 0), (bool, 0),
)  # fmt: skip
_PLACE: Final = 40
"""The most bytes that a container needs per item."""
_LIGHT: Final = {NIL, BOOL, INT, FLOAT, STR, BIN}
"""Families whose shortest values take no memory."""
_MADE_BY_OTHERS: Final = 256
"""The assumed bytes of a default from an unknown factory."""


class Field:
    """A field of an object: its attribute, its key in a message, its type and its default."""

    __slots__ = ("default", "doc", "extra", "factory", "key", "name", "node", "parameter", "required", "slot", "title")

    def __init__(
        self, name: str, key: str, node: Node, required: bool, default: object, factory: Callable[[], object] | None
    ) -> None:
        self.name = name
        self.key = key
        self.node = node
        self.required = required
        self.default = default  # MISSING if there is none
        self.factory = factory
        self.parameter = name  # the name of the constructor's parameter
        self.doc = self.title = ""  # for schemas
        self.slot: object = None  # the member descriptor, if the class has a slot for this field
        self.extra = 0  # the bytes of a default that the factory creates

    def make_default(self) -> object:
        return self.default if self.factory is None else self.factory()


class Node:
    """
    A type.

    Its kind determines which other attributes are used:

    - "any", "raw", "none", "bool", "int", "float", "str", "ext" and the other scalars of FAMILIES_OF: only `cls`
    - "bytes": `cls` is bytes, bytearray or memoryview
    - "numbers": `numbers` describes the arrays; `item` is the type of lists that are accepted, or None
    - "array": `cls` with any number of `item`; "tuple": one value for each of `parts`
    - "dict": `key` and `item`; `cls` is dict, or a function that creates the result from a dict
    - "enum", "literal": `table` maps (type, value), for each value in messages, to the object that the value becomes;
      `item` is the type of an Enum's values if they are not only text, numbers and so on
    - "choice": one of `parts`, which are enums, literals and at most one str: `table` joins the tables of the enums and
      literals, and `item` is the str or None
    - "object": `cls`, `style` ("dataclass", "attrs", "typeddict" or "namedtuple") and options; `fields` are decoded,
      `written` are encoded, `passed` are the keys of fields that are only encoded, and `omitted` are the fields of
      `written` that are omitted while they have their default
    - "union": `by_family` maps families to `parts`; `objects` are the parts that are maps with fields, if there are
      several; `tag` is None, or a key and a dict from (type, value) of this key's value to one of `objects`
    - "custom": `cls`, which the caller's `dec_hook` creates
    """

    __slots__ = (
        "__weakref__",
        "array_like",
        "build",
        "by_family",
        "checks",
        "cls",
        "extra",
        "extra_item",
        "families",
        "fields",
        "forbid",
        "item",
        "key",
        "kind",
        "name",
        "numbers",
        "objects",
        "omitted",
        "parts",
        "passed",
        "post_init",
        "style",
        "table",
        "tag",
        "written",
    )  # fmt: skip

    def __init__(self, kind: str, name: str, cls: Annotation = None) -> None:
        self.kind = kind
        self.name = name  # for errors
        self.cls = cls
        self.families: tuple[Family, ...] = FAMILIES_OF.get(kind, ())
        self.checks: Checks | None = None
        self.item: Any = None
        self.numbers: Any = None
        self.key: Any = None
        self.parts: tuple[Node, ...] = ()
        self.fields: tuple[Field, ...] = ()
        self.written: tuple[Field, ...] = ()
        self.passed: frozenset[str] = frozenset()  # keys that are skipped, even with `forbid`
        self.table: dict[tuple[type, Value], Value] = {}
        self.by_family: dict[Family, Node] = {}
        self.objects: tuple[Node, ...] = ()
        self.tag: tuple[str, dict[tuple[type, Value], Node]] | None = None
        self.style = ""
        self.build = ""  # "set": attributes are set on a bare instance; "call": the constructor is called
        self.array_like = self.forbid = False
        self.omitted: frozenset[Field] = frozenset()
        self.post_init = False  # whether `__post_init__` is called after attributes are set
        # the bytes of a value, and of each of its items, beyond those that the headers of a message show
        self.extra = self.extra_item = 0

    def __repr__(self) -> str:
        return f"<type {self.name}>"

    def below(self) -> list[Node]:
        """Return the nodes directly below this one: the types of its keys, items, parts and fields."""
        found = [self.key, self.item, *self.parts, *[field.node for field in self.fields]]
        return [node for node in found if node is not None]

    def walk(self) -> dict[int, Node]:
        """Return this node and all nodes below it, by id, in depth-first order."""
        seen = {}
        todo = [self]
        while todo:
            node = todo.pop()
            if id(node) not in seen:
                seen[id(node)] = node
                if node.item is not None or node.parts or node.fields:  # a node with a key also has an item
                    todo.extend(reversed(node.below()))
        return seen

    def weigh(self) -> int:
        """
        Set `extra` and `extra_item` of this node and all nodes below it, and `extra` of their fields.

        Extra bytes are memory that the headers of a message do not show: `extra` for a value, `extra_item` for each of
        its items. Returns the largest ratio of a value's memory to its packed size, over all types with extra bytes; 0
        if there are none. The memory is the sum of the extra bytes and of what the limits count for the value's header.
        For all other types, the ratio is at most `purepy.msgpack.interface.HEAVIEST`.
        """
        nodes = self.walk().values()
        for node in nodes:
            if isinstance(node.cls, type) and node.cls in _EXTRA:
                node.extra, node.extra_item = _EXTRA[node.cls]
            elif node.kind == "numbers":
                node.extra = _ARRAY_OF_NUMBERS
            if node.kind == "object" and node.style in ("dataclass", "attrs"):
                required = sum(field.required for field in node.fields)
                instance = 8 * len(node.fields) + (0 if all(field.slot for field in node.fields) else _ATTRIBUTES)
                for field in node.fields:
                    if field.factory is not None:
                        made = [weight for cls, weight in _MADE if cls is field.factory]
                        field.extra = made[0] if made else _MADE_BY_OTHERS
                # the weight of a map already includes these bytes, unless the map is empty
                counted = 8 * required if node.array_like else 40 * required + _ATTRIBUTES if required else 0
                node.extra = max(0, instance - counted)
        place = _PLACE + max([node.extra_item for node in nodes])
        found = [node._heaviest(place) for node in nodes if node.extra or any(field.extra for field in node.fields)]
        return max(found, default=0)

    def _heaviest(self, place: int) -> int:
        """
        Return the most bytes of memory that a value takes per byte of its packed form, not counting its contents.

        `place` is the memory in bytes that the container around the value needs for it.
        """
        extra = place + self.extra + sum([field.extra for field in self.fields])
        if self.kind != "object":
            return extra + 64  # an empty container
        required = [field for field in self.fields if field.required]
        # each byte of another value, and each further byte of these, takes less memory than HEAVIEST
        size = 1 + sum([set(field.node.families) <= _LIGHT and not field.node.extra for field in required])
        if self.array_like:
            return -(-(extra + 64 + 8 * len(required)) // size)
        keys = [field.key.encode("utf-8", "surrogatepass") for field in required]
        header = 152 + sum([40 + (56 if key.isascii() else 76) + 4 * len(key) for key in keys])
        whole = -(-(extra + header) // (size + sum([1 + len(key) for key in keys])))
        return whole if required else max(extra + 64, -(-(extra + header + 40) // 2))

    def alternatives(self) -> tuple[Node, ...]:
        """
        Return the parts of a union or choice; replace a part that is itself a union or choice with its own parts.

        A part with constraints remains whole. For another type, returns a tuple of the type itself.
        """
        if self.kind not in ("union", "choice"):
            return (self,)
        return tuple([each for part in self.parts for each in ((part,) if part.checks else part.alternatives())])

    def rechecks(self) -> bool:
        """
        Return whether constraints other than predicates can be checked again without running the caller's code.

        False for objects, custom classes, enums, unions and choices (the str, enums and literals of text of a union,
        combined into one node), and for a dict whose keys, or a set whose items, contain an object, custom class, enum
        or choice. True for a literal.
        """
        if self.kind in ("object", "custom", "enum", "choice", "union"):
            return False
        hashed = self.key if self.kind == "dict" else self.item if self.cls in (set, frozenset) else None
        return hashed is None or not hashed.has("object", "custom", "enum", "choice")

    def has(self, *kinds: str) -> bool:
        """Return whether this node or a node below it has one of these kinds."""
        return any(node.kind in kinds for node in self.walk().values())

    def loops(self) -> set[int]:
        """Return the ids of nodes that break all cycles: each cycle of types contains at least one of them."""
        found = set()
        seen: dict[int, bool] = {}  # True while the walk is below the node
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


def form_of(node: Node, obj: object) -> dict[str, object] | list[object]:
    """
    Return the dict to encode for an object with fields, without omitted fields; with `array_like`, a list of values.
    """
    if node.array_like:
        return [getattr(obj, field.name) for field in node.written]
    form = {field.key: getattr(obj, field.name) for field in node.written}
    for field in node.omitted:
        if is_default(field, form[field.key]):
            del form[field.key]
    return form


_EMPTY: Final = (list, dict, set, tuple, frozenset)
"""Factories whose results are always equal."""


def is_default(field: Field, value: object) -> bool:
    """Return whether decoding a message without the field is certain to restore this value."""
    if field.factory is not None:
        return field.factory in _EMPTY and type(value) is field.factory and not value
    return _same(value, field.default)


def _same(one: Value, two: Value) -> bool:
    """Return whether two values are equal, including their types, signs of zero, digits and time zones."""
    if one is two:
        return True
    kind = type(one)
    if kind is not type(two):
        return False
    if kind in (int, str, bytes, bool):
        return bool(one == two)
    if isinstance(one, dict):
        return len(one) == len(two) and all(map(_same, one.items(), two.items()))
    if isinstance(one, (list, tuple)):
        return len(one) == len(two) and all(map(_same, one, two))
    if isinstance(one, (set, frozenset)):
        twins = {item: item for item in two}
        return len(one) == len(two) and all(item in twins and _same(item, twins[item]) for item in one)
    fields = getattr(kind, "__dataclass_fields__", None) or [
        field.name for field in getattr(kind, "__attrs_attrs__", ())
    ]
    if fields:
        return all(_same(getattr(one, name, MISSING), getattr(two, name, MISSING)) for name in fields)
    if kind is float or kind.__module__ in _SHOWN_WHOLE:  # a signalling NaN cannot be compared
        return repr(one) == repr(two)
    if hasattr(kind, "tobytes"):  # an array: == would compare each item
        return all(getattr(one, name, None) == getattr(two, name, None) for name in _OF_ARRAYS) and (
            one.tobytes() == two.tobytes()
        )
    return bool(one == two)


_OF_ARRAYS: Final = ("dtype", "typecode", "format", "shape")
"""Attributes in which arrays with the same bytes may differ."""
_SHOWN_WHOLE: Final = frozenset(("datetime", "decimal", "_decimal", "_pydecimal", "uuid", "zoneinfo"))
"""Modules whose objects are equal if their reprs are equal."""
