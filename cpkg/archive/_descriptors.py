# SPDX-License-Identifier: Apache-2.0
"""How many files and directories archives keep open, within what the process may open."""

from __future__ import annotations

import os
from typing import Final, NamedTuple

_DEPTH: Final = 256
_RUNS_PER_THREAD: Final = 8


class Descriptors(NamedTuple):
    """
    The descriptors that the parts of an extraction may have.

    `tree_max` directories, one below the other, and `runs_max` runs that wait to be written or are, each with its
    directory and a file.
    """

    tree_max: int
    runs_max: int


def divided(threads: int) -> Descriptors:
    """Divide the free descriptors among the parts of an extraction by so many threads."""
    part = max(spare_descriptors() // 8, 2)
    return Descriptors(tree_max=min(max(part // 2, 2), _DEPTH), runs_max=min(_RUNS_PER_THREAD * threads, part))


def spare_descriptors() -> int:
    """Return how many files this process may open besides those that are open; a large number where nobody knows."""
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        return 1 << 20 if limit == resource.RLIM_INFINITY else limit - len(os.listdir("/dev/fd"))
    except (ImportError, OSError):
        return 1 << 20


def frames_ahead(threads: int) -> int:
    """Return how many frames are compressed or decompressed in advance: one per thread, and one that is ready."""
    return threads + 1 if threads > 1 else 1
