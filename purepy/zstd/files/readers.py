# SPDX-License-Identifier: Apache-2.0
"""The raw streams that a ZstdFile reads through, of the content of a file, and their base."""

from __future__ import annotations

import copy
import io
from contextlib import suppress

from purepy.base.errors import ZstdError
from purepy.base.locks import RLock
from purepy.base.reading import no_data
from purepy.base.uninterrupted import call_and_keep
from purepy.zstd.format.error_codes import truncated_file_error
from purepy.zstd.format.locks import release

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, BinaryIO, Callable

    from purepy.base.types import Buffer, Decompressor

READ_SIZE = 64 << 10
"""How much is read from the compressed file at a time; from 128 KiB on malloc takes fresh pages each time."""
_SKIP_SIZE = 128 << 10


class ContentReader(io.RawIOBase):
    """
    The content of a file as a raw stream; `close_fp` says whether closing this closes the file.

    A subclass has `readinto`; `_let_go`, which gives up what it decompresses with; `_content_size`, which finds the
    size of all content; and `_go_to`, which moves to a position. They are called by one thread at a time.
    """

    _close_fp = False
    _lock: Any = None  # of an object that was never made, and is finalized all the same

    def __init__(self, fp: BinaryIO, close_fp: bool) -> None:
        self._fp = fp
        self._close_fp = close_fp
        self._lock = RLock()
        self._pos = 0

    if TYPE_CHECKING:

        def _let_go(self) -> None: ...
        def _content_size(self) -> int: ...
        def _go_to(self, position: int) -> None: ...

    def close(self) -> None:
        if self._lock is None:
            super().close()
            return
        with self._lock:
            try:
                self._let_go()
            finally:
                super().close()
                if self._close_fp:
                    self._fp.close()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return bool(self._fp.seekable())

    def tell(self) -> int:
        return self._pos

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        with self._lock:
            if self.closed:
                raise ValueError("I/O operation on closed file")
            if whence == io.SEEK_CUR:
                offset += self._pos
            elif whence == io.SEEK_END:
                offset += self._content_size()
            elif whence != io.SEEK_SET:
                raise ValueError(f"Invalid value for whence: {whence}")
            self._go_to(offset)
            return self._pos


class StreamReader(ContentReader):
    """
    A ContentReader that goes through the file from its beginning; seeking backwards starts over.

    A subclass has `_start`, besides: it begins at the beginning of the file. An error of the content is raised again
    until a seek().
    """

    _failure: Exception | None = None
    _size = -1
    """Of the content, once known."""

    if TYPE_CHECKING:

        def _start(self) -> None: ...

    def _lose(self) -> None:
        """Note that content is on its way: it is lost unless `_failure` is cleared again."""
        self._failure = interrupted()

    def _content_size(self) -> int:
        if self._size < 0:
            self._skip(None)
        return self._size

    def _go_to(self, position: int) -> None:
        if position < self._pos or self._failure is not None:
            before, self._failure = self._failure, interrupted()
            try:
                self._fp.seek(0)
            except Exception:  # what is read goes on
                self._failure = before
                raise
            self._let_go()
            self._start()
            self._pos = 0
            self._failure = None
        self._skip(position)

    def _skip(self, position: int | None) -> None:
        """Read on up to a position in the content, or to its end."""
        scratch = memoryview(bytearray(_SKIP_SIZE))
        while position is None or self._pos < position:
            room = len(scratch) if position is None else min(len(scratch), position - self._pos)
            if not self.readinto(scratch[:room]):
                break


class DecompressReader(StreamReader):
    """
    The content of a file, decompressed in the thread that reads.

    A decompressor that failed or was interrupted has forgotten its data, so what the file goes on with means nothing
    to it. (A file that cannot be read, or ends too early, may be tried again as it is.)
    """

    _decompressor: Any = None  # of one that is closed

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
        self._read: list[bytes | None] = []

    def _start(self) -> None:
        self._use(self._make_decompressor())

    def _let_go(self) -> None:
        release(self._decompressor)
        self._decompressor = self._into = None

    def _check(self) -> None:
        """Refuse to read from a closed file, or on after an error."""
        if self._failure is not None and not self.closed:
            raise copy.copy(self._failure)
        if self._decompressor is None:  # closed while this thread waited for its turn, or by the file itself
            raise ValueError("I/O operation on closed file")

    def _failed(self, exc: ZstdError) -> None:
        """Take note of an error of the decompressor's."""
        self._failure = copy.copy(exc)  # without the traceback, which would keep all that it went through

    def _more(self, size: int = READ_SIZE) -> bytes | None:
        """
        Return what to feed the decompressor next: b"" if it has enough, None at the end of the file.

        What was read and not fed yet stays in `_read`.
        """
        if not self._decompressor.needs_input:
            return b""
        if not self._read:
            call_and_keep(self._read, self._fp.read, size)
        data: bytes | None = self._read[0]
        if data:
            return data
        self._read.clear()
        if data is None:
            raise no_data()
        return None

    def _at_end(self) -> None:
        if not self._decompressor.eof:
            raise truncated_file_error()
        self._eof = True
        self._size = self._pos

    def readinto(self, buffer: Buffer, /) -> int:
        before = self._pos
        view = memoryview(buffer)
        target = view.cast("B")
        try:
            with self._lock:
                self._check()
                if not len(target):
                    return 0
                while not self._eof:
                    data = self._more()
                    if data is None:
                        self._at_end()
                        break
                    self._check()
                    size = self._fill(data, target)
                    if size:
                        return size
            return 0
        except BaseException:
            if self._pos != before:  # nobody has got the content
                self._failure = interrupted()
            raise
        finally:
            with suppress(BufferError):  # C that was interrupted has it, as long as the traceback lives
                target.release()
                view.release()

    def _fill(self, data: bytes, target: memoryview) -> int:
        self._lose()
        try:
            if self._into is not None:
                size: int = self._into(data, target)
            else:
                content = self._decompressor.decompress(data, len(target))
                size = len(content)
                target[:size] = content
        except ZstdError as exc:
            self._failed(exc)
            raise
        self._read.clear()
        self._pos += size
        self._failure = None
        return size

    def readall(self) -> bytes:
        with self._lock:
            self._check()
            if self._eof:
                return b""
            pieces: list[bytes] = []
            try:
                # A whole file at once has its frames' sizes to go by; what is read in chunks is joined at the end. For
                # io.RawIOBase.readall() "nothing at the moment" would be the end.
                is_raw = isinstance(self._fp, io.RawIOBase) and not isinstance(self._fp, io.FileIO)
                while (data := self._more(READ_SIZE if is_raw else -1)) is not None:
                    self._check()
                    self._lose()
                    content = self._decompressor.decompress(data)
                    self._read.clear()
                    self._pos += len(content)
                    pieces.append(content)
                    self._failure = None
                self._at_end()
                result = pieces[0] if len(pieces) == 1 else b"".join(pieces)
                return result
            except ZstdError as exc:
                self._failed(exc)
                raise
            except Exception:  # of the file, which may be tried again
                raise
            except BaseException:
                if pieces:
                    self._lose()
                raise


def interrupted() -> OSError:
    """Make the error of a reader that has lost content to an interrupt."""
    return OSError("reading was interrupted and content was lost: seek() goes back to it")
