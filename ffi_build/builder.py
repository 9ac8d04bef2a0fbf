# SPDX-License-Identifier: Apache-2.0
"""Make the cffi builder of a codec's native module."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cffi import FFI

from ffi_build.documentation import macros
from ffi_build.probe import FoundLibrary

HERE = Path(__file__).resolve().parent


def text_of(codec: str, part: str) -> str:
    """Return the text of one of a codec's sources."""
    return (HERE / codec / part).read_text(encoding="utf-8")


def make(library: FoundLibrary, *cdefs: str, flags: Sequence[str] = (), links: bool = True, name: str = "") -> FFI:
    """
    Return the builder of `cpkg._native._<codec>_ffi`, or of a module of another name with all parts of the codec.

    Its source is module.c in the codec's folder, behind the macros of documentation.py.

    `cdefs` are parts that declare what Python calls. The compiler's arguments are those of the codec's library, and
    `flags`; `links` says whether the module is linked with the library.
    """
    codec = library.codec
    arguments = library.extension_arguments()
    # Relative to the project's root, where setup.py runs: setuptools refuses absolute paths.
    arguments["include_dirs"].insert(0, f"{HERE.name}/{codec}")
    # Every part is a dependency, so that a change of one rebuilds the module.
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
        # the builtins use the whole C API, which the limited one (cffi's default) does not have
        define_macros=[
            ("_CFFI_NO_LIMITED_API", None),
            ("_GNU_SOURCE", "1"),
            *([("CPKG_ALL_PARTS", None)] if name else []),
        ],
        py_limited_api=False,
        **arguments,
    )
    return builder
