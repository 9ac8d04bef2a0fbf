# SPDX-License-Identifier: Apache-2.0
"""How much a run tests: CPython 3.11 tests more than other interpreters, which run the same source."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TypeVar

from cpkg import _backend

T = TypeVar("T")
IS_PYPY = sys.implementation.name == "pypy"
IS_FULL = not IS_PYPY and sys.version_info[:2] == (3, 11)
"""Whether this is CPython 3.11, which tests more."""
IS_EVERYTHING = IS_FULL or "--everything" in sys.argv
"""Whether this run tests everything: on CPython 3.11, or with the argument `--everything`."""
IS_THOROUGH = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"
"""Whether the run may take hours, as `tox run -e explore` does."""
IS_PURE_CODEC = not _backend.choose("zstd").module.RELEASES_GIL
"""Whether the chosen backend of Zstandard is pure Python. Archives and record files then take six times as long."""


def some(cases: Sequence[T], every: int) -> Sequence[T]:
    """Return all cases if this run tests everything, otherwise one in `every`, because they test shared Python code."""
    return cases if IS_EVERYTHING else cases[::every]


def fewer(count: int) -> int:
    """Return the number of slow random cases to run, at most `count`; fewer with PyPy or the pure codec."""
    return max(count // ((4 if IS_PYPY else 1) * (6 if IS_PURE_CODEC else 1)), 3)
