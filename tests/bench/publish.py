# SPDX-License-Identifier: Apache-2.0
"""Measure all rows of some interpreters, and write the report and the README's table when no figure is noisy."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from bench.results import Row, read_row

WHOLE = ["--bench-passes", "2", "--bench-seconds"]
SECONDS, PYPY_SECONDS = "0.05", "0.2"
"""What a whole row takes for each cell and pass: PyPy has to compile what it measures first."""
QUICK = ["--bench-quick"]
AGAIN = 3
"""So many further passes are made over what is noisy."""


def rows_of(interpreter: str, wheels: bool) -> dict[str, list[str]]:
    """Return the rows of an interpreter and how each is measured: what users get whole, the others the quick tenth."""
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
    """Measure each row, going on where an earlier call ended; return the exit code.

    1: a row is not complete, as its time was over or a test failed; the same command goes on. 3: more than `marked`
    per cent of a row's comparisons rest on noisy figures. The rest of them would carry the mark of noise.
    """
    refused = False
    for interpreter in interpreters:
        for name, how in rows_of(interpreter, wheels).items():
            row = _measured(name, how, folder, minutes, only)
            if row is None:
                print(f"{name}: not complete; the same command goes on where it ended", file=sys.stderr)
                return 1
            compared = [one for group in row.groups() for one in row.comparisons(group) if one.ours and not one.copy]
            doubted = [f"{one.group}, {one.case}, {one.operation}" for one in compared if one.noisy]
            print(*(f"{name}: {line}: noisy" for line in doubted), sep="\n", file=sys.stderr)
            refused |= 100 * len(doubted) > marked * len(compared)
    if refused:
        print("not published: too much is noisy; run it again on a quieter machine", file=sys.stderr)
    return 3 if refused else 0


def _measured(name: str, how: list[str], folder: Path, minutes: float | None, only: str | None) -> Row | None:
    """Return a row with as many passes as its figures need, or None if it is not complete."""
    path = folder / f"{name}-bench.json"
    keep = ["--bench-keep", str((folder / "kept" / f"{name}.jsonl").resolve())]
    limits = [] if minutes is None else ["--bench-minutes", str(minutes)]
    chosen = [] if only is None else ["-k", only]
    row: Row | None = None
    for again in range(AGAIN + 1):
        more = ["--bench-noisy"] if again else []
        # a row that cannot be measured here must not pass with figures of another day
        tox = [sys.executable, "-m", "tox", "run", "--skip-missing-interpreters=false", "-e", f"{name}-bench"]
        command = [*tox, "--", *how, *keep, *limits, *chosen, *more]
        if subprocess.run(command, check=False).returncode or not path.exists():
            return None
        row = read_row(path)
        if not any(cell.noisy for cell in row.cells.values()):
            break
    return row
