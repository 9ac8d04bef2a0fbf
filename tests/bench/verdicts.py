# SPDX-License-Identifier: Apache-2.0
"""Verdict lines of the file group: "X is N times slower/faster on A than on B", for any two rows or libraries."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bench.results import Cell, Key, Row

GROUP = "File input and output"
LEVEL = 1.10  # closer than this is neither slower nor faster
# If four times the data take more than this times the time, the time grows faster than the file.
SUPERLINEAR = 6.0


@dataclass(frozen=True)
class Side:
    """One side of a verdict: a row and a library in it."""

    row: Row
    library: str

    def __str__(self) -> str:
        return f"{self.library} on {self.row.name}"


def sentence(name: str, a: Cell, b: Cell, sides: tuple[str, str]) -> str:
    """Describe how the speed of a compares with that of b."""
    ratio = a.value / b.value
    if max(ratio, 1 / ratio) < LEVEL:
        said = f"as fast on {sides[0]} as on {sides[1]} ({ratio:.2f})"
    elif ratio > 1:
        said = f"{ratio:.2f} times slower on {sides[0]} than on {sides[1]}"
    else:
        said = f"{1 / ratio:.2f} times faster on {sides[0]} than on {sides[1]}"
    if a.noisy or b.noisy:
        said += f"   NOISY (spread {max(a.noise, b.noise):.0%} between processes, run again)"
    return f"{name} is {said}"


def between(a: Side, b: Side) -> Iterator[str]:
    """Return one line for each case that both sides have."""
    names = (str(a), str(b))
    if a.library == b.library:
        names = (a.row.name, b.row.name)
    elif a.row.name == b.row.name:
        names = (a.library, b.library)
    for key, cell in a.row.cells.items():
        if key.group != GROUP or key.library != a.library:
            continue
        other = b.row.cells.get(Key(GROUP, key.case, key.operation, b.library))
        if other is not None:
            yield sentence(key.case, cell, other, names)


def growth(row: Row) -> Iterator[str]:
    """Return one line for each case whose time grows faster than its file."""
    for key, cell in row.cells.items():
        if key.group != GROUP or " x4)" not in key.case:
            continue
        single = row.cells.get(key._replace(case=key.case.replace(" x4)", ")")))
        if single is not None and cell.value / single.value > SUPERLINEAR:
            ratio = cell.value / single.value
            yield f"{key.case} with {key.library}: 4 times the size takes {ratio:.1f} times as long   SUPERLINEAR"
