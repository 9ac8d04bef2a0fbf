# SPDX-License-Identifier: Apache-2.0
"""The fields of dataclasses, attrs classes, NamedTuples and TypedDicts, and how their objects are created."""

from __future__ import annotations

import dataclasses
import sys
import typing

from cpkg.typed.nodes import MISSING, Field
from cpkg.typed.scopes import unwrapped
from cpkg.typed.texts import DATE
from purepy.base.errors import raise_if_from_handler
from purepy.base.lazy import imported
from purepy.msgpack.conversions import SLOT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType
    from typing import Callable, Final

    from typing_extensions import TypeAlias

    from cpkg.typed.nodes import Annotation, Node
    from cpkg.typed.scopes import Scope
    from purepy.base.types import Named

    Scopes: TypeAlias = "dict[Annotation, Scope]"
    """The scopes of a class and its bases."""
    Fields: TypeAlias = "Iterator[tuple[Field, Annotation, Annotation, str]]"
    """Each field with its annotation, the class that has this annotation, and one of the uses below."""

BOTH, TAKEN, WRITTEN = "both", "taken", "written"
"""Uses of a field: passed to the constructor and encoded (BOTH), only passed to it (TAKEN), only encoded (WRITTEN)."""

_PACKED_OTHERWISE: Final = (dict, list, tuple, int, float, str, bytes, bytearray, DATE)
"""Objects of these classes and their subclasses are packed as values of these classes, whatever fields they have."""


def reader_of(cls: Annotation) -> tuple[str, Callable[[Annotation, Scopes], Fields]] | None:
    """Return the style of a class with fields and the function that yields them; None for any other class."""
    if issubclass(cls, tuple) and hasattr(cls, "_fields"):
        return "namedtuple", _namedtuple_fields
    if issubclass(cls, dict) and hasattr(cls, "__total__"):
        return "typeddict", _typeddict_fields
    if issubclass(cls, _PACKED_OTHERWISE):
        return None
    if hasattr(cls, "__dataclass_fields__"):
        return "dataclass", _dataclass_fields
    return ("attrs", _attrs_fields) if hasattr(cls, "__attrs_attrs__") else None


def _is_missing(value: object) -> bool:
    """Return whether a dataclass uses `value` for "no default": cloudpickle copies MISSING with a class of __main__."""
    # from Python 3.15 on, copies of MISSING are MISSING
    return value is dataclasses.MISSING or isinstance(value, getattr(dataclasses, "_MISSING_TYPE", ()))


def _dataclass_fields(cls: Annotation, scopes: Scopes) -> Fields:
    declared = [(base, vars(base).get("__dataclass_fields__", {})) for base in reversed(cls.__mro__)]
    for field in cls.__dataclass_fields__.values():
        kind = field._field_type.name
        if kind == "_FIELD_CLASSVAR":
            continue
        owner = next((base for base, fields in declared if fields.get(field.name) is field), cls)
        default = MISSING if _is_missing(field.default) else field.default
        factory = None if _is_missing(field.default_factory) else field.default_factory
        required = field.init and default is MISSING and factory is None
        made = Field(field.name, "", _UNREAD, required, default, factory)
        made.doc = getattr(field, "doc", None) or ""  # of dataclasses from 3.14 on
        use = TAKEN if kind == "_FIELD_INITVAR" else BOTH if field.init else WRITTEN
        if use != TAKEN:
            made.slot = _slot_of(cls, field.name)
        yield made, scopes[owner].annotations.get(field.name, field.type), owner, use


def _attrs_fields(cls: Annotation, scopes: Scopes) -> Fields:
    attrs: Named = sys.modules["attr"]
    for field in cls.__attrs_attrs__:
        default, factory = field.default, None
        if default is attrs.NOTHING:
            default = MISSING
        elif isinstance(default, attrs.Factory):
            factory = default.factory if not default.takes_self else MISSING
        required = field.init and default is MISSING
        made = Field(field.name, "", _UNREAD, required, MISSING if factory else default, factory)
        made.parameter = getattr(field, "alias", None) or field.name.lstrip("_")
        made.slot = _slot_of(cls, field.name)
        if factory is MISSING:  # only the constructor can create this default
            made.factory = None
        annotation, owner = typing.Any if field.type is None else field.type, cls
        for base in cls.__mro__:
            written = scopes[base].annotations.get(field.name)
            if written is not None:
                # a type that `resolve_types` has evaluated, or that `attr.ib(type=)` gave, comes first
                owner = base
                if field.type is None:
                    annotation = written
                break
        if field.converter is not None:
            annotation = _taken_by(field.converter, annotation)
        yield made, annotation, owner, BOTH if field.init else WRITTEN


def _taken_by(converter: Annotation, otherwise: Annotation) -> Annotation:
    """Return the annotation of an attrs converter's argument; `otherwise` if it has none, or for a class."""
    function = getattr(converter, "converter", converter)
    try:
        name = next(iter(imported("inspect").signature(function).parameters))
        hints = {} if isinstance(function, type) else typing.get_type_hints(function, include_extras=True)
    except Exception as exc:  # a builtin function, or annotations that cannot be evaluated
        raise_if_from_handler(exc)
        return otherwise
    return hints.get(name, otherwise)


def _namedtuple_fields(cls: Annotation, scopes: Scopes) -> Fields:
    for name in cls._fields:
        default = cls._field_defaults.get(name, MISSING)
        owner = next((base for base in cls.__mro__ if name in scopes[base].annotations), cls)
        annotation = scopes[owner].annotations.get(name, typing.Any)
        yield Field(name, "", _UNREAD, default is MISSING, default, None), annotation, owner, BOTH


def _typeddict_fields(cls: Annotation, scopes: Scopes) -> Fields:
    optional = set(cls.__optional_keys__)
    for name, annotation in scopes[cls].annotations.items():  # includes annotations of the bases
        owner = [base for base, scope in scopes.items() if scope.annotations.get(name) == annotation][-1]
        # `__optional_keys__` is wrong where annotations are text, and where NotRequired is not known
        required = name not in optional
        for form, _ in unwrapped(annotation, scopes[owner]):
            if form in ("Required", "NotRequired"):
                required = form == "Required"
                break
        yield Field(name, "", _UNREAD, required, MISSING, None), annotation, owner, BOTH


_UNREAD: Final[Node] = typing.cast("Node", None)


def _attribute(cls: Annotation, name: str) -> Annotation:
    """
    Return a class attribute as the class or a base defines it, without calling descriptors; None if there is none.
    """
    for base in cls.__mro__:
        if name in vars(base):
            return vars(base)[name]
    return None


def _slot_of(cls: Annotation, name: str) -> object:
    """Return the slot descriptor of a field, or None; raise TypeError if the slot belongs to another class or field."""
    found = _attribute(cls, name)
    if type(found) is not SLOT:
        return None
    owner = found.__objclass__
    if owner not in cls.__mro__ or found.__name__ != name:
        raise TypeError(
            f"{cls.__qualname__}.{name} is the slot {found.__name__!r} of {owner.__qualname__}:"
            " give the field another default, or no default"
        )
    return found


_ABSTRACT: Final = 1 << 20
"""The flag of classes that have abstract methods."""


def settable(cls: Annotation, fields: list[Field]) -> bool:
    """
    Return True only if setting attributes and calling `__post_init__` creates the same instance as the constructor.

    The caller ensures that `fields` are exactly the parameters of the constructor of a dataclass or attrs class, and
    exactly the attributes of its instances.
    """
    code = getattr(cls.__init__, "__code__", None)
    if (
        code is None
        or hasattr(cls.__init__, "__wrapped__")
        or not (_is_of_dataclass if hasattr(cls, "__dataclass_fields__") else _is_of_attrs)(code, fields)
        or cls.__flags__ & _ABSTRACT
        or cls.__new__ is not object.__new__
        or type(cls).__call__ is not type.__call__
    ):
        return False
    if cls.__setattr__ is not object.__setattr__ and _SETTERS.isdisjoint(code.co_names):
        return False  # the constructor calls `__setattr__`
    return all(field.slot is not None or not hasattr(type(_attribute(cls, field.name)), "__set__") for field in fields)


def calls_post_init(cls: Annotation) -> bool:
    """Return whether the generated constructor of a dataclass calls `__post_init__`."""
    return "__post_init__" in cls.__init__.__code__.co_names


# Source that a program passes to `exec` may have the file name of generated source. Hence the two functions below also
# check that the code names nothing but fields and the functions that set them.


def _is_of_dataclass(code: CodeType, fields: list[Field]) -> bool:
    """Return whether the code is certainly a constructor that `dataclass` generated for exactly these fields."""
    names = {field.name for field in fields}
    return (
        code.co_filename == "<string>"
        and code.co_firstlineno == 2
        and getattr(code, "co_qualname", _QUALNAME) == _QUALNAME
        and set(code.co_varnames[1:]) == names
        and names.union(("object", "__setattr__", "__post_init__")).issuperset(code.co_names)
        and names.union((None,)).issuperset(code.co_consts)
    )


def _is_of_attrs(code: CodeType, fields: list[Field]) -> bool:
    """
    Return whether the code is certainly a constructor that attrs generated, and runs nothing but factories of defaults.
    """
    names = {field.name for field in fields}
    parameters = {field.parameter for field in fields}
    factories = [f"__attr_factory_{field.name}" for field in fields if field.factory is not None]
    taken = code.co_argcount + code.co_kwonlyargcount
    return (
        code.co_filename.startswith("<attrs generated ")
        and set(code.co_varnames[1:taken]) == parameters
        and {"_setattr", "_inst_dict"}.issuperset(code.co_varnames[taken:])
        and names.union(factories, ("NOTHING", "_cached_setattr_get", "__dict__")).issuperset(code.co_names)
        and names.union((None,)).issuperset(code.co_consts)
        and all(field.required or field.factory is not None or field.default is not MISSING for field in fields)
    )


_QUALNAME: Final = "__create_fn__.<locals>.__init__"
_SETTERS: Final = frozenset(("__setattr__", "_cached_setattr_get"))
"""Names in a constructor that sets attributes without the `__setattr__` of its class."""
