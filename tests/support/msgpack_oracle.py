# SPDX-License-Identifier: Apache-2.0
"""The pure codec as an oracle for other codecs, which leave some errors to it."""

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

    Where repr runs out of stack depends on the depth alone on CPython, but also on compiled code on PyPy.
    """
    level = [obj]
    for _ in range(limit):
        containers = [o for o in level if isinstance(o, (list, tuple, dict))]
        level = [inner for o in containers for inner in (o.values() if isinstance(o, dict) else o)]
        if not level:
            return False
    return True


def same(ours: Any, theirs: Any) -> bool:
    """Return whether two results are the same, including types and the order of keys (1 == True == 1.0)."""
    return repr(ours) == repr(theirs)
