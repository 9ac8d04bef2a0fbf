# SPDX-License-Identifier: Apache-2.0
"""
A writer that collects small writes for the compressor, in the compiled backend on CPython.

Writing a line is one call into C (ffi_build/zstd/write_buffer.c), which copies the line into memory if it fits. This
module does the rest, once per 128 KiB or per flush.
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
        """Declares the methods and the attribute of the C type, for type checkers only."""

        def write(self, data: Buffer, /) -> int: ...

        held: int

        def _hold(self) -> int: ...
        def _resume(self, held: int, /) -> None: ...

else:
    _Base = BufferedWriterBase


class BufferedWriter(SerialMemory, _Base):
    """
    A mixin that turns WriteBuffer, a type written in C, into a writer with a buffer of `size` bytes.

    In the list of bases, the mixin comes before the C type, which copies small writes into the buffer.
    """

    __slots__ = ()

    def __init__(self, raw: io.RawIOBase, size: int) -> None:
        self._ends: list[int] = []  # while C accepts no data: one item, the position after the held bytes
        super().__init__(raw, size)

    def _waiting(self) -> int:
        return max(self._ends[0] - self.raw.tell(), 0) if self._ends else self.held

    def _stop(self) -> None:
        """Stop C from accepting data, and record where the held bytes end; do nothing if C was already stopped."""
        if not self._ends:
            self._ends.append(self.raw.tell() + self._hold())

    def _go_on(self, held: int) -> None:
        """
        Let C accept data again, after the `held` bytes in the memory, and forget the end that `_stop` recorded.

        C code does both, so no signal handler runs in between.
        """
        deque(chain(starmap(self._resume, ((held,),)), starmap(self._ends.clear, ((),))), 0)

    def _write_through(self, data: Buffer) -> int:
        """
        Copy data that write() in C did not accept to the memory, or write it to `raw`; return its size in bytes.

        Waits for the lock. If the data still does not fit into the memory, first writes the held bytes to `raw`; data
        that is at least as large as the memory then goes to `raw` as well. Raises ValueError if `raw` is closed.
        """
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
            if not last:  # after the last call, C accepts no data, so that _write_through() raises the error
                self._go_on(self._waiting())

    def _write_held(self) -> None:
        held = self._waiting()
        if held:
            self.raw.write(self._memory[:held])
