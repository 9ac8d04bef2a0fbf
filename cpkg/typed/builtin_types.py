# SPDX-License-Identifier: Apache-2.0
"""Convert objects to the types that JSON and similar formats support: dict, list, str, int, float, bool and None."""

from __future__ import annotations

import sys

from cpkg.objects.dumps_loads import MAX_DEPTH
from cpkg.typed.encoding import too_deep
from cpkg.typed.nodes import form_of
from cpkg.typed.texts import EXACT, to_text
from purepy.base.lazy import imported

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
    Convert an object to builtin types.

    Instances of `keep` are not converted. `hook` replaces unsupported objects, which otherwise raise TypeError; the
    replacement is converted as well. Objects nested too deep, and keys of a dict that become equal, raise ValueError.
    `as_objects(cls)` returns the node of a class with fields, and None for any other class.
    """

    def turn(value: Value, depth: int) -> object:
        kind = type(value)
        if value is None or kind in (bool, int, float, str) or (keep and isinstance(value, keep)):
            return value
        if not depth:
            raise too_deep()
        if isinstance(value, dict):
            return _dict([(turn(key, depth - 1), turn(item, depth - 1)) for key, item in value.items()])
        node = as_objects(kind)
        if node is not None:
            value = form_of(node, value)
            if isinstance(value, dict):
                return {key: turn(item, depth - 1) for key, item in value.items()}
        if isinstance(value, (list, tuple, set, frozenset)) or kind.__name__ == "deque":
            return [turn(item, depth - 1) for item in value]
        enum = sys.modules.get("enum")
        if enum is not None and isinstance(value, enum.Enum):
            return turn(value.value, depth - 1)
        for base, plain in EXACT.items():
            if isinstance(value, base):
                return plain(value)
        if hasattr(kind, "tolist") and imported("cpkg.typed.arrays").is_array(value):
            return turn(value.tolist(), depth - 1)
        text = to_text(value)
        if text is not None:
            return text
        if hook is None:
            raise TypeError(
                f"cannot convert {kind.__qualname__} to builtin types: pass enc_hook=, a function that converts it"
            )
        return turn(hook(value), depth - 1)

    try:
        return turn(obj, MAX_DEPTH)
    except RecursionError:
        raise too_deep() from None


def _dict(pairs: list[tuple[object, object]]) -> dict[object, object]:
    """
    Return pairs as a dict, with tuples instead of lists in keys.

    Raises ValueError for keys that became equal, and TypeError for an unhashable key.
    """
    turned: dict[object, object] = {}
    for key, item in pairs:
        key = _key(key)
        if key in turned:
            raise ValueError(f"two keys of a dict both become {key!r} in builtin types: rename one of them")
        turned[key] = item
    return turned


def _key(value: object) -> object:
    return tuple(map(_key, value)) if isinstance(value, list) else value
