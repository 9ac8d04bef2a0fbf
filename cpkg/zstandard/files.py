# SPDX-License-Identifier: Apache-2.0
"""Base classes of the four file objects of this package, which only read or only write, and only forward."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable
from operator import index
from typing import TYPE_CHECKING, Literal, NoReturn

from cpkg.zstandard.arguments import PIECE_SIZE
from purepy.base.errors import ZstdError, exception_text, is_refusal
from purepy.base.locks import Exclusive, RLock

if TYPE_CHECKING:
    from typing_extensions import Buffer, Self

    from purepy.base.types import Writable


_AHEAD_SIZE = 8 << 10
"""How many bytes of output a smaller read requests; if an error is found in them, none of them can be read."""


class StreamFile(Exclusive):
    """
    Base of the readers and writers. Several threads may call methods: they wait for each other.

    As in python-zstandard, this is not an io.IOBase: an object that is dropped is neither closed nor flushed.
    """

    _entered = False
    _closed = False

    def __init__(self, file: object, closefd: bool) -> None:
        self._lock = RLock()
        self._file: object = file
        self._closefd = closefd

    def __iter__(self) -> NoReturn:
        raise io.UnsupportedOperation

    def __next__(self) -> NoReturn:
        raise io.UnsupportedOperation

    @property
    def closed(self) -> bool:
        """Whether close() was called."""
        return self._closed

    def isatty(self) -> bool:
        """Return False."""
        return False

    def seekable(self) -> bool:
        """Return False."""
        return False

    def readline(self, size: int = -1) -> bytes:
        """Raise io.UnsupportedOperation; wrap the file in io.TextIOWrapper or io.BufferedReader to read lines."""
        raise io.UnsupportedOperation

    def readlines(self, hint: int = -1) -> list[bytes]:
        """Raise io.UnsupportedOperation, as `readline` does."""
        raise io.UnsupportedOperation

    def _check_open(self) -> None:
        if self._closed:
            raise ValueError("stream is closed")

    def _close_file(self) -> None:
        if self._closefd:
            close = getattr(self._file, "close", None)
            if close is not None:
                close()


class Ahead(io.BytesIO):
    """
    Output that was produced before a read requested it: pieces of `step` bytes, and a shorter `rest`.

    A read of `step` bytes needs no lock, because it gets a whole piece or nothing. Other reads hold the lock and take
    all pieces at once.
    """

    start = 0
    """The position of the first piece in the whole output."""
    step = 0
    rest = b""


def _cut(content: bytes, start: int, step: int) -> Ahead:
    whole = len(content) - len(content) % step
    ahead = Ahead(content[:whole])
    ahead.start, ahead.step, ahead.rest = start, step, content[whole:]
    return ahead


class StreamReader(StreamFile):
    """
    Base of the readers.

    A small read produces more output than it returns and keeps the rest, so that the next reads of exactly the same
    size only slice the rest.
    """

    _ahead: Ahead
    _failure: ZstdError | None = None
    _next: Callable[[int], bytes]
    """Return at most `limit` bytes of output (-1: any number), b"" at the end; a compression reader ignores `limit`."""

    def __enter__(self) -> Self:
        if self._entered:
            raise ValueError("cannot __enter__ multiple times")
        self._check_open()
        self._entered = True
        return self

    def __exit__(self, exc_type: object, exc_value: object, exc_tb: object) -> Literal[False]:
        self._entered = False
        self.close()
        return False

    def readable(self) -> bool:
        """Return True."""
        return True

    def writable(self) -> bool:
        """Return False."""
        return False

    def write(self, data: Buffer) -> NoReturn:
        """Raise io.UnsupportedOperation."""
        raise io.UnsupportedOperation("stream is not writable")

    def writelines(self, lines: Iterable[object]) -> NoReturn:
        """Raise io.UnsupportedOperation."""
        raise io.UnsupportedOperation("stream is not writable")

    def flush(self) -> None:
        """Do nothing."""

    def tell(self) -> int:
        """Return how many bytes of output were read."""
        ahead = self._ahead
        return ahead.start + ahead.tell()

    def close(self) -> None:
        """Close the reader, and its source unless `closefd` is false; do nothing if it is already closed."""
        with self._turn():
            if self._closed:
                return
            self._closed = True
            ahead = self._ahead
            place = ahead.tell()
            if ahead.read() or ahead.rest:
                self._ahead = _cut(b"", ahead.start + place, 1)
            self._drop()
            self._close_file()

    def _drop(self) -> None:
        """Release the reader's resources."""

    def _goes_on(self) -> bool:
        """Return whether a read may continue after the last result of `_next`."""
        return True

    def read(self, size: int = -1) -> bytes:
        """
        Return `size` bytes, or fewer at the end of the output; -1 returns the rest.

        A read of `size` decompressed bytes also ends at the end of a frame, unless `read_across_frames` is true. If the
        data has an error, reads of `size` bytes return the content before the error, except for its last bytes (at most
        the larger of `size` and 8 KiB), then raise ZstdError. A read with -1 raises ZstdError at once. After it, reads
        with a size return only the content before the piece of the source that has the error.
        """
        ahead = self._ahead
        if size == ahead.step:
            data = ahead.read(size)
            if data:
                return data
        return self._read(size)

    def readall(self) -> bytes:
        """Return the rest of the output, as `read(-1)` does."""
        return self._read(-1)

    def read1(self, size: int = -1) -> bytes:
        """Return at most `size` bytes (-1: any number), reading the source only until bytes are available."""
        ahead = self._ahead
        if size == ahead.step:
            data = ahead.read(size)
            if data:
                return data
        return self._read(size, once=True)

    def _read(self, size: int, once: bool = False) -> bytes:
        size = index(size)  # before output is taken, which would be lost
        with self._turn():
            if self._closed or size < -1:
                self._check_open()
                raise ValueError("cannot read negative amounts less than -1")
            result = self._take(size, once)
            return result

    def _take(self, size: int, once: bool = False) -> bytes:
        """Return `size` bytes (-1: all), or some if `once`; bytes found before an exception stay for later calls."""
        ahead = self._ahead
        place, held, pieces = ahead.tell(), b"", []
        try:
            held = ahead.read()  # from here on, other threads and signal handlers find no pieces
            place = ahead.tell() - len(held)
            held += ahead.rest
            found = len(held)
            while size < 0 or found < size:
                if found and (once or (size >= 0 and not self._goes_on())):
                    break
                piece = b""
                if self._failure is None:
                    limit = max(size - found, _AHEAD_SIZE) if size >= 0 else PIECE_SIZE if once else -1
                    try:
                        piece = self._next(limit)
                    except ZstdError as exc:
                        self._failure = exc
                    except BaseException as exc:
                        if not is_refusal(exc):  # data read from the source may be lost
                            self._failure = ZstdError(f"content was lost because of {exception_text(exc, repr)}")
                        raise
                if self._failure is not None and (size < 0 or not found):
                    raise self._failure.with_traceback(None)
                if not piece:
                    break
                pieces.append(piece)
                found += len(piece)
            content = pieces[0] if len(pieces) == 1 and not held else held + b"".join(pieces)
        except BaseException:
            if pieces:
                self._ahead = _cut(held + b"".join(pieces), ahead.start + place, max(size, 1))
            else:
                ahead.seek(place)
            raise
        if 0 <= size < found:
            self._ahead = _cut(content[size:], ahead.start + place + size, max(size, 1))
            content = content[:size]
        elif held:
            self._ahead = _cut(b"", ahead.start + place + found, max(size, 1))
        else:
            ahead.start += found
        return content

    def readinto(self, b: Buffer) -> int:
        """Read once, like `read`, into the start of `b`, a writable buffer; return how many bytes were stored."""
        return self._read_into(b, self.read)

    def readinto1(self, b: Buffer) -> int:
        """Read once, like `read1`, into the start of `b`, a writable buffer; return how many bytes were stored."""
        return self._read_into(b, self.read1)

    def _read_into(self, buffer: Buffer, read: Callable[[int], bytes]) -> int:
        with memoryview(buffer) as view:
            if view.readonly or not view.c_contiguous:
                raise TypeError(f"a writable, contiguous bytes-like object is required, not {type(buffer).__name__!r}")
            data = read(view.nbytes)
            if data:
                with view.cast("B") as target:
                    target[: len(data)] = data
            return len(data)


class Writer(StreamFile):
    """Base of the writers, which write at most `write_size` bytes at a time."""

    _file: Writable

    def __init__(self, writer: Writable, write_size: int, write_return_read: bool, closefd: bool) -> None:
        super().__init__(writer, closefd)
        self._write_size = write_size
        self._returns_read = bool(write_return_read)

    def _flush_file(self) -> None:
        flush = getattr(self._file, "flush", None)
        if flush is not None:
            flush()

    def __enter__(self) -> Self:
        self._check_open()
        if self._entered:
            raise ZstdError("cannot __enter__ multiple times")
        self._entered = True
        return self

    def readable(self) -> bool:
        """Return False."""
        return False

    def writable(self) -> bool:
        """Return True."""
        return True

    def fileno(self) -> int:
        """Return the descriptor of the file that is written to; raises OSError if it has none."""
        fileno = getattr(self._file, "fileno", None)
        if fileno is None:
            raise OSError("fileno not available on underlying writer")
        number: int = fileno()
        return number

    def seek(self, offset: int, whence: int = 0) -> NoReturn:
        """Raise io.UnsupportedOperation."""
        raise io.UnsupportedOperation

    def truncate(self, size: int | None = None) -> NoReturn:
        """Raise io.UnsupportedOperation."""
        raise io.UnsupportedOperation

    def read(self, size: int = -1) -> NoReturn:
        """Raise io.UnsupportedOperation."""
        raise io.UnsupportedOperation

    def readall(self) -> NoReturn:
        """Raise io.UnsupportedOperation."""
        raise io.UnsupportedOperation

    def readinto(self, b: Buffer) -> NoReturn:
        """Raise io.UnsupportedOperation."""
        raise io.UnsupportedOperation
