# SPDX-License-Identifier: Apache-2.0
"""
Readers of lines of text, in the compiled backend on CPython.

Reading a line is one call into C (ffi_build/zstd/lines.c), which finds the line in decompressed memory and copies it
into a str. This module refills the memory, about once per 128 KiB, and does all other operations of a file.
"""

from __future__ import annotations

import codecs
import io
import locale
import sys

from purepy.zstd.files.buffering import SerialMemory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Callable

    from typing_extensions import Buffer

    from purepy.base.locks import RLock
    from purepy.base.types import File

PLAIN_COOKIES = 1 << 64
"""The least result of io.TextIOWrapper.tell() that is not just a position in the file."""


def line_codec(encoding: str | None, newline: str | None) -> str | None:
    """Return "utf-8" or "ascii", the codec, if C can find lines of text byte by byte; None for all other arguments."""
    try:
        name = codecs.lookup(locale.getpreferredencoding(False) if encoding is None else encoding).name
    except (LookupError, TypeError, ValueError):
        return None
    return name if name in ("utf-8", "ascii") and newline in (None, "", "\n") else None


if TYPE_CHECKING:

    class _Base(SerialMemory):
        """Declares the methods and attributes of the C type, for type checkers only."""

        position: int
        end: int
        is_utf8: bool
        has_returns: bool
        translates: bool
        has_given: bool
        has_made: bool
        has_lines: bool
        has_pairs: bool
        is_iterating: bool

        def _take(self, size: int, /) -> bytes: ...
        def _take_line(self, size: int, /) -> bytes: ...
        def _look(self) -> bytes: ...
        def _make_room(self) -> int: ...
        def _add(self, size: int, /) -> None: ...
        def _move(self, distance: int, /) -> bool: ...
        def _drop(self) -> None: ...
        def _release(self) -> None: ...

else:
    _Base = SerialMemory


class LineReader(_Base):
    """
    A reader that replaces an io.BufferedReader over `raw`; it has the methods that a ZstdFile below a text file needs.

    Each method of the C type, the next class in the list of bases, is atomic for threads. The lock protects `raw` and
    operations of several steps.
    """

    __slots__ = ()

    def _open(self) -> RLock:
        """Return the lock, which the caller must acquire; raise ValueError if the file is closed."""
        lock: RLock = self._turn()
        if self.raw.closed:
            raise ValueError("I/O operation on closed file.")
        return lock

    def _fill(self) -> bool:
        """
        Read once from `raw`, or wait while another thread reads, so that C can look for a line again.

        Returns False at the end of the file or if the file is closed, otherwise True.
        """
        lock = self._turn()
        try:
            if not lock.acquire(blocking=False):
                with lock:
                    return True  # another thread has read
            return not self.raw.closed and self._read_on()
        finally:
            try:
                lock.release()
            except RuntimeError:  # it was released, or was never taken
                pass

    def _read_on(self) -> bool:
        held = self._make_room()
        try:
            size: int = self.raw.readinto(self._memory[held:])
            self._add(size)
        except BaseException as exc:
            self._fail(exc)
            raise
        return size > 0

    def _fail(self, exc: BaseException) -> None:
        """Make reads raise an error until a seek(), because the data read before the exception is lost."""
        self.raw.fail(exc)
        self._drop()

    def _tried(self, call: Callable[[int], bytes], size: int) -> bytes:
        """Return `call(size)`, called with the lock held; after an exception, reads fail until a seek()."""
        lock = self._open()
        try:
            with lock:
                result = call(size)
                return result
        except BaseException as exc:
            self._fail(exc)
            raise

    def read(self, size: int | None = -1, /) -> bytes:
        if size is not None and size < -1:
            raise ValueError("read length must be non-negative or -1")
        return self._tried(self._read, -1 if size is None else size)

    def _read(self, size: int) -> bytes:
        if size < 0:
            held = self._take(len(self._memory))
            self._drop()  # the buffered bytes no longer precede the position of `raw`
            rest: bytes = self.raw.readall()
            return held + rest if held else rest
        pieces = [self._take(size)]
        size -= len(pieces[0])
        while size and self._read_on():
            pieces.append(self._take(size))
            size -= len(pieces[-1])
        return b"".join(pieces)

    def read1(self, size: int = -1, /) -> bytes:
        with self._open():
            if size and self.position == self.end:
                self._read_on()
            result = self._take(len(self._memory) if size < 0 else size)
            return result

    def readinto(self, buffer: Buffer, /) -> int:
        return self._into(buffer, self.read)

    def readinto1(self, buffer: Buffer, /) -> int:
        return self._into(buffer, self.read1)

    def _into(self, buffer: Buffer, read: Callable[[int], bytes]) -> int:
        with memoryview(buffer) as view, view.cast("B") as target:
            if target.readonly:
                raise TypeError("readinto needs a writable buffer, not a read-only one")
            content = read(len(target))
            target[: len(content)] = content
            return len(content)

    def readline(self, size: int | None = -1, /) -> bytes:
        return self._tried(self._read_line, sys.maxsize if size is None or size < 0 else size)

    def _read_line(self, left: int) -> bytes:
        pieces = []
        while left:
            piece = self._take_line(left)
            if piece:
                pieces.append(piece)
                left -= len(piece)
                if piece.endswith(b"\n"):
                    break
            elif not self._read_on():
                break
        return b"".join(pieces)

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.readline, b"")

    def peek(self, size: int = 0, /) -> bytes:
        with self._open():
            if self.position == self.end:
                self._read_on()
            result = self._look()
            return result

    def seekable(self) -> bool:
        with self._open():
            result = bool(self.raw.seekable())
            return result

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        with self._open():
            if not self.raw.seekable():
                raise io.UnsupportedOperation("File or stream is not seekable.")
            here = self._tell()
            if whence == io.SEEK_CUR:
                offset, whence = offset + here, io.SEEK_SET
            # after an error, with no bytes left, `raw` must seek even to the same position
            is_elsewhere = offset != here or self.position < self.end
            if whence == io.SEEK_SET and is_elsewhere and self._move(offset - here):
                return offset
            self._drop()
            position: int = self.raw.seek(offset, whence)
            return position

    def tell(self) -> int:
        with self._open():
            result = self._tell()
            return result

    def _tell(self) -> int:
        position: int = self.raw.tell() - (self.end - self.position)
        return position

    def close(self) -> None:
        with self._turn():
            if not self.raw.closed:
                self._memory.release()
                self._release()
                self.raw.close()


class TextReader(io.TextIOWrapper):
    """
    An io.TextIOWrapper for reading that may take its lines from the LineReader of its file: `_lines`, or None.

    A subclass in C reads lines this way while `_lines` is set and no other method has read bytes since the last seek().
    """

    __slots__ = ("_lines",)

    if TYPE_CHECKING:
        _lines: LineReader | None

    def __init__(
        self,
        buffer: File,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
        *others: bool,
        **named: bool,
    ) -> None:
        self._lines = None
        super().__init__(buffer, encoding, errors, newline, *others, **named)
        lines = getattr(buffer, "_buffer", None)
        codec = line_codec(self.encoding, newline)
        if isinstance(lines, LineReader) and codec is not None:
            lines.is_utf8 = codec == "utf-8"
            lines.has_returns = newline != "\n"
            lines.translates = newline is None
            lines.has_given = lines.has_made = lines.has_lines = lines.has_pairs = lines.is_iterating = False
            self._lines = lines

    def tell(self) -> int:
        lines = self._lines
        if lines is not None and lines.is_iterating and self.seekable():
            raise OSError("telling position disabled by next() call")
        return super().tell()

    def flush(self) -> None:
        super().flush()  # seek() also calls flush()
        if self._lines is not None:
            self._lines.is_iterating = False

    def seek(self, cookie: int, whence: int = io.SEEK_SET, /) -> int:
        position = super().seek(cookie, whence)
        lines = self._lines
        if lines is not None:
            lines.has_given = position >= PLAIN_COOKIES
            lines.has_made = False
            if position == 0:
                lines.has_lines = lines.has_pairs = False
        return position

    @property
    def newlines(self) -> str | tuple[str, ...] | None:  # type: ignore[override]
        seen = super().newlines
        lines = self._lines
        if lines is None or not lines.has_returns:
            return seen
        kinds = {seen} if isinstance(seen, str) else set(seen or ())
        if lines.has_lines:
            kinds.add("\n")
        if lines.has_pairs:
            kinds.add("\r\n")
        found = tuple(kind for kind in ("\r", "\n", "\r\n") if kind in kinds)
        return found if len(found) > 1 else found[0] if found else None

    def reconfigure(self, **options: Any) -> None:
        lines = self._lines
        changes = "newline" in options or any(options.get(name) is not None for name in ("encoding", "errors"))
        if changes and lines is not None and lines.has_made:
            # as io.TextIOWrapper does while it holds text
            raise io.UnsupportedOperation(
                "It is not possible to set the encoding or newline of stream after the first read"
            )
        super().reconfigure(**options)
        if changes:
            self._lines = None

    def detach(self) -> File:
        buffer = super().detach()
        self._lines = None
        return buffer
