# SPDX-License-Identifier: Apache-2.0
"""How much a run tries: versions of CPython run the same source, so that one tries what the others need not."""

from __future__ import annotations

import os
import sys

IS_PYPY = sys.implementation.name == "pypy"
IS_FULL = not IS_PYPY and sys.version_info[:2] == (3, 11)
"""Whether this is that one."""
IS_THOROUGH = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"
"""Whether time does not matter: `tox run -e thorough`."""
