# SPDX-License-Identifier: Apache-2.0
"""The raw streams through which a ZstdFile reads the content of a file, and their base."""

from __future__ import annotations

import copy
import io
import sys

from purepy.base.errors import SeekableFormatError, ZstdError, ZstdLimitError, exception_text
from purepy.base.locks import Exclusive, RLock
from purepy.base.reading import read_some
from purepy.zstd.format.error_codes import truncated_file_error
from purepy.zstd.format.locks import release

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, BinaryIO, Callable

    from purepy.base.types import Decompressor

READ_SIZE = 64 << 10
"""Bytes read from the compressed file at a time; from 128 KiB on, malloc uses fresh pages each time."""
_SKIP_SIZE = 128 << 10
_ADVICE = "and content that it had read may be lost: if the file can seek, call seek() with the position to continue at"
_COPIED = (ZstdError, ZstdLimitError, SeekableFormatError, EOFError)
"""A reader keeps errors of exactly these classes and raises copies later; a caller's subclass may not be copyable."""
_UNFINISHED = OSError(f"an earlier read or seek was interrupted, {_ADVICE}")


class ContentReader(Exclusive, io.RawIOBase):
    """
    The content of a file as a raw stream; `close_fp` is whether closing the stream closes the file.

    Subclasses define `_read_into` and `_read_all`, which read content from `_pos` on without changing `_pos`;
    `_let_go`, which releases the decompressor; `_content_size`, which finds the size of the whole content; and
    `_go_to`, which moves to a position, or to the end of shorter content. Only one thread at a time calls them.

    After an exception during reading or seeking, each later read raises an error, until a seek() succeeds. Content
    may have been read before the exception, and an io.BufferedReader or io.TextIOWrapper drops all it holds when a call
    fails.
    """

    _close_fp = False
    _lock: Any = None  # for an object whose __init__ failed, which is finalized nevertheless
    _failure: Exception | None = None
    _pos = 0
    _is_closed = False  # the same as `closed`, but faster to read

    def __init__(self, fp: BinaryIO, close_fp: bool) -> None:
        self._fp = fp
        self._close_fp = close_fp
        self._lock = RLock()

    if TYPE_CHECKING:

        def _read_into(self, target: memoryview) -> int: ...
        def _read_all(self) -> bytes: ...
        def _let_go(self) -> None: ...
        def _content_size(self) -> int: ...
        def _go_to(self, position: int) -> None: ...

    def readinto(self, target: Any, /) -> int:
        lock = self._turn()
        try:
            with lock:
                if self._failure is not None or self._is_closed:
                    self._refuse()
                self._failure = _UNFINISHED
                size = self._read_into(target) if len(target) else 0
                self._pos += size
                self._failure = None
                return size
        except BaseException as exc:
            self.fail(exc)
            raise

    def readall(self) -> bytes:
        lock = self._turn()
        try:
            with lock:
                if self._failure is not None or self._is_closed:
                    self._refuse()
                self._failure = _UNFINISHED
                content = self._read_all()
                self._pos += len(content)
                self._failure = None
                return content
        except BaseException as exc:
            self.fail(exc)
            raise

    def fail(self, exc: BaseException) -> None:
        """
        Record an exception of reading or seeking, unless one is recorded already.

        Later reads raise a copy of an EOFError or of one of cpkg's errors (_COPIED); for other exceptions, an OSError.
        """
        if self._failure is None or self._failure is _UNFINISHED:
            if isinstance(exc, Exception) and type(exc) in _COPIED:
                self._failure = copy.copy(exc)  # without the traceback, which would keep its frames alive
            else:
                self._failure = OSError(f"an earlier read or seek raised {exception_text(exc, repr)}, {_ADVICE}")

    def _refuse(self) -> None:
        """Raise the error for reading from a closed file, or after a failure."""
        if self._is_closed or self._failure is None:
            raise ValueError("I/O operation on closed file")
        raise copy.copy(self._failure)

    def close(self) -> None:
        if self._lock is None:
            super().close()
            return
        with self._turn():
            self._is_closed = True
            try:
                super().close()  # first: if an interrupt prevents the rest, the next call does it
                self._let_go()
            finally:
                if self._close_fp:
                    self._fp.close()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return bool(self._fp.seekable())

    def tell(self) -> int:
        self._turn()  # raises during a call, in which the position is undefined
        return self._pos

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        if whence not in (io.SEEK_SET, io.SEEK_CUR, io.SEEK_END):
            raise ValueError(f"Invalid value for whence: {whence}")
        lock = self._turn()
        try:
            with lock:
                if self._is_closed:
                    self._refuse()
                if whence == io.SEEK_CUR:
                    offset += self._pos
                elif whence == io.SEEK_END:
                    offset += self._content_size()
                self._go_to(offset)
                return self._pos
        except BaseException as exc:
            self.fail(exc)
            raise


class StreamReader(ContentReader):
    """
    A ContentReader that reads the file in order; seeking backwards starts over at the beginning of the file.

    Subclasses also define `_start`, which prepares for reading from the beginning of the file.
    """

    _size = -1
    """The size of the content in bytes, once a seek() from the end has found it; -1 before."""

    if TYPE_CHECKING:

        def _start(self) -> None: ...

    def _content_size(self) -> int:
        if self._size < 0:
            self._go_to(sys.maxsize)
            self._size = self._pos
        return self._size

    def _go_to(self, position: int) -> None:
        starts_over = position < self._pos or self._failure is not None
        self._failure = _UNFINISHED
        if starts_over:
            self._fp.seek(0)
            self._let_go()
            self._start()
            self._pos = 0
        scratch = memoryview(bytearray(_SKIP_SIZE))
        while self._pos < position:
            size = self._read_into(scratch[: position - self._pos])
            if not size:
                break
            self._pos += size
        self._failure = None


class DecompressReader(StreamReader):
    """The content of a file, decompressed in the calling thread."""

    _decompressor: Any = None  # None after closing

    def __init__(
        self, fp: BinaryIO, close_fp: bool, first: Decompressor, make_decompressor: Callable[[], Decompressor]
    ) -> None:
        super().__init__(fp, close_fp)
        self._make_decompressor = make_decompressor
        self._use(first)

    def _use(self, decompressor: Decompressor) -> None:
        self._decompressor = decompressor
        self._into = getattr(decompressor, "_decompress_into", None)
        self._eof = False

    def _start(self) -> None:
        self._use(self._make_decompressor())

    def _let_go(self) -> None:
        release(self._decompressor)
        self._decompressor = self._into = None

    def _more(self, size: int) -> bytes:
        """
        Return the decompressor's next input, up to `size` bytes of the file (-1: the rest); b"" if none is needed.

        At the end of the file, returns b"" and sets `_eof`, or raises EOFError if the file is empty or ends inside a
        frame.
        """
        if self._eof or not self._decompressor.needs_input:
            return b""
        data = read_some(self._fp, size)
        if not data:
            if not self._decompressor.eof:
                raise truncated_file_error()
            self._eof = True
        return data

    def _read_into(self, target: memoryview) -> int:
        while True:
            data = self._more(READ_SIZE)
            if self._eof:
                return 0
            if self._into is not None:
                size: int = self._into(data, target)
            else:
                content = self._decompressor.decompress(data, len(target))
                size = len(content)
                target[:size] = content
            if size:
                return size

    def _read_all(self) -> bytes:
        # Given the whole file at once, the decompressor can use the declared sizes of frames; content from chunks must
        # be joined at the end. io.RawIOBase.readall() would take "no data at the moment" for the end, so raw files are
        # read in chunks.
        is_raw = isinstance(self._fp, io.RawIOBase) and not isinstance(self._fp, io.FileIO)
        pieces: list[bytes] = []
        while True:
            data = self._more(READ_SIZE if is_raw else -1)
            if self._eof:
                return pieces[0] if len(pieces) == 1 else b"".join(pieces)
            content = self._decompressor.decompress(data)
            if content:
                pieces.append(content)
