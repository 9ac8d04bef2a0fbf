# SPDX-License-Identifier: Apache-2.0
"""
One libzstd, reached through cffi: errors, parameters, contexts, and the calls that do the work.

The codec in zstd/functions.py speaks to libzstd through this class alone. Its three `stream_*` calls take a whole chunk
each; the compiled backend replaces them on CPython by builtins that do the same with one allocation less.
"""

from __future__ import annotations

from sys import intern

from cpkg._native.buffers import DIRECT, Bytes
from cpkg._native.pins import pin, pin_for_good
from cpkg._native.zstd.contexts import KEPT_CCTX_MAX, KEPT_DCTX_MAX, SCRATCH_SIZE, Contexts, KeptScratch, Scratch
from purepy.base.errors import ZstdError, ZstdLimitError
from purepy.zstd.format.error_codes import CANNOT_COMPRESS, CORRUPTION_DETECTED, DST_SIZE_TOO_SMALL, WINDOW_TOO_LARGE
from purepy.zstd.format.parameters import (
    COMPRESSION_LEVEL_DEFAULT,
    CompressionParameter,
    invalid_parameter,
    table_bounds,
)
from purepy.zstd.format.rules import (
    CONTINUE,
    ERROR_SIZE,
    FLUSH_FRAME,
    HEADER_SIZE_MAX,
    MAGIC,
    UNKNOWN_SIZE,
    content_size_max,
    frame_window,
    is_trusted,
    may_ask_for_more,
)
from purepy.zstd.format.zdict import DIGESTED, PREFIX, ZstdDict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from typing_extensions import TypeAlias

    from cpkg._native.cffi_types import FFI, CData, Lib

LEVEL_KEY = int(CompressionParameter.compression_level)
WORKERS_KEY = int(CompressionParameter.nb_workers)
TARGET_KEY = int(CompressionParameter.target_cblock_size)

GROWTH_MAX = 16 << 20

_CANNOT_LOAD = "Unable to load Zstandard dictionary or prefix for "

Decoded: TypeAlias = "tuple[bytes, int, bool] | int"
DecodedInto: TypeAlias = "tuple[int, int, bool] | int"


class Library:
    """libzstd behind one pair of `ffi` and `lib`; `name` is in the keys of its digested dictionaries."""

    def __init__(self, ffi: FFI, lib: Lib, name: str) -> None:
        self.ffi = ffi
        self.lib = lib
        # the keys that C looks up
        self._cdicts, self._ddict = intern(f"{name} compress"), intern(f"{name} decompress")
        self.name = name
        self.new_nonzero = ffi.new_allocator(should_clear_after_alloc=False)
        self.level_bounds = (lib.ZSTD_minCLevel(), lib.ZSTD_maxCLevel())
        number = lib.ZSTD_versionNumber()
        self.version = number // 10000, number // 100 % 100, number % 100
        self._bounds: dict[tuple[int, bool], tuple[int, int]] = {}
        self._kept = KeptScratch()
        self.cctxs = Contexts(
            ffi, lib, lib.ZSTD_createCCtx, lib.ZSTD_freeCCtx, lib.ZSTD_sizeof_CCtx, lib.ZSTD_CCtx_reset, KEPT_CCTX_MAX
        )
        """Those that compress."""
        self.dctxs = Contexts(
            ffi, lib, lib.ZSTD_createDCtx, lib.ZSTD_freeDCtx, lib.ZSTD_sizeof_DCtx, lib.ZSTD_DCtx_reset, KEPT_DCTX_MAX
        )
        pin_for_good(lib)  # a library that is closed cannot free its contexts any more

    # errors

    def error(self, result: int, what: str, offset: int | None = None) -> ZstdError:
        """Build the exception for a libzstd result that is an error; `what` says what could not be done."""
        name = self.ffi.string(self.lib.ZSTD_getErrorName(result)).decode("ascii")
        code = self.lib.ZSTD_getErrorCode(result)
        if code == WINDOW_TOO_LARGE:
            limit = ZstdLimitError(f"{what}: {name}: its window is larger than allowed")
            limit.advice = "if you trust the data, allow more with options={DecompressionParameter.window_log_max: 31}"
            exc: ZstdError = limit
        else:
            exc = ZstdError(f"{what}: {name}")
        exc.code, exc.name, exc.offset = code, name, offset
        return exc

    def error_result(self, code: int) -> int:
        """Return the result, a size_t, that libzstd has for an error with this code."""
        return (1 << 8 * self.ffi.sizeof("size_t")) - code

    def check(self, result: int, what: str) -> int:
        """Return a libzstd result, or raise ZstdError if it is an error."""
        if self.lib.ZSTD_isError(result):
            raise self.error(result, what)
        return result

    # parameters

    def bounds(self, key: int, is_compress: bool) -> tuple[int, int]:
        """Return the bounds of a parameter; raises ValueError for one that is not promised, or that libzstd lacks."""
        known = self._bounds.get((key, is_compress))
        if known is not None:
            return known
        usual = table_bounds(key, is_compress)
        if is_compress and key == TARGET_KEY:  # libzstd before 1.5.6 has it under another key
            return usual
        found = self.lib.ZSTD_cParam_getBounds(key) if is_compress else self.lib.ZSTD_dParam_getBounds(key)
        if self.lib.ZSTD_isError(found.error):
            raise invalid_parameter(key, 0, is_compress, None)
        bounds = self._bounds[key, is_compress] = found.lowerBound, found.upperBound
        return bounds

    def set_compression(self, cctx: CData, pairs: list[tuple[int, int]]) -> None:
        """Set checked compression parameters."""
        for key, value in pairs:
            if self.lib.ZSTD_isError(self.lib.ZSTD_CCtx_setParameter(cctx, key, value)):
                raise invalid_parameter(key, value, True, self.bounds(key, True))

    def set_decompression(self, dctx: CData, pairs: list[tuple[int, int]]) -> None:
        """Set checked decompression parameters."""
        for key, value in pairs:
            if self.lib.ZSTD_isError(self.lib.ZSTD_DCtx_setParameter(dctx, key, value)):
                raise invalid_parameter(key, value, False, self.bounds(key, False))

    # dictionaries

    def load_for_compression(self, cctx: CData, zstd_dict: ZstdDict, how: int) -> None:
        """Load a dictionary, but not digested; the caller keeps it alive until the context is reset or freed."""
        content = zstd_dict.dict_content
        if how == PREFIX:
            result = self.lib.ZSTD_CCtx_refPrefix(cctx, self.dict_memory(zstd_dict), len(content))
        else:
            result = self.lib.ZSTD_CCtx_loadDictionary(cctx, content, len(content))
        self.check(result, _CANNOT_LOAD + "compression")

    def refer_for_compression(self, cctx: CData, tables: tuple[CData, int, object]) -> None:
        """Have a context use a dictionary's tables; the caller holds them until the context is reset or freed."""
        self.check(self.lib.ZSTD_CCtx_refCDict(cctx, tables[0]), _CANNOT_LOAD + "compression")

    def load_for_decompression(self, dctx: CData, zstd_dict: ZstdDict, how: int) -> None:
        """Load a dictionary; the caller keeps it alive until the context is reset or freed."""
        content = zstd_dict.dict_content
        if how == DIGESTED:
            result = self.lib.ZSTD_DCtx_refDDict(dctx, self._tables_for_decompression(zstd_dict)[0])
        elif how == PREFIX:
            result = self.lib.ZSTD_DCtx_refPrefix(dctx, self.dict_memory(zstd_dict), len(content))
        else:
            result = self.lib.ZSTD_DCtx_loadDictionary(dctx, content, len(content))
        self.check(result, _CANNOT_LOAD + "decompression")

    def dict_memory(self, zstd_dict: ZstdDict) -> CData:
        """Return the content at an address that stays (on PyPy bytes move), kept with the dictionary."""
        content = zstd_dict.dict_content
        return zstd_dict.digests.single((self.name, "content"), lambda: self.ffi.new("char[]", content))

    def tables_for_compression(self, zstd_dict: ZstdDict, level: int) -> tuple[CData, int, object]:
        """Return the tables of a level, their address, and what keeps them; create them if they are not kept."""
        content = zstd_dict.dict_content
        level = level or COMPRESSION_LEVEL_DEFAULT

        def make() -> tuple[CData, int, object]:
            made = self.lib.ZSTD_createCDict(content, len(content), level)
            return self._digested(made, self.lib.ZSTD_freeCDict, self.lib.ZSTD_sizeof_CDict, "ZSTD_CDict")

        found: tuple[CData, int, object] = zstd_dict.digests.one_of(self._cdicts, level, make)
        return found

    def _tables_for_decompression(self, zstd_dict: ZstdDict) -> tuple[CData, int, object]:
        content = zstd_dict.dict_content

        def make() -> tuple[CData, int, object]:
            made = self.lib.ZSTD_createDDict(content, len(content))
            return self._digested(made, self.lib.ZSTD_freeDDict, self.lib.ZSTD_sizeof_DDict, "ZSTD_DDict")

        found: tuple[CData, int, object] = zstd_dict.digests.single(self._ddict, make)
        return found

    def _digested(self, made: CData, free: CData, size_of: CData, kind: str) -> tuple[CData, int, object]:
        """Return a dictionary's tables, which are freed with the last reference, their address and their pin."""
        if not made:
            raise ZstdError(f"libzstd cannot make a {kind} of the Zstandard dictionary content.")
        tables = self.ffi.gc(made, free, size_of(made))
        return tables, int(self.ffi.cast("uintptr_t", tables)), pin(tables)

    # contexts

    def drop(self, context: CData) -> None:
        """Free a context at once: one whose call failed, or that is not worth keeping."""
        self.ffi.release(context)

    def handle(self, context: CData) -> CData | int:
        """Return what the `stream_*` calls take for a context."""
        return context

    def _take_work(self) -> Scratch:
        work = self._kept.work
        if work is None:
            return Scratch(self.ffi, self.new_nonzero)
        self._kept.work = None
        return work

    # the work

    def advise_huge_pages(self, memory: CData, size: int) -> None:
        """Ask for huge pages behind a large block; nothing to ask with in ABI mode."""

    def join(self, pieces: list[bytes], threads: int) -> bytes:
        """Return pieces as one, put together by several threads where that is of use."""
        return b"".join(pieces)

    def compress_at_once(self, cctx: CData, data: Bytes, target: memoryview | None) -> Any:
        """
        Compress one frame and return it.

        If there is a target the frame is copied to its start, and its size returned. libzstd itself would change the
        bytes after the frame: it tries things out there, and stores whole words.
        """
        work = self._take_work()
        room = self.lib.ZSTD_compressBound(len(data))
        is_large = room > SCRATCH_SIZE
        memory = self.new_nonzero("char[]", room) if is_large else work.memory
        try:
            # with all of the frame at hand libzstd needs no buffers of its own
            written = self.lib.ZSTD_compress2(cctx, memory, room, self.ffi.from_buffer(data), len(data))
            if target is not None and written > len(target) and not self.lib.ZSTD_isError(written):
                written = self.error_result(DST_SIZE_TOO_SMALL)
            if self.lib.ZSTD_isError(written):
                into = "" if target is None else f" into {len(target)} bytes"
                raise self.error(written, CANNOT_COMPRESS + into)
            if target is None:
                return self.ffi.buffer(memory, written)[:]
            self.ffi.memmove(target, memory, written)
            return written
        finally:
            self._kept.work = work
            if is_large:
                self.ffi.release(memory)

    def decompress_at_once(self, dctx: CData, data: Bytes, size: int) -> bytes | None:
        """Decompress whole frames that declare `size` bytes in all; None if that is not what comes out."""
        work = self._take_work()
        is_large = size > SCRATCH_SIZE
        memory = self.new_nonzero("char[]", size) if is_large else work.memory
        try:
            if is_large:
                self.advise_huge_pages(memory, size)
            written = self.lib.ZSTD_decompressDCtx(dctx, memory, size, self.ffi.from_buffer(data), len(data))
            return self.ffi.buffer(memory, size)[:] if written == size else None
        finally:
            self._kept.work = work
            if is_large:
                self.ffi.release(memory)

    def stream_compress(self, handle: CData | int, data: Bytes, mode: int) -> bytes | int:
        """Compress a chunk; return the output, or libzstd's result if that is an error."""
        lib, ffi = self.lib, self.ffi
        work = self._take_work()
        try:
            source = ffi.from_buffer(data)
            feed, out = work.input, work.output
            feed.src, feed.size, feed.pos = source, len(data), 0
            bound = lib.ZSTD_compressBound(len(data))
            # the end of a frame with room for all of it spares libzstd its own output buffer
            room = bound if mode == FLUSH_FRAME and bound > SCRATCH_SIZE else 0
            pieces = []
            while True:
                block = self.new_nonzero("char[]", room) if room else work.memory
                out.dst, out.size, out.pos = block, room or SCRATCH_SIZE, 0
                left = lib.ZSTD_compressStream2(handle, out, feed, mode)
                if lib.ZSTD_isError(left):
                    return left
                is_full = out.pos == out.size
                pieces.append(ffi.buffer(block, out.pos)[:])
                if room:
                    ffi.release(block)
                if (feed.pos == feed.size and not is_full) if mode == CONTINUE else left == 0:
                    return pieces[0] if len(pieces) == 1 else b"".join(pieces)
                room = min(max(room, 1 << 19) * 2, GROWTH_MAX)
        finally:
            self._kept.work = work

    def declared_size(self, data: Bytes, start: int, has_magic: bool) -> int:
        """
        Return the size that the header of the frame at `start` declares.

        UNKNOWN_SIZE stands for a header that has none, ERROR_SIZE for one that is cut or wrong.
        """
        head = data[start : start + HEADER_SIZE_MAX]
        if not has_magic:
            head = MAGIC + head
        size: int = self.lib.ZSTD_getFrameContentSize(self.ffi.from_buffer(head), len(head))
        return size

    def size_error(self, declared: int, size: int) -> int:
        """Return 0, or libzstd's result for a frame that has ended after `size` bytes and declares another number."""
        # libzstd does not compare the two if the frame's last block is empty
        return 0 if declared in (size, UNKNOWN_SIZE, ERROR_SIZE) else self.error_result(CORRUPTION_DETECTED)

    def _begin_frame(self, data: Bytes, start: int, window_max: int, has_magic: bool, room: int) -> tuple[int, int]:
        """
        Look at the header of a frame that begins: return how much of the room to use, and 0 or libzstd's error.

        Given room for the content, and all of the frame, libzstd would decompress at once, which has two effects that
        callers must not see: it asks for no window, and so looks at no limit; this does. And it uses all of the room,
        also behind the content.

        What is no header is read as one too; libzstd says so, or has less room for a skippable frame, which takes none.
        """
        magic_start = start if has_magic else start - len(MAGIC)
        declared = self.declared_size(data, start, has_magic)
        if (
            declared != ERROR_SIZE
            and may_ask_for_more(data, magic_start, window_max)
            and frame_window(data, magic_start, declared) > window_max
            and (not has_magic or data[start : start + 4] == MAGIC)
        ):
            return room, self.error_result(WINDOW_TOO_LARGE)
        return (declared if declared < room else room), 0

    def stream_decompress(
        self,
        handle: CData | int,
        data: Bytes,
        start: int,
        max_length: int,
        expected: int,
        window_max: int,
        has_magic: bool,
    ) -> Decoded:
        """
        Decompress from `data[start:]` as far as one frame and `max_length` (-1: no limit) go.

        `expected` is a size to allocate at once, 0 if there is none, or -1 to say that the context has no parameters
        or dictionary and is between frames: then the header of a frame that lies ahead whole is read. `window_max` is
        the limit that the context has if a frame begins at `start`, else 0; `has_magic`, whether frames have a magic
        number. Returns the output, where in `data` it stopped and whether the frame is complete, or libzstd's result
        if that is an error.
        """
        lib, ffi = self.lib, self.ffi
        if expected < 0:
            expected = self._declared_by_whole_frame(data, start) if max_length < 0 else 0
        work = self._take_work()
        try:
            source = ffi.from_buffer(data)
            feed, out = work.input, work.output
            feed.src, feed.size, feed.pos = source, len(data), start
            if window_max and may_ask_for_more(data, start if has_magic else start - 4, window_max):
                left = self._begin_frame(data, start, window_max, has_magic, 0)[1]
                if left:
                    return left
            room = expected if max_length < 0 else min(expected, max_length)
            pieces = []
            total = 0
            while True:
                block = self.new_nonzero("char[]", room) if room > SCRATCH_SIZE else work.memory
                size = room if room > SCRATCH_SIZE else SCRATCH_SIZE
                if max_length >= 0 and size > max_length - total:
                    size = max_length - total
                out.dst, out.size, out.pos = block, size, 0
                left = lib.ZSTD_decompressStream(handle, out, feed)
                if lib.ZSTD_isError(left):
                    return left
                total += out.pos
                pieces.append(ffi.buffer(block, out.pos)[:])
                if room > SCRATCH_SIZE:
                    ffi.release(block)
                if left == 0 or total == max_length or (out.pos < size and feed.pos == feed.size):
                    return (pieces[0] if len(pieces) == 1 else b"".join(pieces)), feed.pos, left == 0
                room = min(max(room, 1 << 18) * 2, GROWTH_MAX)
        finally:
            self._kept.work = work

    def _declared_by_whole_frame(self, data: Bytes, start: int) -> int:
        """Return the content's size, worth allocating at once, if a whole frame lies ahead that declares it; else 0."""
        size = len(data) - start
        if size < SCRATCH_SIZE >> 5:  # such a small frame is not worth asking about
            return 0
        memory = self.ffi.from_buffer(data) + start
        declared: int = self.lib.ZSTD_getFrameContentSize(memory, size)
        if not SCRATCH_SIZE < declared <= content_size_max(size):
            return 0
        frame = self.lib.ZSTD_findFrameCompressedSize(memory, size)
        if self.lib.ZSTD_isError(frame) or declared > content_size_max(frame) or not is_trusted(declared, frame):
            return 0
        return declared

    def stream_decompress_into(
        self, handle: CData | int, data: Bytes, start: int, buffer: memoryview, window_max: int, has_magic: bool
    ) -> DecodedInto:
        """
        Decompress from `data[start:]` into a writable buffer, as far as one frame goes, and change nothing behind that.

        `window_max` and `has_magic` are those of `stream_decompress`. Returns the number of bytes written, where in
        `data` it stopped and whether the frame is complete, or libzstd's result if that is an error.
        """
        lib, ffi = self.lib, self.ffi
        work = self._take_work()
        try:
            source, target = ffi.from_buffer(data), ffi.from_buffer(buffer, require_writable=True)
            feed, out = work.input, work.output
            feed.src, feed.size, feed.pos = source, len(data), start
            room = len(buffer)
            if window_max and (DIRECT or may_ask_for_more(data, start if has_magic else start - 4, window_max)):
                room, left = self._begin_frame(data, start, window_max, has_magic, room)
                if left:
                    return left
            out.dst, out.size, out.pos = target, room, 0
            while True:
                left = lib.ZSTD_decompressStream(handle, out, feed)
                if lib.ZSTD_isError(left):
                    return left
                out.size = len(buffer)  # from here on libzstd copies what it has decompressed in memory of its own
                if left == 0 or out.pos == out.size or feed.pos == feed.size:
                    return out.pos, feed.pos, left == 0
        finally:
            self._kept.work = work
