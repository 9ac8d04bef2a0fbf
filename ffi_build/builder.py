# SPDX-License-Identifier: Apache-2.0
"""Create the cffi builder of a codec's native module."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cffi import FFI

from ffi_build.documentation import macros
from ffi_build.probe import FoundLibrary

HERE = Path(__file__).resolve().parent


def text_of(codec: str, part: str) -> str:
    """Return the text of a source file of a codec."""
    return (HERE / codec / part).read_text(encoding="utf-8")


def make(library: FoundLibrary, *cdefs: str, flags: Sequence[str] = (), links: bool = True, name: str = "") -> FFI:
    """
    Return the builder of `cpkg._native._<codec>_ffi`, or of a module called `name` with all parts of the codec.

    The source consists of the macros of documentation.py and of module.c in the codec's folder. `cdefs` are the files
    in that folder that declare the functions for Python. The compiler gets the arguments for the codec's library and
    `flags`. `links` is whether the module is linked with the library.
    """
    codec = library.codec
    arguments = library.extension_arguments()
    # Paths are relative to the root of the project, where setup.py runs, because setuptools refuses absolute paths.
    arguments["include_dirs"].insert(0, f"{HERE.name}/{codec}")
    # Every source file is a dependency, so that a change of any of them rebuilds the module.
    arguments["depends"] = sorted(
        str(path.relative_to(HERE.parent))
        for folder in (codec, "common", "archive")
        for path in (HERE / folder).rglob("*.[ch]")
    )
    arguments["extra_compile_args"] += flags
    if not links:
        arguments["libraries"] = []
    builder = FFI()
    for cdef in cdefs:
        builder.cdef(text_of(codec, cdef))
    builder.set_source(
        name or f"cpkg._native._{codec}_ffi",
        macros(codec) + text_of(codec, "module.c"),
        # the builtins need the full C API; cffi's default is the limited API
        define_macros=[
            ("_CFFI_NO_LIMITED_API", None),
            ("_GNU_SOURCE", "1"),
            *([("CPKG_ALL_PARTS", None)] if name else []),
        ],
        py_limited_api=False,
        **arguments,
    )
    return builder
