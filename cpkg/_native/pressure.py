# SPDX-License-Identifier: Apache-2.0
"""
Tell PyPy's collector what memory of C it would free.

It knows of a context what `ffi.gc` was told when it was made; libzstd allocates with the first frame, hundreds of times
more. A stream object that is dropped keeps that until a collection, which the collector sees no reason for by itself.
CPython frees the context with the last reference to its object.
"""

from __future__ import annotations

import sys

TELLS_SIZES = sys.implementation.name == "pypy"

if TELLS_SIZES:
    from __pypy__ import add_memory_pressure


def tell_size(size: int, told: int) -> int:
    """Tell that an object holds `size` bytes, of which `told` are known; return how many are known now."""
    if size <= told:
        return told
    add_memory_pressure(size - told)
    return size
