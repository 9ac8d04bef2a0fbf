# SPDX-License-Identifier: Apache-2.0
"""The seed for random tests: a fixed number in the gate, and a new number each night; failed tests print it."""

from __future__ import annotations

import os
import random

from extent import IS_THOROUGH

FIXED = 20240229
SEED = int(os.environ.get("CPKG_TEST_SEED", random.SystemRandom().getrandbits(32) if IS_THOROUGH else FIXED))


def noise(size: int) -> bytes:
    """Return `size` incompressible bytes, the same ones each time."""
    return random.Random(SEED).randbytes(size)
