# SPDX-License-Identifier: Apache-2.0
"""Model a frame that was made."""

from __future__ import annotations

from typing import Any, NamedTuple

from cpkg.archive._result import Problem


class MadeFrame(NamedTuple):
    """A frame, how much content it has, what went wrong while files were read, and the memory that it lies in."""

    data: Any
    size: int
    problems: list[Problem]
    memory: Any = None
