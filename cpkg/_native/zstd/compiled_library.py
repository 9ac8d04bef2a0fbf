# SPDX-License-Identifier: Apache-2.0
"""libzstd through the module that the build compiled: the Libraries of the backend `native`."""

from __future__ import annotations

from cpkg._native._zstd_ffi import ffi, lib
from cpkg._native.zstd.library import Library

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class CompiledLibrary(Library):
    """The Library with what zstd/module.c adds to libzstd."""

    def advise_huge_pages(self, memory: Any, size: int) -> None:
        lib.cpkg_advise_huge_pages(memory, size)


class BuiltinLibrary(CompiledLibrary):
    """The same on CPython: builtins do the work, given a context's address, and share what contexts a thread keeps."""

    def __init__(self, module: Any) -> None:
        super().__init__(ffi, lib, module.BACKEND)
        self.stream_compress = module._stream_compress  # type: ignore[method-assign]
        self.stream_decompress = module._stream_decompress  # type: ignore[method-assign]
        self.stream_decompress_into = module._stream_decompress_into  # type: ignore[method-assign]

    def join(self, pieces: list[bytes], threads: int) -> bytes:
        if threads == 1:
            return b"".join(pieces)
        from cpkg._native.zstd import parts

        return parts.join(self, pieces, threads)

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
