# SPDX-License-Identifier: Apache-2.0
"""
Several threads and one bytes object: frames are decompressed straight into their places in it, and put together in it.

The threads hold the memory that they fill. An interrupted caller leaves it to them, and to the collector.
"""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Callable

from cpkg._native.buffers import DIRECT
from cpkg._native.zstd.library import Library
from cpkg._native.zstd.settings import DecompressionSettings
from purepy.crew import run_all
from purepy.errors import ZstdError
from purepy.zstd.format.error_codes import CANNOT_DECOMPRESS
from purepy.zstd.threads import decompress_buffer
from purepy.zstd.threads.arguments import DecompressionPlan

if TYPE_CHECKING:
    from typing_extensions import Buffer


def decompress_shared(
    library: Library, plan: DecompressionPlan, settings: DecompressionSettings, data: Buffer, limit: int | None
) -> bytes | None:
    """
    Return the content of all frames of a buffer; None if that is for the caller's thread alone, as all errors are.

    It is at most `limit` bytes.
    """
    divided = decompress_buffer.divide(data, settings.window_max, limit)
    if divided is None:
        return None
    if divided.content_size is None:
        return decompress_buffer.decompress_parts(plan, divided)
    try:
        return _filled(library, settings, plan.threads, divided, divided.content_size)
    except ZstdError:
        return None


def _filled(
    library: Library, settings: DecompressionSettings, threads: int, divided: decompress_buffer.Divided, size: int
) -> bytes:
    ffi, lib = library.ffi, library.lib
    # On CPython the object is made first, and filled while nobody else has it; PyPy's objects may move.
    result = bytes(size) if DIRECT else b""
    memory = ffi.from_buffer(result) if DIRECT else library.new_nonzero("char[]", max(size, 1))
    source = ffi.from_buffer(divided.data)
    library.advise_huge_pages(memory, size)

    def work(number: int, check: Callable[[], None]) -> None:
        start, end, position, content = divided.parts[number]
        dctx = settings.take(library)
        try:
            written = lib.ZSTD_decompressDCtx(dctx, memory + position, content, source + start, end - start)
            if lib.ZSTD_isError(written) or written != content:
                raise ZstdError(CANNOT_DECOMPRESS)
        except BaseException:
            library.drop(dctx)
            raise
        settings.give(library, dctx)

    run_all(threads, len(divided.parts), work)
    if DIRECT:
        return result
    content: bytes = ffi.buffer(memory, size)[:]
    ffi.release(memory)  # all threads have ended: after an error one may still be filling it
    return content


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
