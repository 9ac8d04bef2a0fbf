# SPDX-License-Identifier: Apache-2.0
"""The pure codec's word on a message, for those parts of others that leave their errors to it."""

from __future__ import annotations

import re
from typing import Any, Callable

from purepy import msgpack as pure


def pure_read(data: bytes, **options: Any) -> Any:
    """Return what the pure codec makes of the message: (object, end), or None for an error."""
    try:
        return pure.unpackb_from(data, **options)
    except (ValueError, OverflowError, TypeError, pure.UnpackException):
        return None


def outcome(call: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Return what a call gives or raises, so that it compares with types, texts and offsets."""
    try:
        result = call(*args, **options)
    except Exception as exc:
        return type(exc), str(exc), getattr(exc, "offset", None)
    try:
        return re.sub("<memory at [^>]*>", "<memory>", repr(result))
    except RecursionError:
        return pure.packb(result)  # nested deeper than repr goes


def same(ours: Any, theirs: Any) -> bool:
    """Whether two results are the same, types and the order of keys included (1 == True == 1.0)."""
    return repr(ours) == repr(theirs)
