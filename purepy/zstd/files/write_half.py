# SPDX-License-Identifier: Apache-2.0
"""The writing half of ZstdFile: a buffer collects small writes and passes them to a raw stream, which compresses."""

from __future__ import annotations

import io
import sys
import weakref

from purepy.base.locks import Exclusive, RLock
from purepy.zstd.format.rules import FLUSH_BLOCK, FLUSH_FRAME

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, TypeVar

    from purepy.base.types import Bytes, File

    _Argument = TypeVar("_Argument")
    _Result = TypeVar("_Result")

PUTS_METHODS_ON_OBJECTS = sys.implementation.name == "cpython"
"""False for PyPy: its JIT inlines Python methods, and it could finalize a file while a method of its buffer runs."""


class WriteHalf(io.BufferedIOBase):
    """The methods of a file for writing; `_is_writing` is true if this file is open for writing."""

    __slots__ = ()

    if TYPE_CHECKING:
        _buffer: File
        _is_writing: bool
        _backlog: Backlog | None
        """Set for a file below a text file."""
        _is_ending: bool
        """Whether close() is ending the content or has ended it."""
        _has_ended: bool
        """Whether close() has ended the content."""

        def _check_not_closed(self) -> None: ...

    def write(self, data: Any, /) -> int:
        """
        Write the bytes of `data`, a buffer, and return their number; see the class for when they reach the file.
        """
        if not self._is_writing:
            self._check_not_closed()
            raise io.UnsupportedOperation("File not open for writing")
        buffer = self._buffer
        if self._is_ending:
            buffer.raw.refuse_within()
            raise ValueError("write to closed file")
        if self._backlog is not None:
            return self._backlog.write(data)
        if buffer.raw.compressor.last_mode != FLUSH_FRAME:
            size: int = buffer.write(data)
        else:
            buffer.raw.refuse_within()  # begin() would refuse only after the data was taken
            size = buffer.write(data)
            buffer.raw.begin()
        if PUTS_METHODS_ON_OBJECTS and type(self).write is WriteHalf.write:
            self.write = buffer.write  # type: ignore[method-assign]
        return size

    def flush(self, mode: int = FLUSH_BLOCK) -> None:
        """
        Compress and write the data that was held back; does nothing for a file that is open for reading.

        After FLUSH_BLOCK a reader can decompress all data written so far; FLUSH_FRAME also ends the frame. Both make
        the file larger. Any other mode raises ValueError. Does not call os.fsync().
        """
        if not self._is_writing:
            self._check_not_closed()
            return
        if mode not in (FLUSH_BLOCK, FLUSH_FRAME):
            raise ValueError("Invalid mode argument, expected either ZstdFile.FLUSH_FRAME or ZstdFile.FLUSH_BLOCK")
        if self._buffer.raw.drops:
            return
        self.__dict__.pop("write", None)  # so that the next write checks again whether it begins a frame
        if self._backlog is None:
            self._flush(mode)
        else:
            self._backlog.settle()
            self._backlog.alone(self._flush, mode)

    def _flush(self, mode: int) -> None:
        try:
            self._buffer.flush()
        except ValueError:
            if self._has_ended:  # an interrupt has half closed the buffer, which holds nothing
                return
            raise
        self._buffer.raw.end(int(mode))

    def _finish(self) -> None:
        """Write the data that was held back and end the frame; do nothing for a file that an interrupt has broken."""
        buffer = self._buffer
        if buffer.raw.closed:
            return
        self._is_ending = True
        self.__dict__.pop("write", None)  # the buffer's method, which would take more data
        try:
            if not buffer.raw.give_up():
                if self._backlog is not None:
                    self._backlog.settle()
                buffer.flush()
                buffer.raw.finish()
            self._has_ended = True
        except ValueError:
            if not (buffer.raw.closed or self._has_ended):  # closed by another thread, or half closed by an interrupt
                raise
        finally:
            self._is_ending = self._has_ended

    def _close_buffer(self) -> None:
        try:
            self._buffer.close()
        except ValueError:
            if not self._has_ended:  # otherwise this call completes a close that an interrupt has left half done
                raise

    def _write_for(self, text_file: Any) -> None:
        """Let `text_file`, an opening.TextWriter over this file, close it; keep data of its failed writes (Backlog)."""
        self._backlog = Backlog(self._buffer, text_file)
        self._buffer.raw.leave_to(text_file)


class Backlog(Exclusive):
    """Data that an io.TextIOWrapper forgot when its write() failed; the next call writes it first."""

    def __init__(self, buffer: File, text_file: Any) -> None:
        self._lock = RLock()
        self._buffer = buffer
        reference: Callable[[], Any] = weakref.ref(text_file)
        self._write_text: Callable[[str], int] = lambda text: reference().write_alone(text)
        self._text_names = text_file.__dict__
        self._kept = b"", 0  # the data, and the position of its first byte or, if empty, of the next write

    def write(self, data: Bytes) -> int:
        with self._turn():
            size = self.alone(self._write, data)
            return size

    def alone(self, call: Callable[[_Argument], _Result], argument: _Argument) -> _Result:
        """Return `call(argument)`; until it returns, `write_alone` replaces the text file's write()."""
        names = self._text_names
        if "write" in names:
            return call(argument)
        names["write"] = self._write_text
        try:
            return call(argument)
        finally:
            names.pop("write", None)

    def _write(self, data: Bytes) -> int:
        raw = self._buffer.raw
        if raw.drops:
            return len(data)
        kept, position = self._kept
        if kept:  # remove the bytes that were taken before an interrupt
            begin, position = position, self._buffer.tell()
            kept = kept[position - begin :] + bytes(data)
        else:
            kept = bytes(data)
        self._kept = kept, position
        try:
            self._buffer.write(kept)
        except BlockingIOError as exc:
            self._kept = kept[exc.characters_written :], position + exc.characters_written
            raise
        self._kept = b"", position + len(kept)
        if raw.compressor.last_mode == FLUSH_FRAME:
            raw.begin()
        return len(data)

    def settle(self) -> None:
        """Write the data that was kept after a failed write()."""
        if self._kept[0]:
            self.write(b"")
