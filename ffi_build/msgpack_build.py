# SPDX-License-Identifier: Apache-2.0
"""
Builder of `cpkg._native._msgpack_ffi`, the module that holds the native MessagePack codec.

On CPython the compiled module is an extension module like any other, so that its C source uses the C API: cffi
carries one call, made at import, that puts builtin functions and types into a namespace. `py_limited_api=False`
and `_CFFI_NO_LIMITED_API` are what allows that: strings, ints and lists are read through their struct layouts.

msgpack-c serves with its headers alone (the packing and unpacking templates and the byte order macros), so that the
module depends on no shared library at run time.

Importing this file never fails, whatever is missing: setuptools executes it for every command.
`python ffi_build/msgpack_build.py` builds the module in place, for developers.
"""

from __future__ import annotations

import sys
from pathlib import Path

from cffi import FFI

HERE = Path(__file__).resolve().parent
if str(HERE.parent) not in sys.path:  # setuptools executes this file by its path
    sys.path.insert(0, str(HERE.parent))

from ffi_build import probe  # noqa: E402
from ffi_build.builder import make  # noqa: E402

# The loops that measure and copy text are written for vector instructions, which gcc uses from -O3 on. Packing an int
# takes two nanoseconds, and a quarter more if the parts of the loop share the processor's cache lines in another way.
# Aligned loops do not get slower when code elsewhere changes.
FLAGS = ["-O3", "-falign-functions=64", "-falign-loops=64", "-falign-jumps=64"]


def make_builder(library: probe.FoundLibrary, implementation: str, name: str = "") -> FFI:
    """
    Return the builder of the module for an implementation of Python, "cpython" or "pypy".

    With a `name` it is of another module, which has the parts for PyPy and runs on CPython too: for tests.
    """
    cdefs = ["cdef.h"] if implementation == "cpython" else ["cdef.h", "pypy/cdef.h"]
    return make(library, *cdefs, flags=FLAGS, links=False, name=name)


ffibuilder = make_builder(probe.find("msgpack"), sys.implementation.name)

if __name__ == "__main__":
    probe.demand(probe.find("msgpack"))
    ffibuilder.compile(tmpdir=str(HERE.parent), verbose=True)
