# SPDX-License-Identifier: Apache-2.0
"""
Choose what does the work: C where the native backend of Zstandard serves and nothing is asked for that needs Python.

`CPKG_ARCHIVE_BACKEND=native|pure`, or CPKG_BACKEND, names one; native is then an ImportError if it cannot load.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import Any, NamedTuple

from cpkg.archive._plan import Plan, Planner, assemble
from cpkg.archive._pure import PureCodec
from cpkg.archive._pure_extract import PureExtract
from cpkg.archive._result import Problem, Problems
from cpkg.archive._settings import CreateSettings, ExtractSettings
from cpkg.archive._walk import Member, Walker
from purepy.tar.entry import Entry


class MadeFrame(NamedTuple):
    """A frame, how much content it has, and what went wrong while files were read."""

    data: Any
    size: int
    problems: list[Problem]


class PureCreate:
    """Walks and reads in Python, and compresses by `cpkg.zstd`."""

    def __init__(
        self, settings: CreateSettings, problems: Problems, on_entry: Callable[[Entry], object] | None
    ) -> None:
        self._settings = settings
        self._problems = problems
        self._on_entry = on_entry
        self._codec = PureCodec(settings.level)
        self.deflate = self._codec.deflate
        self.entries = 0

    def plans(self, base: str, paths: list[str], own_file: tuple[int, int] | None) -> Generator[Plan, None, None]:
        """Yield the plans of all frames."""
        walker = Walker(self._settings, self._problems, own_file)
        yield from Planner(self._settings.frame_size, self._problems).plans(self._told(walker.walk(base, paths)))

    def _told(self, members: Iterator[Member]) -> Iterator[Member]:
        for member in members:
            self.entries += 1
            if self._on_entry is not None:
                self._on_entry(member.entry)
            yield member

    def carry_out(self, plan: Plan) -> MadeFrame:
        """Make the frame of a plan; called in threads."""
        content, problems = assemble(plan)
        return MadeFrame(self._codec.deflate(content) if content else b"", len(content), problems)


def for_create(settings: CreateSettings, problems: Problems, on_entry: Callable[[Entry], object] | None) -> PureCreate:
    """Return the engine of `create`."""
    return PureCreate(settings, problems, on_entry)


def for_reading(window_log_max: int) -> PureCodec:
    """Return what decompresses."""
    return PureCodec(window_log_max=window_log_max)


def for_extract(
    settings: ExtractSettings,
    problems: Problems,
    directory: str,
    progress: Callable[[int, int], object] | None,
) -> PureExtract:
    """Return the engine of `extract`."""
    return PureExtract(settings, problems, directory, progress)
