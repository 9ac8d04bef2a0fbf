# SPDX-License-Identifier: Apache-2.0
"""Answer "is it faster than what I use?" in the README and the report: two pictures, and a table of named libraries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench import picture
from bench.results import Row, mean, number, table

BEGIN, END = "<!-- performance:begin -->", "<!-- performance:end -->"
IMPLEMENTATIONS = ("CPython", "PyPy")


@dataclass(frozen=True)
class Use:
    """A line of the table: a group, and a pattern of its operations. peers: names of libraries as in picture.py."""

    title: str
    group: str
    peers: Sequence[str]
    operations: str = ".*"


USES = [Use(**use) for use in picture.NAMED["uses"]]


def block(rows: list[Row], folder: str = "") -> str:
    """Return the pictures of the newest CPython and PyPy, which are in `folder`, and the table of named libraries."""
    chosen = [of for of in ([row for row in rows if row.implementation == name] for name in IMPLEMENTATIONS) if of]
    shown = " ".join(f"![{picture.alternative(of[-1])}]({folder}{of[-1].name}.svg)" for of in chosen)
    lines = ([use.title, *(_libraries(use, of) for of in chosen)] for use in USES)
    libraries = table(["", *map(_heading, chosen)], (line for line in lines if any(line[1:])))
    return f"{BEGIN}\n{shown}\n\n{libraries}{END}"


def _heading(rows: list[Row]) -> str:
    name = rows[0].implementation
    return f"{name} {', '.join(row.label.removeprefix(name).strip() for row in rows)}"


def _libraries(use: Use, rows: list[Row]) -> str:
    """Return the libraries of a use that some rows have, each with the range of its means over the rows."""
    found = []
    for peer in use.peers:
        names: dict[str, None] = {}
        means = []
        for row in rows:
            named = [(cell, cell.named(peer)) for cell in row.some(use.group, use.operations)]
            names.update(dict.fromkeys(picture.short(name) for _, name in named if name is not None))
            whole = mean(cell.ratios[name] for cell, name in named if name is not None)
            means += [] if whole is None else [whole.value]
        if means:
            least, most = number(min(means)), number(max(means))
            text = least if least == most else f"{least} to {most}"
            found.append(f"{' or '.join(names)}\u00a0**{text}**")
    return "; ".join(found)


def update(rows: list[Row], page: Path, folder: str) -> bool:
    """Replace the text between the markers of a page; return whether it changed.

    Raises ValueError when a marker is missing.
    """
    text = page.read_text(encoding="utf-8")
    if BEGIN not in text or END not in text:
        raise ValueError(f"{page}: expected both markers, {BEGIN} and {END}")
    new = text.split(BEGIN, 1)[0] + block(rows, folder) + text.split(END, 1)[1]
    page.write_text(new, encoding="utf-8")
    return new != text
