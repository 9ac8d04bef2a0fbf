# SPDX-License-Identifier: Apache-2.0
"""
What is kept with a class: its description, the function that encodes it, and decoders.

All of these refer to the class. A map outside the class, even a weak one, would therefore keep the class alive for
ever. So the class has them as an attribute, which pickles as None: a class that is pickled by value goes without.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Final

    from cpkg.typed.nodes import Annotation, Node

ATTRIBUTE: Final = "__typed_cache__"


class Kept:
    """What is kept with a class."""

    __slots__ = ("cls", "decoders", "function", "node", "options")

    def __init__(self, cls: type) -> None:
        self.cls = cls
        self.options: dict[str, Any] | None = None  # of `typed.options`
        self.node: Node | None = None  # how its objects are encoded
        self.function: Callable[..., None] | None = None  # of Encoding
        self.decoders: dict[object, Any] = {}  # by their types

    def __reduce__(self) -> tuple[Any, ...]:
        return pickled_as_none(self)


def pickled_as_none(_: object) -> tuple[Any, ...]:
    """Return what makes pickle write None instead of an object."""
    return type(None), ()


def found_with(cls: Annotation) -> Kept | None:
    """Return what is kept with a class, if there is anything."""
    kept = getattr(cls, ATTRIBUTE, None)
    return kept if kept is not None and kept.cls is cls else None  # a subclass inherits the attribute


def is_in_use(cls: Annotation) -> bool:
    """Tell whether a class, or one that inherits its options, has been described."""
    return found_with(cls) is not None or any(map(is_in_use, type.__subclasses__(cls)))


def kept_with(cls: Annotation) -> Kept | None:
    """Return what is kept with a class, from now on; None for a class that takes no attributes."""
    kept: Kept | None = getattr(cls, ATTRIBUTE, None)
    if kept is None or kept.cls is not cls:
        kept = Kept(cls)
        try:
            setattr(cls, ATTRIBUTE, kept)
        except (TypeError, AttributeError):
            return None
    return kept
