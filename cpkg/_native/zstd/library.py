# SPDX-License-Identifier: Apache-2.0
"""
One libzstd, accessed through cffi: errors, parameters, contexts, and the calls that do the work.

The codec in zstd/functions.py accesses libzstd only through a `Library`, partly through its attributes `lib` and `ffi`.
Each of the three `stream_*` methods processes a whole chunk. On CPython, the compiled backend replaces the two methods
that decompress with builtins that do the same with one allocation less.
"""

from __future__ import annotations

from sys import intern

from cpkg._native.buffers import DIRECT, Bytes
from cpkg._native.pins import pin, pin_for_good
from cpkg._native.zstd.contexts import (
    KEPT_CCTX_MAX,
    KEPT_DCTX_MAX,
    RESULT_MAX,
    SCRATCH_SIZE,
    Contexts,
    KeptScratch,
    Scratch,
)
from purepy.base.errors import ZstdError, ZstdLimitError
from purepy.zstd.format.error_codes import (
    CANNOT_COMPRESS,
    CANNOT_DECOMPRESS,
    CORRUPTION_DETECTED,
    DST_SIZE_TOO_SMALL,
    WINDOW_ADVICE,
    WINDOW_TOO_LARGE,
)
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
    """A libzstd, accessed through `ffi` and `lib`; `name` is part of the keys of dictionaries that it has digested."""

    def __init__(self, ffi: FFI, lib: Lib, name: str) -> None:
        self.ffi = ffi
        self.lib = lib
        # the same keys as in C
        self._cdicts, self._ddict = intern(f"{name} compress"), intern(f"{name} decompress")
        self.name = name
        self.new_nonzero = ffi.new_allocator(should_clear_after_alloc=False)
        self.level_bounds = (lib.ZSTD_minCLevel(), lib.ZSTD_maxCLevel())
        number = lib.ZSTD_versionNumber()
        self.version = number // 10000, number // 100 % 100, number % 100
        self._bounds: dict[tuple[int, bool], tuple[int, int]] = {}
        self._kept = KeptScratch()
        self.cctxs = Contexts(
            ffi, lib.ZSTD_createCCtx, lib.ZSTD_freeCCtx, lib.ZSTD_sizeof_CCtx, lib.ZSTD_CCtx_reset, KEPT_CCTX_MAX
        )
        """The contexts for compressing."""
        self.dctxs = Contexts(
            ffi, lib.ZSTD_createDCtx, lib.ZSTD_freeDCtx, lib.ZSTD_sizeof_DCtx, lib.ZSTD_DCtx_reset, KEPT_DCTX_MAX
        )
        pin_for_good(lib)  # a closed library could no longer free its contexts

    # errors

    def error(self, result: int, what: str, offset: int | None = None) -> ZstdError:
        """Return the exception for a libzstd result that is an error; `what` describes the failed operation."""
        code = self.lib.ZSTD_getErrorCode(result)
        if what == CANNOT_DECOMPRESS and code == DST_SIZE_TOO_SMALL:
            code = CORRUPTION_DETECTED  # the content is larger than the frame declares
        name = self.ffi.string(self.lib.ZSTD_getErrorName(self.error_result(code))).decode("ascii")
        if code == WINDOW_TOO_LARGE:
            limit = ZstdLimitError(f"{what}: {name}: the frame's window is larger than allowed")
            limit.advice = WINDOW_ADVICE
            exc: ZstdError = limit
        else:
            exc = ZstdError(f"{what}: {name}")
        exc.code, exc.name, exc.offset = code, name, offset
        return exc

    def error_result(self, code: int) -> int:
        """Return the result, a size_t, by which libzstd reports an error with this code."""
        return (1 << 8 * self.ffi.sizeof("size_t")) - code

    def check(self, result: int, what: str) -> int:
        """Return a libzstd result, or raise ZstdError if it is an error."""
        if result > RESULT_MAX:
            raise self.error(result, what)
        return result

    # parameters

    def bounds(self, key: int, is_compress: bool) -> tuple[int, int]:
        """
        Return the least and greatest value of a parameter.

        Raises ValueError if the API or libzstd does not have the parameter.
        """
        known = self._bounds.get((key, is_compress))
        if known is not None:
            return known
        usual = table_bounds(key, is_compress)
        if is_compress and key == TARGET_KEY:  # libzstd before 1.5.6 uses another key
            return usual
        found = self.lib.ZSTD_cParam_getBounds(key) if is_compress else self.lib.ZSTD_dParam_getBounds(key)
        if found.error > RESULT_MAX:
            raise invalid_parameter(key, 0, is_compress, None)
        bounds = self._bounds[key, is_compress] = found.lowerBound, found.upperBound
        return bounds

    def set_compression(self, cctx: CData, pairs: list[tuple[int, int]]) -> None:
        """Set checked compression parameters; raise ValueError for a parameter that libzstd does not accept."""
        for key, value in pairs:
            if self.lib.ZSTD_CCtx_setParameter(cctx, key, value) > RESULT_MAX:
                raise invalid_parameter(key, value, True, self.bounds(key, True))

    def set_decompression(self, dctx: CData, pairs: list[tuple[int, int]]) -> None:
        """Set checked decompression parameters; raise ValueError for a parameter that libzstd does not accept."""
        for key, value in pairs:
            if self.lib.ZSTD_DCtx_setParameter(dctx, key, value) > RESULT_MAX:
                raise invalid_parameter(key, value, False, self.bounds(key, False))

    # dictionaries

    def load_for_compression(self, cctx: CData, zstd_dict: ZstdDict, how: int) -> None:
        """
        Load a dictionary into one context, which gets its own tables; with PREFIX, for the next frame only.

        The caller must keep the dictionary alive until the context is reset or freed.
        """
        content = zstd_dict.dict_content
        if how == PREFIX:
            result = self.lib.ZSTD_CCtx_refPrefix(cctx, self.dict_memory(zstd_dict), len(content))
        else:
            result = self.lib.ZSTD_CCtx_loadDictionary(cctx, content, len(content))
        self.check(result, _CANNOT_LOAD + "compression")

    def refer_for_compression(self, cctx: CData, tables: tuple[CData, int, object]) -> None:
        """Let a context use a dictionary's tables; the caller must hold them until the context is reset or freed."""
        self.check(self.lib.ZSTD_CCtx_refCDict(cctx, tables[0]), _CANNOT_LOAD + "compression")

    def load_for_decompression(self, dctx: CData, zstd_dict: ZstdDict, how: int) -> None:
        """
        Load a dictionary: with DIGESTED its shared tables, with PREFIX for one frame only, with UNDIGESTED a copy.

        The caller must keep the dictionary alive until the context is reset or freed.
        """
        content = zstd_dict.dict_content
        if how == DIGESTED:
            result = self.lib.ZSTD_DCtx_refDDict(dctx, self._tables_for_decompression(zstd_dict)[0])
        elif how == PREFIX:
            result = self.lib.ZSTD_DCtx_refPrefix(dctx, self.dict_memory(zstd_dict), len(content))
        else:
            result = self.lib.ZSTD_DCtx_loadDictionary(dctx, content, len(content))
        self.check(result, _CANNOT_LOAD + "decompression")

    def dict_memory(self, zstd_dict: ZstdDict) -> CData:
        """
        Return a dictionary's content at a fixed address, in a copy that is kept with the dictionary.

        The copy is needed because bytes objects move on PyPy.
        """
        content = zstd_dict.dict_content
        return zstd_dict._digests.single((self.name, "content"), lambda: self.ffi.new("char[]", content))

    def tables_for_compression(self, zstd_dict: ZstdDict, level: int) -> tuple[CData, int, object]:
        """
        Return a dictionary's tables for a level (0: the default level), their address, and their pin.

        Creates the tables unless the dictionary still keeps them.
        """
        content = zstd_dict.dict_content
        level = level or COMPRESSION_LEVEL_DEFAULT

        def make() -> tuple[CData, int, object]:
            made = self.lib.ZSTD_createCDict(content, len(content), level)
            return self._digested(made, self.lib.ZSTD_freeCDict, self.lib.ZSTD_sizeof_CDict, "ZSTD_CDict")

        found: tuple[CData, int, object] = zstd_dict._digests.one_of(self._cdicts, level, make)
        return found

    def _tables_for_decompression(self, zstd_dict: ZstdDict) -> tuple[CData, int, object]:
        content = zstd_dict.dict_content

        def make() -> tuple[CData, int, object]:
            made = self.lib.ZSTD_createDDict(content, len(content))
            return self._digested(made, self.lib.ZSTD_freeDDict, self.lib.ZSTD_sizeof_DDict, "ZSTD_DDict")

        found: tuple[CData, int, object] = zstd_dict._digests.single(self._ddict, make)
        return found

    def _digested(self, made: CData, free: CData, size_of: CData, kind: str) -> tuple[CData, int, object]:
        """
        Return new tables of a dictionary, which are freed with the last reference, their address, and their pin.

        Raises ZstdError if `made`, libzstd's result, is NULL.
        """
        if not made:
            raise ZstdError(f"libzstd cannot create a {kind} from the Zstandard dictionary content.")
        tables = self.ffi.gc(made, free, size_of(made))
        return tables, int(self.ffi.cast("uintptr_t", tables)), pin(tables)

    # contexts

    def drop(self, context: CData) -> None:
        """Free a context at once, because its call failed or because it is not worth keeping."""
        self.ffi.release(context)

    def handle(self, context: CData) -> CData | int:
        """Return the form of a context that the `stream_*` calls take."""
        return context

    def _take_work(self) -> Scratch:
        work = self._kept.work
        if work is None:
            return Scratch(self.ffi, self.new_nonzero)
        self._kept.work = None
        return work

    # the work

    def advise_huge_pages(self, memory: CData, size: int) -> None:
        """
        Ask the system for huge pages for `size` bytes of memory.

        Does nothing here, because ABI mode has no function for it; the compiled library overrides this method.
        """

    def join(self, pieces: list[bytes], threads: int) -> bytes:
        """Return the joined pieces; a subclass copies them in up to `threads` threads."""
        return b"".join(pieces)

    def compress_at_once(self, cctx: CData, data: Bytes, target: memoryview | None) -> Any:
        """
        Compress `data` into one frame and return the frame as bytes.

        With a target, copies the frame to the start of the target and returns the frame's size. If libzstd wrote to the
        target itself, it would also change bytes after the frame, because it writes whole words and tries several
        encodings. Raises ZstdError, also if the target is too small.
        """
        work = self._take_work()
        room = self.lib.ZSTD_compressBound(len(data))
        is_large = room > SCRATCH_SIZE
        memory = self.new_nonzero("char[]", room) if is_large else work.memory
        try:
            # with all input and room for the whole frame, libzstd needs no internal buffers
            written = self.lib.ZSTD_compress2(cctx, memory, room, self.ffi.from_buffer(data), len(data))
            if target is not None and len(target) < written <= RESULT_MAX:
                written = self.error_result(DST_SIZE_TOO_SMALL)
            if written > RESULT_MAX:
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
        """Decompress frames that declare `size` bytes in total; return None if that fails or gives another size."""
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
        """
        Compress a chunk; return the output as bytes, or libzstd's result, an int, if it is an error.

        `mode` is CONTINUE, FLUSH_BLOCK or FLUSH_FRAME.
        """
        lib, ffi = self.lib, self.ffi
        work = self._take_work()
        try:
            source = ffi.from_buffer(data)
            feed, out = work.input, work.output
            feed.src, feed.size, feed.pos = source, len(data), 0
            bound = lib.ZSTD_compressBound(len(data))
            # at the end of a frame, libzstd needs no internal output buffer if there is room for the whole frame
            room = bound if mode == FLUSH_FRAME and bound > SCRATCH_SIZE else 0
            pieces = []
            while True:
                block = self.new_nonzero("char[]", room) if room else work.memory
                out.dst, out.size, out.pos = block, room or SCRATCH_SIZE, 0
                left = lib.ZSTD_compressStream2(handle, out, feed, mode)
                if left > RESULT_MAX:
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
        Return the content size that the header of the frame at `start` declares.

        Returns UNKNOWN_SIZE if the header declares no size, ERROR_SIZE if the header is truncated or invalid.
        """
        head = data[start : start + HEADER_SIZE_MAX]
        if not has_magic:
            head = MAGIC + head
        size: int = self.lib.ZSTD_getFrameContentSize(self.ffi.from_buffer(head), len(head))
        return size

    def size_error(self, declared: int, size: int) -> int:
        """Return 0, or libzstd's error result for a frame with `size` bytes of content that declares another size."""
        # libzstd does not compare the sizes if the frame's last block is empty
        return 0 if declared in (size, UNKNOWN_SIZE, ERROR_SIZE) else self.error_result(CORRUPTION_DETECTED)

    def _begin_frame(self, data: Bytes, start: int, window_max: int, has_magic: bool, room: int) -> tuple[int, int]:
        """
        Check the header of a new frame; return how many bytes of the room to use, and 0 or libzstd's error result.

        Given the whole frame and room for its content, libzstd would decompress the frame at once. That has two effects
        which callers must not see. libzstd then uses no window and does not check the window's limit, so this function
        checks the limit. And libzstd may write to all of the room, even after the content, so this function reduces the
        room to the declared size.

        Data that is not a header is read like a header. libzstd then reports the error, unless the data is a skippable
        frame, which may get less room but needs none.
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
        Decompress `data[start:]` up to the end of a frame, at most `max_length` bytes (-1: no limit).

        `expected` is a size to allocate at once, or 0. -1 means that the context has neither parameters nor a
        dictionary, and that a frame begins at `start`; then the size is read from the frame's header, if the frame is
        complete. `window_max` is the context's limit if a frame begins at `start`, otherwise 0. `has_magic` is whether
        frames have a magic number. Returns the output, the position in `data` after the used bytes, and whether the
        frame is complete; or libzstd's result if it is an error.
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
                if left > RESULT_MAX:
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
        """
        Return the content size that the frame at `start` declares if the frame is complete; otherwise 0.

        Returns 0 also for a frame without a declared size, for a size that must not be allocated on trust, and for
        small frames and contents, for which the check does not pay off.
        """
        size = len(data) - start
        if size < SCRATCH_SIZE >> 5:  # the check costs more than it saves for such a small frame
            return 0
        memory = self.ffi.from_buffer(data) + start
        declared: int = self.lib.ZSTD_getFrameContentSize(memory, size)
        if not SCRATCH_SIZE < declared <= content_size_max(size):
            return 0
        frame = self.lib.ZSTD_findFrameCompressedSize(memory, size)
        if frame > RESULT_MAX or declared > content_size_max(frame) or not is_trusted(declared, frame):
            return 0
        return declared

    def stream_decompress_into(
        self, handle: CData | int, data: Bytes, start: int, buffer: memoryview, window_max: int, has_magic: bool
    ) -> DecodedInto:
        """
        Decompress `data[start:]` up to the end of a frame into a writable buffer, and change nothing after the content.

        `window_max` and `has_magic` are those of `stream_decompress`. Returns the number of bytes written, the position
        in `data` after the used bytes, and whether the frame is complete; or libzstd's result if it is an error.
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
                if left > RESULT_MAX:
                    return left
                out.size = len(buffer)  # from here on libzstd copies from its own memory and writes only content
                if left == 0 or out.pos == out.size or feed.pos == feed.size:
                    return out.pos, feed.pos, left == 0
        finally:
            self._kept.work = work
