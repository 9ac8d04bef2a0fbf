# SPDX-License-Identifier: Apache-2.0
"""Write the performance table of the README, between its two markers, from the results."""

from __future__ import annotations

from pathlib import Path

from bench import model
from bench.report import markdown_table
from bench.results import Row, geometric_mean, read_folder

BEGIN, END = "<!-- performance:begin -->", "<!-- performance:end -->"

INTRO = (
    "How many times faster cpkg is than the fastest library of the same format there (in the geometric mean, with the "
    "backend and, where it is one and the same, that library). `~`: the machine was too busy for the figure, or most "
    "of those behind it, to be confirmed. What is one copy of memory in every library counts in no mean. [All results](docs/benchmarks/README.md), "
    "[how they are measured](docs/benchmarking.md)."
)

# What the README shows of the matrix: (label, group, operation, cases or None for all)
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


def table(rows: list[Row]) -> model.Table:
    """Make the table: our lead over the fastest alternative, per interpreter, with our fastest backend there."""
    interpreters = list(dict.fromkeys(row.interpreter for row in rows))
    quick = {row.interpreter for row in rows if row.matrix["settings"]["quick"]}
    whole = {row.interpreter for row in rows if not row.matrix["settings"]["quick"]}
    heads = [f"{name}, few cases" if name in quick - whole else name for name in interpreters]
    shown = model.Table("", ["", *heads])
    for label, group, operation, cases in LINES:
        # the mean of a few cases is no match for that of all of them
        kept = [row for row in rows if row.interpreter not in whole or not row.matrix["settings"]["quick"]]
        of = {name: [row for row in kept if row.interpreter == name] for name in interpreters}
        line = [model.Shown(label), *(_best(of[name], group, operation, cases) for name in interpreters)]
        if any(cell.text for cell in line[1:]):
            shown.lines.append(line)
    return shown


def _best(rows: list[Row], group: str, operation: str, cases: tuple[str, ...] | None) -> model.Shown:
    found: list[tuple[float, str, bool]] = []
    for row in rows:
        compared = [c for c in model.gains(row, model.Work(group, operation)) if cases is None or c.case in cases]
        mean = geometric_mean(c.gain for c in compared if c.gain is not None)
        if mean is not None:
            others = {c.best_alternative.key.library for c in compared if c.best_alternative is not None}
            against = f", against {others.pop()}" if len(others) == 1 else ""
            found.append(
                (mean, f"{mean:.2f}× ({row.backend}{against})", 2 * sum(c.noisy for c in compared) > len(compared))
            )
    if not found:
        return model.Shown("")
    _, text, noisy = max(found)
    return model.Shown(text, noisy=noisy)


def update(results: Path, readme: Path) -> bool:
    """Replace what stands between the markers of `readme`; return whether it changed.

    Raises ValueError when a marker is missing.
    """
    text = readme.read_text(encoding="utf-8")
    if BEGIN not in text or END not in text:
        raise ValueError(f"{readme}: the markers {BEGIN} and {END} are not both there")
    before, rest = text.split(BEGIN, 1)
    after = rest.split(END, 1)[1]
    new = f"{before}{BEGIN}\n{INTRO}\n\n{markdown_table(table(read_folder(results)))}{END}{after}"
    readme.write_text(new, encoding="utf-8")
    return new != text
