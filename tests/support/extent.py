# SPDX-License-Identifier: Apache-2.0
"""How much a run tries: versions of CPython run the same source, so that one tries what the others need not."""

from __future__ import annotations

import os
import sys

from cpkg import _backend

IS_PYPY = sys.implementation.name == "pypy"
IS_FULL = not IS_PYPY and sys.version_info[:2] == (3, 11)
"""Whether this is that one."""
IS_THOROUGH = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"
"""Whether time does not matter: `tox run -e explore`."""
IS_PURE_CODEC = not _backend.choose("zstd").module.RELEASES_GIL
"""Whether the chosen Zstandard is in Python: archives and records go through it, and calls take six times as long."""


def fewer(count: int) -> int:
    """Return how many of so many random cases are tried where each takes long; the long run takes its own number."""
    return max(count // ((4 if IS_PYPY else 1) * (6 if IS_PURE_CODEC else 1)), 3)
