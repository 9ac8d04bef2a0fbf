# SPDX-License-Identifier: Apache-2.0
"""
Writer that gathers small writes for the compressor in the compiled backend on CPython.

Writing a line is one call into C there (ffi_build/zstd/write_buffer.c): a copy into memory that has room for it. This
module is the rest, once per 128 KiB or per flush.
"""

from __future__ import annotations

from collections import deque
from itertools import chain, starmap

from cpkg._native import buffers
from purepy.zstd.files.buffering import BufferedWriterBase, SerialMemory

TYPE_CHECKING = False
if TYPE_CHECKING:
    import io

    from typing_extensions import Buffer

    class _Base(BufferedWriterBase):
        """The type in C, which is mixed in."""

        def write(self, data: Buffer, /) -> int: ...

        held: int

        def _hold(self) -> int: ...
        def _resume(self, held: int, /) -> None: ...

else:
    _Base = BufferedWriterBase


class BufferedWriter(SerialMemory, _Base):
    """A buffered writer of `size` bytes over the memory of the type in C, which comes after it among the bases."""

    __slots__ = ()

    def __init__(self, raw: io.RawIOBase, size: int) -> None:
        self._ends: list[int] = []  # the position behind the held bytes, while C takes nothing
        super().__init__(raw, size)

    def _waiting(self) -> int:
        return max(self._ends[0] - self.raw.tell(), 0) if self._ends else self.held

    def _stop(self) -> None:
        """Let C take nothing, and note where its held bytes end."""
        if not self._ends:
            self._ends.append(self.raw.tell() + self._hold())

    def _go_on(self, held: int) -> None:
        """Let C go on behind that many bytes, and forget the end: in C, so that an interrupt comes between no two."""
        deque(chain(starmap(self._resume, ((held,),)), starmap(self._ends.clear, ((),))), 0)

    def _write_through(self, data: Buffer) -> int:
        """Do what write() in C leaves: make room, or wait until another thread has."""
        lock = self._turn()
        source = buffers.readable(data)
        memory = self._memory
        try:
            size = len(source)
            with lock:
                if self.raw.closed:
                    raise ValueError("write to closed file")
                added = 0
                self._stop()
                try:
                    if size > len(memory) - self._waiting():
                        self._write_held()
                    if size < len(memory):
                        held = self._waiting()
                        memory[held : held + size] = source
                        added = size
                    else:
                        self.raw.write(source)
                finally:
                    self._go_on(self._waiting() + added)
            return size
        finally:
            if isinstance(source, memoryview):
                source.release()  # a traceback would keep the caller's buffer locked

    def _drain(self, *, last: bool = False) -> None:
        self._stop()
        try:
            self._write_held()
        finally:
            if not last:  # then write() in C takes nothing any more, and _write_through() says why
                self._go_on(self._waiting())

    def _write_held(self) -> None:
        held = self._waiting()
        if held:
            self.raw.write(self._memory[:held])
