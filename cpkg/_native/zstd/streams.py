# SPDX-License-Identifier: Apache-2.0
"""
ZstdCompressor and ZstdDecompressor over libzstd; each backend subclasses them with its Library.

An object may be shared by threads: a method holds the object's lock while it runs. Coming back into the same object
from inside one of its own calls (a finalizer, a signal handler) is a RuntimeError, because waiting would not end.
"""

from __future__ import annotations

import operator
import os

from cpkg._native import buffers
from cpkg._native.buffers import Bytes
from cpkg._native.pins import pin
from cpkg._native.pressure import TELLS_SIZES
from cpkg._native.zstd.functions import CompressionSettings, DecompressionSettings
from cpkg._native.zstd.library import CONTINUE, FLUSH_BLOCK, FLUSH_FRAME, RESET_SESSION, Library
from purepy.errors import ZstdError
from purepy.zstd.common.error_codes import CANNOT_COMPRESS, CANNOT_DECOMPRESS
from purepy.zstd.common.locks import ExclusiveStream
from purepy.zstd.common.zdict import PREFIX
from purepy.zstd_format import ERROR_SIZE, UNKNOWN_SIZE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar


class _Stream(ExclusiveStream):
    """The part of both streams that holds a context of libzstd."""

    __slots__ = ()

    _library: ClassVar[Library]

    if TYPE_CHECKING:

        def _give_back(self) -> None:
            """Give the context back to this thread; for the holder of the lock."""

    def _release(self) -> None:
        """Give the context back; the object must not be used again."""
        if not self._lock._is_owned():  # else a signal handler asks inside of a call, which goes on using it
            with self._lock:
                self._give_back()


class Compressor(_Stream):
    """
    Compress in pieces, into any number of frames (replaces `compression.zstd.ZstdCompressor`).

    Takes the arguments of `compress`. Methods may be called from several threads.
    """

    __slots__ = (
        "_cctx",
        "_handle",
        "_has_failed",
        "_last_mode",
        "_left",
        "_longest",
        "_made_in",
        "_pin",
        "_settings",
        "_told",
    )

    CONTINUE = CONTINUE
    """Mode: collect data; output comes when enough is there."""
    FLUSH_BLOCK = FLUSH_BLOCK
    """Mode: end the block, so that a reader can have all data given so far."""
    FLUSH_FRAME = FLUSH_FRAME
    """Mode: end the frame; the next data begins a new one."""

    def __init__(self, level: Any = None, options: Any = None, zstd_dict: Any = None) -> None:
        super().__init__()
        self._begin(CompressionSettings(self._library, level, options, zstd_dict))

    @classmethod
    def _over(cls, settings: Any) -> Compressor:
        """Return a stream over settings made before (see presets.py)."""
        stream = cls.__new__(cls)
        ExclusiveStream.__init__(stream)
        stream._begin(settings)
        return stream

    def _begin(self, settings: Any) -> None:
        library = self._library
        cctx = settings.take(library)
        self._settings = settings
        self._cctx = cctx
        self._handle = library.handle(cctx)
        self._pin = pin(cctx)
        self._last_mode = FLUSH_FRAME
        self._left: int | None = None
        self._has_failed = False
        self._told: int | None = None
        self._longest = -1
        self._made_in = os.getpid() if settings.workers else 0

    @property
    def last_mode(self) -> int:
        """The mode of the last call that succeeded; FLUSH_FRAME at first."""
        return self._last_mode

    def compress(self, data: Any, mode: int = CONTINUE) -> bytes:
        """
        Take the bytes of a buffer and return what output there is, perhaps b"".

        `mode` is CONTINUE, FLUSH_BLOCK or FLUSH_FRAME; any other is a ValueError. Raises ZstdError if libzstd fails,
        which ends the frame without its rest, or if the data goes against the pledged size, which changes nothing.
        """
        mode = operator.index(mode)
        if not CONTINUE <= mode <= FLUSH_FRAME:
            raise ValueError(
                "mode argument wrong value, it should be one of ZstdCompressor.CONTINUE, "
                "ZstdCompressor.FLUSH_BLOCK, ZstdCompressor.FLUSH_FRAME."
            )
        return self._compress(buffers.readable(data), mode)

    def flush(self, mode: int = FLUSH_FRAME) -> bytes:
        """
        End the block or the frame and return the output that was held back.

        `mode` is FLUSH_FRAME or FLUSH_BLOCK; any other is a ValueError. Raises ZstdError as `compress` does.
        """
        mode = operator.index(mode)
        if not FLUSH_BLOCK <= mode <= FLUSH_FRAME:
            raise ValueError(
                "mode argument wrong value, it should be ZstdCompressor.FLUSH_FRAME or ZstdCompressor.FLUSH_BLOCK."
            )
        return self._compress(b"", mode)

    def set_pledged_input_size(self, size: int | None, /) -> None:
        """
        Promise the size in bytes of the next frame's content, so that its header has it; None takes it back.

        Only between frames, else ValueError; so is a size out of range.
        """
        if size is not None:
            size = operator.index(size)
            if not 0 <= size < ERROR_SIZE:
                raise ValueError(f"size argument should be a positive int less than {ERROR_SIZE}")
        with self._turn():
            if self._last_mode != FLUSH_FRAME:
                raise ValueError("set_pledged_input_size() method must be called when last_mode == FLUSH_FRAME")
            library = self._library
            result = library.lib.ZSTD_CCtx_setPledgedSrcSize(self._cctx, UNKNOWN_SIZE if size is None else size)
            library.check(result, "Unable to set pledged uncompressed content size")
            self._left = size

    def _memory_size(self) -> int | None:
        """Return the size of the context in bytes, None once it was given back."""
        with self._turn():
            return None if self._cctx is None else self._library.lib.ZSTD_sizeof_CCtx(self._cctx)

    def _give_back(self) -> None:
        if self._cctx is not None:
            cctx, self._cctx = self._cctx, None
            self._handle = self._pin = None
            if self._has_failed:
                self._library.drop(cctx)
            else:
                self._settings.give(self._library, cctx, self._told)

    def _compress(self, data: Bytes, mode: int) -> bytes:
        with self._turn():
            if self._made_in and self._made_in != os.getpid():
                raise RuntimeError("a ZstdCompressor with nb_workers cannot be used in a forked child: make a new one")
            left = self._left
            if left is not None:
                left = self._still_pledged(left, len(data), mode)
            library = self._library
            done = False
            try:
                result = library.stream_compress(self._handle, data, mode)
                done = type(result) is not int
            finally:
                if not done:
                    self._has_failed = True
                    self._last_mode = FLUSH_FRAME
                    self._left = None
                    library.lib.ZSTD_CCtx_reset(self._cctx, RESET_SESSION)
            if isinstance(result, int):
                raise library.error(result, CANNOT_COMPRESS)
            self._last_mode = mode
            self._left = left
            if TELLS_SIZES and len(data) > self._longest:
                self._longest = len(data)
                self._told = library.tell_cctx(self._cctx, self._told)
            return result

    def _still_pledged(self, left: int, size: int, mode: int) -> int | None:
        """Return what is left of the pledged size, None at the end of the frame; asked first, so no data is lost."""
        if mode == FLUSH_FRAME and self._last_mode == FLUSH_FRAME:
            return None  # a frame in one call has the size of its data
        left -= size
        if left < 0 or (left > 0 and mode == FLUSH_FRAME):
            raise pledge_error(abs(left), left < 0)
        return None if mode == FLUSH_FRAME else left


def pledge_error(difference: int, is_more: bool) -> ZstdError:
    """Make the error of a frame with so many bytes more, or less, than were pledged."""
    what = "more" if is_more else "less"
    return ZstdError(f"{CANNOT_COMPRESS}: Src size is incorrect: {difference} bytes {what} than pledged")


class Decompressor(_Stream):
    """
    Decompress one frame in pieces (replaces `compression.zstd.ZstdDecompressor`).

    `zstd_dict` and `options` are those of `decompress`. With `multi_frame=True` it reads one frame after the other:
    `eof` is then true whenever the data given so far ends with a frame, and giving more is no error; of an error in a
    later frame the next call tells, after one that returned what the frames in front of it hold. Methods may be called
    from several threads.
    """

    __slots__ = (
        "_at_start",
        "_dctx",
        "_eof",
        "_goes_on",
        "_handle",
        "_has_failed",
        "_longest",
        "_multi_frame",
        "_needs_input",
        "_offset",
        "_pending",
        "_pin",
        "_position",
        "_settings",
        "_told",
        "_whole_frame",
    )

    def __init__(self, zstd_dict: Any = None, options: Any = None, *, multi_frame: bool = False) -> None:
        super().__init__()
        self._begin(DecompressionSettings(self._library, zstd_dict, options), bool(multi_frame))

    @classmethod
    def _over(cls, settings: Any, multi_frame: bool = False, frame_by_frame: bool = False) -> Decompressor:
        """
        Return a stream over settings made before (see presets.py).

        With `frame_by_frame` no call of one with `multi_frame` goes beyond the end of a frame, of which `_at_start`
        tells.
        """
        stream = cls.__new__(cls)
        ExclusiveStream.__init__(stream)
        stream._begin(settings, multi_frame, frame_by_frame)
        return stream

    def _begin(self, settings: Any, multi_frame: bool, frame_by_frame: bool = False) -> None:
        self._settings = settings
        self._multi_frame = multi_frame
        self._goes_on = multi_frame and not frame_by_frame
        self._whole_frame = settings.whole_frame
        self._dctx: Any = None
        self._handle: Any = None
        self._pin: Any = None
        if self._whole_frame is None:
            self._take()
        self._has_failed = False
        self._told: int | None = None
        self._longest = -1
        self._forget()

    def _take(self) -> None:
        """Take a context; where whole frames need none, not before one comes in parts."""
        library = self._library
        self._dctx = dctx = self._settings.take(library)
        self._handle = library.handle(dctx)
        self._pin = pin(dctx)

    def _forget(self) -> None:
        self._pending: Bytes = b""
        self._position = 0
        self._offset = 0  # in the whole stream, of _pending[0]
        self._eof = False
        self._needs_input = True
        self._at_start = True

    @property
    def eof(self) -> bool:
        """Whether the end of the frame was reached (see `multi_frame`)."""
        return self._eof

    @property
    def needs_input(self) -> bool:
        """Whether decompress() needs more data before it can return more."""
        return self._needs_input

    @property
    def unused_data(self) -> bytes:
        """What was given behind the end of the frame; b"" before that."""
        if not self._eof:
            return b""
        with self._turn():
            if self._position:
                self._pending = self._pending[self._position :]
                self._position = 0
            if type(self._pending) is not bytes:
                self._pending = bytes(self._pending)
            return self._pending

    def decompress(self, data: Any, max_length: int = -1) -> bytes:
        """
        Take the bytes of a buffer and return what they decompress to, at most `max_length` bytes (-1: no limit).

        Data that was not used up is kept; call with b"" for more output while `needs_input` is false. Raises
        EOFError after the end of the frame and ZstdError for data that is no frame; that forgets all data, and the
        object can be used for another frame.
        """
        source = buffers.readable(data)
        limit = operator.index(max_length)
        with self._turn():
            content: bytes = self._decompress(source, limit, None)
            return content

    def _decompress(self, source: Bytes, limit: int, target: memoryview | None) -> Any:
        """Return the content as bytes, or, if there is a target, how much of it was filled."""
        if self._eof and not self._multi_frame:
            raise EOFError("Already at the end of a Zstandard frame.")
        start = self._position
        if start < len(self._pending):
            if source:
                self._offset += start
                source = b"".join((self._pending[start:], source))
                start = 0
            else:
                source = self._pending
            if limit == 0:  # nothing can come of it, and libzstd would take the 17th such call for an error
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
            content: Any
            if target is None:
                content, position, is_end = self._feed(source, start, limit)
                size = len(content)
            else:
                size, position, is_end = self._fill(source, start, target)
                content = size
            done = True
        finally:
            if not done:
                self._settings_error_reset()
        if TELLS_SIZES and (not is_end or len(source) > self._longest):
            self._longest = len(source)
            self._told = self._library.tell_dctx(self._dctx, self._told)
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

    def _feed(self, source: Bytes, start: int, limit: int) -> tuple[bytes, int, bool]:
        library = self._library
        pieces = []
        total = 0
        is_end = self._at_start
        position = start
        while True:
            room = limit - total if limit >= 0 else -1
            result: Any = None
            if is_end and self._whole_frame is not None:
                result = self._whole_frame(source, position, room)
            if result is None:
                if self._handle is None:
                    self._take()
                expected = -1 if is_end and self._settings.is_default else 0
                window_max = self._settings.window_max if is_end else 0
                result = library.stream_decompress(
                    self._handle, source, position, room, expected, window_max, self._settings.has_magic
                )
            if not isinstance(result, int):
                content, position, is_end = result
                if not self._goes_on:
                    if is_end and self._multi_frame and self._settings.how == PREFIX:
                        self._settings.apply_again(library, self._dctx)
                    return content, position, is_end
                pieces.append(content)
                total += len(content)
            elif total:
                self._reset_session()  # the frame that failed begins at `position`, and will fail in the next call
                return b"".join(pieces), position, True
            else:
                raise library.error(result, CANNOT_DECOMPRESS, self._offset + position)
            if is_end and self._settings.how == PREFIX:
                self._settings.apply_again(library, self._dctx)
            if not is_end or position == len(source) or total == limit:
                return (pieces[0] if len(pieces) == 1 else b"".join(pieces)), position, is_end

    def _fill(self, source: Bytes, start: int, target: memoryview) -> tuple[int, int, bool]:
        library = self._library
        filled, position = 0, start
        is_end = self._at_start
        result: Any
        if self._handle is None:
            self._take()
        while True:
            window_max, has_magic = self._settings.window_max if is_end else 0, self._settings.has_magic
            if not filled:
                result = library.stream_decompress_into(self._handle, source, position, target, window_max, has_magic)
            else:
                # a frame that fails may leave nothing behind what those in front of it have filled
                room = len(target) - filled
                result = library.stream_decompress(self._handle, source, position, room, 0, window_max, has_magic)
            if not isinstance(result, int):
                content, position, is_end = result
                if filled:
                    target[filled : filled + len(content)] = content
                    filled += len(content)
                else:
                    filled = content
            elif filled:
                self._reset_session()  # as in _feed()
                return filled, position, True
            else:
                raise library.error(result, CANNOT_DECOMPRESS, self._offset + position)
            if is_end and self._settings.how == PREFIX:
                self._settings.apply_again(library, self._dctx)
            if not is_end or not self._goes_on or position == len(source) or filled == len(target):
                return filled, position, is_end

    def _memory_size(self) -> int | None:
        """Return the size of the context in bytes, None once it was given back."""
        with self._turn():
            if self._dctx is not None:
                return self._library.lib.ZSTD_sizeof_DCtx(self._dctx)
            return None if self._whole_frame is None else self._settings._memory_size()

    def _give_back(self) -> None:
        if self._dctx is not None:
            dctx, self._dctx = self._dctx, None
            self._handle = self._pin = None
            if self._has_failed:
                self._library.drop(dctx)
            else:
                self._settings.give(self._library, dctx, self._told)

    def _settings_error_reset(self) -> None:
        """Forget all data after an error, and begin anew."""
        self._forget()
        self._reset_session()

    def _reset_session(self) -> None:
        """Begin a new session after an error in the same settings, a prefix that was used included."""
        if self._dctx is None:
            return
        self._has_failed = True
        if self._settings.how == PREFIX:
            self._settings.apply_again(self._library, self._dctx)
        else:
            self._library.lib.ZSTD_DCtx_reset(self._dctx, RESET_SESSION)

    def _decompress_into(self, data: Any, buffer: memoryview) -> int:
        """
        Decompress into a writable view of bytes and return how many it holds then; else like `decompress`.

        This is what file objects read with; no part of the drop-in.
        """
        source = buffers.readable(data)
        with self._turn(), buffers.Target(self._library, buffer) as target:
            target.written = self._decompress(source, len(buffer), target.view)
            return target.written
