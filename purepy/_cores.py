# SPDX-License-Identifier: Apache-2.0
"""How many processors there are to work on."""

from __future__ import annotations

import os


def usable_cores() -> int:
    """Return the number of processors that this process may run on: all, where a system does not tell which."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
