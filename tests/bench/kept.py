# SPDX-License-Identifier: Apache-2.0
"""The figures of a run that can continue after an interruption: a file with a line for each, written at once."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from bench import results

_PASS = re.compile(r"\bpass(\d+)\b")


class OtherRun(Exception):
    """The file belongs to another commit, interpreter or setting."""


class Kept:
    """One row's figures so far. `of` describes the run: figures of another run are not mixed with them."""

    def __init__(self, path: Path, of: dict[str, Any]) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True) if path.exists() else []
        whole = [line for line in lines if line.endswith("\n")]  # the process may have been killed within the last line
        if whole and json.loads(whole[0]) != of:
            raise OtherRun(f"{path}: of {json.loads(whole[0])}, this is {of}: remove it to start over")
        found = [json.loads(line) for line in whole[1:]]
        self.entries = [entry for entry in found if "reason" not in entry]
        self.not_run = [entry for entry in found if "reason" in entry]
        if whole != lines or not whole:
            path.write_text("".join(whole) or json.dumps(of) + "\n", encoding="utf-8")

    def add(self, entry: dict[str, Any]) -> None:
        """Write one figure, or why there is none; `id` is the test's, `took` the seconds of the whole test."""
        (self.not_run if "reason" in entry else self.entries).append(entry)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")

    @property
    def passes(self) -> int:
        """The number of passes that have begun."""
        return max((1 + int(number) for entry in self.entries for number in _PASS.findall(entry["id"])), default=0)

    def left(self, ids: list[str], only_noisy: bool = False) -> set[str]:
        """
        Return which of these tests have no figure yet, or which of those measure cells that are noisy so far.

        If there is none, return the last test, so that the row is written.
        """
        left = {*ids} - {entry["id"] for entry in self.entries}
        return (self.noisy([*left]) if only_noisy else left) or {*ids[-1:]}

    def noisy(self, ids: list[str]) -> set[str]:
        """Return which of these tests measure, in any pass, a cell whose figures so far are unreliable."""
        row = results.row_of({"matrix": {"row": "", "not_run": []}, "benchmarks": self.entries}, self.path)
        doubted = {key for key, cell in row.cells.items() if cell.noisy}
        of = {cell_id(entry["id"]) for entry in self.entries if results.key_of(entry) in doubted}
        return {name for name in ids if cell_id(name) in of}

    def seconds_each(self, otherwise: float) -> float:
        """Return the average time of a test so far."""
        return sum(entry["took"] for entry in self.entries) / len(self.entries) if self.entries else otherwise


def cell_id(name: str) -> str:
    """Return a test's id without its pass."""
    return _PASS.sub("", name)
