# SPDX-License-Identifier: Apache-2.0
"""ZstdDecompressionObj: decompression of data that the caller passes in, without a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpkg.zstandard.arguments import Bytes
from purepy.base.buffers import view_of
from purepy.base.errors import ZstdError, exception_text
from purepy.base.locks import Exclusive, RLock
from purepy.zstd.format.locks import release

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from purepy.base.types import DecompressionStream


class ZstdDecompressionObj(Exclusive):
    """
    Decompresses one frame in pieces, with the methods of zlib's objects (replaces `zstandard.ZstdDecompressionObj`).

    Returned by `ZstdDecompressor.decompressobj`. With `read_across_frames` the object continues with the next frame;
    `eof` then stays false and `unused_data` empty. Methods may be called from several threads.
    """

    __slots__ = ("_failure", "_lock", "_read_across_frames", "_stream", "_unused")

    def __init__(self, stream: DecompressionStream, read_across_frames: bool) -> None:
        self._lock = RLock()
        self._stream = stream
        self._read_across_frames = read_across_frames
        self._unused: bytes | None = None
        self._failure: str | None = None

    def decompress(self, data: Buffer) -> bytes:
        """
        Decompress `data`, a buffer, and return the available content, perhaps b"".

        Raises ZstdError for data that is not a valid frame, and in each call after such an error or after another
        exception that lost content. Without `read_across_frames`, also raises it in each call after the end of the
        frame.
        """
        view = view_of(data)
        with self._turn():
            output = self._decompress(view)
            return output

    def _decompress(self, view: Bytes) -> bytes:
        if self._unused is not None:
            raise ZstdError("cannot use a decompressobj multiple times")
        if self._failure is not None:
            raise ZstdError(self._failure)
        if not view:
            return b""
        stream, output = self._stream, None
        is_inside = not stream._at_start
        try:
            output = stream.decompress(view)
            while self._read_across_frames and not stream.needs_input:  # this call raises the error of a later frame
                output += stream.decompress(b"")
        except BaseException as exc:
            if isinstance(exc, ZstdError):
                self._failure = str(exc)
            elif output is not None or (is_inside and stream._at_start):  # a signal handler raised the exception
                self._failure = f"content was lost because of {exception_text(exc, repr)}"
            raise
        if not self._read_across_frames and stream.eof:
            self._unused = stream.unused_data
            release(stream)
        return output

    def flush(self, length: int = 0) -> bytes:
        """Return b"", for any `length`: nothing is held back."""
        return b""

    @property
    def unused_data(self) -> bytes:
        """The bytes given after the end of the frame; b"" before the end, and always with `read_across_frames`."""
        return self._unused or b""

    @property
    def unconsumed_tail(self) -> bytes:
        """Always b"", because all data is consumed at once."""
        return b""

    @property
    def eof(self) -> bool:
        """Whether the end of the frame was reached; always False with `read_across_frames`."""
        return self._unused is not None
