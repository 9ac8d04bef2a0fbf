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
    try:
        return re.sub("<memory at [^>]*>", "<memory>", repr(result))
    except RecursionError:
        return pure.packb(result)  # too deep for repr


def same(ours: Any, theirs: Any) -> bool:
    """Return whether two results are the same, including types and the order of keys (1 == True == 1.0)."""
    return repr(ours) == repr(theirs)
