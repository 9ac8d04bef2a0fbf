# SPDX-License-Identifier: Apache-2.0
"""
What gathers small writes for the compressor in the compiled backend on CPython, in place of an io.BufferedWriter.

Writing a line is one call into C there (ffi_build/zstd_write_buffer.h): a copy into memory that has room for it. This
module is the rest, once per 128 KiB or per flush.
"""

from __future__ import annotations

import sys
from _thread import RLock
from typing import TYPE_CHECKING, Any

from . import buffers

# From 3.13 on io objects tell what goes wrong when they are closed by the collector, before only when developing.
_TELLS_OF_CLOSING = sys.version_info >= (3, 13) or sys.flags.dev_mode

if TYPE_CHECKING:

    class _Base:
        """The type in C."""

        held: int

        def __init__(self, memory: bytearray) -> None: ...
        def write(self, data: Any, /) -> int: ...
        def _hold(self) -> int: ...
        def _resume(self, held: int, /) -> None: ...

else:
    _Base = object


class GatheringWriter(_Base):
    """
    What an io.BufferedWriter is over `raw`, as far as a ZstdFile uses one; a class for the type in C to be mixed into.

    It behaves as an io.BufferedWriter does: a failed write takes nothing of its data and loses nothing that was
    taken before, threads wait for each other, and coming back from inside `raw` is a RuntimeError.
    """

    __slots__ = ()

    if TYPE_CHECKING:
        raw: Any
        _lock: Any
        _memory: memoryview

    def __init__(self, raw: Any, size: int) -> None:
        memory = bytearray(size)
        self.raw = raw
        self._lock = RLock()
        self._memory = memoryview(memory)
        super().__init__(memory)

    def __del__(self) -> None:
        try:
            self.close()
        except Exception:
            if _TELLS_OF_CLOSING:
                raise

    def _refuse_reentry(self) -> None:
        if self._lock._is_owned():
            raise RuntimeError(f"reentrant call inside {self!r}")

    def tell(self) -> int:
        """Return the position behind what was written."""
        self._refuse_reentry()
        with self._lock:
            position: int = self.raw.tell() + self.held
            return position

    def flush(self) -> None:
        """Hand what was gathered to `raw`."""
        self._refuse_reentry()
        with self._lock:
            if self.raw.closed:
                raise ValueError("flush of closed file")
            held = self._hold()
            try:
                held = self._drain(held)
            finally:
                self._resume(held)

    def close(self) -> None:
        """Flush, and close `raw` whether that worked or not; write() takes nothing after that."""
        self._refuse_reentry()
        with self._lock:
            if self.raw.closed:
                return
            try:
                self._drain(self._hold())
            finally:
                self.raw.close()

    def _write_through(self, data: Any) -> int:
        """Do what write() in C leaves: make room, or wait until another thread has."""
        self._refuse_reentry()
        source = buffers.readable(data)
        memory = self._memory
        try:
            size = len(source)
            with self._lock:
                if self.raw.closed:
                    raise ValueError("write to closed file")
                held = self._hold()
                try:
                    if size > len(memory) - held:
                        held = self._drain(held)
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

    def _drain(self, held: int) -> int:
        """Write that many bytes of the memory and return how many are held then: none."""
        if held:
            self.raw.write(self._memory[:held])
        return 0
