# SPDX-License-Identifier: Apache-2.0
"""
The order in which `dumps` writes the members of a set: equal sets should give equal bytes, in every process.

The order of a set itself changes from run to run, and with the way that the set came to be.
"""

from __future__ import annotations

from purepy.msgpack.conversions import field_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any, Final

_PARTLY_ORDERED: Final = (frozenset, float, tuple)
"""Types whose objects may compare without an error and without an order: sorting would keep the order of the set."""


def in_order(members: Collection[object]) -> list[Any]:
    """Return the members of a set: sorted if they have an order, else by their types and texts."""
    try:
        if not any(issubclass(kind, _PARTLY_ORDERED) for kind in set(map(type, members))) or all(
            map(_has_order, members)
        ):
            return sorted(members)
    except (TypeError, ArithmeticError):
        pass  # of types that do not compare, or a Decimal that is no number
    try:
        return sorted(members, key=_key)
    except RecursionError:  # sets in sets, hundreds deep
        return list(members)


def _has_order(member: object) -> bool:
    """Whether an object is before or behind each other one that compares with it at all."""
    if not isinstance(member, _PARTLY_ORDERED):
        return True
    if isinstance(member, float):
        return member == member
    return isinstance(member, tuple) and all(map(_has_order, member))


def _key(member: object) -> Any:
    """Return what to sort by the members that have no order of their own; equal for equal members of one type."""
    if isinstance(member, frozenset):
        return 1, sorted(map(_key, member))
    if isinstance(member, tuple):
        return 2, [_key(item) for item in member]
    names = field_names(type(member))
    if names is not None:
        return 3, type(member).__qualname__, [(name, _key(getattr(member, name))) for name in names]
    return 0, type(member).__qualname__, repr(member)
