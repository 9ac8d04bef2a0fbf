# SPDX-License-Identifier: Apache-2.0
"""
Writer that gathers small writes for the compressor in the compiled backend on CPython.

Writing a line is one call into C there (ffi_build/zstd/write_buffer.c): a copy into memory that has room for it. This
module is the rest, once per 128 KiB or per flush.
"""

from __future__ import annotations

from cpkg._native import buffers
from purepy.zstd.common.buffering import BufferedWriterBase, SerialMemory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    class _Base(BufferedWriterBase):
        """The type in C, which is mixed in."""

        def write(self, data: Any, /) -> int: ...
        def _hold(self) -> int: ...
        def _resume(self, held: int, /) -> None: ...

else:
    _Base = BufferedWriterBase


class BufferedWriter(SerialMemory, _Base):
    """A buffered writer of `size` bytes over the memory of the type in C, which comes after it among the bases."""

    __slots__ = ()

    def _write_through(self, data: Any) -> int:
        """Do what write() in C leaves: make room, or wait until another thread has."""
        lock = self._turn()
        source = buffers.readable(data)
        memory = self._memory
        try:
            size = len(source)
            with lock:
                if self.raw.closed:
                    raise ValueError("write to closed file")
                held = self._hold()
                try:
                    if size > len(memory) - held:
                        held = self._written(held)
                    if size < len(memory):
                        memory[held : held + size] = source
                        held += size
                    else:
                        self.raw.write(source)
                finally:
                    self._resume(held)
            return size
        finally:
            if isinstance(source, memoryview):
                source.release()  # a traceback would keep the caller's buffer locked

    def _drain(self, *, last: bool = False) -> None:
        held = self._hold()
        try:
            held = self._written(held)
        finally:
            if not last:  # then write() in C takes nothing any more, and _write_through() says why
                self._resume(held)

    def _written(self, held: int) -> int:
        """Write that many bytes of the memory and return how many are held then: none."""
        if held:
            self.raw.write(self._memory[:held])
        return 0
