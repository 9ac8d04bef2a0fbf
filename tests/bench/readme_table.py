# SPDX-License-Identifier: Apache-2.0
"""Write the performance table of the README, between its two markers, from the results."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bench import model
from bench.markdown import markdown_table, wrapped
from bench.results import Row, best_measured, geometric_mean, read_folder

BEGIN, END = "<!-- performance:begin -->", "<!-- performance:end -->"

CAPTION = (
    "Times as fast as the fastest library of the same format there, in the geometric mean of the cases; below 1 cpkg "
    "is slower. `~`: the machine was too busy for the figure, or most of those behind it, to be confirmed. "
    "[All results](docs/benchmarks/README.md), which name the library of each figure; "
    "[how they are measured](docs/notebook/benchmarking.md)."
)

# What a reader takes away: (subject, how the labels of its lines begin)
SUBJECTS = [
    ("MessagePack", ("MessagePack, pack", "MessagePack, unpack")),
    ("Typed messages", ("Typed",)),
    ("Zstandard in one call", ("Zstandard",)),
    ("Zstandard files", ("Files",)),
]
# How a row's build is described, where its name does not say it
BUILDS = {"wheel": "the wheels, as pip installs them", "native": "the native backends, built from source"}
# Within so much, as a factor, both are level
LEVEL = 1.1

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
    ("Typed, decode", "Typed", "decode", None),
    ("Typed, encode", "Typed", "encode", None),
    ("Files, read", "File input and output", "read", None),
    ("Files, write", "File input and output", "write", None),
]


@dataclass(frozen=True)
class Lead:
    """How many times as fast ours is on one interpreter, with its fastest backend. text: as the picture has it."""

    gain: float
    text: str
    noisy: bool
    backend: str


def leads(rows: list[Row]) -> dict[str, dict[str, Lead]]:
    """Return our lead over the fastest alternative per line and interpreter; lines without any are left out."""
    found: dict[str, dict[str, Lead]] = {}
    for label, group, operation, cases in LINES:
        for row in best_measured(rows):
            ours = lead(row, model.Work(group, operation), cases)
            line = found.setdefault(label, {})
            if ours is not None and (row.interpreter not in line or ours.gain > line[row.interpreter].gain):
                line[row.interpreter] = ours
    return {label: line for label, line in found.items() if line}


def lead(row: Row, work: model.Work, cases: tuple[str, ...] | None) -> Lead | None:
    """Return our lead on one row in some cases of a work, or all; None where nothing can be held against ours."""
    compared = [c for c in model.gains(row, work) if cases is None or c.case in cases]
    mean = geometric_mean(c.gain for c in compared if c.gain is not None)
    if mean is None:
        return None
    others = {c.best_alternative.key.library for c in compared if c.best_alternative is not None}
    against = f", against {others.pop()}" if len(others) == 1 else ""
    noisy = 2 * sum(c.noisy for c in compared) > len(compared)
    return Lead(mean, f"{mean:.2f}× ({row.backend}{against})", noisy, row.backend)


def takeaways(found: dict[str, dict[str, Lead]]) -> list[str]:
    """Return one line per subject: how far ahead ours is on each implementation, what is level, what is slower."""
    lines = []
    for subject, labels in SUBJECTS:
        cells = [
            (interpreter.split()[0], round(lead.gain, 2))  # as the table shows it
            for label, line in found.items()
            if label.startswith(labels)
            for interpreter, lead in line.items()
        ]
        ways = []
        for implementation in dict.fromkeys(name for name, _ in cells):
            gains = [gain for name, gain in cells if name == implementation]
            unit = "" if ways else "times as fast "
            ways.append(f"{min(gains):.2f} to {max(gains):.2f} {unit}on {implementation}")
        level = sum(1 / LEVEL <= gain <= LEVEL for _, gain in cells)
        slower = sum(gain < 1 / LEVEL for _, gain in cells)
        tail = f"; {level} of {len(cells)} figures are level (within 10 %), {slower} slower" if level or slower else ""
        if cells:
            lines.append(f"- **{subject}**: {', '.join(ways)}{tail}.")
    return lines


def table(found: dict[str, dict[str, Lead]], interpreters: dict[str, bool]) -> model.Table:
    """Make the table from our leads; `interpreters` says of each whether its rows are whole."""
    heads = [name if whole else f"{name}, few cases" for name, whole in interpreters.items()]
    shown = model.Table("", ["", *heads])
    for label, line in found.items():
        cells = [line.get(name) for name in interpreters]
        figures = (model.Shown(f"{lead.gain:.2f}", noisy=lead.noisy) if lead else model.Shown("") for lead in cells)
        shown.lines.append([model.Shown(label), *figures])
    return shown


def section(found: dict[str, dict[str, Lead]], interpreters: dict[str, bool], backends: set[str]) -> str:
    """Return what stands between the markers: three lines to take away, then the table."""
    lines = "\n".join(takeaways(found))
    caption = f"{CAPTION} Measured: {', '.join(sorted(BUILDS.get(name, name) for name in backends))}."
    return f"{wrapped(lines)}\n\n{wrapped(caption)}\n\n{markdown_table(table(found, interpreters))}"


def update(results: Path, readme: Path) -> bool:
    """Replace what stands between the markers of `readme`; return whether it changed.

    Raises ValueError when a marker is missing.
    """
    text = readme.read_text(encoding="utf-8")
    if BEGIN not in text or END not in text:
        raise ValueError(f"{readme}: the markers {BEGIN} and {END} are not both there")
    before, rest = text.split(BEGIN, 1)
    after = rest.split(END, 1)[1]
    rows = read_folder(results)
    whole = {row.interpreter for row in rows if not row.quick}
    found = leads(rows)
    backends = {lead.backend for line in found.values() for lead in line.values()}
    made = section(found, {row.interpreter: row.interpreter in whole for row in rows}, backends)
    new = f"{before}{BEGIN}\n{made}{END}{after}"
    readme.write_text(new, encoding="utf-8")
    return new != text
