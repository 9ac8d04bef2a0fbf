# SPDX-License-Identifier: Apache-2.0
"""
The `dlopen` backend of Zstandard: the system's libzstd (not on Windows) in cffi's ABI mode.

It needs no compiler, only cffi, a generated Python module and the library itself. On CPython, calls take about twice as
long as those of the compiled backend.
"""

from __future__ import annotations

import sys

from cpkg._native.zstd.backend_names import Names
from purepy.base.errors import raise_if_from_handler

try:
    from cpkg._native._zstd_abi import ffi
except ModuleNotFoundError as exc:
    raise ImportError(f"cpkg._native._zstd_abi was not built, or cffi is missing ({exc})") from exc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cpkg._native.cffi_types import Lib
    from cpkg._native.zstd.library import Library
    from purepy.zstd import ZstdCompressor as ZstdCompressor
    from purepy.zstd import ZstdDecompressor as ZstdDecompressor
    from purepy.zstd.made_names import *  # noqa: F403


def _open() -> Lib:
    if sys.platform == "win32":  # a file with the library's name, found in some folder, cannot be trusted
        raise ImportError("Windows does not include libzstd")
    name = "libzstd.1.dylib" if sys.platform == "darwin" else "libzstd.so.1"
    try:
        return ffi.dlopen(name)
    except OSError as exc:
        raise_if_from_handler(exc)
        raise ImportError(f"{name} cannot be opened ({exc}); install libzstd (Debian: libzstd1)") from exc


def _make_library() -> Library:
    from cpkg._native.zstd.library import Library

    return Library(ffi, _lib, BACKEND)


BACKEND = "dlopen"
HAS_ARCHIVES = False
compressing_queue = decompressing_queue = _job_calls = None
_lib = _open()
__getattr__ = Names(__name__, ffi, _lib, _make_library).get
