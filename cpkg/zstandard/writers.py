# SPDX-License-Identifier: Apache-2.0
"""ZstdCompressionWriter and ZstdDecompressionWriter: files that write to another file."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Literal, NoReturn

from cpkg.zstandard.arguments import PIECE_SIZE, pieces_of
from cpkg.zstandard.constants import FLUSH_BLOCK, FLUSH_FRAME
from cpkg.zstandard.feeding import Feed
from cpkg.zstandard.files import Writer
from purepy.base.buffers import view_of
from purepy.base.errors import ZstdError, exception_text
from purepy.base.writing import write_all
from purepy.zstd.format import rules
from purepy.zstd.format.error_codes import truncated_error
from purepy.zstd.format.locks import release
from purepy.zstd.format.rules import CONTINUE

if TYPE_CHECKING:
    from purepy.base.types import Buffer, Bytes, DecompressionStream, Writable


def write_pieces(file: Writable, data: bytes, write_size: int) -> int:
    """Write all of `data` to a file, at most `write_size` bytes at a time; return the size of `data` in bytes."""
    if data:
        for piece in pieces_of(data, write_size):
            write_all(file, piece)
    return len(data)


def outputs(stream: DecompressionStream, data: Bytes, size: int) -> Iterator[bytes]:
    """Decompress `data` and yield the content, in pieces of at most `size` bytes; some may be empty."""
    yield stream.decompress(data, size)
    while not stream.needs_input and not stream.eof:
        yield stream.decompress(b"", size)


class ZstdCompressionWriter(Writer):
    """
    A file that compresses the data written to it into another file (replaces `zstandard.ZstdCompressionWriter`).

    Returned by `ZstdCompressor.stream_writer`. Closing the file ends the frame. After an error that lost data of the
    frame, write() and flush() raise ZstdError, whose text gives the reason, and close() does not end the frame, so that
    readers detect that the output is incomplete.
    """

    def __init__(self, feed: Feed, writer: Writable, write_size: int, write_return_read: bool, closefd: bool) -> None:
        super().__init__(writer, write_size, write_return_read, closefd)
        self._feed = feed
        self._written = 0
        self._is_closing = False

    def __exit__(self, exc_type: object, exc_value: object, exc_tb: object) -> Literal[False]:
        self._entered = False
        self.close()
        return False

    def memory_size(self) -> int:
        """Return the size of the compression context in bytes; 0 once the writer is closed."""
        return 0 if self._closed else self._feed.memory_size()

    def write(self, data: Buffer) -> int:
        """
        Compress `data`, a buffer; return its size, or with `write_return_read=False` how many bytes of output it wrote.

        Raises ZstdError if compression fails or failed earlier, and the errors of the other file's write().
        """
        with self._turn():
            self._check_open()
            view = view_of(data)
            if len(view) <= PIECE_SIZE:
                written = self._push(view, CONTINUE)
            else:
                written = sum(self._push(piece, CONTINUE) for piece in pieces_of(view))
            result = len(view) if self._returns_read else written
            return result

    def writelines(self, lines: Iterable[object]) -> NoReturn:
        """Raise NotImplementedError, as python-zstandard does."""
        raise NotImplementedError("writelines() is not yet implemented")

    def flush(self, flush_mode: int = FLUSH_BLOCK) -> int:
        """
        Write the output that was held back, flush the other file, and return how many bytes were written.

        `flush_mode` is FLUSH_BLOCK (0), after which a reader can decompress all data given so far, or FLUSH_FRAME (1),
        which ends the frame; later data begins another frame. Raises ValueError for another mode.
        """
        with self._turn():
            result = self._flush(flush_mode)
            return result

    def _flush(self, flush_mode: int) -> int:
        if flush_mode not in (FLUSH_BLOCK, FLUSH_FRAME):
            raise ValueError(f"unknown flush_mode: {flush_mode!r}")
        self._check_open()
        written = self._push(b"", rules.FLUSH_BLOCK if flush_mode == FLUSH_BLOCK else rules.FLUSH_FRAME)
        if not self._is_closing:
            self._flush_file()
        return written

    def close(self) -> None:
        """
        End the frame; close the writer, and the other file unless `closefd` is false.

        Further calls do nothing. After an error that lost data, the frame is not ended.
        """
        with self._turn():
            if self._closed:
                return
            try:
                if not self._feed.has_failed:
                    self._is_closing = True
                    self._flush(FLUSH_FRAME)
            finally:
                self._closed = True
                self._feed.release()
                self._close_file()

    def tell(self) -> int:
        """Return how many bytes of compressed data this writer has written to the other file."""
        return self._written

    def _push(self, data: Bytes, mode: int) -> int:
        output = self._feed.push(data, mode)
        if not output:
            return 0
        try:
            written = write_pieces(self._file, output, self._write_size)
        except BaseException as exc:
            self._feed.fail(f"compressed data was lost because it could not be written: {exception_text(exc, repr)}")
            raise
        self._written += written
        return written


class ZstdDecompressionWriter(Writer):
    """
    A file that decompresses the data written to it into another file (replaces `zstandard.ZstdDecompressionWriter`).

    Returned by `ZstdDecompressor.stream_writer`. Accepts several frames. Closing the file inside a frame raises
    ZstdError, except if an earlier write() failed or the `with` block raised an exception.
    """

    def __init__(
        self, stream: DecompressionStream, writer: Writable, write_size: int, write_return_read: bool, closefd: bool
    ) -> None:
        super().__init__(writer, write_size, write_return_read, closefd)
        self._stream = stream
        self._taken = 0
        self._failure: str | None = None

    def __exit__(self, exc_type: object, exc_value: object, exc_tb: object) -> Literal[False]:
        self._entered = False
        if exc_type is not None and self._failure is None:
            self._failure = f"abandoned because of {exc_value!r}"
        self.close()
        return False

    def memory_size(self) -> int:
        """Return the size of the decompression context in bytes; 0 once the writer is closed."""
        return 0 if self._closed else self._stream._memory_size()

    def write(self, data: Buffer) -> int:
        """
        Decompress `data`, a buffer; return its size, or with `write_return_read=False` how many bytes of output it
        wrote.

        Raises ZstdError for data that is not a valid frame, and the errors of the other file's write(). After any of
        these, each later write() raises ZstdError.
        """
        with self._turn():
            self._check_open()
            if self._failure is not None:
                raise ZstdError(self._failure)
            view = view_of(data)
            written = 0
            try:
                self._taken += len(view)
                if view:
                    for output in outputs(self._stream, view, self._write_size):
                        written += write_pieces(self._file, output, self._write_size)
            except BaseException as exc:
                self._failure = (
                    exception_text(exc)
                    if isinstance(exc, ZstdError)
                    else f"output was lost: {exception_text(exc, repr)}"
                )
                raise
            result = len(view) if self._returns_read else written
            return result

    def writelines(self, lines: Iterable[object]) -> NoReturn:
        """Raise io.UnsupportedOperation."""
        raise io.UnsupportedOperation

    def flush(self) -> None:
        """Flush the other file; nothing is held back here."""
        with self._turn():
            self._check_open()
            self._flush_file()

    def close(self) -> None:
        """
        Close the writer, and the other file unless `closefd` is false; do nothing if it is already closed.

        Raises ZstdError if the data ended inside a frame, except if an earlier write() failed or the `with` block
        raised an exception.
        """
        with self._turn():
            if self._closed:
                return
            self._closed = True
            is_whole = self._failure is not None or self._stream._at_start
            release(self._stream)
            self._close_file()
            if not is_whole:
                raise truncated_error(self._taken)

    def tell(self) -> NoReturn:
        """Raise io.UnsupportedOperation."""
        raise io.UnsupportedOperation
