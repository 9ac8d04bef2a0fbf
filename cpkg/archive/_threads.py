# SPDX-License-Identifier: Apache-2.0
"""How many threads archives use, within the descriptors that this process may have."""

from __future__ import annotations

import os

from purepy._cores import thread_count


def spare_descriptors() -> int:
    """Return how many files this process may open besides those that are open; a large number where nobody knows."""
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        return 1 << 20 if limit == resource.RLIM_INFINITY else limit - len(os.listdir("/dev/fd"))
    except (ImportError, OSError):
        return 1 << 20


def thread_count_within(threads: int | None, besides: int, each: int) -> int:
    """
    Return the argument `threads`: None and 0 mean one per core, as far as there are descriptors.

    Each thread needs `each` of them, and the whole `besides`. Raises ValueError and TypeError.
    """
    wanted = thread_count(0 if threads is None else threads)
    return max(min(wanted, (spare_descriptors() - besides) // each), 1)


def frames_ahead(threads: int) -> int:
    """Return how many frames are compressed or decompressed in advance: one per thread, and one that is ready."""
    return threads + 1 if threads > 1 else 1
