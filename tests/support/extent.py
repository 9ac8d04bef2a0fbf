# SPDX-License-Identifier: Apache-2.0
"""How much a run tries: versions of CPython run the same source, so that one tries what the others need not."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TypeVar

from cpkg import _backend

T = TypeVar("T")
IS_PYPY = sys.implementation.name == "pypy"
IS_FULL = not IS_PYPY and sys.version_info[:2] == (3, 11)
"""Whether this is that one."""
IS_EVERYTHING = IS_FULL or "--everything" in sys.argv
"""Whether this run leaves nothing to that one: it is that one, or `--everything` is among its arguments."""
IS_THOROUGH = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"
"""Whether time does not matter: `tox run -e explore`."""
IS_PURE_CODEC = not _backend.choose("zstd").module.RELEASES_GIL
"""Whether the chosen Zstandard is in Python: archives and records go through it, and calls take six times as long."""


def some(cases: Sequence[T], every: int) -> Sequence[T]:
    """Return all cases where a run leaves nothing out, one in `every` elsewhere: their subject is shared Python."""
    return cases if IS_EVERYTHING else cases[::every]


def fewer(count: int) -> int:
    """Return how many of so many random cases are tried where each takes long; the long run takes its own number."""
    return max(count // ((4 if IS_PYPY else 1) * (6 if IS_PURE_CODEC else 1)), 3)
