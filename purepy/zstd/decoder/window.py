# SPDX-License-Identifier: Apache-2.0
"""
The window, from which matches copy: the most recent output, preceded by the dictionary's content (RFC 8878 section
3.1.1.1.2, "Window_Descriptor").
"""

from __future__ import annotations

from purepy.base.pypy import JIT, zeros
from purepy.zstd.format.rules import BLOCK_SIZE_MAX

SLACK = 32
"""Bytes after a block's end that a loop may write while it copies whole words."""


_MOVE = 1 << 16
"""The most bytes moved at a time."""

_JOINED = 4 * BLOCK_SIZE_MAX
"""Up to this size memory grows by `+`, which PyPy copies ten times as fast but which briefly needs twice the memory."""


class Window:
    """
    The recent output of one frame: at least as much as matches may refer to.

    `data[:end]` is the history. For a JIT, `data` is longer and `reserve()` makes room, so that loops store by
    position. Otherwise `data` ends at `end`, and loops append to it.

    The memory grows with the output, never by what a header claims, to at most the dictionary, 1.5 times the window, a
    block and SLACK. When these are full, the last `size` bytes are moved to the front, in place, and output that was
    not taken before is lost. This happens at most once per half a window of output, however small the blocks are. While
    memory grows without a dictionary, old and new memory together are at most two windows and four blocks, and at most
    three times the output (four times in the last step, from half a window on). If the size of the content is known and
    the content fits, it is never moved.
    """

    __slots__ = ("_half", "_limit", "_taken", "data", "dictionary_size", "end", "size", "start")

    def __init__(self, size: int, block_size: int, content_size: int | None = None, dictionary: bytes = b"") -> None:
        self.size = size
        self.data = bytearray(dictionary)
        self.end = len(dictionary)
        self.start = self.end
        """The position in `data` of the frame's first byte; negative once it has been removed, with the dictionary."""
        self.dictionary_size = self.end
        self._taken = self.end
        most = size if content_size is None else min(size, content_size)
        room = size + (size >> 1)
        if content_size is not None:
            room = min(room, content_size)
        self._half = self.end + (most >> 1)
        self._limit = self.end + room + block_size + SLACK

    def is_full(self, count: int) -> bool:
        """Return whether `reserve(count)` will move the window, which loses output that was not taken before."""
        return self.end + count + SLACK > self._limit

    def reserve(self, count: int) -> None:
        """Make room for `count` bytes and SLACK; if `is_full(count)`, keep only the last `size` bytes of output."""
        end = self.end
        data = self.data
        needed = end + count + SLACK
        if needed > self._limit:
            # Once the output is longer than the window, the dictionary is out of reach.
            kept = self.size
            source = end - kept
            _move(data, source, data, kept)
            if not JIT:
                del data[kept:]
            self.start -= source
            self.end = self._taken = kept
        elif JIT and needed > len(data):
            held = len(data)
            size = max(needed, min(2 * held, self._half) if held < self._half else self._limit)
            if size <= _JOINED:
                self.data = data + zeros(size - held)
            else:
                grown = zeros(size)
                _move(data, 0, grown, end)
                self.data = grown

    def append(self, content: bytes) -> None:
        """Append output, after `reserve()`."""
        end = self.end
        self.end = after = end + len(content)
        self.data[end:after] = content

    def since(self, position: int) -> bytes:
        """Return the output from `position` on, which must be a value that `end` has had since the last `reserve()`."""
        # Each view is released by name: without reference counting it would prevent `data` from being resized.
        with memoryview(self.data) as view, view[position : self.end] as output:
            return bytes(output)

    def take(self) -> bytes:
        """Return the output since the last `take()`, `drop()` or move; later calls do not return it again."""
        taken, self._taken = self._taken, self.end
        return self.since(taken) if taken < self.end else b""

    def drop(self) -> None:
        """Mark all output so far as taken, so that `take()` does not return it."""
        self._taken = self.end

    def finish(self) -> bytes:
        """Return the output that has not been taken yet, as `take()` does; the window must not be used afterwards."""
        if self._taken:
            return self.take()
        # Copy everything at once: PyPy copies a part twice (from version 8 on, the whole as well).
        data = self.data
        del data[self.end :]
        self.data = bytearray()
        return bytes(data)


def _move(source: bytearray, start: int, target: bytearray, count: int) -> None:
    """Copy `source[start:start+count]` to the front of `target`, perhaps the same object, using little memory."""
    with memoryview(source) as taken, memoryview(target) as given:
        for at in range(0, count, _MOVE):
            size = min(_MOVE, count - at)
            with taken[start + at : start + at + size] as piece:
                given[at : at + size] = piece
