# SPDX-License-Identifier: Apache-2.0
"""Why something else is faster in a cell, where that is known: the report says it beside the cell."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

from bench.results import Comparison

NEAR = 1.05
"""Ours is at a limit if it takes less than this multiple of it."""


@dataclass(frozen=True)
class Reason:
    """One explanation. Each pattern has to match its whole name; `library` is what is faster.

    at_limit: holds only where ours takes what the limit of the cell does.
    """

    text: str
    group: str
    operation: str = ".*"
    case: str = ".*"
    library: str = ".*"
    at_limit: bool = False

    def explains(self, comparison: Comparison, library: str) -> bool:
        """Whether it holds for a comparison in which `library` is faster."""
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


# The first that fits is taken
REASONS = [Reason(**entry) for entry in json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))]


def why(comparison: Comparison, library: str) -> str | None:
    """Return why `library` is faster than ours there, or None where nobody has found out."""
    return next((reason.text for reason in REASONS if reason.explains(comparison, library)), None)
