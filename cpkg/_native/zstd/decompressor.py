# SPDX-License-Identifier: Apache-2.0
"""The base of ZstdDecompressor for backends that use libzstd through cffi: `dlopen`, and on PyPy also `native`."""

from __future__ import annotations

from cpkg._native import buffers
from cpkg._native.buffers import Bytes
from cpkg._native.pressure import REPORTS_SIZES
from cpkg._native.zstd.context_stream import ContextStream
from cpkg._native.zstd.settings import DecompressionSettings
from purepy.zstd.format.decompressor_base import FRAME_IS_OVER, DecompressorBase
from purepy.zstd.format.error_codes import CANNOT_DECOMPRESS, PREFIX_UNKNOWN
from purepy.zstd.format.rules import ERROR_SIZE, HEADER_SIZE_MAX, UNKNOWN_SIZE
from purepy.zstd.format.zdict import PREFIX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cpkg._native.zstd.library import Decoded, DecodedInto
    from purepy.base.types import Buffer, Parameters
    from purepy.zstd.format.zdict import DictArgument


class Decompressor(DecompressorBase, ContextStream):
    __doc__ = DecompressorBase.__doc__
    __slots__ = (
        "_at_start",
        "_context",
        "_declared",
        "_handle",
        "_has_failed",
        "_head",
        "_longest",
        "_offset",
        "_pending",
        "_pin",
        "_position",
        "_produced",
        "_reported",
    )

    _readable = staticmethod(buffers.readable)

    def _checked(self, zstd_dict: DictArgument, options: Parameters) -> object:
        return DecompressionSettings(self._library, zstd_dict, options)

    def _start(self) -> None:
        self._take()
        self._has_failed = False
        self._reported: int | None = None
        self._longest = -1
        self._forget()

    def _forget(self) -> None:
        self._pending: Bytes = b""
        self._position = 0
        self._offset = 0  # the position of _pending[0] in the whole stream
        self._eof = False
        self._needs_input = True
        self._at_start = True
        self._head: bytes = b""
        self._declared = UNKNOWN_SIZE
        self._produced = 0

    def _look(self, source: Bytes, position: int, is_start: bool) -> None:
        """
        Collect the current frame's header in `_head`, and store the content size that it declares in `_declared`.

        The next input is at `position` in `source`; `is_start` is whether a frame begins there. `_declared` is
        ERROR_SIZE while the header is incomplete or invalid, and UNKNOWN_SIZE if it declares no size. Does nothing once
        the size is known or the longest possible header was collected.
        """
        if is_start:
            self._head, self._declared, self._produced = b"", ERROR_SIZE, 0
        elif self._declared != ERROR_SIZE or len(self._head) == HEADER_SIZE_MAX:
            return
        self._head += source[position : position + HEADER_SIZE_MAX - len(self._head)]
        self._declared = self._library.declared_size(self._head, 0, self._settings._has_magic)

    @property
    def unused_data(self) -> bytes:
        """The bytes that followed the end of the frame; b"" before `eof`, and always with `multi_frame`."""
        if not self._eof:
            return b""
        with self._turn():
            if self._position:
                self._pending = self._pending[self._position :]
                self._position = 0
            if type(self._pending) is not bytes:
                self._pending = bytes(self._pending)
            return self._pending

    def _decompress(self, source: Bytes, limit: int, target: memoryview | None = None) -> Any:
        """
        Decompress the held input and `source`; return the content, or with `target` how many bytes were stored there.

        The content has at most `limit` bytes (-1: no limit). Input that is not used is kept for the next call. After an
        error all input is dropped.
        """
        start = self._position
        if start < len(self._pending):
            if source:
                self._offset += start
                source = b"".join((self._pending[start:], source))
                start = 0
            else:
                source = self._pending
            if limit == 0:  # there can be no output, and libzstd would treat the 17th such call as an error
                self._pending, self._position = source, start
                return b"" if target is None else 0
        else:
            self._offset += start
            start = 0
            if not source and (self._needs_input or limit == 0):
                self._needs_input = limit != 0 or self._eof
                return b"" if target is None else 0
        done = False
        try:
            content, size, position, is_end = self._feed(source, start, limit, target)
            done = True
        finally:
            if not done:
                self._begin_anew()
        if REPORTS_SIZES and (not is_end or len(source) > self._longest):
            self._longest = len(source)
            self._reported = self._library.dctxs.report(self._context, self._reported)
        self._at_start = is_end
        is_used_up = position == len(source)
        if is_used_up:
            self._offset += position
            self._pending, self._position = b"", 0
        else:
            if type(source) is not bytes:  # the caller may change its buffer now
                source = bytes(source[position:])
                self._offset += position
                position = 0
            self._pending, self._position = source, position
        self._eof = is_end and (is_used_up or not self._multi_frame)
        self._needs_input = is_used_up and (size != limit or (self._eof and self._multi_frame))
        if self._eof and not self._multi_frame:
            self._needs_input = False
            self._give_back()
        return content

    def _feed(
        self, source: Bytes, start: int, limit: int, target: memoryview | None
    ) -> tuple[bytes | int, int, int, bool]:
        """
        Decompress one frame, or with `_goes_on` frame after frame, as far as the input and the limit allow.

        Returns the content (with a target, the number of bytes stored there), its size, the position in the input after
        the used bytes, and whether a frame ends there. Raises the error of a frame only if this call has no
        content of earlier frames. Otherwise it returns that content, and the next call raises the error.
        """
        library, settings = self._library, self._settings
        pieces: list[bytes] = []
        total, position, is_end = 0, start, self._at_start
        while True:
            if self._handle is None:
                self._take()
            window_max, has_magic = settings._window_max if is_end else 0, settings._has_magic
            seen = 0 if is_end else len(self._head)
            self._look(source, position, is_end)
            result: Decoded | DecodedInto
            if target is not None and not total:
                result = library.stream_decompress_into(self._handle, source, position, target, window_max, has_magic)
            else:
                # a frame that fails must not write into the target after the content of earlier frames
                room = limit - total if limit >= 0 else -1
                expected = -1 if is_end and settings._is_default else 0
                result = library.stream_decompress(
                    self._handle, source, position, room, expected, window_max, has_magic
                )
            if not isinstance(result, int):
                content, after, is_end = result
                size = content if isinstance(content, int) else len(content)
                self._produced += size
                result = (is_end and library.size_error(self._declared, self._produced)) or result
            if isinstance(result, int):
                if not total:
                    is_magic = result == library.error_result(PREFIX_UNKNOWN)
                    offset = self._offset + position - (seen if is_magic else 0)
                    raise library.error(result, CANNOT_DECOMPRESS, offset)
                self._reset_session()  # the frame that failed begins at `position`, and the next call raises its error
                is_end = True
                break
            position = after
            if isinstance(content, bytes):
                if target is None:
                    pieces.append(content)
                else:
                    target[total : total + size] = content
            total += size
            if is_end and settings._how == PREFIX:
                settings._apply_again(library, self._context)
            if not is_end or not self._goes_on or position == len(source) or total == limit:
                break
        if target is not None:
            return total, total, position, is_end
        return (pieces[0] if len(pieces) == 1 else b"".join(pieces)), total, position, is_end

    def _memory_size(self) -> int:
        """Return the size of the context in bytes; 0 after it was given back."""
        with self._turn():
            result = 0 if self._context is None else self._library.dctxs.size_of(self._context)
            return result

    def _begin_anew(self) -> None:
        """Drop all held input after an error, so that the next input begins a new frame."""
        self._forget()
        self._reset_session()

    def _reset_session(self) -> None:
        """After an error, prepare the context, if there is one, for a new frame with the same settings and prefix."""
        if self._context is None:
            return
        self._has_failed = True
        if self._settings._how == PREFIX:
            self._settings._apply_again(self._library, self._context)
        else:
            self._library.dctxs.end_session(self._context)

    def _decompress_into(self, data: Buffer, buffer: memoryview) -> int:
        """
        Decompress into a writable view of bytes and return the number of bytes stored; otherwise like `decompress`.

        File objects read with this method, which is not part of the drop-in.
        """
        source = buffers.readable(data)
        with self._turn(), buffers.OutputBuffer(self._library, buffer) as target:
            if self._eof and not self._multi_frame:
                raise EOFError(FRAME_IS_OVER)
            target.written = self._decompress(source, len(buffer), target.view)
            return target.written
