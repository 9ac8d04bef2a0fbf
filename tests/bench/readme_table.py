# SPDX-License-Identifier: Apache-2.0
"""Write the lines about performance in the README, between its two markers, from the results."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bench import model
from bench.markdown import wrapped
from bench.results import Row, best_measured, geometric_mean, read_folder

BEGIN, END = "<!-- performance:begin -->", "<!-- performance:end -->"

# The main results for readers: (subject, how the labels of its lines begin, the libraries measured against)
SUBJECTS = [
    ("MessagePack", ("MessagePack, pack", "MessagePack, unpack"), "msgpack, ormsgpack and msgspec"),
    ("Messages into classes", ("Typed",), "msgspec, pydantic, cattrs, mashumaro and apischema"),
    ("Zstandard files", ("Files",), "compression.zstd and backports.zstd"),
    ("Zstandard in one call", ("Zstandard",), "zstandard, pyzstd, zstd and backports.zstd"),
]
# Within this factor, both are level
LEVEL = 1.1

# The lines of the picture in the README, from the matrix: (label, group, operation, cases or None for all)
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
    """How many times as fast cpkg is on one interpreter, with its fastest backend. text: as in the picture."""

    gain: float
    text: str
    noisy: bool
    backend: str


def leads(rows: list[Row]) -> dict[str, dict[str, Lead]]:
    """Return cpkg's lead over the fastest alternative per line and interpreter, without empty lines."""
    found: dict[str, dict[str, Lead]] = {}
    for label, group, operation, cases in LINES:
        for row in best_measured(rows):
            ours = lead(row, model.Work(group, operation), cases)
            line = found.setdefault(label, {})
            if ours is not None and (row.interpreter not in line or ours.gain > line[row.interpreter].gain):
                line[row.interpreter] = ours
    return {label: line for label, line in found.items() if line}


def lead(row: Row, work: model.Work, cases: tuple[str, ...] | None) -> Lead | None:
    """Return cpkg's lead on one row in some or all cases of a work; None if there is no alternative to compare with."""
    compared = [c for c in model.gains(row, work) if cases is None or c.case in cases]
    mean = geometric_mean(c.gain for c in compared if c.gain is not None)
    if mean is None:
        return None
    others = {c.best_alternative.key.library for c in compared if c.best_alternative is not None}
    against = f", against {others.pop()}" if len(others) == 1 else ""
    noisy = 2 * sum(c.noisy for c in compared) > len(compared)
    return Lead(mean, f"{mean:.2f}× ({row.backend}{against})", noisy, row.backend)


def takeaways(found: dict[str, dict[str, Lead]]) -> list[str]:
    """Return one line per subject: cpkg's lead on each implementation, the level cases, and the slower ones."""
    lines = []
    for subject, labels, peers in SUBJECTS:
        cells = [
            (interpreter.split()[0], round(lead.gain, 2))  # as in the picture
            for label, line in found.items()
            if label.startswith(labels)
            for interpreter, lead in line.items()
        ]
        ways = []
        for implementation in dict.fromkeys(name for name, _ in cells):
            gains = [gain for name, gain in cells if name == implementation]
            against = "times" if ways else f"times as fast as the fastest of {peers}"
            ways.append(f"{min(gains):.2f} to {max(gains):.2f} {against} on {implementation}")
        level = sum(1 / LEVEL <= gain <= LEVEL for _, gain in cells)
        slower = sum(gain < 1 / LEVEL for _, gain in cells)
        tail = f"; {level} of {len(cells)} figures are within 10 %, {slower} are slower" if level or slower else ""
        if cells:
            lines.append(f"- **{subject}**: {', '.join(ways)}{tail}.")
    return lines


def update(results: Path, readme: Path) -> bool:
    """Replace the text between the markers of `readme`; return whether it changed.

    Raises ValueError when a marker is missing.
    """
    text = readme.read_text(encoding="utf-8")
    if BEGIN not in text or END not in text:
        raise ValueError(f"{readme}: expected both markers, {BEGIN} and {END}")
    before, rest = text.split(BEGIN, 1)
    after = rest.split(END, 1)[1]
    lines = wrapped("\n".join(takeaways(leads(read_folder(results)))))
    new = f"{before}{BEGIN}\n{lines}\n{END}{after}"
    readme.write_text(new, encoding="utf-8")
    return new != text
