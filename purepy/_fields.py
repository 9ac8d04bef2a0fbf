# SPDX-License-Identifier: Apache-2.0
"""
Tuples whose items have names, as collections.namedtuple makes them.

Importing that takes as long as the rest of what packing a first message needs; the parts of it that are used are few.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from typing_extensions import Self

try:
    from _collections import _tuplegetter  # the descriptor in C that a namedtuple has
except ImportError:
    _tuplegetter = None


def field(index: int, doc: str) -> property:
    """Return a property that is the item at an index."""
    return property(lambda self: self[index], doc=doc) if _tuplegetter is None else _tuplegetter(index, doc)


class Fields(tuple):  # type: ignore[type-arg]
    """Base of a tuple with names: a subclass has `_fields`, and a `field` for each."""

    __slots__ = ()
    _fields: tuple[str, ...] = ()

    @classmethod
    def _make(cls, iterable: Iterable[object]) -> Self:
        made = tuple.__new__(cls, iterable)
        if len(made) != len(cls._fields):
            raise TypeError(f"Expected {len(cls._fields)} arguments, got {len(made)}")
        return made

    def _replace(self, /, **changes: object) -> Self:
        made = self._make([changes.pop(name, value) for name, value in zip(self._fields, self)])
        if changes:
            raise TypeError(f"Got unexpected field names: {list(changes)!r}")
        return made

    __replace__ = _replace

    def _asdict(self) -> dict[str, object]:
        return dict(zip(self._fields, self))

    def __getnewargs__(self) -> tuple[object, ...]:
        return tuple(self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join([f'{name}={value!r}' for name, value in self._asdict().items()])})"
