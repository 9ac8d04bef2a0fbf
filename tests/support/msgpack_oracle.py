# SPDX-License-Identifier: Apache-2.0
"""The pure codec as an oracle for other codecs, some of which call the pure codec to raise errors."""

from __future__ import annotations

import re
from typing import Any, Callable

from purepy import msgpack as pure


def pure_read(data: bytes, **options: Any) -> Any:
    """Return the result of the pure codec for a message: (object, end), or None for an error."""
    try:
        return pure.unpackb_from(data, **options)
    except (ValueError, OverflowError, TypeError, pure.UnpackException):
        return None


def outcome(call: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Return the result or error of a call, in a form that compares types, texts and offsets."""
    try:
        result = call(*args, **options)
    except Exception as exc:
        return type(exc), str(exc), getattr(exc, "offset", None)
    if is_deep(result):
        return pure.packb(result)
    return re.sub("<memory at [^>]*>", "<memory>", repr(result))


def is_deep(obj: Any, limit: int = 200) -> bool:
    """Return whether an object nests lists, tuples and dict values deeper than a limit.

    Deep objects are not compared by repr, because on PyPy compiled code also affects at which depth repr fails.
    """
    level = [obj]
    for _ in range(limit):
        containers = [o for o in level if isinstance(o, (list, tuple, dict))]
        level = [inner for o in containers for inner in (o.values() if isinstance(o, dict) else o)]
        if not level:
            return False
    return True


def same(ours: Any, theirs: Any) -> bool:
    """Return whether two results are equal, also in types (1, True and 1.0 differ) and in the order of keys."""
    return repr(ours) == repr(theirs)
