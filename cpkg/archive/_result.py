# SPDX-License-Identifier: Apache-2.0
"""What was done, and what went wrong on the way."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import NamedTuple


class ArchiveWarning(UserWarning):
    """A file changed while it was archived, or was left out."""

    __module__ = "cpkg.archive"  # where callers find it


class Problem(NamedTuple):
    """
    What went wrong with one entry, in a `message`; `error` is None where the entry is in the archive, though changed.

    The name is "" where an archive is damaged before its first entry.
    """

    name: str
    message: str
    error: Exception | None = None

    def __str__(self) -> str:
        return f"{self.name}: {self.message}" if self.name else self.message


class Summary(NamedTuple):
    """
    What was written or read: `entries`, bytes of content with headers (`size`), `compressed_size`, and `problems`.
    """

    entries: int
    size: int
    compressed_size: int
    problems: list[Problem]


class Problems:
    """
    Collects problems and reports them to the caller.

    With `on_problem` each goes there and the work continues. Without it an error is raised, and anything else is an
    ArchiveWarning.
    """

    def __init__(self, on_problem: Callable[[Problem], object] | None) -> None:
        self._on_problem = on_problem
        self.found: list[Problem] = []

    def add(self, problem: Problem) -> None:
        """Report a problem; raises its error if the caller has no `on_problem`."""
        self.found.append(problem)
        if self._on_problem is not None:
            self._on_problem(problem)
        elif problem.error is not None:
            raise problem.error
        else:
            warnings.warn(str(problem), ArchiveWarning, stacklevel=4)
