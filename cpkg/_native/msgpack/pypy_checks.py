# SPDX-License-Identifier: Apache-2.0
"""Checks that C makes of a message, on both ways that it reads one for PyPy: through `marshal` and by the tape."""

from __future__ import annotations

from purepy.msgpack.ext import ExtType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

Options = tuple[bool, int, int, int, int, int, int, bool]
DEFAULT: Final[Options] = (True, 1024, -1, -1, -1, -1, -1, True)
"""
strict_map_key, max_depth, max_str_len, max_bin_len, max_array_len, max_map_len, max_ext_len (-1 is no limit), and
whether there may be extensions other than timestamps.
"""

MAX_DEPTH: Final = 1024
"""The C side's frames: the deepest message that a tape serves."""

_LARGEST_LIMIT: Final = 2**62


def make_options(options: Any) -> Options | None:
    """Return what C is to check of the values of UNPACKING, or None if it cannot check that."""
    limits = (
        options.max_depth,
        options.max_str_len,
        options.max_bin_len,
        options.max_array_len,
        options.max_map_len,
        options.max_ext_len,
    )
    for limit in limits:
        if type(limit) is not int or not -1 <= limit <= _LARGEST_LIMIT:
            return None
    if options.max_depth < 0:
        return None
    exts = is_repeatable(options.ext_hook)
    return (bool(options.strict_map_key), min(options.max_depth, MAX_DEPTH), *limits[1:], exts)


def is_repeatable(ext_hook: Any) -> bool:
    """Return whether an ext hook may be called twice for a value: by the tape, and after an error by the pure codec."""
    return ext_hook is ExtType or getattr(ext_hook, "repeatable", False) is True
