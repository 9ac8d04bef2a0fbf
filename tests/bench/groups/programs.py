# SPDX-License-Identifier: Apache-2.0
"""Whole programs, from the start of the interpreter to its end, each in a fresh process.

They take about 0.1, 1 and 10 s. On PyPy this includes all that its compiler costs.
"""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Iterator, Mapping

from bench import fresh, turns
from bench.cells import OURS, Answer, Case, Group, read_data

FEW = 3
"""The number of samples of a library that takes more than `turns.NEAR` times as long as cpkg."""
FORMATS = {OURS: "MessagePack or Zstandard", "json": "JSON", "pickle": "pickle"}
"""The formats of the cases with messages. In the case with record files, all formats are alternatives."""


def _cases() -> Iterator[Case]:
    """Yield the cases of data/programs.json, each with three numbers of items and the program text of each library."""
    for what, parts in read_data("programs").items():
        least, middle, most = parts["counts"]
        programs = {
            name: "\n".join([*parts["before"], *lines, *parts["after"]]) for name, lines in parts["libraries"].items()
        }
        for count in (least, middle, most):
            name = f"{count:,} {what}"
            yield Case(name, count == middle, count == least, count == most, programs=programs, count=count)


@functools.lru_cache(maxsize=16)
def sample(case: Case, number: int) -> Mapping[str, Mapping[str, Answer]]:
    """Run the program of each library, in random order, and return its seconds."""
    names = [*case.programs]
    if number >= FEW:
        before = sample(case, 0)["run"]
        ours = float(before[OURS])
        names = [name for name, took in before.items() if not isinstance(took, str) and took < turns.NEAR * ours]
    return {"run": {name: _run(name, case) for name in fresh.in_turns(names, number)}}


def _run(library: str, case: Case) -> Answer:
    with tempfile.TemporaryDirectory(prefix="cpkg-bench-", dir=fresh.memory()) as folder:
        given = f"path, count = {folder + '/file'!r}, {case.count}\n"
        answer = fresh.program(library, given + case.programs[library])
        return answer if isinstance(answer, str) else answer.seconds


GROUPS = [Group("Whole programs", [*_cases()], ("run",), sample=sample, formats=FORMATS)]
