# SPDX-License-Identifier: Apache-2.0
"""What a class or a field says about its form in messages: `options`, `Name`, `Exclude`, `Pattern`, `Title`."""

from __future__ import annotations

import re

from cpkg.typed.kept import is_in_use

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, Final, TypeVar, Union

    from typing_extensions import TypeAlias

    C = TypeVar("C", bound="type[Any]")
    Rename: TypeAlias = Union[str, Callable[[str], str], Mapping[str, str], None]

ATTRIBUTE: Final = "__typed_options__"
"""The class attribute that `options` sets; a dict of its arguments."""


def options(
    *,
    rename: Rename = None,
    omit_defaults: bool = False,
    omit_none: bool = False,
    forbid_unknown_fields: bool = False,
    array_like: bool = False,
) -> Callable[[C], C]:
    """
    Return a decorator that gives a dataclass, attrs class, NamedTuple or TypedDict its form in messages.

    `rename` makes keys from the fields' names: "camel", "pascal", "kebab", "lower", "upper", a function from name to
    key, or a mapping from names to keys. `omit_defaults` leaves out fields that have their default when objects are
    encoded, `omit_none` only those whose default is None. `forbid_unknown_fields` makes a key that no field has an
    error; it is ignored otherwise. `array_like` writes the fields as an array, in their order, without keys. A subclass
    inherits what it does not set itself.

    The dict that the decorator sets as `__typed_options__` may be written in the class instead. Raises ValueError for
    a `rename` of another name, and TypeError for a class that has been decoded, encoded or described already.
    """
    if isinstance(rename, str) and rename not in _STYLES:
        raise ValueError(f"rename must be one of {', '.join(sorted(_STYLES))}, a function or a mapping, not {rename!r}")
    chosen = {
        "rename": rename,
        "omit_defaults": omit_defaults,
        "omit_none": omit_none,
        "forbid_unknown_fields": forbid_unknown_fields,
        "array_like": array_like,
    }

    def set_options(cls: C) -> C:
        if is_in_use(cls):
            raise TypeError(f"{cls.__qualname__} is in use: apply typed.options before its first message")
        inherited = getattr(cls, ATTRIBUTE, {})
        setattr(cls, ATTRIBUTE, {**inherited, **{name: value for name, value in chosen.items() if value}})
        return cls

    return set_options


class Name:
    """The key of one field: `Annotated[int, Name("userId")]`. It goes before `rename`."""

    __slots__ = ("key",)

    def __init__(self, key: str) -> None:
        if not isinstance(key, str):
            raise TypeError(f"Name takes the key of a field, a str, not {key!r}")
        self.key = key

    def __repr__(self) -> str:
        return f"Name({self.key!r})"


class Title:
    """The title of one field in a schema: `Annotated[int, Title("Order number")]`."""

    __slots__ = ("title",)

    def __init__(self, title: str) -> None:
        if not isinstance(title, str):
            raise TypeError(f"Title takes a str, not {title!r}")
        self.title = title

    def __repr__(self) -> str:
        return f"Title({self.title!r})"


class Exclude:
    """
    A field that messages do not have: `Annotated[str, Exclude()]`.

    It is neither written nor taken from a message, which needs a default of the field.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return "Exclude()"


class Pattern:
    """
    A regular expression, `pattern`, that text must hold: `Annotated[str, Pattern("^[a-z]+$")]`.

    It is searched for, as in JSON Schema: anchor it to match the whole text. A compiled expression serves as well.
    """

    __slots__ = ("compiled",)

    def __init__(self, pattern: str) -> None:
        self.compiled = re.compile(pattern)

    def __repr__(self) -> str:
        return f"Pattern({self.compiled.pattern!r})"


def key_of(name: str, rename: Rename) -> str:
    """Return the key of a field by its name; TypeError for one that is not a str."""
    if rename is None:
        return name
    if isinstance(rename, str):
        return _STYLES[rename](name)
    key = rename(name) if callable(rename) else rename.get(name, name)
    if not isinstance(key, str):
        raise TypeError(f"rename gave {key!r} for the field {name!r}: expected a str")
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
