# SPDX-License-Identifier: Apache-2.0
"""Compare two folders of results: what became slower or faster beyond noise, and by how much.

Every figure is first divided by the control of its own run, so that another machine or a busy hour raises no false
alarm. A cell has changed if the quotient leaves the limit plus the noise of both figures; it is not judged if one of
them could not be repeated within its run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.results import Cell, Key, Row, control_ratio, read_folder

LIMIT = 0.15

OK, REGRESSION, FASTER, NOISY, MISSING, OTHER = "ok", "REGRESSION", "faster", "NOISY", "MISSING", "OTHER DATA"


@dataclass
class Change:
    """One cell in both folders. ratio: new to old after the control (above 1: slower)."""

    row: str
    key: Key
    verdict: str
    ratio: float | None = None
    raw: float | None = None
    allowed: float | None = None

    def __str__(self) -> str:
        name = f"[{self.row}] {self.key.group}, {self.key.case}, {self.key.operation} ({self.key.library})"
        if self.ratio is None or self.raw is None or self.allowed is None:
            why = "was measured in OLD, has no figure in NEW" if self.verdict == MISSING else "not of the same bytes"
            return f"{name} => {why}   {self.verdict}"
        times = f"{self.ratio:.3f} times slower" if self.ratio >= 1 else f"{1 / self.ratio:.3f} times faster"
        return f"{name} => {times} (limit {self.allowed:.2f}, unadjusted {self.raw:.3f})   {self.verdict}"


def judge(row: str, old: Cell, new: Cell, machine: float) -> Change:
    """Compare one figure with its predecessor. machine: how many times slower the machine was for the new figure."""
    if old.info.get("data") != new.info.get("data"):
        return Change(row, new.key, OTHER)
    raw = new.value / old.value if old.value else 1.0
    # bytes do not depend on how busy the machine is
    ratio = raw if new.unit == "bytes" else raw / machine
    allowed = 1 + LIMIT + old.noise + new.noise
    if ratio > allowed:
        verdict = NOISY if old.noisy or new.noisy else REGRESSION
    elif ratio < 1 / allowed:
        verdict = NOISY if old.noisy or new.noisy else FASTER
    else:
        verdict = OK
    return Change(row, new.key, verdict, ratio, raw, allowed)


def changes(old: list[Row], new: list[Row]) -> Iterator[Change]:
    """Compare every cpkg cell in the rows of OLD.

    A cell that is in OLD but not in NEW is MISSING: a row that was not run must not pass as unchanged.
    """
    later = {row.name: row for row in new}
    for row in old:
        other = later.get(row.name)
        machine = control_ratio(other, row) if other is not None else 1.0
        for key, cell in row.cells.items():
            if not cell.ours:
                continue
            match = other.cells.get(key) if other is not None else None
            yield Change(row.name, key, MISSING) if match is None else judge(row.name, cell, match, machine)


def compare(old: Path, new: Path, allow_missing: bool = False) -> int:
    """Print what changed beyond noise; return the exit code: 1 on a regression or a missing figure.

    The code is 2 if nothing could be compared at all.
    """
    found = list(changes(read_folder(old), read_folder(new)))
    counts = dict.fromkeys((OK, FASTER, REGRESSION, NOISY, OTHER, MISSING), 0)
    for change in found:
        counts[change.verdict] += 1
    order = (REGRESSION, MISSING, OTHER, NOISY, FASTER, OK)
    for change in sorted(found, key=lambda c: (order.index(c.verdict), -(c.ratio or 0))):
        if change.verdict != OK:
            print(change)
    print(f"==Verdict== {len(found)} figures: " + ", ".join(f"{count} {verdict}" for verdict, count in counts.items()))
    if counts[REGRESSION] or (counts[MISSING] and not allow_missing):
        return 1
    return 0 if counts[OK] or counts[FASTER] else 2
