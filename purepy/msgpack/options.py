# SPDX-License-Identifier: Apache-2.0
"""What options that are numbers may be: the same for every backend."""

from __future__ import annotations

import operator
from typing import Any, Final

_LARGEST: Final = 2**63 - 1


def size(value: Any) -> int:
    """Return an int of at most 64 bits, as the compiled backend takes it; TypeError and OverflowError for others."""
    value = operator.index(value)
    if not -_LARGEST - 1 <= value <= _LARGEST:
        raise OverflowError("cannot fit 'int' into an index-sized integer")
    return int(value)


def limit(value: Any, default: int) -> int:
    """Return a limit, where -1 stands for `default`."""
    length = size(value)
    return default if length == -1 else length


def depth(value: Any) -> int:
    """Return how deep containers may nest."""
    levels = size(value)
    if levels < 0:
        raise ValueError(f"max_depth must be 0 or more, not {levels}")
    return levels
