# SPDX-License-Identifier: Apache-2.0
"""Answer "is it faster than what I use?": two pictures and a line per named library, in the README and the report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench import markdown, picture
from bench.picture import MSGPACK, PEP784
from bench.results import Row, mean, number

BEGIN, END = "<!-- performance:begin -->", "<!-- performance:end -->"
IMPLEMENTATIONS = ("CPython", "PyPy")


@dataclass(frozen=True)
class Use:
    """What people use libraries for: a group, and a pattern of its operations. peers: as in picture.py."""

    title: str
    group: str
    peers: Sequence[str]
    operations: str = ".*"


USES = (
    Use("MessagePack", "MessagePack", (MSGPACK, "ormsgpack", "msgspec", "amsgpack")),
    Use(
        "messages into classes and back",
        "Typed",
        ("msgspec Struct", "msgspec", "mashumaro", "cattrs", "pydantic", "pickle"),
    ),
    Use(
        "dates, UUIDs, Decimals, sets",
        "Value types",
        ("msgspec", "ormsgpack", MSGPACK, "mashumaro", "pickle"),
        "dumps|loads",
    ),
    Use(
        "Zstandard in one call",
        "Zstandard one-shot",
        ("zstandard", "zstandard, context kept", PEP784, "pyzstd"),
        "(de)?compress",
    ),
    Use("Zstandard files", "File input and output", (PEP784,)),
)


def block(rows: list[Row], folder: str = "") -> str:
    """Return the pictures of the newest CPython and PyPy, and the table of named libraries. folder: of the pictures."""
    chosen = [[row for row in rows if row.implementation == name] for name in IMPLEMENTATIONS]
    shown = " ".join(f"![{picture.alternative(of[-1])}]({folder}{of[-1].name}.svg)" for of in chosen if of)
    head = ["for", "library", *(_heading(of) for of in chosen if of)]
    lines = [line for use in USES for line in _lines(use, [of for of in chosen if of])]
    return f"{shown}\n\n{markdown.table(head, lines)}"


def _heading(rows: list[Row]) -> str:
    name = rows[0].implementation
    return f"{name} {', '.join(row.label.removeprefix(name).strip() for row in rows)}"


def _lines(use: Use, columns: list[list[Row]]) -> Iterator[list[str]]:
    """Yield a line for each library that was measured: its names, and its ratios on each implementation."""
    title = use.title
    for peer in use.peers:
        means = [[whole for whole in (_mean(row, use, peer) for row in rows) if whole is not None] for rows in columns]
        if any(means):
            cells = (cell for rows in columns for row in rows for cell in row.some(use.group, use.operations))
            names = dict.fromkeys(picture.short(name) for name in (cell.named(peer) for cell in cells) if name)
            yield [title, " or ".join(names), *map(_range, means)]
            title = ""


def _mean(row: Row, use: Use, peer: str) -> float | None:
    """Return the geometric mean of a library's ratios on one row, None if it is not there."""
    found = ((cell, cell.named(peer)) for cell in row.some(use.group, use.operations))
    whole = mean(cell.ratios[name] for cell, name in found if name is not None)
    return None if whole is None else whole.value


def _range(means: list[float]) -> str:
    if not means:
        return "not here"
    least, most = number(min(means)), number(max(means))
    return least if least == most else f"{least} to {most}"


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
