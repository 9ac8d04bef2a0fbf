# SPDX-License-Identifier: Apache-2.0
"""The limits that C checks on PyPy, when it converts a message for `marshal` or scans the pieces of a message."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    from purepy.base.types import OptionValues
    from purepy.msgpack.decoder_base import DecoderBase

Limits = tuple[bool, int, int, int, int, int, int]
DEFAULT: Final[Limits] = (True, 1024, -1, -1, -1, -1, -1)
"""Defaults: strict_map_key, max_depth, and max_*_len of str, bin, array, map and ext, in this order; -1 is no limit."""

_LARGEST: Final = 2**62


def limits_of(options: OptionValues | DecoderBase) -> Limits | None:
    """
    Return the limits in `options`, or in a decoder, in the order of DEFAULT; None if C cannot check them.

    C cannot check a limit that is not an int in -1..2**62, or a negative `max_depth`.
    """
    limits = (
        options.max_depth,
        options.max_str_len,
        options.max_bin_len,
        options.max_array_len,
        options.max_map_len,
        options.max_ext_len,
    )
    for limit in limits:
        if type(limit) is not int or not -1 <= limit <= _LARGEST:
            return None
    return (bool(options.strict_map_key), *limits) if options.max_depth >= 0 else None
