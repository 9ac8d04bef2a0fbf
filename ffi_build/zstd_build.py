# SPDX-License-Identifier: Apache-2.0
"""
Describe the two modules that reach libzstd: compiled (API mode) and through dlopen (ABI mode).

Both share one cdef, zstd/cdef.h. The compiled module has zstd/module.c besides, with the functions that
zstd/compiled_cdef.h declares, and on CPython those of zstd/cpython_cdef.h: they put builtin functions into a module,
because crossing cffi costs more than compressing a short message. Importing this file must never fail: setuptools
runs it for every command.
"""

from __future__ import annotations

import sys
from pathlib import Path

from cffi import FFI

HERE = Path(__file__).resolve().parent
if str(HERE.parent) not in sys.path:  # setuptools executes this file by its path
    sys.path.insert(0, str(HERE.parent))

from ffi_build import probe  # noqa: E402
from ffi_build.builder import make, text_of  # noqa: E402


def make_builder(library: probe.FoundLibrary, implementation: str, system: str = sys.platform) -> FFI:
    """Return the builder of the compiled module for "cpython" or "pypy" on a system, named as `sys.platform` does."""
    cdefs = ["cdef.h", "compiled_cdef.h"]
    if implementation == "cpython":
        cdefs.append("cpython_cdef.h")
    if system == "linux":
        cdefs += ["../archive/read_run_cdef.h", "../archive/write_run_cdef.h"]
    return make(library, *cdefs)


ffibuilder = make_builder(probe.find("zstd"), sys.implementation.name)

abi_builder = FFI()
abi_builder.cdef(text_of("zstd", "cdef.h"))
abi_builder.set_source("cpkg._native._zstd_abi", None)


if __name__ == "__main__":
    probe.demand(probe.find("zstd"))  # a module without the library would be built, and fail when it is imported
    ffibuilder.compile(verbose=True)
    abi_builder.compile()
