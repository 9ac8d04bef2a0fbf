# SPDX-License-Identifier: Apache-2.0
"""Objects to what any encoder writes: dicts, lists, str, int, float, bool and None."""

from __future__ import annotations

import sys

from cpkg.typed.nodes import is_default
from cpkg.typed.texts import to_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from cpkg.typed.nodes import Node
    from purepy.base.types import Value


def builtins_of(
    obj: object,
    keep: tuple[type, ...],
    hook: Callable[[Value], object] | None,
    as_objects: Callable[[type], Node | None],
) -> object:
    """
    Return an object as such values.

    Instances of `keep` stay as they are, `hook` turns other objects; `as_objects` gives a class's node or None.
    """

    def turn(value: Value, depth: int) -> object:
        kind = type(value)
        if value is None or kind in (bool, int, float, str) or (keep and isinstance(value, keep)):
            return value
        if not depth:
            raise ValueError("recursion limit exceeded.")
        if isinstance(value, dict):
            return {_key(turn(key, depth - 1)): turn(item, depth - 1) for key, item in value.items()}
        node = as_objects(kind)
        if node is not None:
            pairs = [
                (field.key, turn(getattr(value, field.name), depth - 1))
                for field in node.fields
                if hasattr(value, field.name)
                and not (node.omit_defaults and is_default(field, getattr(value, field.name)))
            ]
            return [item for _, item in pairs] if node.array_like else dict(pairs)
        if isinstance(value, (list, tuple, set, frozenset)) or kind.__name__ == "deque":
            return [turn(item, depth - 1) for item in value]
        enum = sys.modules.get("enum")
        if enum is not None and isinstance(value, enum.Enum):
            return turn(value.value, depth - 1)
        if isinstance(value, (str, int, float)):
            return next(base(value) for base in (str, int, float) if isinstance(value, base))
        text = to_text(value)
        if text is not None:
            return text
        if hook is None:
            raise TypeError(f"cannot turn {kind.__qualname__} into builtin types: pass enc_hook=")
        return turn(hook(value), depth - 1)

    return turn(obj, 1024)


def _key(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value
