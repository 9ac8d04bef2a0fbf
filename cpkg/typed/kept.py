# SPDX-License-Identifier: Apache-2.0
"""
Data that is kept with a class: its description, the function that encodes its objects, and decoders.

All of these refer to the class. A map outside the class, even a weak one, would therefore keep the class alive forever.
So an attribute of the class holds them. The attribute pickles as None, so a class pickled by value loses the data.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Final

    from cpkg.typed.nodes import Annotation, Node

ATTRIBUTE: Final = "__typed_cache__"


class Kept:
    """Data about a class, kept as an attribute of the class: options, node, encoding function and decoders."""

    __slots__ = ("cls", "decoders", "function", "node", "options")

    def __init__(self, cls: type) -> None:
        self.cls = cls
        self.options: dict[str, Any] | None = None  # from `typed.options`
        self.node: Node | None = None  # describes how the objects are encoded
        self.function: Callable[..., None] | None = None  # the function of Encoding
        self.decoders: dict[object, Any] = {}  # by type, or by type and limits

    def __reduce__(self) -> tuple[Any, ...]:
        return pickled_as_none(self)


def pickled_as_none(_: object) -> tuple[Any, ...]:
    """Return a reduce value with which pickle writes None instead of an object."""
    return type(None), ()


def found_with(cls: Annotation) -> Kept | None:
    """Return the Kept of a class if it has one already, else None."""
    kept = getattr(cls, ATTRIBUTE, None)
    return kept if kept is not None and kept.cls is cls else None  # a subclass inherits the attribute


def is_in_use(cls: Annotation) -> bool:
    """Return whether cpkg has described a class, or one of its subclasses, which inherit its options."""
    return found_with(cls) is not None or any(map(is_in_use, type.__subclasses__(cls)))


def kept_with(cls: Annotation) -> Kept | None:
    """Return the Kept of a class, and create it if needed; return None for a class that accepts no attributes."""
    kept: Kept | None = getattr(cls, ATTRIBUTE, None)
    if kept is None or kept.cls is not cls:
        kept = Kept(cls)
        try:
            setattr(cls, ATTRIBUTE, kept)
        except (TypeError, AttributeError):
            return None
    return kept
