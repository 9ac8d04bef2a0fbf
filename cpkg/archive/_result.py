# SPDX-License-Identifier: Apache-2.0
"""The results of archiving and extracting: summaries, problems and warnings."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import NamedTuple


class ArchiveWarning(UserWarning):
    """A file changed while it was archived or was left out, or a pattern matched nothing in an archive."""

    __module__ = "cpkg.archive"  # where callers find it


class Problem(NamedTuple):
    """
    A problem with one entry, described by `message`.

    `error` is raised if the caller has no `on_problem`; if it is None, the problem only gives an ArchiveWarning. `name`
    is "" if an archive is damaged before its first entry.
    """

    name: str
    message: str
    error: Exception | None = None

    def __str__(self) -> str:
        return f"{self.name}: {self.message}" if self.name else self.message


class Summary(NamedTuple):
    """
    The result of a call: the number of `entries`, `size`, `compressed_size` and `problems`.

    `size` is the uncompressed size with headers; both sizes are in bytes.
    """

    entries: int
    size: int
    compressed_size: int
    problems: list[Problem]


class Problems:
    """
    Collects problems and reports them to the caller.

    With `on_problem`, each problem is passed to it and the work continues. Without it, a problem with an error raises
    the error, and any other problem gives an ArchiveWarning.
    """

    def __init__(self, on_problem: Callable[[Problem], object] | None) -> None:
        self._on_problem = on_problem
        self.found: list[Problem] = []

    def add(self, problem: Problem) -> None:
        """Pass a problem to `on_problem`; without that, raise its error or give an ArchiveWarning."""
        self.found.append(problem)
        if self._on_problem is not None:
            self._on_problem(problem)
        elif problem.error is not None:
            raise problem.error
        else:
            warnings.warn(str(problem), ArchiveWarning, stacklevel=4)
