# SPDX-License-Identifier: Apache-2.0
"""
The Zstandard codec on top of a libzstd that cffi gives access to, in API mode (`compiled`) or ABI mode (`dlopen`).

Each backend module creates one Codec from its Library (see backend_names.py).
"""

from __future__ import annotations

import sys

from cpkg._native import buffers
from cpkg._native.buffers import Bytes
from cpkg._native.zstd.contexts import RESULT_MAX
from cpkg._native.zstd.library import Library
from cpkg._native.zstd.settings import CompressionSettings, DecompressionSettings
from purepy.base.errors import ZstdError
from purepy.base.lazy import imported
from purepy.zstd.format.error_codes import (
    CANNOT_DECOMPRESS,
    DICTIONARY_WRONG,
    FRAME_PARAMETER_UNSUPPORTED,
    PREFIX_UNKNOWN,
    SRC_SIZE_WRONG,
    VERSION_UNSUPPORTED,
    WINDOW_TOO_LARGE,
    limit_error,
    located,
    output_limit_error,
    truncated_error,
)
from purepy.zstd.format.parameters import FrameInfo
from purepy.zstd.format.rules import (
    BLOCK_SIZE_MAX,
    ERROR_SIZE,
    MAGIC,
    UNKNOWN_SIZE,
    content_size_max,
    frame_window,
    is_trusted,
    trusted_hint,
)
from purepy.zstd.format.zdict import MIN_DICT_SIZE, PREFIX, can_train
from purepy.zstd.functions import Functions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

    from cpkg._native.cffi_types import CData
    from cpkg._native.zstd.library import Decoded, DecodedInto
    from purepy.base.types import Buffer, Parameters
    from purepy.zstd.format.zdict import DictArgument
    from purepy.zstd.threads.arguments import DecompressionPlan
    from purepy.zstd.threads.decompress_buffer import Divided

HEADER_ERRORS = (PREFIX_UNKNOWN, VERSION_UNSUPPORTED, FRAME_PARAMETER_UNSUPPORTED, WINDOW_TOO_LARGE, DICTIONARY_WRONG)


class Codec(Functions):
    """The functions of a backend that calls libzstd through one Library."""

    def __init__(self, backend: ModuleType, library: Library) -> None:
        super().__init__(backend)
        self.library = library

    def __reduce__(self) -> tuple[object, ...]:
        return _codec_of, (self._backend.__name__,)

    # compressing

    def _compress(self, data: Buffer, level: int | None, options: Parameters, zstd_dict: DictArgument) -> bytes:
        library = self.library
        settings = CompressionSettings(library, level, options, zstd_dict)
        frame: bytes = settings._compress_frame(library, buffers.readable(data))
        return frame

    def _join(self, pieces: list[bytes], threads: int) -> bytes:
        return self.library.join(pieces, threads)

    def compress_into(
        self,
        data: Buffer,
        buffer: Buffer,
        level: int | None = None,
        options: Parameters = None,
        zstd_dict: DictArgument = None,
    ) -> int:
        library = self.library
        settings = CompressionSettings(library, level, options, zstd_dict)
        source, target = buffers.readable(data), buffers.writable(buffer)
        with target:
            size: int = settings._compress_frame(library, source, target)
            return size

    # decompressing

    def _settings(self, zstd_dict: DictArgument, options: Parameters) -> DecompressionSettings:
        return DecompressionSettings(self.library, zstd_dict, options)

    def _decompress_parts(
        self, plan: DecompressionPlan, divided: Divided, settings: DecompressionSettings
    ) -> bytes | None:
        if divided.content_size is None:
            return super()._decompress_parts(plan, divided, settings)
        from cpkg._native.zstd.shared_output import decompress_shared

        return decompress_shared(self.library, plan.threads, divided, divided.content_size, settings)

    def _decompress(self, data: Buffer, settings: DecompressionSettings, limit: int | None, hint: int) -> bytes:
        library = self.library
        source = buffers.readable(data)
        dctx = settings._take(library)
        try:
            result = None
            size = self._declared_size(source, settings)
            if size is not None:
                if limit is not None and size > limit:
                    raise output_limit_error(limit, 0)
                result = library.decompress_at_once(dctx, source, size)
                if result is None:
                    settings._apply_again(library, dctx)
            if result is None:
                result = self._frames(dctx, source, settings, limit, hint)
        except BaseException:
            library.drop(dctx)
            raise
        settings._give(library, dctx)
        return result

    def decompress_into(
        self, data: Buffer, buffer: Buffer, zstd_dict: DictArgument = None, options: Parameters = None
    ) -> int:
        library = self.library
        settings = DecompressionSettings(library, zstd_dict, options)
        source, target = buffers.readable(data), buffers.writable(buffer)
        dctx = settings._take(library)
        try:
            with target, buffers.OutputBuffer(library, target) as memory:
                memory.written = self._frames(dctx, source, settings, None, 0, memory.view)
        except BaseException:
            library.drop(dctx)
            raise
        settings._give(library, dctx)
        return memory.written

    def _check_complete(self, dctx: CData, source: Bytes, position: int, room: int) -> None:
        """
        Raise an error unless the current frame ends where its content fills the buffer of `room` bytes.

        The frame may have more content, or be truncated. Its unread part begins at `position`.
        """
        library = self.library
        result = library.stream_decompress(library.handle(dctx), source, position, 1, 0, 0, True)
        if isinstance(result, int):
            raise library.error(result, CANNOT_DECOMPRESS, position)
        more, _, is_end = result
        if more:
            raise limit_error(f"the buffer ({room} bytes)", None)
        if not is_end:
            raise truncated_error(len(source))

    def _declared_size(self, source: Bytes, settings: DecompressionSettings) -> int | None:
        """
        Return the total content size that all frames declare, or None if the slower `_frames` must decide.

        The result is None if a frame does not declare its size, is incomplete or malformed, requires too large a
        window, or declares more than its bytes can decompress to; if frames have no magic numbers; and if the total is
        too large to allocate before anything has been decompressed.
        """
        if not settings._has_magic:
            return None
        lib, ffi = self.library.lib, self.library.ffi
        memory = ffi.from_buffer(source)
        end = len(source)
        position = total = 0
        while position < end or position == 0:
            declared = lib.ZSTD_getFrameContentSize(memory + position, end - position)
            if declared >= ERROR_SIZE:
                return None
            size = lib.ZSTD_findFrameCompressedSize(memory + position, end - position)
            if size > RESULT_MAX or declared > content_size_max(size):
                return None
            if (
                source[position : position + 4] == MAGIC
                and frame_window(source, position, declared) > settings._window_max
            ):
                return None
            total += declared
            position += size
        return total if is_trusted(total, end) else None

    def _frames(
        self,
        dctx: CData,
        source: Bytes,
        settings: DecompressionSettings,
        limit: int | None,
        hint: int,
        target: memoryview | None = None,
    ) -> Any:
        """
        Decompress all frames and return their content; enforce the limit and raise the documented errors.

        `limit` is the largest size of the content in bytes, None for any. `hint` is a guess at this size, or 0. With a
        target, write the content there and return its size.
        """
        library = self.library
        if limit is not None and limit >= sys.maxsize:
            limit = None  # no memory could hold more
        hint = trusted_hint(hint, len(source))
        position = total = 0
        pieces: list[Any] = []
        while position < len(source) or position == 0:
            frame = position
            at = library.handle(dctx), source, position
            result: Decoded | DecodedInto
            if target is not None:
                result = library.stream_decompress_into(*at, target[total:], settings._window_max, settings._has_magic)
            else:
                room = -1 if limit is None else limit - total + 1
                result = library.stream_decompress(*at, room, hint, settings._window_max, settings._has_magic)
                hint = 0
            if not isinstance(result, int):
                content, position, is_end = result
                size = content if isinstance(content, int) else len(content)
                if is_end:  # this call produced all of the frame's content
                    result = library.size_error(library.declared_size(source, frame, settings._has_magic), size)
            if isinstance(result, int) and result:
                raise self._located(result, dctx, source, frame, settings)
            total += size
            if limit is not None and total > limit:
                raise output_limit_error(limit, frame)
            if not is_end:
                if target is None or total < len(target):
                    raise truncated_error(len(source))
                self._check_complete(dctx, source, position, total)
            pieces.append(content)
            if settings._how == PREFIX and position < len(source):
                settings._apply_again(library, dctx)
        if target is not None:
            return total
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _located(
        self, result: int, dctx: CData, source: Bytes, frame: int, settings: DecompressionSettings
    ) -> ZstdError:
        """
        Return the error for the frame at offset `frame`, which failed to decompress with libzstd's `result`.

        The error's offset is that of the wrong block, or that of the frame if its header is wrong or needs other
        settings. libzstd does not report the offset, so the frame is decompressed again, block by block.
        """
        library, lib = self.library, self.library.lib
        settings._apply_again(library, dctx)
        ffi = library.ffi
        memory = ffi.from_buffer(source)
        feed, out = ffi.new("ZSTD_inBuffer *"), ffi.new("ZSTD_outBuffer *")
        block = library.new_nonzero("char[]", BLOCK_SIZE_MAX)
        position, wanted = frame, 1
        while position < len(source):
            feed.src, feed.size, feed.pos = memory + position, min(wanted, len(source) - position), 0
            out.dst, out.size, out.pos = block, BLOCK_SIZE_MAX, 0
            left = lib.ZSTD_decompressStream(dctx, out, feed)
            if left > RESULT_MAX or left == 0:
                break
            position += feed.pos
            wanted = left
        ffi.release(block)
        exc = library.error(result, CANNOT_DECOMPRESS, position)
        if exc.code in HEADER_ERRORS:
            exc.offset = frame
        return exc

    # frames and parameters

    def get_frame_info(self, frame_buffer: Buffer) -> FrameInfo:
        source = buffers.readable(frame_buffer)
        lib, memory = self.library.lib, self.library.ffi.from_buffer(source)
        declared = lib.ZSTD_getFrameContentSize(memory, len(source))
        if declared == ERROR_SIZE:
            text = (
                "Unable to find a Zstandard frame's header: the buffer must begin with a frame and hold "
                "its whole header (6 to 18 bytes)"
            )
            raise located(ZstdError(text), 0)
        dict_id = lib.ZSTD_getDictID_fromFrame(memory, len(source))
        return FrameInfo(None if declared == UNKNOWN_SIZE else declared, dict_id)

    def get_frame_size(self, frame_buffer: Buffer) -> int:
        source = buffers.readable(frame_buffer)
        size: int = self.library.lib.ZSTD_findFrameCompressedSize(self.library.ffi.from_buffer(source), len(source))
        if size > RESULT_MAX:
            text = "Unable to find a Zstandard frame's size: the buffer must begin with a frame and hold all of it"
            raise located(ZstdError(text), 0)
        return size

    def parameter_bounds(self, key: int, is_compress: bool) -> tuple[int, int]:
        return self.library.bounds(key, is_compress)

    # dictionaries

    def _train(self, pieces: list[bytes], dict_size: int) -> bytes:
        library, sizes = self.library, list(map(len, pieces))
        memory = library.new_nonzero("char[]", dict_size)
        if dict_size >= MIN_DICT_SIZE and not can_train(sizes):
            size = library.error_result(SRC_SIZE_WRONG)
        else:
            size = library.lib.ZDICT_trainFromBuffer(
                memory, dict_size, b"".join(pieces), library.ffi.new("size_t[]", sizes), len(sizes)
            )
        return self._made(memory, size, "Unable to train the Zstandard dictionary")

    def _finalize(self, content: bytes, pieces: list[bytes], dict_size: int, level: int) -> bytes:
        library, sizes = self.library, list(map(len, pieces))
        parameters = library.ffi.new("ZDICT_params_t *", {"compressionLevel": level})
        memory = library.new_nonzero("char[]", dict_size)
        samples = b"".join(pieces), library.ffi.new("size_t[]", sizes), len(sizes)
        size = library.lib.ZDICT_finalizeDictionary(memory, dict_size, content, len(content), *samples, parameters[0])
        return self._made(memory, size, "Unable to finalize the Zstandard dictionary")

    def _made(self, memory: CData, size: int, what: str) -> bytes:
        """Return the dictionary that libzstd wrote to `memory`, or raise its error; `size` is libzstd's result."""
        if self.library.lib.ZDICT_isError(size):
            raise self.library.error(size, what)
        return self.library.ffi.buffer(memory, size)[:]


def _codec_of(module: str) -> Codec:
    codec: Codec = imported(module).codec
    return codec
