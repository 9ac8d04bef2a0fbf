# SPDX-License-Identifier: Apache-2.0
"""How much a run tests: all versions of CPython run the same source, so one version tests more than the others."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TypeVar

from cpkg import _backend

T = TypeVar("T")
IS_PYPY = sys.implementation.name == "pypy"
IS_FULL = not IS_PYPY and sys.version_info[:2] == (3, 11)
"""Whether this is the version that tests more."""
IS_EVERYTHING = IS_FULL or "--everything" in sys.argv
"""Whether this run tests everything: it is that version, or `--everything` is among its arguments."""
IS_THOROUGH = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"
"""Whether time does not matter: `tox run -e explore`."""
IS_PURE_CODEC = not _backend.choose("zstd").module.RELEASES_GIL
"""Whether the chosen Zstandard is pure Python: archives and records use it, and calls take six times as long."""


def some(cases: Sequence[T], every: int) -> Sequence[T]:
    """Return all cases if this run tests everything, otherwise one in `every`, because they test shared Python code."""
    return cases if IS_EVERYTHING else cases[::every]


def fewer(count: int) -> int:
    """Return the number of slow random cases to run, at most `count`; fewer with PyPy or the pure codec."""
    return max(count // ((4 if IS_PYPY else 1) * (6 if IS_PURE_CODEC else 1)), 3)
