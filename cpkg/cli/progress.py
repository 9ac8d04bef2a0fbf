# SPDX-License-Identifier: Apache-2.0
"""A progress line on standard error, for work on large files."""

from __future__ import annotations

import contextlib
import os
import sys
from time import monotonic as clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

LARGE: Final = 4 * 2**20
"""A bar is shown from this many bytes of input; with less input, nobody could read the bar in time."""
_REFRESH = 0.15
_WIDTH = 79
_BAR = 20


class StatusLine:
    """Text on standard error that replaces the text shown before. Shows nothing if standard error is closed."""

    def __init__(self) -> None:
        self._shown = False
        self._next = 0.0

    def write(self, text: str) -> None:
        """Write text unchanged."""
        with contextlib.suppress(OSError, ValueError, AttributeError):
            sys.stderr.write(text)
            sys.stderr.flush()

    def show(self, text: str, *, at_once: bool = False) -> None:
        """Show the first 79 characters of a text; without `at_once`, skip it if the last text is too recent."""
        now = clock()
        if at_once or now >= self._next:
            self._next = now + _REFRESH
            self.write("\r" + text[:_WIDTH].ljust(_WIDTH) + "\r")
            self._shown = True

    def clear(self) -> None:
        """Remove the text."""
        if self._shown:
            self._shown = False
            self.write("\r" + " " * _WIDTH + "\r")


class Bar:
    """
    Shows the progress of a command through its stages, each of which processes all bytes of the input.

    The bar appears only on a terminal, once `size` (or the bytes processed, if `size` is None) reaches LARGE.
    """

    def __init__(self, stages: int, size: int | None, *, quiet: bool = False) -> None:
        self._stages = stages
        self._size = size
        self._stage = -1
        self._name = ""
        self._visible = not quiet and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._line = StatusLine()
        self._start = clock()

    def close(self) -> None:
        """Remove the bar."""
        self._line.clear()

    def stage(self, name: str) -> None:
        """Begin the next stage, whose name the bar shows."""
        self._stage += 1
        self._name = name
        self.at(0, at_once=True)

    def say(self, text: str) -> None:
        """Print a line on standard error, above the bar if there is one."""
        self._line.clear()
        self._line.write(text + "\n")

    def sized(self, size: int) -> None:
        """Set the size of the input in bytes, now that it is known; replaces an earlier size."""
        self._size = size

    def show(self, text: str, *, at_once: bool = False) -> None:
        """Show a text instead of the bar, if standard error is a terminal and the command is not `quiet`."""
        if self._visible:
            self._line.show(text, at_once=at_once)

    def at(self, done: int, *, at_once: bool = False) -> None:
        """Show that the current stage has processed `done` bytes, if the input is large enough for a bar."""
        if max(self._size or 0, done) < LARGE:
            return
        seconds = clock() - self._start
        part = ends = ""
        if self._size is not None:
            done = self._stage * self._size + min(done, self._size)
            total = self._stages * self._size
            part = f"[{'#' * (_BAR * done // total):<{_BAR}}] {100 * done // total:3}% "
            ends = f" left {_clock(seconds * (total - done) / done)}" if done else ""
        speed = done / seconds / 1e6 if seconds else 0.0
        self.show(f"{self._name} {part}{speed:.1f} MB/s {_clock(seconds)}{ends}", at_once=at_once)


def _clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"
