# SPDX-License-Identifier: Apache-2.0
"""The constraints in Annotated: the classes of annotated_types, and patterns."""

from __future__ import annotations

import datetime
import numbers
import re

from cpkg.typed.class_options import Pattern
from cpkg.typed.texts import DATE, DATETIME

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Final

    from cpkg.typed.nodes import Checks, Node

_CHECKS: Final = {
    "gt": "gt", "ge": "ge", "lt": "lt", "le": "le", "multiple_of": "multiple_of",
    "min_length": "min_len", "max_length": "max_len",
}  # fmt: skip


def flat(metadata: tuple[Any, ...]) -> Iterator[object]:
    """Yield the items of Annotated's metadata, with groups such as `annotated_types.Interval` unpacked."""
    for item in metadata:
        if getattr(item, "__is_annotated_types_grouped_metadata__", False):
            yield from flat(tuple(item))
        else:
            yield item


def add_check(checks: Checks, item: Any) -> bool:
    """
    Add an item of Annotated's metadata to the checks, if it is a constraint; return whether it is.

    Raises TypeError for a constraint that is not supported.
    """
    if isinstance(item, (re.Pattern, Pattern)):
        checks.add("pattern", item.compiled if isinstance(item, Pattern) else item)
        return True
    if type(item).__module__.partition(".")[0] != "annotated_types":
        return False
    found = False
    for theirs, ours in _CHECKS.items():
        value = getattr(item, theirs, None)
        if value is not None and not isinstance(item, type):
            checks.add(ours, value)
            found = True
    name = type(item).__name__
    if name == "Timezone":
        if item.tz not in (None, ...):
            raise TypeError(
                f"Timezone({item.tz!r}) is not supported: use Timezone(None) for naive times,"
                " or Timezone(...) for times with an offset"
            )
        checks.tz = item.tz is ...
        found = True
    elif name == "Predicate":
        checks.add("predicates", (item.func,))
        found = True
    elif not found and name not in ("Unit", "DocInfo"):
        raise TypeError(f"the constraint {item!r} is not supported")
    return found


_SIZED: Final = ("str", "bytes", "array", "tuple", "dict", "numbers", "any", "custom")
_BOUNDS: Final[dict[str, tuple[type, ...]]] = {
    "int": (numbers.Number,),
    "float": (numbers.Number,),
    "decimal": (numbers.Number,),
    "datetime": (DATETIME,),
    "date": (DATE,),
    "time": (datetime.time,),
    "timedelta": (datetime.timedelta,),
    "str": (str,),
    "bytes": (bytes, bytearray),
    "any": (object,),
    "custom": (object,),
}
"""The types that the values of a kind can be compared with."""


def fitting(checks: Checks, node: Node) -> list[str]:
    """Return the names of those constraints in `checks` that can apply to the values of a type."""
    return [name for name in checks.given() if _fits(name, getattr(checks, name), node.kind)]


def _fits(name: str, bound: object, kind: str) -> bool:
    if name in ("gt", "ge", "lt", "le"):
        return isinstance(bound, _BOUNDS.get(kind, ()))
    if name in ("min_len", "max_len"):
        return kind in _SIZED
    if name == "multiple_of":
        return kind in ("int", "float", "decimal", "any", "custom")
    if name == "pattern":
        return kind == "str" and isinstance(bound.pattern, str)  # type: ignore[attr-defined]
    return name == "predicates" or kind in ("datetime", "time")
