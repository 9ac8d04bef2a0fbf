# SPDX-License-Identifier: Apache-2.0
"""ZstdCompressor over libzstd."""

from __future__ import annotations

import operator
import os

from cpkg._native import buffers
from cpkg._native.buffers import Bytes
from cpkg._native.pressure import REPORTS_SIZES
from cpkg._native.zstd.context_stream import ContextStream
from cpkg._native.zstd.library import CONTINUE, FLUSH_BLOCK, FLUSH_FRAME
from cpkg._native.zstd.settings import CompressionSettings, pledge_error
from purepy.zstd.format.error_codes import CANNOT_COMPRESS
from purepy.zstd.format.locks import ExclusiveStream
from purepy.zstd.format.rules import ERROR_SIZE, UNKNOWN_SIZE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Compressor(ContextStream):
    """
    Compress data in pieces, into any number of frames (replaces `compression.zstd.ZstdCompressor`).

    Args:
        level (int | None): -131072 to 22; None and 0 stand for 3.
        options (Mapping[int, int] | None): values of CompressionParameter, in place of `level`.
        zstd_dict (ZstdDict | tuple[ZstdDict, int] | None): a dictionary, or one of its `as_*` pairs.

    Raises TypeError and ValueError for wrong arguments, ZstdError for a dictionary that is corrupted.

    A call that goes against the pledged size changes nothing; any other that fails resets the compressor: `last_mode`
    is FLUSH_FRAME and the frame begun is lost. Calls from several threads wait for each other.
    """

    __slots__ = (
        "_context",
        "_handle",
        "_has_failed",
        "_last_mode",
        "_left",
        "_longest",
        "_made_in",
        "_pin",
        "_reported",
        "_settings",
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
        self._settings = settings
        self._take()
        self._last_mode = FLUSH_FRAME
        self._left: int | None = None
        self._has_failed = False
        self._reported: int | None = None
        self._longest = -1
        self._made_in = os.getpid() if settings.workers else 0

    @property
    def last_mode(self) -> int:
        """The mode of the last call to `compress` or `flush` that succeeded; FLUSH_FRAME at first."""
        return self._last_mode

    def compress(self, data: Any, mode: int = CONTINUE) -> bytes:
        """
        Compress `data`, a buffer, and return the bytes that are ready, which may be none.

        `mode` is CONTINUE (0), FLUSH_BLOCK (1) or FLUSH_FRAME (2). Raises ValueError for another mode, ZstdError if the
        frame's size turns out other than pledged, which changes nothing, or if libzstd fails, which ends the frame.
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
        Return what is left of the data given so far.

        `mode` is FLUSH_FRAME (2), which ends the frame, or FLUSH_BLOCK (1); ValueError for another one. Raises
        ZstdError as `compress` does.
        """
        mode = operator.index(mode)
        if not FLUSH_BLOCK <= mode <= FLUSH_FRAME:
            raise ValueError(
                "mode argument wrong value, it should be ZstdCompressor.FLUSH_FRAME or ZstdCompressor.FLUSH_BLOCK."
            )
        return self._compress(b"", mode)

    def set_pledged_input_size(self, size: int | None, /) -> None:
        """
        Promise the `size` of the next frame's content, in bytes, so that its header has it; None takes it back.

        It holds for one frame; a frame of another size raises ZstdError. Raises ValueError for a size below 0 or above
        2**64 - 3, and inside of a frame.
        """
        if size is not None:
            size = operator.index(size)
            if not 0 <= size < ERROR_SIZE:
                raise ValueError(f"size argument should be a positive int less than {ERROR_SIZE}")
        with self._turn():
            if self._last_mode != FLUSH_FRAME:
                raise ValueError("set_pledged_input_size() method must be called when last_mode == FLUSH_FRAME")
            library = self._library
            result = library.lib.ZSTD_CCtx_setPledgedSrcSize(self._context, UNKNOWN_SIZE if size is None else size)
            library.check(result, "Unable to set pledged uncompressed content size")
            self._left = size

    def _memory_size(self) -> int | None:
        """Return the size of the context in bytes, None once it was given back."""
        with self._turn():
            return None if self._context is None else self._library.cctxs.size_of(self._context)

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
                    library.cctxs.end_session(self._context)
            if isinstance(result, int):
                raise library.error(result, CANNOT_COMPRESS)
            self._last_mode = mode
            self._left = left
            if REPORTS_SIZES and len(data) > self._longest:
                self._longest = len(data)
                self._reported = library.cctxs.report(self._context, self._reported)
            return result

    def _still_pledged(self, left: int, size: int, mode: int) -> int | None:
        """Return what is left of the pledged size, None at the end of the frame; asked first, so no data is lost."""
        if mode == FLUSH_FRAME and self._last_mode == FLUSH_FRAME:
            return None  # a frame in one call has the size of its data
        left -= size
        if left < 0 or (left > 0 and mode == FLUSH_FRAME):
            raise pledge_error(abs(left), left < 0)
        return None if mode == FLUSH_FRAME else left
