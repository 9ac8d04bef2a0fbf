# SPDX-License-Identifier: Apache-2.0
"""The constraints in Annotated: those of annotated_types, and patterns."""

from __future__ import annotations

import re

from cpkg.typed.class_options import Pattern
from cpkg.typed.nodes import MISSING

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
    """Unpack groups of constraints, as `annotated_types.Interval`."""
    for item in metadata:
        if getattr(item, "__is_annotated_types_grouped_metadata__", False):
            yield from flat(tuple(item))
        else:
            yield item


def add_check(checks: Checks, item: Any) -> bool:
    """Add what an item of Annotated's metadata asks for; whether it is a constraint."""
    if isinstance(item, (re.Pattern, Pattern)):
        checks.pattern = item.compiled if isinstance(item, Pattern) else item
        return True
    if type(item).__module__.partition(".")[0] != "annotated_types":
        return False
    found = False
    for theirs, ours in _CHECKS.items():
        value = getattr(item, theirs, None)
        if value is not None and not isinstance(item, type):
            setattr(checks, ours, value)
            found = True
    name = type(item).__name__
    if name == "Timezone":
        if item.tz not in (None, ...):
            raise TypeError(f"Timezone({item.tz!r}): only None and ... are known, for times without and with an offset")
        checks.tz = item.tz is ...
        found = True
    elif name == "Predicate":
        checks.predicates += (item.func,)
        found = True
    elif not found and name not in ("Unit", "DocInfo"):
        raise TypeError(f"{item!r} is not a constraint that is known")
    return found


_SIZED: Final = ("str", "bytes", "array", "tuple", "dict", "any", "custom")
_ORDERED: Final = ("int", "float", "decimal", "datetime", "date", "time", "timedelta", "str", "bytes", "any", "custom")


def refuse_misfits(checks: Checks, node: Node) -> None:
    """Raise TypeError for a constraint that values of the type can never be asked about."""
    for part in node.parts if node.kind == "union" else (node,):
        ordered = any(getattr(checks, name) is not None for name in ("gt", "ge", "lt", "le"))
        sized = checks.min_len is not None or checks.max_len is not None
        if (
            (ordered and part.kind not in _ORDERED)
            or (sized and part.kind not in _SIZED)
            or (checks.multiple_of is not None and part.kind not in ("int", "float", "decimal", "any", "custom"))
            or (checks.pattern is not None and part.kind != "str")
            or (checks.tz is not MISSING and part.kind not in ("datetime", "time"))
        ):
            raise TypeError(f"a constraint in Annotated does not apply to {part.name}")
