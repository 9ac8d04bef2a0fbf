# SPDX-License-Identifier: Apache-2.0
"""The fields of dataclasses, attrs classes, NamedTuples and TypedDicts, and what their annotations mean there."""

from __future__ import annotations

import dataclasses
import sys
import typing

from cpkg.typed.nodes import MISSING, Field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Final

    from typing_extensions import TypeAlias

    from cpkg.typed.nodes import Annotation, Node
    from purepy.base.types import Named

    Scope: TypeAlias = "dict[object, tuple[object, Scope]]"
    """What type variables stand for, each with the scope of that."""
    Fields: TypeAlias = Iterator[tuple[Field, object]]


def special(name: str) -> tuple[object, ...]:
    """Return what has this name in typing and, if that is loaded, in typing_extensions."""
    modules = [typing, sys.modules.get("typing_extensions"), sys.modules.get("_typeshed")]
    return tuple([getattr(module, name) for module in modules if hasattr(module, name)])


def hints_of(cls: Annotation) -> dict[str, Annotation]:
    """Return the annotations of a class and its bases, evaluated each in its own module."""
    names = {cls.__name__: cls, **{str(name): name for name in getattr(cls, "__type_params__", ())}}
    try:
        return typing.get_type_hints(cls, localns=names, include_extras=True)
    except TypeError:  # InitVar as text, before 3.11
        return {
            name: eval(hint, vars(sys.modules[base.__module__]), names) if isinstance(hint, str) else hint
            for base in reversed(cls.__mro__)
            for name, hint in base.__dict__.get("__annotations__", {}).items()
        }
    except NameError as exc:
        raise TypeError(f"{cls.__qualname__}: {exc}; types in annotations must be names of its module") from exc


def scopes_of(cls: object, args: tuple[object, ...], env: Scope) -> dict[object, Scope]:
    """Return what type variables stand for, for each class whose annotations the object has."""
    scopes: dict[object, Scope] = {cls: {}}
    parameters = getattr(cls, "__parameters__", ())
    if args:
        scopes[cls] = {name: (value, env) for name, value in zip(parameters, args)}
    todo = [cls]
    while todo:
        below = todo.pop()
        for base in getattr(below, "__orig_bases__", ()):
            origin = typing.get_origin(base)
            if isinstance(origin, type) and origin not in scopes:
                given = zip(getattr(origin, "__parameters__", ()), typing.get_args(base))
                scopes[origin] = {name: (value, scopes[below]) for name, value in given}
                todo.append(origin)
    return scopes


def dataclass_fields(cls: Annotation, node: Node) -> Fields:
    """Yield the fields that the constructor takes, each with its type, None where that is in `hints_of`."""
    for field in cls.__dataclass_fields__.values():
        kind = field._field_type.name
        if kind == "_FIELD_CLASSVAR" or not field.init:
            continue
        default = MISSING if field.default is dataclasses.MISSING else field.default
        factory = None if field.default_factory is dataclasses.MISSING else field.default_factory
        made = Field(field.name, "", node, default is MISSING and factory is None, default, factory)
        # without `from __future__ import annotations`, and as get_type_hints() does not give it
        yield made, field.type if kind == "_FIELD_INITVAR" and not isinstance(field.type, str) else None


def attrs_fields(cls: Annotation, node: Node) -> Fields:
    """Yield fields as `dataclass_fields` does."""
    attrs: Named = sys.modules["attr"]
    for field in cls.__attrs_attrs__:
        if field.init:
            default, factory = field.default, None
            if default is attrs.NOTHING:
                default = MISSING
            elif isinstance(default, attrs.Factory):
                factory = default.factory if not default.takes_self else MISSING
            made = Field(field.name, "", node, default is MISSING, MISSING if factory else default, factory)
            made.parameter = getattr(field, "alias", None) or field.name.lstrip("_")
            if factory is MISSING:  # its own constructor knows
                made.factory = None
            yield made, None


def namedtuple_fields(cls: Annotation, node: Node) -> Fields:
    """Yield fields as `dataclass_fields` does."""
    for name in cls._fields:
        default = cls._field_defaults.get(name, MISSING)
        yield Field(name, "", node, default is MISSING, default, None), None


def typeddict_fields(cls: object, node: Node) -> Fields:
    """Yield fields as `dataclass_fields` does."""
    optional = _not_required(cls)
    for name in hints_of(cls):
        yield Field(name, "", node, name not in optional, MISSING, None), None


def _not_required(cls: Annotation) -> set[str]:
    """
    Return the keys that a TypedDict may lack.

    Its own `__optional_keys__` are wrong where its annotations are strings, and where NotRequired is not known.
    """
    optional = set(cls.__optional_keys__)
    for name, hint in hints_of(cls).items():
        origin: object = typing.get_origin(hint)
        while origin is not None:
            if origin in special("NotRequired"):
                optional.add(name)
            elif origin in special("Required"):
                optional.discard(name)
            hint = hint.__origin__ if hasattr(hint, "__metadata__") else typing.get_args(hint)[0]
            origin = typing.get_origin(hint) if any(
                origin in special(form) for form in ("NotRequired", "Required", "ReadOnly", "Annotated")
            ) else None  # fmt: skip
    return optional


_ABSTRACT: Final = 1 << 20
"""The flag of classes that have abstract methods."""


def settable(cls: Annotation, fields: list[Field]) -> bool:
    """Tell whether an instance is whole with its attributes set and `__post_init__` called, without its constructor."""
    parameters = cls.__dataclass_params__
    if [field.name for field in fields] != [
        field.name for field in dataclasses.fields(cls)
    ]:  # InitVar, or fields that the constructor sets
        return False
    generated = getattr(cls.__init__, "__code__", None) is not None and cls.__init__.__code__.co_filename == "<string>"
    if (
        not generated
        or cls.__flags__ & _ABSTRACT
        or cls.__new__ is not object.__new__
        or type(cls).__call__ is not type.__call__
    ):
        return False
    if cls.__setattr__ is not object.__setattr__ and not (parameters.frozen and "__setattr__" in cls.__dict__):
        return False
    for field in fields:
        found = getattr(cls, field.name, None) if not field.required else cls.__dict__.get(field.name)
        if hasattr(type(found), "__set__") and type(found).__name__ != "member_descriptor":
            return False
    return True
