# SPDX-License-Identifier: Apache-2.0
"""Compare two folders of results: how cpkg changed, measured by the libraries that both runs have.

Both runs have the ratio of cpkg to each library. If cpkg becomes slower, all ratios of the cell fall alike, whatever
the machine. So a cell's change is the median over the libraries whose version is the same in both.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from bench.results import Cell, Row, read_folder
from bench.turns import Ratio

LIMIT = 1.03
"""A smaller change is not reported."""

SLOWER, FASTER, REGRESSION, MISSING = "slower", "faster", "REGRESSION", "MISSING"


@dataclass
class Change:
    """One cell of both folders. ratio: how many times as fast cpkg is as it was; verdict: empty if nothing changed."""

    row: str
    subject: tuple[str, ...]
    verdict: str
    ratio: Ratio | None = None

    def __str__(self) -> str:
        name = f"{self.verdict}: {self.row}: {', '.join(self.subject)}"
        if self.ratio is None:
            return f"{name}: was measured in OLD, has no figure in NEW"
        value, high, low = (1 / each for each in self.ratio)
        return f"{name}: takes {value:.2f} times as long as before ({low:.2f} to {high:.2f})"


def quotient(new: Ratio, old: Ratio) -> Ratio:
    """Return the change from one ratio to another, with its 95 % interval."""
    value, half = new.value / old.value, math.hypot(new.half, old.half)
    return Ratio(value, value * math.exp(-half), value * math.exp(half))


def judge(row: str, old: Cell, new: Cell, same: set[str]) -> Change:
    """Compare a cell with its predecessor. same: the libraries that have the same version in both runs."""
    found = [quotient(new.ratios[name], old.ratios[name]) for name in old.ratios if name in new.ratios and name in same]
    if not found:
        return Change(row, new.subject, "")
    ratio = sorted(found)[(len(found) - 1) // 2]
    if ratio.high < 1 / LIMIT:
        return Change(row, new.subject, REGRESSION, ratio)
    beyond = not ratio.level and not 1 / LIMIT <= ratio.value <= LIMIT
    return Change(row, new.subject, (SLOWER if ratio.value < 1 else FASTER) if beyond else "", ratio)


def changes(old: list[Row], new: list[Row]) -> list[Change]:
    """Compare the rows that both have, the worst change first. A cell that only OLD has is MISSING."""
    later = {row.name: row for row in new}
    found = []
    for row in old:
        if row.name in later:
            cells = {cell.subject: cell for cell in later[row.name].cells if cell.value is not None}
            same = {name for name, _ in _versions(row) & _versions(later[row.name])}
            for cell in row.cells:
                if cell.value is not None:
                    there = cells.get(cell.subject)
                    missing = Change(row.name, cell.subject, MISSING)
                    found.append(missing if there is None else judge(row.name, cell, there, same))
    return sorted(found, key=lambda change: change.ratio or Ratio(0, 0, 0))


def _versions(row: Row) -> set[tuple[str, str | None]]:
    """Return the libraries with their versions. What is no package (a codec and `zlib` combined) has none."""
    versions = {peer["name"]: peer.get("version") for peer in row.matrix["peers"]}
    return {(name, versions.get(name)) for cell in row.cells for name in cell.ratios}


def compare(old: Path, new: Path, allow_missing: bool = False) -> int:
    """Print what changed; return the exit code: 1 on a regression or a missing cell, 2 if nothing can be compared."""
    before, after = read_folder(old), read_folder(new)
    gone = {row.name for row in before} - {row.name for row in after}
    found = changes(before, after) + [Change(name, ("the whole row",), MISSING) for name in sorted(gone)]
    for change in found:
        if change.verdict:
            print(change)
    counts = {name: sum(change.verdict == name for change in found) for name in (REGRESSION, SLOWER, FASTER, MISSING)}
    compared = sum(change.ratio is not None for change in found)
    print(f"{compared} cells compared: {', '.join(f'{count} {name}' for name, count in counts.items() if count)}")
    if counts[REGRESSION] or (counts[MISSING] and not allow_missing):
        return 1
    return 0 if compared else 2
