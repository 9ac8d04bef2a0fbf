# SPDX-License-Identifier: Apache-2.0
"""The goals of the project as a table: each figure that was promised, per row, beside what was wanted of it.

How far cpkg is from a limit (libzstd's own figure, unpacking in one piece, a file decompressed whole) stands here, and
so do the comparisons with a chosen peer that the overview, which takes the fastest, does not show.
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
    """One line of goals.json: pairs of figures of ours, in one group, and what the ratio has to be.

    operations, rows, case: patterns of whole names. One of three says what ours is held against: `against`, how many
    times faster than the fastest of these libraries (of the same format) it is; `elsewhere`, than msgpack in this row;
    `instead`, as what multiple of the figure that differs in this part (of a case, a word by another).
    worst: judge the worst case, not the mean. limit: the second figures are a limit, so that a ratio well below 1 says
    that these are of something else.
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
        """Whether more is better, as in "times faster"; otherwise `wanted` is the most that the ratio may be."""
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
        """Show one row's figure, coloured by whether it is what was wanted."""
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
    """Make the table: a line per goal that any row has figures for."""
    found = model.Table(
        "How far from the goals and the limits",
        ["goal", "wanted", *(row.name for row in rows)],
        caption="Times faster than the library named, or as a multiple of a limit: then 1.00 is the limit itself. "
        "Green is what was wanted, neutral within 5 % of it. Rows for which a goal was not set have no figure.",
    )
    for goal in GOALS:
        shown = [goal.shown(row, rows) for row in rows]
        if any(cell.text for cell in shown):
            wanted = f"at {'least' if goal.least else 'most'} {goal.wanted:.3g}"
            found.lines.append([model.Shown(goal.label), model.Shown(wanted), *shown])
    return found
