# SPDX-License-Identifier: Apache-2.0
"""libzstd through the module that the build compiled: the Library classes of the `native` backend."""

from __future__ import annotations

from cpkg._native._zstd_ffi import ffi, lib
from cpkg._native.zstd.library import Library

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

    from cpkg._native.cffi_types import CData


class CompiledLibrary(Library):
    """A Library whose `lib` also has the functions that zstd/module.c adds to libzstd."""

    def advise_huge_pages(self, memory: CData, size: int) -> None:
        lib.cpkg_advise_huge_pages(memory, size)


class BuiltinLibrary(CompiledLibrary):
    """A CompiledLibrary for CPython: builtins use contexts by address and share the contexts that each thread keeps."""

    def __init__(self, module: ModuleType) -> None:
        super().__init__(ffi, lib, module.BACKEND)
        self.cctxs.share(lib.cpkg_take_cctx, lib.cpkg_give_cctx)
        self.dctxs.share(lib.cpkg_take_dctx, lib.cpkg_give_dctx)
        self.stream_decompress = module._stream_decompress  # type: ignore[method-assign]
        self.stream_decompress_into = module._stream_decompress_into  # type: ignore[method-assign]

    def join(self, pieces: list[bytes], threads: int) -> bytes:
        if threads == 1:
            return b"".join(pieces)
        from cpkg._native.zstd.shared_output import join

        return join(self, pieces, threads)

    def handle(self, context: CData) -> int:
        return int(ffi.cast("uintptr_t", context))
