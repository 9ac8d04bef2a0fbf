# SPDX-License-Identifier: Apache-2.0
"""
Writers that collect small writes for the compressor: an io.BufferedWriter (PlainWriter) and its faster replacements.

For each line, an io.BufferedWriter takes a lock and parses arguments in C on CPython, and copies byte by byte on PyPy.
`BufferedWriterBase` is the base of the replacements. In a subclass the bytes wait in memory that C code fills (the
compiled backend on CPython), or in a builder, to which a JIT appends in one step (BuilderWriter).
"""

from __future__ import annotations

import io
import sys

from purepy.base.buffers import as_bytes
from purepy.base.locks import Exclusive, RLock
from purepy.base.pypy import finish, new_builder
from purepy.zstd.format.locks import refuse_second_init

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from purepy.base.types import Buffer, File
    from purepy.zstd.files.writer import CompressWriter

# From 3.13 on, finalizers of io objects report errors of closing; before, they do so only in development mode.
_TELLS_OF_CLOSING = sys.version_info >= (3, 13) or sys.flags.dev_mode

LONG_PART = 8
"""Data of at least 1/LONG_PART of a BuilderWriter's size is not collected: two copies would cost more than a call."""


def is_closed_from_above(raw: object) -> bool:
    """Return whether an object passed to `raw.leave_to` still exists: that object closes the writer over `raw`."""
    return bool(getattr(raw, "above", None))


class PlainWriter(io.BufferedWriter):
    """An io.BufferedWriter whose finalizer does nothing if an object above it will close it."""

    def __init__(self, raw: CompressWriter, size: int) -> None:
        super().__init__(raw, size)
        raw.repeats = True  # after an exception this writer writes its buffer again

    def __del__(self) -> None:
        if not is_closed_from_above(self.raw):
            super().__del__()


class Serial(Exclusive):
    """Base of buffers over a stream `raw`. Methods run one at a time; a call from inside a call raises RuntimeError."""

    __slots__ = ()

    if TYPE_CHECKING:
        raw: File

    def __init__(self, raw: File, *memory: object) -> None:
        refuse_second_init(self)
        super().__init__(*memory)  # initializes the type that holds the bytes, if there is such a base
        self._lock = RLock()
        self.raw = raw  # last: an object with this attribute is complete


class SerialMemory(Serial):
    """
    Base of buffers whose bytes a C type holds: allocates `size` bytes, and passes them to the C type's `__init__`.

    In a subclass the C type is the base class after this one.
    """

    __slots__ = ()

    if TYPE_CHECKING:
        _memory: Any

    def __init__(self, raw: io.RawIOBase, size: int) -> None:
        memory = bytearray(size)
        view = memoryview(memory)
        super().__init__(raw, memory)
        self._memory = view


class BufferedWriterBase(Serial):
    """
    Base of writers that replace an io.BufferedWriter over `raw`, as far as a ZstdFile uses one.

    If the file below raises an error, a write takes no part of its data, and data that was taken before is not lost.
    Threads wait for each other, and a call from inside `raw` raises RuntimeError.

    Subclasses define `write`, `_waiting` and `_drain`. `_waiting` returns how many of the held bytes `raw` has not
    taken, according to `raw.tell()`, so that nothing is written twice after an interrupt. `_drain` is called under the
    lock and writes the held bytes to `raw`; afterwards nothing is held, or, if it failed, everything. Its argument
    `last` means that `raw` is closed next.
    """

    __slots__ = ()

    if TYPE_CHECKING:

        def _waiting(self) -> int: ...
        def _drain(self, *, last: bool = False) -> None: ...

    def __del__(self) -> None:
        if not hasattr(self, "raw") or is_closed_from_above(self.raw):  # incomplete, or another object closes it
            return
        try:
            self.close()
        except Exception:
            if _TELLS_OF_CLOSING:
                raise

    def tell(self) -> int:
        """Return the position in the content after all written data, including data that is still collected here."""
        with self._turn():
            position: int = self.raw.tell() + self._waiting()
            return position

    def flush(self) -> None:
        """Write the collected data to `raw`."""
        with self._turn():
            if self.raw.closed:
                raise ValueError("flush of closed file")
            self._drain()

    def close(self) -> None:
        """Flush, and close `raw` even if flushing failed; write() raises ValueError afterwards."""
        with self._turn():
            if self.raw.closed:
                return
            try:
                self._drain(last=True)
            finally:
                self.raw.close()


class BuilderWriter(BufferedWriterBase):
    """A writer that collects up to `size` bytes in a builder, for interpreters with a JIT."""

    __slots__ = ("_builder", "_end", "_lock", "_size", "raw")

    def __init__(self, raw: CompressWriter, size: int) -> None:
        self._size = size
        self._builder = new_builder(size)
        self._end = 0  # the position after the collected data
        super().__init__(raw)

    def _waiting(self) -> int:
        waiting: int = self._end - self.raw.tell()
        return max(waiting, 0)

    def write(self, data: Buffer, /) -> int:
        """Take the bytes of a buffer and return their number."""
        data = as_bytes(data)
        size = len(data)
        with self._turn():
            if self.raw.closed:
                raise ValueError("write to closed file")
            waiting = self._waiting()
            is_long = size >= self._size // LONG_PART
            if waiting and (is_long or waiting + size > self._size):
                self._drain()
                waiting = 0
            if is_long:
                self.raw.write(data)
            else:
                if not waiting:
                    self._builder = new_builder(self._size)
                    self._end = self.raw.tell()
                self._builder.append(data)
                self._end += size
        return size

    def _drain(self, *, last: bool = False) -> None:
        if self._waiting():
            self.raw.write(finish(self._builder))
