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
if str(HERE.parent) not in sys.path:  # build isolation leaves the project's folder out
    sys.path.insert(0, str(HERE.parent))

from ffi_build import probe  # noqa: E402

PARTS = HERE / "zstd"


def _text(name: str) -> str:
    return (PARTS / name).read_text(encoding="utf-8")


_arguments = probe.find("zstd").extension_arguments()
_arguments["include_dirs"].insert(0, f"{HERE.name}/{PARTS.name}")

ffibuilder = FFI()
ffibuilder.cdef(_text("cdef.h"))
ffibuilder.cdef(_text("compiled_cdef.h"))
if sys.implementation.name == "cpython":
    ffibuilder.cdef(_text("cpython_cdef.h"))
ffibuilder.set_source(
    "cpkg._native._zstd_ffi",
    _text("module.c"),
    # the builtins use the whole C API, which the limited one (cffi's default) does not have
    define_macros=[("_CFFI_NO_LIMITED_API", None)],
    py_limited_api=False,
    depends=sorted(
        str(path.relative_to(HERE.parent)) for folder in (PARTS, HERE / "common") for path in folder.rglob("*.[ch]")
    ),
    **_arguments,
)

abi_builder = FFI()
abi_builder.cdef(_text("cdef.h"))
abi_builder.set_source("cpkg._native._zstd_abi", None)


if __name__ == "__main__":
    ffibuilder.compile(verbose=True)
    abi_builder.compile()
