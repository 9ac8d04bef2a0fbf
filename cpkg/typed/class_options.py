# SPDX-License-Identifier: Apache-2.0
"""Options that set the form of a class or a field in messages: `options`, `Name`, `Exclude`, `Pattern`, `Title`."""

from __future__ import annotations

import re

from cpkg.typed.kept import is_in_use
from cpkg.typed.nodes import UNSET

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, Final, TypeVar, Union

    from typing_extensions import TypeAlias

    from cpkg.typed.nodes import Annotation, UnsetType

    C = TypeVar("C", bound="type[Any]")
    Rename: TypeAlias = Union[str, Callable[[str], str], Mapping[str, str], None]

ATTRIBUTE: Final = "__typed_options__"
"""The class attribute that `options` sets: a dict of the given arguments and of inherited options."""


def options(
    *,
    rename: Rename | UnsetType = UNSET,
    omit_defaults: bool | UnsetType = UNSET,
    omit_none: bool | UnsetType = UNSET,
    forbid_unknown_fields: bool | UnsetType = UNSET,
    array_like: bool | UnsetType = UNSET,
) -> Callable[[C], C]:
    """
    Return a decorator that sets the form of a dataclass, attrs class, NamedTuple or TypedDict in messages.

    `rename`, only for dataclasses and attrs classes, derives the keys from the names of the fields: "camel", "pascal",
    "kebab", "lower", "upper", a function from name to key, or a mapping from names to keys. `omit_defaults` omits
    fields that have their default when an object is encoded (of defaults from factories, only an empty list, dict, set,
    tuple or frozenset); `omit_none` omits only those whose default is None. `forbid_unknown_fields` raises an error for
    an unknown key (with `array_like`, a surplus item), which is otherwise ignored. `array_like`, only for dataclasses
    and attrs classes, writes an array of the fields' values, without keys, in the order of the fields; fields that are
    only encoded come last. NamedTuples are always arrays, and TypedDicts always maps. A subclass inherits the options
    that it does not set; False, or None for `rename`, switches an inherited option off. Options are off by default.

    The decorator sets the dict `__typed_options__`, which may also be written in the class directly. Raises ValueError
    for any other `rename`; the decorator raises TypeError for an object that is not a class, and for a class if it or a
    subclass has already been decoded, encoded or described.
    """
    if isinstance(rename, str):
        is_known = rename in _STYLES
    else:
        is_known = rename is None or rename is UNSET or callable(rename) or hasattr(rename, "get")
    if not is_known:
        raise ValueError(
            f"rename must be one of {', '.join(sorted(_STYLES))}, a function, a mapping or None, not {rename!r}"
        )
    chosen = {
        "rename": rename,
        "omit_defaults": omit_defaults,
        "omit_none": omit_none,
        "forbid_unknown_fields": forbid_unknown_fields,
        "array_like": array_like,
    }

    def set_options(cls: C) -> C:
        if not isinstance(cls, type):
            raise TypeError(f"typed.options is a decorator of classes, not of {cls!r}")
        if is_in_use(cls):
            raise TypeError(f"{cls.__qualname__} is already in use: apply typed.options before its first use")
        inherited = getattr(cls, ATTRIBUTE, {})
        setattr(cls, ATTRIBUTE, {**inherited, **{name: value for name, value in chosen.items() if value is not UNSET}})
        return cls

    return set_options


def options_of(cls: Annotation) -> dict[str, Any]:
    """Return the options that a class sets or inherits; raise TypeError or ValueError if one is wrong."""
    found = getattr(cls, ATTRIBUTE, {})
    try:
        options(**found)
    except (TypeError, ValueError) as exc:
        raise type(exc)(f"{cls.__qualname__}.{ATTRIBUTE}: {exc}") from None
    return dict(found)


class Name:
    """Set the key of one field: `Annotated[int, Name("userId")]`. It takes precedence over `rename`."""

    __slots__ = ("key",)

    def __init__(self, key: str) -> None:
        if not isinstance(key, str):
            raise TypeError(f"Name expects the key of a field, a str, not {key!r}")
        self.key = key

    def __repr__(self) -> str:
        return f"Name({self.key!r})"


class Title:
    """Set the title of one field in a schema: `Annotated[int, Title("Order number")]`."""

    __slots__ = ("title",)

    def __init__(self, title: str) -> None:
        if not isinstance(title, str):
            raise TypeError(f"Title expects a str, not {title!r}")
        self.title = title

    def __repr__(self) -> str:
        return f"Title({self.title!r})"


class Exclude:
    """
    Exclude a field from messages: `Annotated[str, Exclude()]`.

    The field is neither encoded nor decoded. It needs a default, and its class must be a dataclass or attrs class.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return "Exclude()"


class Pattern:
    """
    Require text that contains a match of the regular expression `pattern`: `Annotated[str, Pattern("^[a-z]+$")]`.

    As in JSON Schema, the match may be anywhere in the text: use anchors to match the whole text. `pattern` may also be
    a compiled expression.
    """

    __slots__ = ("compiled",)

    def __init__(self, pattern: str) -> None:
        self.compiled = re.compile(pattern)

    def __repr__(self) -> str:
        return f"Pattern({self.compiled.pattern!r})"


def key_of(name: str, rename: Rename) -> str:
    """Return the key that `rename` gives to the field `name`; raise TypeError if the key is not a str."""
    if rename is None:
        return name
    if isinstance(rename, str):
        return _STYLES[rename](name)
    key = rename(name) if callable(rename) else rename.get(name, name)
    if not isinstance(key, str):
        raise TypeError(f"rename must give a str, not {key!r} (for the field {name!r})")
    return key


def _camel(name: str) -> str:
    head = name[: len(name) - len(name.lstrip("_"))]
    first, *others = name[len(head) :].split("_")
    return head + first + "".join([word[:1].upper() + word[1:] for word in others])


def _pascal(name: str) -> str:
    camel = _camel(name).lstrip("_")
    return camel[:1].upper() + camel[1:]


_STYLES: Final[dict[str, Callable[[str], str]]] = {
    "camel": _camel,
    "pascal": _pascal,
    "kebab": lambda name: name.strip("_").replace("_", "-"),
    "lower": str.lower,
    "upper": str.upper,
}
