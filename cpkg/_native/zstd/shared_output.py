# SPDX-License-Identifier: Apache-2.0
"""
Fill one bytes object in several threads, which decompress frames or copy pieces into it.

On PyPy, the threads fill C memory, which is copied into the bytes object at the end.

The threads hold the memory that they fill. If the caller is interrupted, the memory stays with them until the collector
frees it.
"""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Callable

from cpkg._native.buffers import DIRECT
from cpkg._native.zstd.library import Library
from cpkg._native.zstd.settings import DecompressionSettings
from purepy.base.crew import run_all
from purepy.base.errors import ZstdError
from purepy.zstd.format.error_codes import CANNOT_DECOMPRESS

if TYPE_CHECKING:
    from purepy.zstd.threads.decompress_buffer import Divided


def decompress_shared(
    library: Library, threads: int, divided: Divided, size: int, settings: DecompressionSettings
) -> bytes | None:
    """
    Decompress the parts of a divided buffer in up to `threads` threads; return their content, `size` bytes in total.

    Returns None on an error of libzstd: the caller then decompresses in one thread, which raises the documented error.
    """
    try:
        return _filled(library, threads, divided, size, settings)
    except ZstdError:
        return None


def _filled(library: Library, threads: int, divided: Divided, size: int, settings: DecompressionSettings) -> bytes:
    ffi, lib = library.ffi, library.lib
    # On CPython the bytes object is created first, and filled before anything else refers to it. PyPy's objects move.
    result = bytes(size) if DIRECT else b""
    memory = ffi.from_buffer(result) if DIRECT else library.new_nonzero("char[]", max(size, 1))
    source = ffi.from_buffer(divided.data)
    library.advise_huge_pages(memory, size)

    def work(number: int, check: Callable[[], None]) -> None:
        start, end, position, content = divided.parts[number]
        dctx = settings._take(library)
        try:
            written = lib.ZSTD_decompressDCtx(dctx, memory + position, content, source + start, end - start)
            if written != content:
                raise ZstdError(CANNOT_DECOMPRESS)
        except BaseException:
            library.drop(dctx)
            raise
        settings._give(library, dctx)

    run_all(threads, len(divided.parts), work)
    if DIRECT:
        return result
    content: bytes = ffi.buffer(memory, size)[:]
    ffi.release(memory)  # only here, where all threads have ended; after an error one may still be filling it
    return content


def join(library: Library, pieces: list[bytes], threads: int) -> bytes:
    """Return the joined pieces, copied by up to `threads` threads; only on CPython, with the compiled library."""
    ffi, lib = library.ffi, library.lib
    bounds = [0, *accumulate(map(len, pieces))]
    result = bytes(bounds[-1])  # filled before anything else refers to it
    memory = ffi.from_buffer(result)
    library.advise_huge_pages(memory, len(result))

    def work(number: int, check: Callable[[], None]) -> None:
        piece = pieces[number]
        lib.cpkg_copy(memory + bounds[number], ffi.from_buffer(piece), len(piece))

    run_all(threads, len(pieces), work)
    return result
