# SPDX-License-Identifier: Apache-2.0
"""
The window: what matches may copy from, that is the last bytes of output and before them the dictionary's content
(RFC 8878 section 3.1.1.1.2, "Window_Descriptor").
"""

from __future__ import annotations

from purepy.base.pypy import JIT, zeros
from purepy.zstd.format.rules import BLOCK_SIZE_MAX

SLACK = 32
"""Bytes beyond a block's end that a loop may write while it copies whole words."""


_MOVE = 1 << 16
"""Bytes moved at a time."""

_JOINED = 4 * BLOCK_SIZE_MAX
"""Up to this size memory grows by a sum, which PyPy copies ten times as fast, but has twice for a moment."""


class Window:
    """
    The output of one frame, kept as far back as the format lets it refer, and as long as nobody took it.

    `data[:end]` is the history. For a JIT `data` is longer than that and `reserve()` makes room, so that loops store
    by position; otherwise it ends at `end` and loops append.

    It grows with the output, never by what a header claims, to at most 1.5 times the window and a block; then the
    last window is moved to the front, in place. That happens once per half a window of output at least, however small
    the blocks are. Old and new memory together are at most two windows and four blocks while it grows, and three times
    the output; four times in the last step, from half a window on. Content of a known size that fits is never moved.
    """

    __slots__ = ("_half", "_limit", "_taken", "data", "dictionary_size", "end", "size", "start")

    def __init__(self, size: int, block_size: int, content_size: int | None = None, dictionary: bytes = b"") -> None:
        self.size = size
        self.data = bytearray(dictionary)
        self.end = len(dictionary)
        self.start = self.end
        """Position of the first byte of output, while it is still here; it shows whether the dictionary is in reach."""
        self.dictionary_size = self.end
        self._taken = self.end
        most = size if content_size is None else min(size, content_size)
        room = size + (size >> 1)
        if content_size is not None:
            room = min(room, content_size)
        self._half = self.end + (most >> 1)
        self._limit = self.end + room + block_size + SLACK

    def is_full(self, count: int) -> bool:
        """Whether `reserve(count)` is going to move: what was not taken before is lost then."""
        return self.end + count + SLACK > self._limit

    def reserve(self, count: int) -> None:
        """Make room for `count` bytes and SLACK."""
        end = self.end
        data = self.data
        needed = end + count + SLACK
        if needed > self._limit:
            # The dictionary is out of reach once the output is longer than the window.
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
        """Add to the output, after `reserve()`."""
        end = self.end
        self.end = after = end + len(content)
        self.data[end:after] = content

    def since(self, position: int) -> bytes:
        """Return the output from `position` (an earlier `end` since the last `reserve()`) on."""
        # Each view is let go by name: without counted references it would keep `data` from being resized.
        with memoryview(self.data) as view, view[position : self.end] as output:
            return bytes(output)

    def take(self) -> bytes:
        """Return the output that was not taken yet."""
        taken, self._taken = self._taken, self.end
        return self.since(taken) if taken < self.end else b""

    def drop(self) -> None:
        """Take the output without returning it."""
        self._taken = self.end

    def finish(self) -> bytes:
        """Return what is left to take, and end the window's use."""
        if self._taken:
            return self.take()
        # All of it in one copy: of a part PyPy makes two (from 8 on of all of it as well).
        data = self.data
        del data[self.end :]
        self.data = bytearray()
        return bytes(data)


def _move(source: bytearray, start: int, target: bytearray, count: int) -> None:
    """Copy `source[start:start+count]` to the front of `target` with little memory; they may be the same object."""
    with memoryview(source) as taken, memoryview(target) as given:
        for at in range(0, count, _MOVE):
            size = min(_MOVE, count - at)
            with taken[start + at : start + at + size] as piece:
                given[at : at + size] = piece
