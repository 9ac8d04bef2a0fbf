# SPDX-License-Identifier: Apache-2.0
"""How many threads work on record files, and how far ahead."""

from __future__ import annotations

from typing import Final

from cpkg import _backend
from purepy.base import cores
from purepy.base.cores import usable_cores

_MOST: Final = 4
"""More threads than this find no work by default: packing and unpacking take turns."""
AHEAD: Final = 2
"""So many results wait for each thread, so that memory stays bounded."""


def has_threads_of_c() -> bool:
    """Return whether the backend of Zstandard has threads that compress and decompress without Python."""
    return _backend.zstd().compressing_queue is not None


def thread_count(threads: int | None, *, alone: bool = False, most: int = _MOST) -> int:
    """
    Return how many threads are to work where the caller asks for `threads`: 0 is one per core, 1 his own alone.

    None is one per core and at `most` so many; his own alone where Zstandard is the pure backend, whose threads would
    take turns, and where he is faster `alone`. Raises TypeError and ValueError as `checked_threads`.
    """
    if threads is not None:
        return cores.thread_count(threads)
    if alone or not _backend.zstd().RELEASES_GIL:
        return 1
    return min(usable_cores(), most)
