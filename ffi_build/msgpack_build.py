# SPDX-License-Identifier: Apache-2.0
"""
Build `cpkg._native._msgpack_ffi`, the module with the native MessagePack codec.

On CPython, a cffi module is also an ordinary extension module, so its C source can use the C API: at import, Python
makes one cffi call that puts builtin functions and types into a namespace. This needs `py_limited_api=False` and
`_CFFI_NO_LIMITED_API`, because strings, ints and lists are read through their struct layouts.

Only headers of msgpack-c are used (the packing and unpacking templates and the byte order macros), so the module needs
no shared library at run time.

Importing this file must not fail if a compiler or library is missing, because setuptools and ffi_build.wheels import
it.
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
# takes two nanoseconds, and a quarter more if the loop is unluckily placed on cache lines. With alignment, the speed of
# a loop does not depend on changes of other code.
FLAGS = ["-O3", "-falign-functions=64", "-falign-loops=64", "-falign-jumps=64"]


def make_builder(library: probe.FoundLibrary, implementation: str, name: str = "") -> FFI:
    """
    Return the builder of the module for an implementation of Python, "cpython" or "pypy".

    With "pypy" and a `name`, return the builder of a module for tests, in which the parts for PyPy also run on CPython.
    """
    cdefs = ["cdef.h"] if implementation == "cpython" else ["cdef.h", "pypy/cdef.h"]
    return make(library, *cdefs, flags=FLAGS, links=False, name=name)


ffibuilder = make_builder(probe.find("msgpack"), sys.implementation.name)

if __name__ == "__main__":
    probe.demand(probe.find("msgpack"))
    ffibuilder.compile(tmpdir=str(HERE.parent), verbose=True)
