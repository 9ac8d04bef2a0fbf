# SPDX-License-Identifier: Apache-2.0
"""
Report to PyPy's collector how much C memory a collection would free.

The collector knows the size of a new context, but libzstd allocates hundreds of times as much with the first frame. A
dropped stream object keeps that memory until a collection, and the collector sees no reason to start one. CPython frees
the context with the last reference to its object.
"""

from __future__ import annotations

import sys

REPORTS_SIZES = sys.implementation.name == "pypy"

if REPORTS_SIZES:
    from __pypy__ import add_memory_pressure


def report_size(size: int, reported: int) -> int:
    """
    Report to PyPy's collector that an object holds `size` bytes; return how many bytes have now been reported for it.

    `reported` bytes were reported before. If `size` is not larger, reports nothing and returns `reported`. Call only if
    REPORTS_SIZES.
    """
    if size <= reported:
        return reported
    add_memory_pressure(size - reported)
    return size
