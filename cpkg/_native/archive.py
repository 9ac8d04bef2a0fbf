# SPDX-License-Identifier: Apache-2.0
"""
The C code for archives, which is part of the compiled Zstandard module on Linux.

Importing this module raises ImportError on other systems, and if the compiled Zstandard module cannot be loaded.
"""

from __future__ import annotations

from cpkg._native.cffi_modules import cffi_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cpkg._native.cffi_types import FFI, Lib

_module = cffi_module("_zstd_ffi")
ffi: FFI = _module.ffi
lib: Lib = _module.lib

if not hasattr(lib, "cpkg_read_run"):
    raise ImportError("the C code for archives supports Linux only")

__all__ = ["ffi", "lib"]
