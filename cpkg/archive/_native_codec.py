# SPDX-License-Identifier: Apache-2.0
"""Decompress frames into memory of C that is used again and again, so that its pages are there already."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from cpkg._native.archive import ffi, lib
from cpkg._native.zstd.contexts import Place
from cpkg.archive._inflate import CHUNK
from purepy.base.cores import THREADS_MAX
from purepy.base.errors import ZstdError
from purepy.zstd.format.error_codes import truncated_error
from purepy.zstd.format.splitter import WholeFrame

if TYPE_CHECKING:
    from cpkg._native.cffi_types import CBuffer, CData

_WINDOW_LOG_MAX_KEY: Final = 100  # ZSTD_d_windowLogMax
_KEPT_MAX: Final = 16


class Chunk:
    """Content in memory of C."""

    __slots__ = ("capacity", "memory", "size")

    def __init__(self, memory: CData, capacity: int) -> None:
        self.memory = memory
        self.capacity = capacity
        self.size = 0

    def __len__(self) -> int:
        return self.size


class NativeCodec:
    """Decompresses to chunks."""

    def __init__(self, window_log_max: int) -> None:
        self._window_log_max = window_log_max
        self._contexts = Place(THREADS_MAX)
        self._chunks: list[Chunk] = []
        self._new = ffi.new_allocator(should_clear_after_alloc=False)

    def close(self) -> None:
        """Free the contexts."""
        while (context := self._contexts.take()) is not None:
            ffi.release(context)

    def _chunk(self, capacity: int) -> Chunk:
        try:
            chunk = self._chunks.pop()
        except IndexError:
            pass
        else:
            if chunk.capacity >= capacity:
                return chunk
        return Chunk(self._new("char[]", capacity), capacity)

    def view(self, chunk: Chunk) -> CBuffer:
        """Return a chunk's bytes, as a buffer whose slices are bytes."""
        return ffi.buffer(chunk.memory, chunk.size)

    def give_back(self, chunk: Chunk) -> None:
        """Keep the memory of a chunk for another one."""
        if len(self._chunks) < _KEPT_MAX:
            self._chunks.append(chunk)

    def _context(self) -> CData:
        context = self._contexts.take()
        if context is not None:
            return context
        context = ffi.gc(lib.ZSTD_createDCtx(), lib.ZSTD_freeDCtx)  # an interrupted caller leaves it to its thread
        if not context:
            raise MemoryError("no memory for a decompression context")
        lib.ZSTD_DCtx_setParameter(context, _WINDOW_LOG_MAX_KEY, self._window_log_max)
        return context

    def _check(self, result: int) -> int:
        if lib.ZSTD_isError(result):
            name = ffi.string(lib.ZSTD_getErrorName(result)).decode("ascii")
            error = ZstdError(f"Unable to decompress Zstandard data: {name}")
            error.code, error.name = lib.ZSTD_getErrorCode(result), name
            raise error
        return int(result)

    def inflate(self, frame: WholeFrame) -> Chunk:
        """Return a frame's content."""
        context = self._context()
        chunk = self._chunk(max(frame.bound, 1))
        data = frame.data
        chunk.size = self._check(
            lib.ZSTD_decompressDCtx(context, chunk.memory, frame.bound, ffi.from_buffer(data), len(data))
        )
        self._contexts.give(context)
        return chunk

    def inflate_pieces(self, pieces: Iterator[bytes]) -> Iterator[Chunk]:
        """Return the content of a frame that comes in pieces, in chunks."""
        context = self._context()
        source, target = ffi.new("ZSTD_inBuffer *"), ffi.new("ZSTD_outBuffer *")
        left = 1
        try:
            chunk = None
            for piece in pieces:
                with ffi.from_buffer(piece) as memory:
                    source.src, source.size, source.pos = memory, len(piece), 0
                    is_full = True
                    while is_full or source.pos < source.size:
                        if chunk is None:
                            chunk = self._chunk(CHUNK)
                            target.dst, target.size, target.pos = chunk.memory, CHUNK, 0
                        left = self._check(lib.ZSTD_decompressStream(context, target, source))
                        is_full = target.pos == target.size
                        if is_full:
                            chunk.size, full, chunk = target.pos, chunk, None
                            yield full
                        if not left:
                            break
            if chunk is not None and target.pos:
                chunk.size = target.pos
                yield chunk
            if left:
                raise truncated_error()
        finally:
            ffi.release(context)
