# SPDX-License-Identifier: Apache-2.0
"""ZstdCompressionReader and ZstdDecompressionReader: files that read from a file or a buffer."""

from __future__ import annotations

import os
from collections.abc import Iterator
from operator import index
from typing import TYPE_CHECKING, Any

from cpkg.zstandard.arguments import PIECE_SIZE, Bytes, pieces_of, read_chunk
from cpkg.zstandard.constants import DECOMPRESSION_RECOMMENDED_OUTPUT_SIZE
from cpkg.zstandard.feeding import Feed
from cpkg.zstandard.files import StreamReader
from purepy.base.buffers import view_of
from purepy.zstd.format.error_codes import truncated_error
from purepy.zstd.format.locks import release
from purepy.zstd.format.rules import CONTINUE, FLUSH_FRAME

if TYPE_CHECKING:
    from purepy.base.types import DecompressionStream, Readable, Source

NO_SOURCE = "must pass an object with a read() method or that conforms to the buffer protocol"


def size_of(source: Any, size: int) -> int:
    """Return the size of a buffer in bytes, or that given for a file; TypeError for an object that is neither."""
    size = index(size)
    if hasattr(source, "read"):
        return size
    try:
        return len(view_of(source))
    except TypeError:
        raise TypeError(NO_SOURCE) from None


def source_chunks(source: Any, read_size: int, skip: int = 0) -> Iterator[Bytes]:
    """
    Yield what a file gives in chunks of `read_size` bytes, or what a buffer has; `skip` are left out at the start.

    Raises TypeError at once for an object that is neither.
    """
    if not hasattr(source, "read"):
        try:
            data = view_of(source)
        except TypeError:
            raise TypeError(NO_SOURCE) from None
        return pieces_of(memoryview(data)[skip:] if skip else data, max(read_size, PIECE_SIZE))
    return _file_chunks(source, read_size, skip)


def _file_chunks(source: Readable, read_size: int, skip: int) -> Iterator[Bytes]:
    if skip:
        source.read(skip)
    while True:
        chunk = read_chunk(source, read_size)
        if not chunk:
            return
        yield chunk


class ZstdCompressionReader(StreamReader):
    """
    A file whose content is a source, compressed (replaces `zstandard.ZstdCompressionReader`).

    Made by `ZstdCompressor.stream_reader`.
    """

    def __init__(self, feed: Feed, source: Source, read_size: int, closefd: bool) -> None:
        super().__init__(source, closefd)
        self._feed = feed
        self._chunks = source_chunks(source, read_size)
        self._held = memoryview(b"")
        self._finished = False

    def _next(self, limit: int) -> bytes:
        while not self._held:
            if self._finished:
                return b""
            chunk = next(self._chunks, None)
            if chunk is None:
                self._finished = True
                self._held = memoryview(self._feed.push(b"", FLUSH_FRAME))
                self._feed.release()
            else:
                self._held = memoryview(self._feed.push(chunk, CONTINUE))
        found = self._held if limit < 0 else self._held[:limit]
        self._held = self._held[len(found) :]
        return bytes(found)

    def _drop(self) -> None:
        self._feed.release()
        self._held = memoryview(b"")


class ZstdDecompressionReader(StreamReader):
    """
    A file whose content is what a source decompresses to (replaces `zstandard.ZstdDecompressionReader`).

    Made by `ZstdDecompressor.stream_reader`. Reads frame after frame; one read stops at the end of a frame unless
    `read_across_frames` is true. A source that ends inside a frame is a ZstdError.
    """

    def __init__(
        self, stream: DecompressionStream, source: Source, read_size: int, read_across_frames: bool, closefd: bool
    ) -> None:
        super().__init__(source, closefd)
        self._stream = stream
        self._read_across_frames = bool(read_across_frames)
        self._chunks = source_chunks(source, read_size)
        self._taken = 0
        self._finished = False

    def _next(self, limit: int) -> bytes:
        stream = self._stream
        while not self._finished:
            chunk: Bytes = b""
            if stream.needs_input:
                chunk = next(self._chunks, b"")
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
        Go on to the position `pos` by reading up to it, and return the position, which is less if there is not so much.

        `whence` is os.SEEK_SET or os.SEEK_CUR. Raises OSError for a position that lies behind, and for os.SEEK_END.
        """
        with self._turn():
            self._check_open()
            if whence == os.SEEK_SET:
                if pos < 0:
                    raise OSError("cannot seek to negative position with SEEK_SET")
                left = pos - self._position
            elif whence == os.SEEK_CUR:
                left = pos
            elif whence == os.SEEK_END:
                raise OSError("zstd decompression streams cannot be seeked with SEEK_END")
            else:
                raise ValueError(f"whence must be os.SEEK_SET or os.SEEK_CUR, not {whence!r}")
            if left < 0:
                raise OSError("cannot seek zstd decompression stream backwards")
            while left:
                piece = self._more(min(left, DECOMPRESSION_RECOMMENDED_OUTPUT_SIZE))
                if not piece:
                    break
                left -= len(piece)
                self._position += len(piece)
            return self._position
