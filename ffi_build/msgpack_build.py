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
sys.path.insert(0, str(HERE.parent))  # setuptools executes this file by its path

from ffi_build import probe  # noqa: E402

PARTS = HERE / "msgpack"


def make(library: probe.Library) -> FFI:
    """Return the builder of the module, with the compiler flags that the probe found for msgpack-c."""
    arguments = library.extension_arguments()
    arguments["libraries"] = []
    # The loops that measure and copy text are written for vector instructions, which gcc uses from -O3 on.
    arguments["extra_compile_args"] = [*arguments["extra_compile_args"], "-O3"]
    # Relative to the project's root, where setup.py runs: setuptools refuses absolute paths.
    arguments["include_dirs"] = [f"{HERE.name}/{PARTS.name}", *arguments["include_dirs"]]
    # Every part is a dependency, so that a change of one rebuilds the module.
    arguments["depends"] = sorted(
        str(path.relative_to(HERE.parent)) for folder in (PARTS, HERE / "common") for path in folder.rglob("*.[ch]")
    )
    builder = FFI()
    builder.cdef((PARTS / "cdef.h").read_text(encoding="utf-8"))
    builder.set_source(
        "cpkg._native._msgpack_ffi",
        (PARTS / "module.c").read_text(encoding="utf-8"),
        define_macros=[("_CFFI_NO_LIMITED_API", None)],
        py_limited_api=False,
        **arguments,
    )
    return builder


ffibuilder = make(probe.find("msgpack"))

if __name__ == "__main__":
    ffibuilder.compile(tmpdir=str(HERE.parent), verbose=True)
