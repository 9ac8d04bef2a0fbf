# SPDX-License-Identifier: Apache-2.0
"""The meaning of names and type variables in annotations: each class is evaluated in its own module."""

from __future__ import annotations

import builtins
import functools
import sys
import types
import typing
from collections import ChainMap

from purepy.base.errors import exception_text, raise_if_from_handler
from purepy.base.lazy import imported

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any, Final

    from typing_extensions import TypeAlias

    from cpkg.typed.nodes import Annotation, Node

    Variables: TypeAlias = "dict[object, tuple[Annotation, Scope]]"
    """The values of type variables, each with the scope in which the value is written."""

_ADVICE: Final = "pass the type itself, or use namespace= of cpkg.typed.Decoder, schema or inspect"
_LATE: Final = sys.version_info >= (3, 14)
"""Whether Python evaluates annotations lazily, so that names that are not yet defined can become ForwardRefs."""

_DEEPEST: Final = 10
"""How deep a generic class may occur in its own annotations, each time with other parameters."""


QUALIFIERS: Final = ("Required", "NotRequired", "ReadOnly", "Final")
_FORMS: Final = (*QUALIFIERS, "Union", "Literal", "LiteralString", "Self", "NoDefault")


def special_form(tp: object) -> str:
    """Return the name of a special form in _FORMS, from typing or typing_extensions; "" for anything else."""
    return _forms(sys.modules.get("typing_extensions"), sys.modules.get("_typeshed")).get(tp, "")


@functools.lru_cache
def _forms(*modules: object) -> dict[object, str]:
    found = {getattr(module, name): name for module in (typing, *modules) for name in _FORMS if hasattr(module, name)}
    return {**found, getattr(types, "UnionType", typing.Union): "Union"}


def own_annotations(cls: Annotation) -> Mapping[str, Annotation]:
    """
    Return the annotations in the body of a class, without those of its bases.

    On Python 3.14 and newer this evaluates them. Undefined names become ForwardRefs, other errors raise TypeError.
    """
    if _LATE:
        library = imported("annotationlib")
        try:
            found: Mapping[str, Annotation] = library.get_annotations(cls, format=library.Format.FORWARDREF)
        except Exception as exc:
            raise_if_from_handler(exc)
            raise TypeError(f"cannot evaluate the annotations of {cls.__qualname__}: {_shown(exc)}") from exc
        return found
    return cls.__dict__.get("__annotations__") or {}


class _Anything(dict):  # type: ignore[type-arg]
    """A namespace in which every undefined name is Any."""

    def __missing__(self, name: str) -> object:
        return typing.Any


class Scope:
    """The meaning of names and type variables in the annotations of one class or alias."""

    __slots__ = ("_known", "_lenient", "_namespace", "annotations", "depths", "node", "owner", "variables")

    def __init__(
        self,
        owner: Annotation = None,
        namespace: Mapping[str, object] | None = None,
        variables: Variables | None = None,
        node: Node | None = None,
        lenient: bool = False,
        depths: dict[object, int] | None = None,
    ) -> None:
        """
        Create a scope that looks up names in `namespace`, the module of `owner`, builtins, and the body of `owner`.

        The name and the type parameters of `owner` precede its module. `node` is the class that `Self` means. With
        `lenient`, undefined names are Any. `depths` counts how deep a generic class is nested in itself.
        """
        self.owner = owner
        self.annotations = own_annotations(owner) if isinstance(owner, type) else {}
        self.variables = variables or {}
        self.node = node
        self.depths = depths or {}
        self._namespace = namespace or {}
        self._lenient = lenient
        self._known: tuple[dict[str, object], ChainMap[str, object]] | None = None  # None until an annotation is text

    def _names(self) -> tuple[dict[str, object], ChainMap[str, object]]:
        """Return the namespace of the owner's module, and a map of all names that annotations can use."""
        owner = self.owner
        module = vars(sys.modules[owner.__module__]) if getattr(owner, "__module__", None) in sys.modules else {}
        own: dict[str, object] = {"typing": typing}
        if owner is not None:
            own[owner.__name__] = owner
        own.update({str(name): name for name in getattr(owner, "__type_params__", ())})
        # builtins precede the body, whose fields may have their names: `type: str = ""`
        inside = vars(owner) if isinstance(owner, type) else {}
        maps: list[Any] = [self._namespace, own, module, vars(builtins), inside]
        if self._lenient:
            maps.append(_Anything())
        return module, ChainMap(*maps)

    def evaluate(self, reference: Annotation) -> Annotation:
        """Return the type that a text or a ForwardRef names; raise TypeError if it cannot be resolved."""
        if isinstance(reference, str) and self.owner is None and not self._namespace:
            raise TypeError(f"cannot resolve the forward reference {reference!r}: {_ADVICE}")
        known, names = self._known = self._known or self._names()
        text = reference
        if not isinstance(reference, str):
            text = reference.__forward_arg__
            module = getattr(reference, "__forward_module__", None)
            module = sys.modules.get(module) if isinstance(module, str) else module
            if module is not None:
                known = vars(module)
                names = ChainMap(*names.maps[:2], known, *names.maps[3:])
            extra = getattr(reference, "__extra_names__", None)
            if extra:  # objects that parts of the text refer to
                names = names.new_child(extra)
        try:
            return eval(text, known, names)
        except Exception as exc:
            raise_if_from_handler(exc)
            if hasattr(reference, "evaluate"):  # the ForwardRef may have access to the variables of a function
                try:
                    return reference.evaluate()
                except Exception as other:
                    raise_if_from_handler(other)
            where = getattr(self.owner, "__qualname__", "the type")
            advice = f": {_ADVICE}" if isinstance(exc, NameError) else ""
            raise TypeError(f"{where}: cannot resolve the forward reference {text!r} ({_shown(exc)}){advice}") from exc

    def bind(self, origin: Annotation, args: tuple[Annotation, ...]) -> Variables:
        """Return the type variables of a generic class or alias, each with its argument and this scope."""
        names = getattr(origin, "__type_params__", ()) if not isinstance(origin, type) else ()
        return {name: (value, self) for name, value in zip(names or getattr(origin, "__parameters__", ()), args)}

    def resolved(self, tp: Annotation) -> Annotation:
        """
        Return a type with its variables replaced by their values, for comparison with other types.

        Returns (type, values) if Python does not accept the values.
        """
        if isinstance(tp, typing.TypeVar):
            if tp not in self.variables:
                return tp
            value, outer = self.variables[tp]
            return outer.resolved(value)
        parameters = () if isinstance(tp, type) and not typing.get_args(tp) else getattr(tp, "__parameters__", ())
        values = tuple([self.resolved(name) for name in parameters])
        if all(value is name for value, name in zip(values, parameters)):
            return tp
        try:
            return tp[values]
        except TypeError:  # the values of its variables are not types
            return (tp, values)

    def key(self, origin: object, args: tuple[Annotation, ...]) -> object:
        """Return a dict key for a generic class or alias with arguments, including the values of their variables."""
        found = tuple([self.resolved(arg) for arg in args])
        owner = self.owner if any(map(_has_text, args)) else None
        key = (origin, found, owner)
        try:
            hash(key)
        except TypeError:  # metadata of Annotated may be anything
            return (origin, _Identical(found), owner)
        # unions are equal in any order, and numbers in Literals with any type; their reprs differ
        return (*key, repr(found)) if args else key

    def depths_within(self, origin: Annotation, args: tuple[Annotation, ...]) -> dict[object, int]:
        """
        Return the `depths` for a class or alias with these arguments; {} if the arguments contain no type variables.

        Raises TypeError for a class or alias that refers to itself more than _DEEPEST times.
        """
        if not any(isinstance(arg, typing.TypeVar) or getattr(arg, "__parameters__", ()) for arg in args):
            return {}
        depth = self.depths.get(origin, 0) + 1
        if depth > _DEEPEST:
            raise TypeError(f"{origin.__name__} refers to itself endlessly, each time with other parameters")
        return {**self.depths, origin: depth}


class _Identical:
    """A dict key for unhashable objects: equal only for the same objects."""

    __slots__ = ("objects",)

    def __init__(self, objects: tuple[object, ...]) -> None:
        self.objects = objects

    def __hash__(self) -> int:
        return hash(tuple(map(id, self.objects)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identical) and [*map(id, self.objects)] == [*map(id, other.objects)]


def class_scopes(
    cls: Annotation, variables: Variables, scope_of: Callable[[Annotation, Variables], Scope]
) -> dict[Annotation, Scope]:
    """
    Return a dict from a class and each of its bases to their scopes; `scope_of(class, variables)` creates a scope.
    """
    scopes = {cls: scope_of(cls, variables)}
    todo = [cls]
    while todo:
        below = todo.pop()
        for base in getattr(below, "__orig_bases__", ()):
            origin = typing.get_origin(base) or base
            if isinstance(origin, type) and origin not in scopes:
                scopes[origin] = scope_of(origin, scopes[below].bind(origin, typing.get_args(base)))
                todo.append(origin)
    for base in cls.__mro__:
        if base not in scopes:
            scopes[base] = scope_of(base, {})
    return scopes


def unwrapped(annotation: Annotation, scope: Scope) -> Iterator[tuple[Annotation, Annotation]]:
    """Yield (form, annotation) for each form around a field's type, such as "Annotated", then ("", the type)."""
    while True:
        if isinstance(annotation, (str, typing.ForwardRef)):
            annotation = scope.evaluate(annotation)
        origin = typing.get_origin(annotation)
        if hasattr(annotation, "__metadata__"):
            yield "Annotated", annotation
            annotation = annotation.__origin__
        elif origin is not None and special_form(origin) in QUALIFIERS:
            yield special_form(origin), annotation
            annotation = typing.get_args(annotation)[0]
        else:
            yield "", annotation
            return


def _has_text(tp: Annotation) -> bool:
    if isinstance(tp, (list, tuple)):
        return any(map(_has_text, tp))
    return isinstance(tp, (str, typing.ForwardRef)) or any(map(_has_text, typing.get_args(tp)))


def _shown(exc: BaseException) -> str:
    return f"{type(exc).__name__}: {exception_text(exc)}"
