# SPDX-License-Identifier: Apache-2.0
"""
Report to PyPy's collector what memory of C it would free.

It knows how large a context was when it was made; libzstd allocates with the first frame, hundreds of times more. A
stream object that is dropped keeps that until a collection, which the collector sees no reason for by itself.
CPython frees the context with the last reference to its object.
"""

from __future__ import annotations

import sys

REPORTS_SIZES = sys.implementation.name == "pypy"

if REPORTS_SIZES:
    from __pypy__ import add_memory_pressure


def report_size(size: int, reported: int) -> int:
    """Report that an object holds `size` bytes, of which `reported` are known; return how many are known now."""
    if size <= reported:
        return reported
    add_memory_pressure(size - reported)
    return size
