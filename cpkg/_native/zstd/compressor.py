# SPDX-License-Identifier: Apache-2.0
"""The base of ZstdCompressor for backends that use libzstd through cffi: `dlopen`, and on PyPy also `native`."""

from __future__ import annotations

import os

from cpkg._native import buffers
from cpkg._native.pressure import REPORTS_SIZES
from cpkg._native.zstd.context_stream import ContextStream
from cpkg._native.zstd.settings import CompressionSettings
from purepy.zstd.format.compressor_base import CompressorBase
from purepy.zstd.format.error_codes import CANNOT_COMPRESS, pledge_error
from purepy.zstd.format.locks import ExclusiveStream
from purepy.zstd.format.rules import FLUSH_FRAME, UNKNOWN_SIZE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cpkg._native.zstd.settings import SetsUpCompression
    from purepy.base.types import Buffer, Parameters
    from purepy.zstd.format.zdict import DictArgument


class Compressor(CompressorBase, ContextStream):
    __doc__ = CompressorBase.__doc__
    __slots__ = (
        "_context",
        "_handle",
        "_has_failed",
        "_left",
        "_longest",
        "_made_in",
        "_pin",
        "_reported",
        "_settings",
    )

    def __init__(self, level: int | None = None, options: Parameters = None, zstd_dict: DictArgument = None) -> None:
        super().__init__()
        self._begin(CompressionSettings(self._library, level, options, zstd_dict))

    @classmethod
    def _over(cls, settings: SetsUpCompression) -> Compressor:
        """Return a new Compressor whose settings are an existing preset (see presets.py)."""
        stream = cls.__new__(cls)
        ExclusiveStream.__init__(stream)
        stream._begin(settings)
        return stream

    def _begin(self, settings: SetsUpCompression) -> None:
        self._settings = settings
        self._take()
        self._last_mode = FLUSH_FRAME
        self._left: int | None = None
        self._has_failed = False
        self._reported: int | None = None
        self._longest = -1
        self._made_in = os.getpid() if settings._workers else 0

    def _pledge(self, size: int | None) -> None:
        library = self._library
        result = library.lib.ZSTD_CCtx_setPledgedSrcSize(self._context, UNKNOWN_SIZE if size is None else size)
        library.check(result, "Unable to set pledged uncompressed content size")
        self._left = size

    def _memory_size(self) -> int:
        """Return the size of the context in bytes; 0 after it was given back."""
        with self._turn():
            result = 0 if self._context is None else self._library.cctxs.size_of(self._context)
            return result

    def _compress(self, data: Buffer, mode: int) -> bytes:
        data = buffers.readable(data)
        with self._turn():
            if self._made_in and self._made_in != os.getpid():
                raise RuntimeError("a compressor with nb_workers cannot be used in a forked child: create a new one")
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
        """
        Return how many of the `left` pledged bytes remain after `size` more bytes; None if `mode` ends the frame.

        Called before compressing the data. Raises ZstdError if the frame would have more bytes than pledged, or end
        with fewer. A frame that one call begins and ends ignores the pledge.
        """
        if mode == FLUSH_FRAME and self._last_mode == FLUSH_FRAME:
            return None  # a frame in one call declares the size of its data
        left -= size
        if left < 0 or (left > 0 and mode == FLUSH_FRAME):
            raise pledge_error(abs(left), left < 0)
        return None if mode == FLUSH_FRAME else left
