# SPDX-License-Identifier: Apache-2.0
"""
The order in which `dumps` writes the members of a set, so that equal sets give equal bytes in every process.

The iteration order of a set depends on the process, and on how the set was created.
"""

from __future__ import annotations

from purepy.msgpack.conversions import field_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any, Final

_PARTLY_ORDERED: Final = (frozenset, float, tuple)
"""Types whose objects `<` may compare without ordering them: sorting such objects could depend on their set's order."""


def in_order(members: Collection[object]) -> list[Any]:
    """
    Return the members of a set: sorted by `<` if it orders all of them, otherwise sorted by `_key`.

    A set that contains sets or tuples nested too deep for `_key` keeps its order of iteration.
    """
    try:
        if not any(issubclass(kind, _PARTLY_ORDERED) for kind in set(map(type, members))) or all(
            map(_has_order, members)
        ):
            return sorted(members)
    except (TypeError, ArithmeticError, RecursionError):
        pass  # types that do not compare, a Decimal NaN, or tuples nested hundreds deep
    try:
        return sorted(members, key=_key)
    except RecursionError:  # sets or tuples, hundreds deep
        return list(members)


def _has_order(member: object) -> bool:
    """Return whether `<` may order a member: False for a frozenset, a float NaN, and a tuple with such an item."""
    if not isinstance(member, _PARTLY_ORDERED):
        return True
    if isinstance(member, float):
        return member == member
    return isinstance(member, tuple) and all(map(_has_order, member))


def _key(member: object) -> Any:
    """Return a sort key for any member: from its items or fields, or from the name of its type and its repr."""
    if isinstance(member, frozenset):
        return 1, sorted(map(_key, member))
    if isinstance(member, tuple):
        return 2, [_key(item) for item in member]
    names = field_names(type(member))
    if names is not None:
        return 3, type(member).__qualname__, [(name, _key(getattr(member, name))) for name in names]
    return 0, type(member).__qualname__, repr(member)
