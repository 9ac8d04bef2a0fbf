# SPDX-License-Identifier: Apache-2.0
"""Why another library is faster in a cell, if known: the report shows the reason beside the cell."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

from bench.results import Comparison

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

    def explains(self, comparison: Comparison, library: str) -> bool:
        """Whether the explanation applies to a comparison in which `library` is faster."""
        named = (
            (self.group, comparison.group),
            (self.operation, comparison.operation),
            (self.case, comparison.case),
            (self.library, library),
        )
        if not all(re.fullmatch(pattern, name) for pattern, name in named):
            return False
        limits = [cell.value for cell in comparison.cells.values() if cell.limit]
        ours = comparison.ours
        return not self.at_limit or (ours is not None and any(ours.value < NEAR * limit for limit in limits))


# The first match is used
REASONS = [Reason(**entry) for entry in json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))]


def why(comparison: Comparison, library: str) -> str | None:
    """Return why `library` is faster than cpkg there, or None if unknown."""
    return next((reason.text for reason in REASONS if reason.explains(comparison, library)), None)
