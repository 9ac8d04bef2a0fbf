# SPDX-License-Identifier: Apache-2.0
"""The size of the frames that threads compress, and whether one takes long."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

from purepy.zstd.format.parameters import COMPRESSION_LEVEL_DEFAULT, CompressionParameter

if TYPE_CHECKING:
    from purepy.base.types import Parameters

FRAME_SIZE_MIN = 1 << 10
FRAME_SIZE_MAX = 1 << 30
"""The most content of one frame, as in zstd's seekable format."""

_DEFAULT_SIZE_MIN, _DEFAULT_SIZE_MAX = 16 << 20, 64 << 20
_WINDOWS_PER_FRAME = 16
# the highest level that has a window of that logarithm, for content of more than 256 KiB
_WINDOW_LOGS = ((1, 19), (2, 20), (8, 21), (16, 22), (19, 23), (20, 25), (21, 26))
_WINDOW_LOG_LONG = 27
_SLOW_LEVEL, _SLOW_STRATEGY = 10, 6


def _parameters(level: int | None, options: Parameters) -> dict[int, int]:
    found = {int(key): int(value) for key, value in options.items()} if options else {}
    if level:
        found[int(CompressionParameter.compression_level)] = int(level)
    return {key: value for key, value in found.items() if value}


def frame_size_for(frame_size: int | None, level: int | None, options: Parameters) -> int:
    """
    Return the content's size of each frame but the last: the argument `frame_size`, or what suits checked parameters.

    That is sixteen windows, so that little is lost by each beginning without history, but at least 16 MiB and at most
    64 MiB. Raises TypeError for what is no integer, ValueError for a size below 1 KiB or above 1 GiB.
    """
    if frame_size is not None:
        size = operator.index(frame_size)
        if not FRAME_SIZE_MIN <= size <= FRAME_SIZE_MAX:
            raise ValueError(f"frame_size must be {FRAME_SIZE_MIN} to {FRAME_SIZE_MAX} bytes, not {size}")
        return size
    found = _parameters(level, options)
    chosen = found.get(int(CompressionParameter.compression_level), COMPRESSION_LEVEL_DEFAULT)
    window_log = next((log for highest, log in _WINDOW_LOGS if chosen <= highest), _WINDOW_LOG_LONG)
    if found.get(int(CompressionParameter.enable_long_distance_matching)) == 1:
        window_log = _WINDOW_LOG_LONG
    window_log = found.get(int(CompressionParameter.window_log), window_log)
    return min(max(_WINDOWS_PER_FRAME << window_log, _DEFAULT_SIZE_MIN), _DEFAULT_SIZE_MAX)


def is_slow(level: int | None, options: Parameters) -> bool:
    """Say whether a frame takes so long that a thread has to look in between whether it is still wanted."""
    found = _parameters(level, options)
    return (
        found.get(int(CompressionParameter.compression_level), 0) >= _SLOW_LEVEL
        or found.get(int(CompressionParameter.strategy), 0) >= _SLOW_STRATEGY
    )
