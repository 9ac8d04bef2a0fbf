# SPDX-License-Identifier: Apache-2.0
"""Compare cpkg in two environments, such as a wheel and a local build, or CPython without and with the GIL.

A process in each measures cpkg's call of a cell, both in turns. Some calls are faster in some processes, so a cell is
measured in a few pairs of processes, with the statistics of the matrix.
"""

from __future__ import annotations

import math
import random
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from bench import cells, turns
from bench.cells import OURS, Case, Group
from bench.measure import CLOCKS


class Build:
    """A process of one python, which times a turn of calls whenever it is asked to."""

    def __init__(self, python: str, *cell: str) -> None:
        command = [python, str(Path(__file__).with_name("__main__.py")), "serve", *cell]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def seconds(self) -> float | None:
        """Return the seconds of a call, or None if the process has ended with an error."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            print(file=self._process.stdin, flush=True)
        except BrokenPipeError:
            return None
        line = self._process.stdout.readline()
        return float(line) if line else None

    def end(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()


def serve(group: str, case: str, operation: str) -> None:
    """Time cpkg's call of a cell for each line on standard input, and print the seconds of one."""
    found = cells.group(group)
    assert found.works is not None
    works = found.works(found.case(case), operation)
    works.calls = {OURS: works.calls[OURS]}
    call, before = works.calls[OURS], works.before.get(OURS)
    _, count = turns.calibrated(call, works.once()[OURS], before)
    for _ in sys.stdin:
        if before is not None:
            before()
        print(turns.time_of(call, count, CLOCKS[works.clock]), flush=True)


def pair(pythons: Sequence[str], *cell: str) -> turns.Rounds:
    """Start a process of each python; return the seconds of both in some rounds."""
    builds = {python: Build(python, *cell) for python in pythons}
    found: turns.Rounds = {python: [] for python in pythons}
    try:
        for number in range(turns.ROUNDS[1] // 3):
            for python in random.Random(number).sample(pythons, 2):
                took = builds[python].seconds()
                if took is None:
                    return {}
                found[python].append(took)
    finally:
        for build in builds.values():
            build.end()
    return found


def compare(pythons: Sequence[str], only: str) -> int:
    """Print for each quick cell of cpkg how many times as long it takes in the first environment as in the second."""
    logs = []
    for group, case, operation in cells.cells(quick=True):
        name = f"{group.name}, {case}, {operation}"
        if group.works is None or only not in name:
            continue
        ratio = _ratio(pythons, group, case, operation)
        if ratio is None:
            print(f"{name:70} not in both")
            continue
        logs.append(math.log(ratio.value))
        print(f"{name:70} {ratio.value:6.3f}  [{ratio.low:.3f}, {ratio.high:.3f}]", flush=True)
    if logs:
        print(f"{'geometric mean':70} {math.exp(sum(logs) / len(logs)):6.3f}")
    return 0 if logs else 2


def _ratio(pythons: Sequence[str], group: Group, case: Case, operation: str) -> turns.Ratio | None:
    """Measure a cell in pairs of processes until the interval is narrow; None if one side cannot do it."""
    first, second = pythons
    processes: list[turns.Rounds] = []
    least, most = turns.PROCESSES
    while len(processes) < least or (len(processes) < most and not turns.narrow(processes, second, [first])):
        processes.append(pair(pythons, group.name, case.name, operation))
        if not processes[-1]:
            return None
    return turns.ratio(processes, second, first)
