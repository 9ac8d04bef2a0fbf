# SPDX-License-Identifier: Apache-2.0
"""Seeds of the fuzzers that run as tests."""

from __future__ import annotations

import random

from extent import IS_THOROUGH


def seed() -> int:
    """Return the same number each time; a new one, which is printed, where time does not matter."""
    if not IS_THOROUGH:
        return 20240229
    drawn = random.SystemRandom().getrandbits(32)
    print(f"seed {drawn}")
    return drawn
