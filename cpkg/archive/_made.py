# SPDX-License-Identifier: Apache-2.0
"""Model a frame that was made."""

from __future__ import annotations

from array import array
from typing import Any, NamedTuple

from cpkg.archive._result import Problem


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
