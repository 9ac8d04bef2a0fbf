# SPDX-License-Identifier: Apache-2.0
"""
Memory that several threads reuse, because fresh memory costs a page fault for every 4 KiB.

A list holds the memory that is currently unused. Taking memory from the list is one list operation, and so is giving
memory back; so threads need no lock.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

from purepy.base.errors import Suppressed, raise_if_from_handler
from purepy.base.pypy import JIT

if TYPE_CHECKING:
    import mmap

    from purepy.base.types import Buffer, Bytes

_HUGE_FROM = 4 << 20


def work_memory(size: int) -> bytearray | mmap.mmap:
    """
    Return `size` writable bytes for repeated use; from 4 MiB on, in huge pages where the system has them.

    Without huge pages, page faults take a fifth of the time of the first decompression into the memory. Raises
    MemoryError if the system does not provide the memory.
    """
    if size >= _HUGE_FROM:
        import mmap

        flags = getattr(mmap, "MAP_PRIVATE", 0) | getattr(mmap, "MAP_ANONYMOUS", 0)
        advice = getattr(mmap, "MADV_HUGEPAGE", None)
        if flags and advice is not None:
            try:
                memory = mmap.mmap(-1, size, flags=flags)
            except OSError as exc:
                raise_if_from_handler(exc)
                raise MemoryError(f"no memory for {size} bytes") from exc
            with Suppressed(OSError):  # a kernel without huge pages
                memory.madvise(advice)
            return memory
    return bytearray(size)


def reused(spare: list[object], make: Callable[[], object]) -> Any:
    """Remove and return an item of a list that several threads use; return `make()` if the list is empty."""
    try:
        return spare.pop()
    except IndexError:
        return make()


class Lent:
    """The first `size` bytes of `memory`; once they are not needed, `give_back` adds the memory to the list `spare`."""

    def __init__(self, memory: Buffer, size: int, spare: list[object]) -> None:
        self.memory = memory
        self.size = size
        self._spare = spare

    def __len__(self) -> int:
        return self.size

    def view(self) -> memoryview:
        with memoryview(self.memory) as whole:
            return whole[: self.size]

    def give_back(self) -> None:
        self._spare.append(self.memory)


class Pending:
    """
    Input that has not been assigned to a thread: `memory[:filled]`.

    `take` lends memory together with its bytes, and memory that was given back is reused. On PyPy, where writing to a
    part of a bytearray copies byte by byte, `memory` is a bytearray that grows and shrinks, and no memory is reused.
    """

    def __init__(self) -> None:
        self._spare: list[object] = []
        self.memory: Any = bytearray()
        self.filled = 0

    def __len__(self) -> int:
        return self.filled

    def add(self, data: Bytes) -> None:
        end = self.filled + len(data)
        if JIT:
            self.memory += data
            self.filled = end
            return
        if len(self.memory) < end:
            with memoryview(self.memory) as view:
                self.memory = work_memory(max(end, 2 * len(view)))
                self._put(view[: self.filled], 0)
        self._put(data, self.filled)
        self.filled = end

    def _put(self, data: Bytes, start: int) -> None:
        with memoryview(self.memory) as view:
            view[start : start + len(data)] = data

    def take(self, size: int) -> Lent:
        """Remove and return the first `size` bytes as a Lent; the bytes after them are copied to other memory."""
        memory, end = self.memory, self.filled
        if JIT:
            self.memory, self.filled = memory[size:], end - size
            return Lent(memory[:size], size, [])
        self.memory, self.filled = reused(self._spare, bytearray), 0
        if size < end:
            with memoryview(memory) as view:
                self.add(view[size:end])
        return Lent(memory, size, self._spare)
