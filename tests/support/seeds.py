# SPDX-License-Identifier: Apache-2.0
"""Seeds of the fuzzers that run as tests."""

from __future__ import annotations

import os
import random


def seed() -> int:
    """Return the same number each time; a new one, which is printed, where HYPOTHESIS_PROFILE is "thorough"."""
    if os.environ.get("HYPOTHESIS_PROFILE") != "thorough":
        return 20240229
    drawn = random.SystemRandom().getrandbits(32)
    print(f"seed {drawn}")
    return drawn
