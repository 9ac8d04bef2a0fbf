# SPDX-License-Identifier: Apache-2.0
"""Write the performance table of the README, between its two markers, from the results."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bench import model
from bench.markdown import markdown_table, wrapped
from bench.results import Row, geometric_mean, read_folder

BEGIN, END = "<!-- performance:begin -->", "<!-- performance:end -->"

INTRO = (
    "How many times faster cpkg is than the fastest library of the same format there (in the geometric mean, with the "
    "backend and, where it is one and the same, that library). `~`: the machine was too busy for the figure, or most "
    "of those behind it, to be confirmed. What is one copy of memory in every library counts in no mean. "
    "[All results](docs/benchmarks/README.md), [how they are measured](docs/notebook/benchmarking.md)."
)

# The rows of the matrix that the README shows: (label, group, operation, cases or None for all)
LINES = [
    ("MessagePack, pack", "MessagePack", "pack", None),
    ("MessagePack, unpack", "MessagePack", "unpack", None),
    ("MessagePack, unpack 30 MB", "MessagePack", "unpack", ("generated",)),
    ("Zstandard, compress 1 KiB", "Zstandard one-shot", "compress", ("1KiB level 3",)),
    ("Zstandard, decompress 1 KiB", "Zstandard one-shot", "decompress", ("1KiB level 3",)),
    ("Zstandard, compress 1 MiB", "Zstandard one-shot", "compress", ("1MiB level 3",)),
    ("Zstandard, decompress 1 MiB", "Zstandard one-shot", "decompress", ("1MiB level 3",)),
    ("Zstandard, decompress 128 MiB", "Zstandard one-shot", "decompress", ("128MiB level 3",)),
    ("Files, read", "File input and output", "read", None),
    ("Files, write", "File input and output", "write", None),
]


@dataclass(frozen=True)
class Lead:
    """How many times faster ours is on one interpreter, with its fastest backend there. text: as the table shows it."""

    gain: float
    text: str
    noisy: bool


def leads(rows: list[Row]) -> dict[str, dict[str, Lead]]:
    """Return our lead over the fastest alternative per line and interpreter; lines without any are left out."""
    whole = {row.interpreter for row in rows if not row.matrix["settings"]["quick"]}
    # the mean of a few cases is no match for that of all of them
    kept = [row for row in rows if row.interpreter not in whole or not row.matrix["settings"]["quick"]]
    found: dict[str, dict[str, Lead]] = {}
    for label, group, operation, cases in LINES:
        for row in kept:
            lead = _lead(row, model.Work(group, operation), cases)
            line = found.setdefault(label, {})
            if lead is not None and (row.interpreter not in line or lead.gain > line[row.interpreter].gain):
                line[row.interpreter] = lead
    return {label: line for label, line in found.items() if line}


def _lead(row: Row, work: model.Work, cases: tuple[str, ...] | None) -> Lead | None:
    compared = [c for c in model.gains(row, work) if cases is None or c.case in cases]
    mean = geometric_mean(c.gain for c in compared if c.gain is not None)
    if mean is None:
        return None
    others = {c.best_alternative.key.library for c in compared if c.best_alternative is not None}
    against = f", against {others.pop()}" if len(others) == 1 else ""
    noisy = 2 * sum(c.noisy for c in compared) > len(compared)
    return Lead(mean, f"{mean:.2f}× ({row.backend}{against})", noisy)


def table(rows: list[Row]) -> model.Table:
    """Make the table: our lead over the fastest alternative, per interpreter, with our fastest backend there."""
    interpreters = list(dict.fromkeys(row.interpreter for row in rows))
    whole = {row.interpreter for row in rows if not row.matrix["settings"]["quick"]}
    shown = model.Table("", ["", *(name if name in whole else f"{name}, few cases" for name in interpreters)])
    for label, line in leads(rows).items():
        cells = [line.get(name) for name in interpreters]
        shown.lines.append(
            [
                model.Shown(label),
                *(model.Shown(lead.text, noisy=lead.noisy) if lead else model.Shown("") for lead in cells),
            ]
        )
    return shown


def update(results: Path, readme: Path) -> bool:
    """Replace what stands between the markers of `readme`; return whether it changed.

    Raises ValueError when a marker is missing.
    """
    text = readme.read_text(encoding="utf-8")
    if BEGIN not in text or END not in text:
        raise ValueError(f"{readme}: the markers {BEGIN} and {END} are not both there")
    before, rest = text.split(BEGIN, 1)
    after = rest.split(END, 1)[1]
    new = f"{before}{BEGIN}\n{wrapped(INTRO)}\n\n{markdown_table(table(read_folder(results)))}{END}{after}"
    readme.write_text(new, encoding="utf-8")
    return new != text
