# SPDX-License-Identifier: Apache-2.0
"""
Several threads and one bytes object: frames are decompressed straight into their places in it, and put together in it.
"""

from __future__ import annotations

from itertools import accumulate
from typing import Any, Callable

from cpkg._native.buffers import DIRECT
from cpkg._native.zstd.library import Library
from cpkg._native.zstd.settings import DecompressionSettings
from purepy.errors import ZstdError
from purepy.zstd.common import parallel
from purepy.zstd.common.error_codes import CANNOT_DECOMPRESS
from purepy.zstd.common.threads import run_all


def decompress_parts(
    library: Library,
    module: Any,
    data: Any,
    settings: DecompressionSettings,
    zstd_dict: Any,
    options: Any,
    threads: Any,
    limit: int | None,
) -> bytes | None:
    """Return the content of all frames of a buffer; None if that is for the caller's thread alone."""

    def fill(view: Any, parts: list[parallel.Part], size: int, threads: int) -> bytes:
        return _fill(library, view, settings, parts, size, threads)

    return parallel.decompress(module, data, zstd_dict, options, threads, limit, settings.window_max, fill)


def _fill(
    library: Library, view: Any, settings: DecompressionSettings, parts: list[parallel.Part], size: int, threads: int
) -> bytes:
    ffi, lib = library.ffi, library.lib
    # On CPython the object is made first, and filled while nobody else has it; PyPy's objects may move.
    result = bytes(size) if DIRECT else b""
    memory = ffi.from_buffer(result) if DIRECT else library.new_nonzero("char[]", max(size, 1))
    source = ffi.from_buffer(view)
    library.advise_huge_pages(memory, size)

    def work(number: int, check: Callable[[], None]) -> None:
        start, end, position, content = parts[number]
        dctx = settings.take(library)
        try:
            written = lib.ZSTD_decompressDCtx(dctx, memory + position, content, source + start, end - start)
            if lib.ZSTD_isError(written) or written != content:
                raise ZstdError(CANNOT_DECOMPRESS)
        except BaseException:
            library.drop(dctx)
            raise
        settings.give(library, dctx)

    try:
        run_all(threads, len(parts), work)
        return result if DIRECT else ffi.buffer(memory, size)[:]
    finally:
        if not DIRECT:
            ffi.release(memory)


def join(library: Library, pieces: list[bytes], threads: int) -> bytes:
    """Do what b"".join does; on CPython alone, with the compiled library."""
    ffi, lib = library.ffi, library.lib
    bounds = [0, *accumulate(map(len, pieces))]
    result = bytes(bounds[-1])  # filled while nobody else has it
    memory = ffi.from_buffer(result)
    library.advise_huge_pages(memory, len(result))

    def work(number: int, check: Callable[[], None]) -> None:
        piece = pieces[number]
        lib.cpkg_copy(memory + bounds[number], ffi.from_buffer(piece), len(piece))

    run_all(threads, len(pieces), work)
    return result
