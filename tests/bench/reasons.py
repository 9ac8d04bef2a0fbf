# SPDX-License-Identifier: Apache-2.0
"""Why another library is faster in a cell, if known: the report shows the reason beside the cell."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

from bench.results import Cell

NEAR = 1.05
"""cpkg is at a limit if it takes less than this multiple of the limit."""


@dataclass(frozen=True)
class Reason:
    """One explanation. Each pattern must match the whole name; `library` is the faster one.

    at_limit: the explanation applies only if cpkg takes no longer than the limit of the cell.
    """

    text: str
    group: str
    operation: str = ".*"
    case: str = ".*"
    library: str = ".*"
    at_limit: bool = False

    def explains(self, cell: Cell, library: str) -> bool:
        """Whether the explanation applies to a cell in which `library` is faster."""
        patterns = (self.group, self.case, self.operation, self.library)
        limits = [cell.ratios[name].value for name in cell.figures.limits if name in cell.ratios]
        near = not self.at_limit or any(1 / limit < NEAR for limit in limits)
        return near and all(map(re.fullmatch, patterns, (*cell.subject, library)))


# The first match is used
REASONS = [Reason(**entry) for entry in json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))]


def why(cell: Cell, library: str) -> str | None:
    """Return why `library` is faster than cpkg there, or None if unknown."""
    return next((reason.text for reason in REASONS if reason.explains(cell, library)), None)
