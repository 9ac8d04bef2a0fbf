# SPDX-License-Identifier: Apache-2.0
"""
The `native` backend of Zstandard: libzstd through the module that the build compiled.

On CPython that module adds builtin functions besides: a cffi call costs more than what a short message takes. They
do the ordinary calls and hand everything else to the same Python code that runs on PyPy (zstd/functions.py).
"""

from __future__ import annotations

import sys
from typing import Any

from cpkg._native._zstd_ffi import ffi, lib
from cpkg._native.zstd.assemble import Builtins, assemble
from cpkg._native.zstd.library import Library

BACKEND = "native"


class _CompiledLibrary(Library):
    """The Library with what zstd/module.c adds to libzstd."""

    def advise_huge_pages(self, memory: Any, size: int) -> None:
        lib.cpkg_advise_huge_pages(memory, size)


class _BuiltinLibrary(_CompiledLibrary):
    """The same on CPython: builtins do the work, given a context's address, and share what contexts a thread keeps."""

    def __init__(self, module: Any) -> None:
        super().__init__(ffi, lib, BACKEND)
        self.stream_compress = module._stream_compress  # type: ignore[method-assign]
        self.stream_decompress = module._stream_decompress  # type: ignore[method-assign]
        self.stream_decompress_into = module._stream_decompress_into  # type: ignore[method-assign]

    def take_cctx(self) -> Any:
        cctx = lib.cpkg_take_cctx()
        if not cctx:
            raise MemoryError("libzstd cannot make a compression context")
        return ffi.gc(cctx, lib.ZSTD_freeCCtx)

    def give_cctx(self, cctx: Any, workers: bool = False, told: int | None = None) -> None:
        if workers:
            self.drop(cctx)
        else:
            ffi.gc(cctx, None)  # it is the slot's from here on
            lib.cpkg_give_cctx(cctx)

    def take_dctx(self) -> Any:
        dctx = lib.cpkg_take_dctx()
        if not dctx:
            raise MemoryError("libzstd cannot make a decompression context")
        return ffi.gc(dctx, lib.ZSTD_freeDCtx)

    def give_dctx(self, dctx: Any, told: int | None = None) -> None:
        ffi.gc(dctx, None)
        lib.cpkg_give_dctx(dctx)

    def handle(self, context: Any) -> Any:
        return int(ffi.cast("uintptr_t", context))


def _add_builtins(module: Any) -> Builtins:
    """Have C put its builtins into this module, by whose name they pickle, and return them."""
    if lib.cpkg_add_builtins(ffi.cast("void *", id(module))) != 0:
        reason = ffi.string(lib.cpkg_builtins_error()).decode("utf-8", "replace")
        raise ImportError(f"the builtin functions of cpkg._native._zstd_ffi cannot be set up: {reason}")
    return Builtins(
        module.compress,
        module.decompress,
        module._WriteBuffer,
        getattr(module, "_LineBuffer", None),
        vars(module).pop("_make_text_reader", None),
    )


_builtins: Builtins | None = None
if sys.implementation.name == "cpython":
    _builtins = _add_builtins(sys.modules[__name__])
    _library: Library = _BuiltinLibrary(sys.modules[__name__])
else:
    _library = _CompiledLibrary(ffi, lib, BACKEND)
globals().update(assemble(__name__, BACKEND, _library, _builtins))
