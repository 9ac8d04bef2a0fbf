# SPDX-License-Identifier: Apache-2.0
"""The results of archiving and extracting: summaries, problems and warnings."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import NamedTuple


class ArchiveWarning(UserWarning):
    """A file was left out of an archive or changed while it was archived, or a pattern matched nothing."""

    __module__ = "cpkg.archive"  # where callers find it


class Problem(NamedTuple):
    """
    A problem with one entry or pattern, described by `message`.

    If the caller has no `on_problem`, `error` is raised or, if it is None, an ArchiveWarning is given. `name` is the
    name of the entry, or the pattern of `include` that matched nothing. For damage, `name` is the entry whose header
    was read last, "" if there is none.
    """

    name: str
    message: str
    error: Exception | None = None

    def __str__(self) -> str:
        return f"{self.name}: {self.message}" if self.name else self.message


class Summary(NamedTuple):
    """
    The result of a call: the number of `entries`, the sizes in bytes, and the list of `problems`.

    `size` is the size of the uncompressed content with headers. If `extract` left out frames by the seek table, `size`
    does not count these frames, but `compressed_size` does.
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
        """Record a problem, then pass it to `on_problem`; without that, raise its error or, if None, give a warning."""
        self.found.append(problem)
        if self._on_problem is not None:
            self._on_problem(problem)
        elif problem.error is not None:
            raise problem.error
        else:
            warnings.warn(str(problem), ArchiveWarning, stacklevel=4)
