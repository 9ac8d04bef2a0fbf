# SPDX-License-Identifier: Apache-2.0
"""Measure the memory that Python allocates, in nightly tests."""

from __future__ import annotations

import gc
import sys
from typing import Any, Callable

import pytest

needs_tracemalloc = pytest.mark.skipif(sys.implementation.name != "cpython", reason="PyPy has no tracemalloc")


def peak_of(call: Callable[[], Any]) -> int:
    """Call twice, and return the peak of the memory that Python allocates during the second call."""
    import tracemalloc

    call()
    gc.collect()
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
