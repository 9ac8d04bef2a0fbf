# SPDX-License-Identifier: Apache-2.0
"""
The `dlopen` backend of Zstandard: the system's libzstd.so.1 in cffi's ABI mode.

It needs no compiler, and what it takes at import is a generated Python module and the library itself. Calls cost
about twice those of the compiled backend on CPython.
"""

from __future__ import annotations

import sys

from cpkg._native.zstd.assemble import assemble
from cpkg._native.zstd.library import Library

try:
    from cpkg._native._zstd_abi import ffi
except ImportError as exc:
    raise ImportError(f"the build has not written cpkg._native._zstd_abi, or cffi is missing ({exc})") from exc


def _open() -> object:
    name = "libzstd.1.dylib" if sys.platform == "darwin" else "libzstd.so.1"
    try:
        return ffi.dlopen(name)
    except OSError as exc:
        raise ImportError(f"{name} cannot be opened ({exc}); install libzstd (Debian: libzstd1)") from exc


BACKEND = "dlopen"
globals().update(assemble(__name__, BACKEND, Library(ffi, _open(), BACKEND)))
