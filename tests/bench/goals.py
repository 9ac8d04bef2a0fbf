# SPDX-License-Identifier: Apache-2.0
"""The goals of the project as a table: each promised figure, per row, beside its target.

The table shows how far cpkg is from a limit (libzstd's own figure, unpacking in one piece, a file decompressed whole),
and comparisons with a chosen peer that the overview, which uses the fastest, does not show.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

from bench import model
from bench.results import Cell, Row, geometric_mean


@dataclass(frozen=True)
class Goal:
    """One line of goals.json: pairs of cpkg's figures, in one group, and the target for the ratio.

    operations, rows, case: patterns of whole names. One of three keys names the other side of the ratio: `against`, the
    fastest of these libraries (of the same format); `elsewhere`, msgpack in this row; `instead`, the cpkg figure that
    differs in this part (of a case, one word by another).
    worst: judge the worst case, not the mean. limit: the second figures are a limit, so that a ratio far below 1 shows
    that they measure something else.
    """

    label: str
    wanted: float
    group: str
    operations: str
    rows: str = ".*"
    case: str = ".*"
    against: str = ""
    elsewhere: str = ""
    instead: dict[str, str | list[str]] | None = None
    worst: bool = False
    limit: bool = False

    @property
    def least(self) -> bool:
        """Whether larger is better, as in "times faster"; otherwise `wanted` is the largest acceptable ratio."""
        return self.instead is None

    def pairs(self, row: Row, rows: list[Row]) -> list[tuple[Cell, Cell]]:
        """Return the figures of one row that are divided."""
        found = []
        for comparison in row.comparisons(self.group) if re.fullmatch(self.rows, row.name) else ():
            ours, operation = comparison.ours, re.fullmatch(self.operations, comparison.operation)
            if ours is None or comparison.copy or not operation or not re.fullmatch(self.case, comparison.case):
                continue
            if self.instead is not None:
                changes = {
                    part: value if isinstance(value, str) else ours.key.case.replace(*value)
                    for part, value in self.instead.items()
                }
                other = row.cells.get(ours.key._replace(**changes))
                found += [] if other is None else [(ours, other)]
            elif self.elsewhere:
                key = ours.key._replace(library="msgpack")
                others = [
                    each.cells[key] for each in rows if re.fullmatch(self.elsewhere, each.name) and key in each.cells
                ]
                found += [(other, ours) for other in others[:1]]
            else:
                others = [cell for cell in comparison.alternatives if re.fullmatch(self.against, cell.key.library)]
                found += [(other, ours) for other in sorted(others, key=lambda cell: cell.value)[:1]]
        return found

    def shown(self, row: Row, rows: list[Row]) -> model.Shown:
        """Show one row's figure, with a colour for whether it reaches its target."""
        pairs = self.pairs(row, rows)
        ratios = [a.value / b.value for a, b in pairs if b.value]
        if not ratios:
            return model.Shown("")
        worst = min(ratios) if self.least else max(ratios)
        value = worst if self.worst else geometric_mean(ratios)
        assert value is not None
        met = value >= self.wanted if self.least else value <= self.wanted
        near = model.EVEN if abs(value / self.wanted - 1) <= model.LEVEL else model.BAD
        tone = model.GOOD if met else near
        text = f"{value:.2f}"
        if self.limit and value < 1 - model.LEVEL:
            tone, text = model.EVEN, f"{text}, below the limit"
        noisy = sum(a.noisy or b.noisy for a, b in pairs)
        note = f"{len(ratios)} cases, the worst {worst:.2f}, {noisy} noisy"
        return model.Shown(text, tone, noisy=2 * noisy > len(ratios), note=note)


GOALS = [Goal(**entry) for entry in json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))]


def table(rows: list[Row]) -> model.Table:
    """Return the table: a line per goal that any row has figures for."""
    found = model.Table(
        "Goals and limits",
        ["goal", "wanted", *(row.name for row in rows)],
        caption="The number of times that cpkg is faster than the named library, or a multiple of a limit, where 1.00 "
        "is the limit. Green: the goal is reached; neutral: within 5 % of it. Rows without this goal have no figure.",
    )
    for goal in GOALS:
        shown = [goal.shown(row, rows) for row in rows]
        if any(cell.text for cell in shown):
            wanted = f"at {'least' if goal.least else 'most'} {goal.wanted:.3g}"
            found.lines.append([model.Shown(goal.label), model.Shown(wanted), *shown])
    return found
