# SPDX-License-Identifier: Apache-2.0
"""A progress bar on standard error, for people who wait for a large file."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

import click

if TYPE_CHECKING:
    from rich.progress import Progress

LARGE: Final = 4 * 2**20
"""Input of fewer bytes is done before anybody could read a bar."""


def _is_visible(quiet: bool) -> bool:
    """Return whether standard error is a terminal on which a bar can be drawn, and one is wanted."""
    return not quiet and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


@contextlib.contextmanager
def rounds(quiet: bool) -> Iterator[Callable[[str, int, int], None]]:
    """Yield a function that shows the next step, its number and how many there are."""
    if not _is_visible(quiet):
        yield lambda name, number, count: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda name, number, count: bar.update(task, description=name, completed=number, total=count)


class Bar:
    """
    Show how far a command has come through its stages, each of which passes over all bytes of the input.

    Appears only if standard error is a terminal and once `size` (or what came in, if it is None) reaches LARGE.
    """

    def __init__(self, stages: int, size: int | None, *, quiet: bool = False) -> None:
        self._stages = stages
        self._size = size
        self._stage = -1
        self._name = ""
        self._visible = _is_visible(quiet)
        self._progress: Progress | None = None
        self._task: Any = None

    def close(self) -> None:
        """Take the bar away."""
        if self._progress is not None:
            self._progress.stop()

    def stage(self, name: str) -> None:
        """Begin the next stage."""
        self._stage += 1
        self._name = name
        self.at(0)

    def say(self, text: str) -> None:
        """Print a line on standard error, above the bar if there is one."""
        if self._progress is None:
            click.echo(text, err=True)
        else:
            self._progress.console.print(text, markup=False, highlight=False, soft_wrap=True)

    def sized(self, size: int) -> None:
        """Set the size of the input, if it was not known before it was read."""
        self._size = size

    def at(self, done: int) -> None:
        """Show how many bytes of the input the present stage has passed over."""
        if not self._visible or max(self._size or 0, done) < LARGE:
            return
        if self._progress is None:
            from rich.console import Console
            from rich.progress import (
                BarColumn,
                Progress,
                TaskProgressColumn,
                TextColumn,
                TimeElapsedColumn,
                TimeRemainingColumn,
                TransferSpeedColumn,
            )

            columns = [TextColumn("{task.description}"), BarColumn(), TransferSpeedColumn(), TimeElapsedColumn()]
            if self._size is not None:
                columns[2:2] = [TaskProgressColumn()]
                columns += [TextColumn("left"), TimeRemainingColumn()]
            self._progress = Progress(*columns, console=Console(stderr=True), transient=True)
            self._task = self._progress.add_task(self._name, total=None)
            self._progress.start()
        if self._size is None:
            self._progress.update(self._task, description=self._name, completed=done, refresh=True)
        else:
            # Painted here and now: the thread that refreshes the bar gets no turn inside one long call.
            completed = self._stage * self._size + min(done, self._size)
            total = self._stages * self._size
            self._progress.update(self._task, description=self._name, completed=completed, total=total, refresh=True)
