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

from bench import cells, peers, turns
from bench.cells import OURS
from bench.measure import CLOCKS


def serve(group: str, case: str, operation: str) -> None:
    """Time cpkg's call of a cell for each line on standard input, and print the seconds of one."""
    peers.hide()  # the other environment may have others
    found = cells.group(group)
    assert found.works is not None
    works = found.works(found.case(case), operation)
    call = works.calls[OURS]
    works.calls = {OURS: call}
    _, count = turns.calibrated(call, works.once()[OURS])
    for _ in sys.stdin:
        print(turns.time_of(call, count, CLOCKS[works.clock]), flush=True)


def pair(pythons: Sequence[str], *cell: str) -> turns.Rounds:
    """Start a process of each python; return the seconds of both in some rounds, {} if one has ended with an error."""
    command = [str(Path(__file__).with_name("__main__.py")), "serve", *cell]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    processes = {python: subprocess.Popen([python, *command], **pipes) for python in pythons}
    found: turns.Rounds = {python: [] for python in pythons}
    try:
        for number in range(turns.ROUNDS[1] // 3):
            for python in random.Random(number).sample(pythons, 2):
                print(file=processes[python].stdin, flush=True)
                found[python].append(float(processes[python].stdout.readline()))
    except (BrokenPipeError, ValueError):
        return {}
    finally:
        for process in processes.values():
            process.kill()
            process.communicate()
    return found


def compare(pythons: Sequence[str], only: str) -> int:
    """Print for each quick cell of cpkg how many times as long it takes in the first environment as in the second."""
    logs = []
    for group, case, operation in cells.cells(quick=True, only=only):
        if group.works is not None:
            ratio = _ratio(pythons, group.name, case.name, operation)
            shown = "not in both" if ratio is None else f"{ratio.value:6.3f}  [{ratio.low:.3f}, {ratio.high:.3f}]"
            print(f"{cells.named(group, case, operation):70} {shown}", flush=True)
            logs += [] if ratio is None else [math.log(ratio.value)]
    if logs:
        print(f"{'geometric mean':70} {math.exp(sum(logs) / len(logs)):6.3f}")
    return 0 if logs else 2


def _ratio(pythons: Sequence[str], *cell: str) -> turns.Ratio | None:
    """Measure a cell in pairs of processes until the interval is narrow; None if one side cannot do it."""
    first, second = pythons
    found: list[turns.Rounds] = []
    least, most = turns.PROCESSES
    while len(found) < least or (len(found) < most and not turns.narrow(found, second, [first])):
        found.append(pair(pythons, *cell))
        if not found[-1]:
            return None
    return turns.ratio(found, second, first)
