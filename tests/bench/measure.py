# SPDX-License-Identifier: Apache-2.0
"""Measure one cell: start its processes until the interval is narrow; and the program of such a process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bench import cells, turns
from bench.cells import OURS, Case, Group
from bench.turns import Rounds

CLOCKS = {"processor": time.process_time, "wall": time.perf_counter}
TIMEOUT = 900
"""Seconds after which a process that measures a cell is stopped."""


@dataclass
class Figures:
    """What a cell's processes measured; `asdict` of it is what the results keep in `extra_info`.

    processes: the rounds of each process. missing: why a library has no figure. The other fields: see cells.py.
    """

    group: str
    case: str
    operation: str
    unit: str = "seconds"
    copy: bool = False
    processes: list[Rounds] = field(default_factory=list)
    missing: dict[str, str] = field(default_factory=dict)
    formats: dict[str, str] = field(default_factory=dict)
    limits: list[str] = field(default_factory=list)
    size: int | None = None
    values: int | None = None
    clock: str = "processor"
    info: dict[str, Any] = field(default_factory=dict)

    @property
    def alternatives(self) -> list[str]:
        """The measured libraries of cpkg's format that could be used instead of it."""
        names = dict.fromkeys(name for process in self.processes for name in process)
        wanted = self.formats.get(OURS)
        return [n for n in names if n != OURS and n not in self.limits and self.formats.get(n, wanted) == wanted]

    @property
    def done(self) -> bool:
        """Whether the processes so far are enough."""
        least, most = turns.PROCESSES
        if not self.processes:
            return bool(self.missing)  # nothing can be measured here
        count = len(self.processes)
        return count >= most or (count >= least and turns.narrow(self.processes, OURS, self.alternatives))


def measured(group: Group, case: Case, operation: str) -> Figures:
    """Measure a cell.

    Raises RuntimeError with the last line of its error if a process fails.
    """
    figures = Figures(group.name, case.name, operation, group.unit, operation in case.copies)
    for number in range(turns.PROCESSES[1]):
        if figures.done:
            break
        if group.sample is not None:
            answers = group.sample(case, number)[operation]
            figures.processes.append({n: [each] for n, each in answers.items() if not isinstance(each, str)})
            figures.missing.update((n, each) for n, each in answers.items() if isinstance(each, str))
            continue
        answer = _in_a_process(group.name, case.name, operation, number)
        rounds = answer.pop("rounds")
        if rounds:
            figures.processes.append(rounds)
        for name, value in answer.items():
            setattr(figures, name, value)
    return figures


def kept(figures: Figures) -> dict[str, Any]:
    """Return the figures as the results keep them."""
    return asdict(figures)


def _in_a_process(group: str, case: str, operation: str, number: int) -> dict[str, Any]:
    program = Path(__file__).with_name("__main__.py")
    done = subprocess.run(
        [sys.executable, str(program), "cell", group, case, operation, str(number)],
        capture_output=True,
        text=True,
        # the first process that imports a module writes its compiled file, as pip does
        env={name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"},
        timeout=TIMEOUT,
        check=False,
    )
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise RuntimeError(f"{group}, {case}, {operation}: {lines[-1]}")
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def here(group: Group, case: Case, operation: str, number: int) -> Mapping[str, Any]:
    """Measure a cell's calls in this process, check their results before and after; return what `Figures` keeps."""
    assert group.works is not None
    try:
        works = group.works(case, operation)
    except cells.NotHere as reason:
        return {"rounds": {}, "missing": {OURS: str(reason)}}
    works.once()
    rounds = turns.in_rounds(works.calls, works.before, CLOCKS[works.clock], number) if works.calls else {}
    works.once()
    return {
        "rounds": rounds,
        "missing": works.missing,
        "formats": dict(works.formats),
        "limits": list(works.limits),
        "size": works.size,
        "values": works.values,
        "clock": works.clock,
        "info": works.info,
    }
