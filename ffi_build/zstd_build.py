# SPDX-License-Identifier: Apache-2.0
"""
Build the two modules that call libzstd: a compiled one (API mode) and one that uses dlopen (ABI mode).

Both share one cdef, zstd/cdef.h. The compiled module also has the functions in zstd/module.c, which
zstd/compiled_cdef.h declares. On CPython, zstd/cpython_cdef.h declares functions that put builtins into a module,
because a cffi call costs more than compressing a short message. On Linux, the C code for archives is added. Importing
this file must not fail if a compiler or library is missing, because setup.py imports it for every command.
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
    """Return the builder of the compiled module for "cpython" or "pypy" on a system, named as in `sys.platform`."""
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
    probe.demand(probe.find("zstd"))  # without the library, the build would succeed and the import would fail
    ffibuilder.compile(verbose=True)
    abi_builder.compile()
