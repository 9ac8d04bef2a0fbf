# SPDX-License-Identifier: Apache-2.0
"""A base of what makes frames, and the model of a frame that was made."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import Any, NamedTuple

from cpkg.archive._result import Problem, Problems
from cpkg.archive._settings import CreateSettings
from purepy.tar.entry import Entry


class Create:
    """Base of both engines of `create`; `entries` counts what was archived."""

    def __init__(
        self, settings: CreateSettings, problems: Problems, on_entry: Callable[[Entry], object] | None
    ) -> None:
        self._settings = settings
        self._problems = problems
        self._on_entry = on_entry
        self.entries = 0


class MadeFrame(NamedTuple):
    """
    A frame, how much content it has, what went wrong while files were read, and the memory that it lies in.

    `members` are the numbers of its names (purepy/tar/members.py), `is_continued` says that it begins within an entry.
    `entries` counts what was archived with it, where the walk has not counted them.
    """

    data: Any
    size: int
    problems: list[Problem]
    members: array[int]
    is_continued: bool
    memory: Any = None
    entries: int = 0
