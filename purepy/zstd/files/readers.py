# SPDX-License-Identifier: Apache-2.0
"""The raw streams that a ZstdFile reads through, of the content of a file, and their base."""

from __future__ import annotations

import copy
import io
from contextlib import suppress

from purepy.base.descriptors import is_plain_file
from purepy.base.errors import ZstdError, is_from_handler
from purepy.base.locks import Exclusive, RLock
from purepy.base.reading import no_data
from purepy.base.uninterrupted import call_and_keep
from purepy.zstd.format.error_codes import truncated_file_error
from purepy.zstd.format.locks import release

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, BinaryIO, Callable

    from purepy.base.types import Buffer, Bytes, Decompressor

READ_SIZE = 64 << 10
"""How much is read from the compressed file at a time; from 128 KiB on malloc takes fresh pages each time."""
_SKIP_SIZE = 128 << 10


_LOST = OSError("reading was interrupted and content was lost: seek() goes back to it")


class ContentReader(Exclusive, io.RawIOBase):
    """
    The content of a file as a raw stream; `close_fp` says whether closing this closes the file.

    A subclass has `readinto`; `_let_go`, which gives up what it decompresses with; `_content_size`, which finds the
    size of all content; and `_go_to`, which moves to a position. They are called by one thread at a time.

    After an exception reading continues exactly, or every call but seek() raises an error. An io.BufferedReader on top
    of this drops what it holds when a call fails, and does not report that. So content counts as lost after any error
    of a file of the io module's own, and after a readall() that was not the first call. The error of another object may
    pass; a CarefulReader on top of this notices what is lost then.
    """

    _close_fp = False
    _lock: Any = None  # of an object that was never made, and is finalized all the same
    _failure: Exception | None = None
    _pos = 0
    _is_closed = False  # as `closed`, which costs more
    unpads = False
    """Whether zero bytes may follow the frames."""

    def __init__(self, fp: BinaryIO, close_fp: bool) -> None:
        self._fp = fp
        self._close_fp = close_fp
        self.is_plain = is_plain_file(fp)
        self._lock = RLock()
        self._kept: list[Bytes] = []  # content that a readall() which failed had read, not empty
        self._read: list[bytes | None] = []  # what was read from the file and not used yet

    if TYPE_CHECKING:

        def _let_go(self) -> None: ...
        def _content_size(self) -> int: ...
        def _go_to(self, position: int) -> None: ...

    def lose(self) -> None:
        """Note that content is on its way: it is lost unless `_failure` is cleared again."""
        self._failure = _LOST

    def _note(self, exc: BaseException, before: int, *, is_all: bool = False) -> None:
        """Take note of the exception of a call that began at the position `before`."""
        is_final = isinstance(exc, (ZstdError, EOFError))
        if self._failure is None and (self._pos != before or (is_all and before) or (self.is_plain and not is_final)):
            self._failure = copy.copy(exc) if is_final else _LOST  # type: ignore[assignment]

    def _check(self) -> None:
        """Refuse to read from a closed file, or on after an error."""
        if self._is_closed:
            raise ValueError("I/O operation on closed file")
        if self._failure is not None:
            raise copy.copy(self._failure)

    def close(self) -> None:
        if self._lock is None:
            super().close()
            return
        with self._turn():
            self._is_closed = True
            try:
                super().close()  # first: what an interrupt leaves of the rest, the next call does
                self._let_go()
            finally:
                if self._close_fp:
                    self._fp.close()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return bool(self._fp.seekable())

    def tell(self) -> int:
        if self._lock._is_owned():
            self._turn()  # refuses: in the middle of a call there is no position
        return self._pos

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        with self._turn():
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

    A subclass has `_start`, besides: it begins at the beginning of the file; `_read_into`, which is `readinto` for one
    thread; and `_read_piece`, which appends content to `_kept`. An error of the content is raised again until a seek().
    """

    _size = -1
    """Of the content, once known."""
    _unpadded: Any = None
    _is_unpadded = _is_unpadding = False  # what is in `_read`

    if TYPE_CHECKING:

        def _start(self) -> None: ...
        def _read_into(self, target: memoryview) -> int: ...
        def _read_piece(self) -> bool: ...

    def _read_file(self, size: int) -> bytes | None:
        """Return what the file gives, None at its end; it stays in `_read`."""
        while True:
            if not self._read:
                if self.unpads:
                    self._is_unpadded = False
                call_and_keep(self._read, self._fp.read, size)
            data = self._read[0]
            if not data:
                break
            if not self.unpads:
                return data
            if self._is_unpadded or self._unpad(data):
                return self._read[0]
            self._read.clear()
        self._read.clear()
        if data is None:
            raise no_data()
        return None

    def _unpad(self, data: bytes) -> bool:
        """Leave out of `_read` what is padding, unless that was interrupted before; return whether anything is left."""
        if self._is_unpadding:
            raise copy.copy(_LOST)
        if self._unpadded is None:
            from purepy.zstd.format.padding import Unpadded

            self._unpadded = Unpadded()
        self._is_unpadding = True
        self._read[0] = content = self._unpadded.feed(data)
        self._is_unpadded = True
        self._is_unpadding = False
        return bool(content)

    def _content_size(self) -> int:
        if self._size < 0:
            self._skip(None)
        return self._size

    def _go_to(self, position: int) -> None:
        if position < self._pos or self._failure is not None:
            before, self._failure = self._failure, _LOST
            try:
                self._fp.seek(0)
            except BaseException as exc:
                if not is_from_handler(exc) and isinstance(exc, OSError):
                    self._failure = before  # the file did not move
                raise
            self._let_go()
            self._kept.clear()
            self._read.clear()
            self._unpadded, self._is_unpadding = None, False
            self._start()
            self._pos = 0
            self._failure = None
        self._skip(position)

    def _skip(self, position: int | None) -> None:
        """Read on up to a position in the content, or to its end."""
        scratch = memoryview(bytearray(_SKIP_SIZE))
        while position is None or self._pos < position:
            room = len(scratch) if position is None else min(len(scratch), position - self._pos)
            if not self._next_into(scratch[:room]):
                break

    def _next_into(self, target: memoryview) -> int:
        if self._failure is not None or self._is_closed:
            self._check()
        if not len(target):
            return 0
        if not self._kept:
            return self._read_into(target)
        piece = memoryview(self._kept[0])
        size = min(len(piece), len(target))
        self.lose()
        target[:size] = piece[:size]
        if size < len(piece):
            self._kept[0] = piece[size:]
        else:
            del self._kept[0]
        self._pos += size
        self._failure = None
        return size

    def readinto(self, buffer: Buffer, /) -> int:
        lock, before = self._turn(), self._pos
        view = memoryview(buffer)
        target = view.cast("B")
        try:
            with lock:
                before = self._pos
                size = self._next_into(target)
                return size
        except BaseException as exc:
            self._note(exc, before)
            raise
        finally:
            with suppress(BufferError):  # C that was interrupted has it, as long as the traceback lives
                target.release()
                view.release()

    def readall(self) -> bytes:
        lock, before = self._turn(), self._pos
        try:
            with lock:
                before = self._pos
                if self._failure is not None or self._is_closed:
                    self._check()
                while self._read_piece():
                    pass
                self._failure = _LOST
                pieces, self._kept = self._kept, []
                content = pieces[0] if len(pieces) == 1 and type(pieces[0]) is bytes else b"".join(pieces)
                self._size = self._pos = before + len(content)
                self._failure = None
                return content
        except BaseException as exc:
            self._note(exc, before, is_all=True)
            raise


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

    def _start(self) -> None:
        self._use(self._make_decompressor())

    def _let_go(self) -> None:
        release(self._decompressor)
        self._decompressor = self._into = None

    def _failed(self, exc: ZstdError) -> None:
        """Take note of an error of the decompressor's."""
        self._failure = copy.copy(exc)  # without the traceback, which would keep all that it went through

    def _at_end(self) -> None:
        if not self._decompressor.eof:
            raise truncated_file_error()
        self._eof = True

    def _read_into(self, target: memoryview) -> int:
        while not self._eof:
            data = self._read_file(READ_SIZE) if self._decompressor.needs_input else b""
            if data is None:
                self._at_end()
                self._size = self._pos
                break
            size = self._fill(data, target)
            if size:
                return size
        return 0

    def _fill(self, data: bytes, target: memoryview) -> int:
        self._failure = _LOST
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

    def _read_piece(self) -> bool:
        if self._eof:
            return False
        # A whole file at once has its frames' sizes to go by; what is read in chunks is joined at the end. For
        # io.RawIOBase.readall() "nothing at the moment" would be the end.
        is_raw = isinstance(self._fp, io.RawIOBase) and not isinstance(self._fp, io.FileIO)
        data = self._read_file(READ_SIZE if is_raw else -1) if self._decompressor.needs_input else b""
        if data is None:
            self._at_end()
            return False
        self._failure = _LOST
        try:
            content = self._decompressor.decompress(data)
        except ZstdError as exc:
            self._failed(exc)
            raise
        self._read.clear()
        if content:
            self._kept.append(content)
        self._failure = None
        return True


def tried(reader: Any, call: Callable[..., Any], argument: object) -> Any:
    """Return `call(argument)`; if that fails and has moved a reader on all the same, its `raw` has lost content."""
    before = reader._tell()
    try:
        result = call(argument)
        return result
    except BaseException:
        if not reader.raw.closed and reader._tell() != before:
            reader.raw.lose()
        raise


class CarefulReader(io.BufferedReader):
    """
    An io.BufferedReader over a ContentReader of an object whose errors may pass.

    Where a call that fails has moved on all the same, the content in between is lost: the ContentReader notes that.
    """

    raw: ContentReader

    def _tell(self) -> int:
        return super().tell()

    def read(self, size: int | None = -1, /) -> bytes:
        return tried(self, super().read, size)  # type: ignore[no-any-return]

    def readinto(self, buffer: Buffer, /) -> int:
        return tried(self, super().readinto, buffer)  # type: ignore[no-any-return]

    def readinto1(self, buffer: Buffer, /) -> int:
        return tried(self, super().readinto1, buffer)  # type: ignore[no-any-return]

    def read1(self, size: int = -1, /) -> bytes:
        return tried(self, super().read1, size)  # type: ignore[no-any-return]

    def readline(self, size: int | None = -1, /) -> bytes:
        return tried(self, super().readline, size)  # type: ignore[no-any-return]
