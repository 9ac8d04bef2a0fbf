# SPDX-License-Identifier: Apache-2.0
"""Answer "is it faster than what I use?": two pictures and a line per named library, in the README and the report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench import markdown, picture
from bench.results import Row, mean, number

BEGIN, END = "<!-- performance:begin -->", "<!-- performance:end -->"
IMPLEMENTATIONS = ("CPython", "PyPy")
WITHIN = "|compression.zstd|backports.zstd"


@dataclass(frozen=True)
class Use:
    """What people use a library for: a group, and patterns of its operations and cases. peers: as in picture.py."""

    title: str
    group: str
    peers: Sequence[str]
    operations: str = ".*"
    cases: str = ".*"


USES = (
    Use("MessagePack", "MessagePack", ("msgpack|msgpack fallback", "ormsgpack", "msgspec")),
    Use("messages into classes and back", "Typed", ("msgspec", "mashumaro", "cattrs", "pydantic", "pickle")),
    Use("Zstandard in one call", "Zstandard one-shot", ("zstandard", "compression.zstd|backports.zstd", "pyzstd")),
    Use("Zstandard files", "File input and output", ("compression.zstd|backports.zstd",)),
)


def block(rows: list[Row], folder: str = "") -> str:
    """Return the pictures of the newest CPython and PyPy, and the table of named libraries. folder: of the pictures."""
    chosen = [[row for row in rows if row.implementation == name] for name in IMPLEMENTATIONS]
    shown = " ".join(f"![{picture.alternative(of[-1])}]({folder}{of[-1].name}.svg)" for of in chosen if of)
    head = ["for", "library", *(_heading(of) for of in chosen if of)]
    lines = [
        [use.title if first else "", peer, *cells]
        for use in USES
        for first, peer, cells in _lines(use, [of for of in chosen if of])
    ]
    return f"{shown}\n\n{markdown.table(head, lines)}"


def _heading(rows: list[Row]) -> str:
    name = rows[0].implementation
    return f"{name} {', '.join(row.label.removeprefix(name).strip() for row in rows)}"


def _lines(use: Use, columns: list[list[Row]]) -> Iterator[tuple[bool, str, list[str]]]:
    """Yield for each library whether it is the first, its names, and its ratio on each implementation."""
    first = True
    for peer in use.peers:
        names: dict[str, None] = {}
        cells = []
        for rows in columns:
            found = []
            for row in rows:
                ratios = []
                for cell in row.some(use.group, use.operations, use.cases):
                    name = next((name for name in peer.split("|") if name in cell.ratios), None)
                    if name is not None:
                        names[name] = None
                        ratios.append(cell.ratios[name])
                whole = mean(ratios)
                if whole is not None:
                    found.append(number(whole.value))
            least, most = (found and min(found, key=_value)), (found and max(found, key=_value))
            cells.append("not here" if not found else str(least) if least == most else f"{least} to {most}")
        if names:
            yield first, " or ".join(name for name in names if name != "msgpack fallback") or peer.split("|")[0], cells
            first = False


def _value(shown: str) -> float:
    return float(shown.replace(",", ""))


def update(rows: list[Row], page: Path, folder: str) -> bool:
    """Replace the text between the markers of a page; return whether it changed.

    Raises ValueError when a marker is missing.
    """
    text = page.read_text(encoding="utf-8")
    if BEGIN not in text or END not in text:
        raise ValueError(f"{page}: expected both markers, {BEGIN} and {END}")
    before, rest = text.split(BEGIN, 1)
    after = rest.split(END, 1)[1]
    new = f"{before}{BEGIN}\n{block(rows, folder).strip()}\n{END}{after}"
    page.write_text(new, encoding="utf-8")
    return new != text
