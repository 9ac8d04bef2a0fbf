# SPDX-License-Identifier: Apache-2.0
"""
Writers that gather small writes for the compressor, in place of an io.BufferedWriter.

An io.BufferedWriter takes a lock and parses arguments in C for each line on CPython, and copies byte by byte on PyPy.
`BufferedWriterBase` is what replaces one, but for where the bytes wait: in memory that C code fills (the compiled
backend on CPython has that), or in a builder, which a JIT appends to in one step (BuilderWriter).
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

# From 3.13 on io objects report what goes wrong when they are closed by the collector, before only when developing.
_TELLS_OF_CLOSING = sys.version_info >= (3, 13) or sys.flags.dev_mode

LONG_PART = 8
"""Data that fills this part of a BuilderWriter goes to `raw` at once: two copies would cost more than a call."""


def is_closed_from_above(raw: object) -> bool:
    """Return whether what is under a writer says that the writer is closed from above (CompressWriter.leave_to)."""
    return bool(getattr(raw, "above", None))


class PlainWriter(io.BufferedWriter):
    """An io.BufferedWriter whose finalizer leaves it to what is above to close it."""

    def __init__(self, raw: CompressWriter, size: int) -> None:
        super().__init__(raw, size)
        raw.repeats = True  # after an exception it writes again what it holds

    def __del__(self) -> None:
        if not is_closed_from_above(self.raw):
            super().__del__()


class Serial(Exclusive):
    """Base of buffers for `raw` that do one thing at a time: threads wait, coming back from inside is an error."""

    __slots__ = ()

    if TYPE_CHECKING:
        raw: File

    def __init__(self, raw: File, *memory: object) -> None:
        refuse_second_init(self)
        super().__init__(*memory)  # the type that holds the bytes, where it is another base
        self._lock = RLock()
        self.raw = raw  # last: what has it is whole


class SerialMemory(Serial):
    """A Serial over `size` bytes of memory for a type in C, which comes after it among the bases."""

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
    Base of writers that stand in for an io.BufferedWriter over `raw`, as far as a ZstdFile uses one.

    It behaves as an io.BufferedWriter does: a failed write takes nothing of its data and loses nothing that was
    taken before, threads wait for each other, and coming back from inside `raw` is a RuntimeError.

    A subclass has `write`; `_waiting`, the size of what it holds and `raw` has not taken by its `tell`, so that nothing
    is written twice after an interrupt; and `_drain`, which is called under the lock: it writes what is held to `raw`
    and holds nothing then, or still all if that fails; `last`: `raw` is closed next.
    """

    __slots__ = ()

    if TYPE_CHECKING:

        def _waiting(self) -> int: ...
        def _drain(self, *, last: bool = False) -> None: ...

    def __del__(self) -> None:
        if not hasattr(self, "raw") or is_closed_from_above(self.raw):  # it was never made, or has to wait
            return
        try:
            self.close()
        except Exception:
            if _TELLS_OF_CLOSING:
                raise

    def tell(self) -> int:
        """Return the position behind what was written."""
        with self._turn():
            position: int = self.raw.tell() + self._waiting()
            return position

    def flush(self) -> None:
        """Hand what was gathered to `raw`."""
        with self._turn():
            if self.raw.closed:
                raise ValueError("flush of closed file")
            self._drain()

    def close(self) -> None:
        """Flush, and close `raw` whether that worked or not; write() takes nothing after that."""
        with self._turn():
            if self.raw.closed:
                return
            try:
                self._drain(last=True)
            finally:
                self.raw.close()


class BuilderWriter(BufferedWriterBase):
    """A buffered writer of `size` bytes in a builder, for interpreters with a JIT."""

    __slots__ = ("_builder", "_end", "_lock", "_size", "raw")

    def __init__(self, raw: CompressWriter, size: int) -> None:
        self._size = size
        self._builder = new_builder(size)
        self._end = 0  # the position behind what was gathered
        super().__init__(raw)

    def _waiting(self) -> int:
        waiting: int = self._end - self.raw.tell()
        return max(waiting, 0)

    def write(self, data: Buffer, /) -> int:
        """Take the bytes of a buffer and return how many they are."""
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
