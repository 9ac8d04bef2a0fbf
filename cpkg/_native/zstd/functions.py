# SPDX-License-Identifier: Apache-2.0
"""
The Zstandard codec over libzstd, for every way of reaching it.

Each backend module makes one Codec from its Library (see backend_names.py).
"""

from __future__ import annotations

import sys

from cpkg._native import buffers
from cpkg._native.buffers import Bytes
from cpkg._native.zstd.library import Library
from cpkg._native.zstd.settings import CompressionSettings, DecompressionSettings
from cpkg._native.zstd.training import Training
from purepy.errors import ZstdError
from purepy.zstd.format.error_codes import (
    CANNOT_DECOMPRESS,
    DICTIONARY_WRONG,
    FRAME_PARAMETER_UNSUPPORTED,
    PREFIX_UNKNOWN,
    VERSION_UNSUPPORTED,
    WINDOW_TOO_LARGE,
    limit_error,
    located,
    output_limit_error,
    truncated_error,
)
from purepy.zstd.format.parameters import FrameInfo, size_argument
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
from purepy.zstd.format.zdict import PREFIX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cpkg._native.cffi_types import CData
    from purepy._types import Buffer, DictArgument, Parameters

HEADER_ERRORS = (PREFIX_UNKNOWN, VERSION_UNSUPPORTED, FRAME_PARAMETER_UNSUPPORTED, WINDOW_TOO_LARGE, DICTIONARY_WRONG)


class Codec(Training):
    """The functions of `compression.zstd` over one Library, bound methods of one object per backend module."""

    def __init__(self, library: Library, module: str) -> None:
        super().__init__(library)
        self._module = module

    def __reduce__(self) -> tuple[object, ...]:
        # what pickles is a function of a module, as it would be without this class
        return _codec_of, (self._module,)

    def _names(self) -> object:
        """Return the backend's module, whose functions may be builtins that are faster than these."""
        return sys.modules[self._module]

    # compressing

    def compress(
        self,
        data: Buffer,
        level: int | None = None,
        options: Parameters = None,
        zstd_dict: DictArgument = None,
        *,
        threads: int | None = None,
        frame_size: int | None = None,
    ) -> bytes:
        """
        Compress a buffer and return the frame (replaces `compression.zstd.compress`).

        The frame's header has the content's size.

        Args:
            data (Buffer): the content.
            level (int | None): -131072 to 22; None and 0 stand for 3.
            options (Mapping[int, int] | None): values of CompressionParameter, in place of `level`.
            zstd_dict (ZstdDict | tuple[ZstdDict, int] | None): a dictionary, or one of its `as_*` pairs.
            threads (int | None): how many threads compress at a time, 0 for one per core; it then makes frames
                of `frame_size`. None for one frame.
            frame_size (int | None): bytes of content in each frame; None for 16 to 64 MiB, by the level.

        Raises TypeError and ValueError for wrong arguments, ZstdError for a corrupted dictionary and if libzstd fails.
        """
        if threads is not None or frame_size is not None:
            from purepy.zstd.threads.arguments import plan_compression
            from purepy.zstd.threads.compress import compress_buffer

            plan = plan_compression(self._names(), threads, frame_size, level, options, zstd_dict)
            return compress_buffer(data, plan, self.library.join)
        library = self.library
        settings = CompressionSettings(library, level, options, zstd_dict)
        return library.compress_frame(settings, buffers.readable(data))

    def compress_into(
        self,
        data: Buffer,
        buffer: Buffer,
        level: int | None = None,
        options: Parameters = None,
        zstd_dict: DictArgument = None,
    ) -> int:
        """
        Compress a buffer into one frame at the start of a writable buffer; return the frame's size in bytes.

        Args:
            data (Buffer): the content.
            buffer (Buffer): where the frame goes; behind it nothing changes. From 128 KiB of content on,
                len(data) + len(data) // 255 + 64 bytes are always enough.
            level (int | None): -131072 to 22; None and 0 stand for 3.
            options (Mapping[int, int] | None): values of CompressionParameter, in place of `level`.
            zstd_dict (ZstdDict | tuple[ZstdDict, int] | None): a dictionary, or one of its `as_*` pairs.

        Raises TypeError and ValueError for wrong arguments, ZstdError, with nothing written, if the frame does not fit.
        """
        library = self.library
        settings = CompressionSettings(library, level, options, zstd_dict)
        source, target = buffers.readable(data), buffers.writable(buffer)
        with target:
            return library.compress_frame(settings, source, target)

    # decompressing

    def decompress(
        self,
        data: Buffer,
        zstd_dict: DictArgument = None,
        options: Parameters = None,
        *,
        max_output_size: int | None = None,
        size_hint: int | None = None,
        threads: int | None = None,
    ) -> bytes:
        """
        Return the content of all frames of a buffer, one after the other (replaces `compression.zstd.decompress`).

        Args:
            data (Buffer): frames, one after the other; skippable ones give nothing.
            zstd_dict (ZstdDict | tuple[ZstdDict, int] | None): a dictionary, or one of its `as_*` pairs.
            options (Mapping[int, int] | None): values of DecompressionParameter.
            max_output_size (int | None): the most bytes of content, whatever the frames declare; ZstdLimitError
                beyond.
            size_hint (int | None): how many bytes to expect where the frames do not say; it changes the speed
                alone.
            threads (int | None): how many frames to decompress at a time, 0 for one per core; None for one.

        Raises TypeError and ValueError for wrong arguments, ZstdError for data that is cut, corrupted, followed by
        anything but a frame, or needs another dictionary or a larger window than allowed.
        """
        limit = size_argument(max_output_size, "max_output_size")
        hint = size_argument(size_hint, "size_hint") or 0
        library = self.library
        settings = DecompressionSettings(library, zstd_dict, options)
        if threads is not None:
            from cpkg._native.zstd.shared_output import decompress_shared
            from purepy.zstd.threads.arguments import plan_decompression

            plan = plan_decompression(self._names(), threads, zstd_dict, options)
            result = None if plan is None else decompress_shared(library, plan, settings, data, limit)
            if result is not None:
                return result
        source = buffers.readable(data)
        dctx = settings.take(library)
        try:
            result = None
            size = self._declared_size(source, settings)
            if size is not None:
                if limit is not None and size > limit:
                    raise output_limit_error(limit, 0)
                result = library.decompress_at_once(dctx, source, size)
                if result is None:
                    settings.apply_again(library, dctx)
            if result is None:
                result = self._frames(dctx, source, settings, limit, hint)
        except BaseException:
            library.drop(dctx)
            raise
        settings.give(library, dctx)
        return result

    def decompress_into(
        self, data: Buffer, buffer: Buffer, zstd_dict: DictArgument = None, options: Parameters = None
    ) -> int:
        """
        Decompress all frames of a buffer to the start of a writable buffer; return the content's size in bytes.

        Args:
            data (Buffer): frames, one after the other; skippable ones give nothing.
            buffer (Buffer): where the content goes; behind it nothing changes.
            zstd_dict (ZstdDict | tuple[ZstdDict, int] | None): a dictionary, or one of its `as_*` pairs.
            options (Mapping[int, int] | None): values of DecompressionParameter.

        Raises ZstdError as `decompress` does, and ZstdLimitError if the content does not fit; what the buffer holds
        then is undefined.
        """
        library = self.library
        settings = DecompressionSettings(library, zstd_dict, options)
        source, target = buffers.readable(data), buffers.writable(buffer)
        dctx = settings.take(library)
        try:
            with buffers.OutputBuffer(library, target, owned=True) as memory:
                memory.written = self._fill(dctx, source, memory.view, settings)
        except BaseException:
            library.drop(dctx)
            raise
        settings.give(library, dctx)
        return memory.written

    def _fill(self, dctx: CData, source: Bytes, target: memoryview, settings: DecompressionSettings) -> int:
        library = self.library
        position = filled = 0
        while position < len(source) or position == 0:
            result = library.stream_decompress_into(
                library.handle(dctx), source, position, target[filled:], settings.window_max, settings.has_magic
            )
            frame = position
            if not isinstance(result, int):
                written, position, is_end = result
                filled += written
                if is_end:  # so that all of the frame's content was written by this call
                    result = library.size_error(library.declared_size(source, frame, settings.has_magic), written)
            if isinstance(result, int) and result:
                raise self._located(result, dctx, source, frame, settings)
            if not is_end:
                if filled < len(target):
                    raise truncated_error(len(source))
                self._check_complete(dctx, source, position, len(target))
            if settings.how == PREFIX and position < len(source):
                settings.apply_again(library, dctx)
        return filled

    def _check_complete(self, dctx: CData, source: Bytes, position: int, room: int) -> None:
        """Tell content that fills the buffer exactly from content that is larger, or truncated."""
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
        Return the sum of the sizes that all frames declare, or None if the slow path has to look.

        That is if a frame does not say, is incomplete, malformed, wants too large a window, or declares more than
        its bytes can decompress to.
        """
        if not settings.has_magic:
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
            if lib.ZSTD_isError(size) or declared > content_size_max(size):
                return None
            if (
                source[position : position + 4] == MAGIC
                and frame_window(source, position, declared) > settings.window_max
            ):
                return None
            total += declared
            position += size
        return total if is_trusted(total, end) else None

    def _frames(
        self, dctx: CData, source: Bytes, settings: DecompressionSettings, limit: int | None, hint: int
    ) -> bytes:
        """Return the content of all frames, one after the other, holding the limit and giving the documented errors."""
        library = self.library
        if limit is not None and limit >= sys.maxsize:
            limit = None  # there is no memory for more
        hint = trusted_hint(hint, len(source))
        position = total = 0
        pieces = []
        while position < len(source) or position == 0:
            frame = position
            room = -1 if limit is None else limit - total + 1
            result = library.stream_decompress(
                library.handle(dctx), source, position, room, hint, settings.window_max, settings.has_magic
            )
            hint = 0
            if not isinstance(result, int):
                content, position, is_end = result
                if is_end:
                    result = library.size_error(library.declared_size(source, frame, settings.has_magic), len(content))
            if isinstance(result, int) and result:
                raise self._located(result, dctx, source, frame, settings)
            total += len(content)
            if limit is not None and total > limit:
                raise output_limit_error(limit, frame)
            if not is_end:
                raise truncated_error(len(source))
            pieces.append(content)
            if settings.how == PREFIX and position < len(source):
                settings.apply_again(library, dctx)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _located(
        self, result: int, dctx: CData, source: Bytes, frame: int, settings: DecompressionSettings
    ) -> ZstdError:
        """
        Build the error for a frame that does not decompress, with the offset of the block that is wrong.

        libzstd does not report it, so the frame is decompressed once more, block by block.
        """
        library, lib = self.library, self.library.lib
        settings.apply_again(library, dctx)
        ffi = library.ffi
        memory = ffi.from_buffer(source)
        feed, out = ffi.new("ZSTD_inBuffer *"), ffi.new("ZSTD_outBuffer *")
        block = library.new_nonzero("char[]", BLOCK_SIZE_MAX)
        position, wanted = frame, 1
        while position < len(source):
            feed.src, feed.size, feed.pos = memory + position, min(wanted, len(source) - position), 0
            out.dst, out.size, out.pos = block, BLOCK_SIZE_MAX, 0
            left = lib.ZSTD_decompressStream(dctx, out, feed)
            if lib.ZSTD_isError(left) or left == 0:
                break
            position += feed.pos
            wanted = left
        ffi.release(block)
        exc = library.error(result, CANNOT_DECOMPRESS, position)
        if exc.code in HEADER_ERRORS:
            exc.offset = frame
        return exc

    # frames

    def get_frame_info(self, frame_buffer: Buffer) -> FrameInfo:
        """
        Return what the header of the frame at the start of `frame_buffer` says (replaces
        `compression.zstd.get_frame_info`).

        A skippable frame has a size and a dictionary id of 0. Raises ZstdError for what begins no frame, and for a
        header that is cut.
        """
        source = buffers.readable(frame_buffer)
        lib, memory = self.library.lib, self.library.ffi.from_buffer(source)
        declared = lib.ZSTD_getFrameContentSize(memory, len(source))
        if declared == ERROR_SIZE:
            text = (
                "Unable to find a Zstandard frame's header: the buffer has to begin with a frame, and its size be "
                "not less than the frame header (6 to 18 bytes)"
            )
            raise located(ZstdError(text), 0)
        dict_id = lib.ZSTD_getDictID_fromFrame(memory, len(source))
        return FrameInfo(None if declared == UNKNOWN_SIZE else declared, dict_id)

    def get_frame_size(self, frame_buffer: Buffer) -> int:
        """
        Return the size in bytes of the frame at the start of `frame_buffer`, header and checksum included.

        Nothing is decoded; what follows the frame does not matter. Raises ZstdError if the frame is not complete.
        Replaces `compression.zstd.get_frame_size`.
        """
        source = buffers.readable(frame_buffer)
        size = self.library.lib.ZSTD_findFrameCompressedSize(self.library.ffi.from_buffer(source), len(source))
        if self.library.lib.ZSTD_isError(size):
            text = (
                "Unable to find a Zstandard frame's size: the buffer has to begin with a frame, and its size be "
                "not less than this complete frame"
            )
            raise located(ZstdError(text), 0)
        return size

    # dictionaries

    def parameter_bounds(self, key: int, is_compress: bool) -> tuple[int, int]:
        """Return the bounds of a parameter in this libzstd; ValueError if it does not know it."""
        return self.library.bounds(key, is_compress)


for _name, _method in {**vars(Training), **vars(Codec)}.items():
    if not _name.startswith("_"):
        _method.__qualname__ = _name  # to callers each is a function of the module, as TypeErrors name it


def _codec_of(module: str) -> Codec:
    import importlib

    codec: Codec = importlib.import_module(module).codec
    return codec
