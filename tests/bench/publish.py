# SPDX-License-Identifier: Apache-2.0
"""Measure all rows of some interpreters; write the report and the README's table if no figure is noisy."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from bench.results import Row, read_row

WHOLE = ["--bench-passes", "2", "--bench-seconds"]
SECONDS, PYPY_SECONDS = "0.05", "0.2"
"""Seconds per cell and pass of a full row: PyPy must first compile the measured code."""
QUICK = ["--bench-quick"]
AGAIN = 3
"""Number of further passes over noisy cells."""


def rows_of(interpreter: str, wheels: bool) -> dict[str, list[str]]:
    """Return an interpreter's rows and their modes: the rows that users get in full, the others as the quick tenth."""
    seconds = PYPY_SECONDS if interpreter.startswith("pypy") else SECONDS
    whole = [*WHOLE, seconds]
    rows = (
        {f"{interpreter}-wheel": whole, f"{interpreter}-native": QUICK} if wheels else {f"{interpreter}-native": whole}
    )
    if interpreter == "3.11":
        rows[f"{interpreter}-dlopen"] = QUICK
    return {**rows, f"{interpreter}-pure": QUICK}


def publish(
    interpreters: list[str], folder: Path, wheels: bool, minutes: float | None, only: str | None, marked: float = 0
) -> int:
    """Measure each row, continuing where an earlier call ended; return the exit code.

    1: a row is incomplete (out of time, or a test failed); the same command continues. 3: more than `marked`
    per cent of a row's comparisons rest on noisy figures. Below that, the noisy ones carry the mark of noise.
    """
    refused = False
    for interpreter in interpreters:
        for name, how in rows_of(interpreter, wheels).items():
            row = _measured(name, how, folder, minutes, only)
            if row is None:
                print(f"{name}: not complete; the same command continues where it ended", file=sys.stderr)
                return 1
            compared = [one for group in row.groups() for one in row.comparisons(group) if one.ours and not one.copy]
            doubted = [f"{one.group}, {one.case}, {one.operation}" for one in compared if one.noisy]
            print(*(f"{name}: {line}: noisy" for line in doubted), sep="\n", file=sys.stderr)
            refused |= 100 * len(doubted) > marked * len(compared)
    if refused:
        print("not published: too much is noisy; run it again on a quieter machine", file=sys.stderr)
    return 3 if refused else 0


def _measured(name: str, how: list[str], folder: Path, minutes: float | None, only: str | None) -> Row | None:
    """Return a row with as many passes as its figures need, or None if it is incomplete."""
    path = folder / f"{name}-bench.json"
    keep = ["--bench-keep", str((folder / "kept" / f"{name}.jsonl").resolve())]
    limits = [] if minutes is None else ["--bench-minutes", str(minutes)]
    chosen = [] if only is None else ["-k", only]
    row: Row | None = None
    for again in range(AGAIN + 1):
        more = ["--bench-noisy"] if again else []
        # do not let a row that cannot be measured here pass with figures of another day
        tox = [sys.executable, "-m", "tox", "run", "--skip-missing-interpreters=false", "-e", f"{name}-bench"]
        command = [*tox, "--", *how, *keep, *limits, *chosen, *more]
        if subprocess.run(command, check=False).returncode or not path.exists():
            return None
        row = read_row(path)
        if not any(cell.noisy for cell in row.cells.values()):
            break
    return row
