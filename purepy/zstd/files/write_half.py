# SPDX-License-Identifier: Apache-2.0
"""The half of ZstdFile that writes: through a buffer that gathers small writes, over a raw stream that compresses."""

from __future__ import annotations

import io
import sys

from purepy.base.locks import Exclusive, RLock
from purepy.zstd.format.rules import FLUSH_BLOCK, FLUSH_FRAME

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from purepy.base.types import Bytes, File

PUTS_METHODS_ON_OBJECTS = sys.implementation.name == "cpython"
"""False for PyPy: its JIT looks through Python methods, and its finalizers could close a file under such a method."""


class WriteHalf(io.BufferedIOBase):
    """The methods of a file that is written; `_is_writing` says whether this one is."""

    __slots__ = ()

    if TYPE_CHECKING:
        _buffer: File
        _is_writing: bool
        _backlog: Backlog | None
        """For a file under a text file."""
        _is_ending: bool
        """Whether close() is ending the content."""
        _has_ended: bool
        """Whether close() has ended the content."""

        def _check_not_closed(self) -> None: ...

    def write(self, data: Any, /) -> int:
        """
        Write the bytes of `data`, a buffer, and return how many they are; the class says when they get there.
        """
        if not self._is_writing:
            self._check_not_closed()
            raise io.UnsupportedOperation("File not open for writing")
        if self._is_ending or self._has_ended:
            self._buffer.raw.refuse_within()
            raise ValueError("write to closed file")
        if self._backlog is not None:
            return self._backlog.write(data)
        raw = self._buffer.raw
        if raw.compressor.last_mode == FLUSH_FRAME:
            raw.refuse_within()  # as begin() would after the data was taken
        size: int = self._buffer.write(data)
        raw.begin()
        if PUTS_METHODS_ON_OBJECTS and type(self).write is WriteHalf.write:
            self.write = self._buffer.write  # type: ignore[method-assign]
        return size

    def flush(self, mode: int = FLUSH_BLOCK) -> None:
        """
        Compress and write what was held back; does nothing while reading.

        FLUSH_BLOCK lets a reader have all data written so far, FLUSH_FRAME ends the frame besides; both cost
        compression. Any other mode is a ValueError. os.fsync() is for the caller to do.
        """
        if not self._is_writing:
            self._check_not_closed()
            return
        if mode not in (FLUSH_BLOCK, FLUSH_FRAME):
            raise ValueError("Invalid mode argument, expected either ZstdFile.FLUSH_FRAME or ZstdFile.FLUSH_BLOCK")
        if self._buffer.raw.drops:
            return
        self.__dict__.pop("write", None)  # the next write looks again whether it begins a frame
        if self._backlog is not None:
            self._backlog.settle()
        try:
            self._buffer.flush()
        except ValueError:
            if self._has_ended:  # and an interrupt has half closed the buffer, which holds nothing
                return
            raise
        self._buffer.raw.end(int(mode))

    def _finish(self) -> None:
        """Write what was held back and end the frame; do nothing for a file that an interrupt has broken."""
        buffer = self._buffer
        if buffer.raw.closed:
            return
        self._is_ending = True
        self.__dict__.pop("write", None)  # the buffer's own, which would take more data
        try:
            if not buffer.raw.give_up():
                if self._backlog is not None:
                    self._backlog.settle()
                buffer.flush()
                buffer.raw.finish()
            self._has_ended = True
        except ValueError:
            if not (buffer.raw.closed or self._has_ended):  # by another thread, or half closed by an interrupt
                raise
        finally:
            self._is_ending = False

    def _close_buffer(self) -> None:
        try:
            self._buffer.close()
        except ValueError:
            if not self._has_ended:  # else this goes on with what an interrupt has left half closed
                raise

    def _write_for(self, text_file: io.TextIOWrapper) -> None:
        """Write from now on for a text file on top of this file; the text file closes both."""
        self._backlog = Backlog(self._buffer)
        self._buffer.raw.leave_to(text_file)


class Backlog(Exclusive):
    """What an io.TextIOWrapper gave to a write() that failed: it forgets that, so the next call writes it first."""

    def __init__(self, buffer: File) -> None:
        self._lock = RLock()
        self._buffer = buffer
        self._kept = b"", 0  # with the position where it begins

    def write(self, data: Bytes) -> int:
        with self._turn():
            size = self._write(data)
            return size

    def _write(self, data: Bytes) -> int:
        buffer = self._buffer
        if buffer.raw.drops:
            return len(data)
        kept, start = self._kept
        position = buffer.tell()
        # without what was taken before an interrupt came
        kept = b"".join((kept[position - start :], data)) if kept else bytes(data)
        self._kept = kept, position
        try:
            buffer.write(kept)
        except BlockingIOError as exc:
            self._kept = kept[exc.characters_written :], position + exc.characters_written
            raise
        self._kept = b"", 0
        buffer.raw.begin()
        return len(data)

    def settle(self) -> None:
        """Write what is left."""
        if self._kept[0]:
            self.write(b"")
