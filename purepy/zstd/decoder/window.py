# SPDX-License-Identifier: Apache-2.0
"""
The window: what matches may copy from, that is the last bytes of output and before them the dictionary's content
(RFC 8878 section 3.1.1.1.2, "Window_Descriptor").
"""

from __future__ import annotations

from purepy._jit import JIT

SLACK = 32
"""Bytes beyond a block's end that a loop may write while it copies whole words."""


_MOVE = 1 << 16
"""Bytes moved at a time."""


class Window:
    """
    The output of one frame, kept as far back as the format lets it refer.

    `data[:end]` is the history. For a JIT `data` is longer than that and `reserve()` makes room, so that loops store
    by position; otherwise it ends at `end` and loops append.

    It grows with the output, never by what a header claims, to at most 1.75 times the window and a block; then the
    last window is moved to the front, in place. That happens once per 0.75 windows of output at least, however small
    the blocks are, and with the largest step of growth no more than two windows are held at any time.
    """

    __slots__ = ("_limit", "data", "dictionary_size", "end", "size", "start")

    def __init__(self, size: int, block_size: int, dictionary: bytes = b"") -> None:
        self.size = size
        self.data = bytearray(dictionary)
        self.end = len(dictionary)
        self.start = self.end
        """Position of the first byte of output, while it is still here; it shows whether the dictionary is in reach."""
        self.dictionary_size = self.end
        self._limit = self.end + size + (size * 3 >> 2) + block_size + SLACK

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
            self.end = kept
        elif JIT and needed > len(data):
            size = max(needed, 2 * len(data))
            if size > self._limit >> 3:
                size = self._limit
            # Not bytearray(size), which takes twice the memory on PyPy 7.3.
            grown = bytearray(1) * size
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


def _move(source: bytearray, start: int, target: bytearray, count: int) -> None:
    """Copy `source[start:start+count]` to the front of `target` with little memory; they may be the same object."""
    with memoryview(source) as taken, memoryview(target) as given:
        for at in range(0, count, _MOVE):
            size = min(_MOVE, count - at)
            with taken[start + at : start + at + size] as piece:
                given[at : at + size] = piece
