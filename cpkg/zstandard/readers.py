# SPDX-License-Identifier: Apache-2.0
"""ZstdCompressionReader and ZstdDecompressionReader: files that read from another file or a buffer."""

from __future__ import annotations

import os
from functools import partial
from operator import index
from typing import TYPE_CHECKING, Any, Callable

from cpkg.zstandard.arguments import PIECE_SIZE, Bytes, pieces_of, read_chunk
from cpkg.zstandard.constants import DECOMPRESSION_RECOMMENDED_OUTPUT_SIZE
from cpkg.zstandard.feeding import Feed
from cpkg.zstandard.files import Ahead, StreamReader
from purepy.base.buffers import view_of
from purepy.zstd.format.error_codes import truncated_error
from purepy.zstd.format.locks import release
from purepy.zstd.format.rules import FLUSH_FRAME

if TYPE_CHECKING:
    from purepy.base.types import DecompressionStream, Source


def _view_of(source: Any) -> Bytes:
    try:
        return view_of(source)
    except TypeError:
        kind = type(source).__name__
        text = f"must pass an object with a read() method or that conforms to the buffer protocol, not {kind}"
        raise TypeError(text) from None


def size_of(source: Any, size: int) -> int:
    """Return a buffer's size in bytes, or `size` for a file; raises TypeError for an object that is neither."""
    size = index(size)
    if hasattr(source, "read"):
        return size
    return len(_view_of(source))


def too_much_skipped(skip: int, size: int) -> ValueError:
    """Return the error for a source of `size` bytes whose first `skip` bytes were to be skipped."""
    return ValueError(f"skip_bytes larger than first input chunk: skip_bytes is {skip}, the source has {size} bytes")


def chunks_of(source: Any, read_size: int, skip: int = 0) -> Callable[[], Bytes]:
    """
    Return a function that returns the next bytes of a file or buffer, and b"" at the end.

    The function reads up to `read_size` bytes of a file; pieces of a buffer have at least 1 MiB, except for the last.
    The first `skip` bytes are skipped. Raises TypeError for an object that is neither a file nor a buffer, and
    ValueError for a file that has fewer bytes than `skip`.
    """
    if hasattr(source, "read"):
        left = skip
        while left > 0:
            skipped = len(read_chunk(source, left))
            if not skipped:
                raise too_much_skipped(skip, skip - left)
            left -= skipped
        return partial(read_chunk, source, read_size)
    data = _view_of(source)
    return partial(next, pieces_of(memoryview(data)[skip:] if skip else data, max(read_size, PIECE_SIZE)), b"")


class ZstdCompressionReader(StreamReader):
    """
    A file that returns the compressed content of a source (replaces `zstandard.ZstdCompressionReader`).

    Returned by `ZstdCompressor.stream_reader`.
    """

    _finished = False

    def __init__(self, feed: Feed, source: Source, read_size: int, closefd: bool) -> None:
        super().__init__(source, closefd)
        self._feed = feed
        self._next_chunk = chunks_of(source, read_size)
        self._ahead = Ahead()

    def _next(self, limit: int) -> bytes:
        output = b""
        while not output and not self._finished:
            chunk = self._next_chunk()
            if chunk:
                output = self._feed.push(chunk)
            else:
                output = self._feed.push(b"", FLUSH_FRAME)
                self._finished = True
                self._feed.release()
        return output

    def _drop(self) -> None:
        self._feed.release()


class ZstdDecompressionReader(StreamReader):
    """
    A file that returns the decompressed content of a source (replaces `zstandard.ZstdDecompressionReader`).

    Returned by `ZstdDecompressor.stream_reader`. Reads frame after frame; a read of a given size stops at the end of a
    frame unless `read_across_frames` is true. If the source ends inside a frame, reading raises ZstdError.
    """

    _taken = 0
    _finished = False

    def __init__(
        self, stream: DecompressionStream, source: Source, read_size: int, read_across_frames: bool, closefd: bool
    ) -> None:
        super().__init__(source, closefd)
        self._stream = stream
        self._read_across_frames = read_across_frames
        self._next_chunk = chunks_of(source, read_size)
        self._ahead = Ahead()

    def _next(self, limit: int) -> bytes:
        stream = self._stream
        while not self._finished:
            chunk: Bytes = b""
            if stream.needs_input:
                chunk = self._next_chunk()
                if not chunk:
                    if not stream._at_start:
                        raise truncated_error(self._taken)
                    self._finished = True
                    break
                self._taken += len(chunk)
            output = stream.decompress(chunk, limit)
            if output:
                return output
        return b""

    def _goes_on(self) -> bool:
        return self._read_across_frames or not self._stream._at_start

    def _drop(self) -> None:
        release(self._stream)

    def seek(self, pos: int, whence: int = os.SEEK_SET) -> int:
        """
        Read forward to a position in the content; return the new position, which is smaller if the content ends before.

        `pos` counts from the start (`whence` os.SEEK_SET) or from the current position (os.SEEK_CUR). Raises OSError
        for a position before the current one and for os.SEEK_END, and ValueError for any other `whence`.
        """
        pos = index(pos)
        with self._turn():
            self._check_open()
            if whence == os.SEEK_SET:
                if pos < 0:
                    raise OSError("cannot seek to negative position with SEEK_SET")
                left = pos - self.tell()
            elif whence == os.SEEK_CUR:
                left = pos
            elif whence == os.SEEK_END:
                raise OSError("zstd decompression streams cannot be seeked with SEEK_END")
            else:
                raise ValueError(f"whence must be os.SEEK_SET or os.SEEK_CUR, not {whence!r}")
            if left < 0:
                raise OSError("cannot seek zstd decompression stream backwards")
            while left:
                piece = self._take(min(left, DECOMPRESSION_RECOMMENDED_OUTPUT_SIZE))
                if not piece:
                    break
                left -= len(piece)
            position = self.tell()
            return position
