# SPDX-License-Identifier: Apache-2.0
"""Measure cells: start processes for a cell until the interval is narrow; the code of such a process; many cells."""

from __future__ import annotations

import contextlib
import gc
import itertools
import json
import math
import random
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bench import cells, fresh, turns
from bench.cells import OURS, Case, Group
from bench.turns import Rounds

CLOCKS = {"processor": time.process_time, "wall": time.perf_counter}
INTERPRETERS = ("3.11", "3.14", "3.15", "pypy3.9", "pypy3.11")
"""The published interpreters."""
AT_ONCE = 2
"""How many rows `publish` measures at the same time. A cell that uses several cores is measured alone."""
TIMEOUT = 900
"""Seconds after which a process that measures a cell is stopped."""


@dataclass
class Figures:
    """The figures of a cell from all its processes; the results have them, as a dict, in `extra_info`.

    processes: the rounds of each process. missing: why a library has no figure. cells.py explains the other fields.
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
        """The measured libraries that could replace cpkg here: of the same format, and not among the limits."""
        names = dict.fromkeys(name for process in self.processes for name in process)
        wanted = self.formats.get(OURS)
        return [n for n in names if n != OURS and n not in self.limits and self.formats.get(n, wanted) == wanted]

    def done(self, spent: float) -> bool:
        """Return whether the processes so far, which took `spent` seconds, are enough."""
        least, most = turns.PROCESSES
        if not self.processes:
            return bool(self.missing)  # nothing can be measured here
        if spent > turns.PATIENCE:
            return len(self.processes) >= min(3, least)
        if len(self.processes) < least:
            return False
        return len(self.processes) >= most or turns.narrow(self.processes, OURS, self.alternatives)

    @property
    def not_again(self) -> list[str]:
        """The libraries that further processes leave out: those that cannot be measured, or are slow and far away."""
        if len(self.processes) < turns.PROCESSES[0] - 1:
            return [*self.missing]
        ours = turns.seconds(self.processes, OURS)
        slow = {each: turns.seconds(self.processes, each) for process in self.processes for each in process}
        return [*self.missing, *(each for each, took in slow.items() if turns.is_far(ours, took))]


def measured(group: Group, case: Case, operation: str) -> Figures:
    """Measure a cell. If a process fails, raise RuntimeError with the last line of the process's error."""
    copy, formats = operation in case.copies, dict(group.formats)
    figures = Figures(group.name, case.name, operation, group.unit, copy, formats=formats)
    begun = time.perf_counter()
    for number in itertools.count():
        if figures.done(time.perf_counter() - begun):
            break
        if group.sample is not None:
            try:
                answers = group.sample(case, number)[operation]
            except cells.NotHere as reason:
                answers = {OURS: str(reason)}
            figures.missing.update((n, each) for n, each in answers.items() if isinstance(each, str))
            if not isinstance(answers[OURS], str):
                figures.processes.append({n: [each] for n, each in answers.items() if not isinstance(each, str)})
            continue
        answer = _in_a_process(figures, number)
        rounds, missing = answer.pop("rounds"), answer.pop("missing")
        if rounds:
            figures.processes.append(rounds)
        figures.missing = {**missing, **figures.missing}
        if number == 0:
            vars(figures).update(answer)
    return figures


def _in_a_process(figures: Figures, number: int) -> dict[str, Any]:
    cell = (figures.group, figures.case, figures.operation)
    program = Path(__file__).with_name("__main__.py")
    try:
        printed = fresh.output([sys.executable, program, "cell", *cell, str(number), *figures.not_again], TIMEOUT)
    except fresh.ChildFailed as failure:
        raise RuntimeError(f"{', '.join(cell)}: {failure}") from None
    return json.loads(printed.splitlines()[-1])


class Kept:
    """The cells that a run has measured, in a file with a line for each, so that another run can continue.

    of: describes the run. Raises ValueError if the file is from another commit, row or interpreter.
    """

    def __init__(self, path: Path | None, of: dict[str, Any]) -> None:
        self.path = path
        self._found: dict[tuple[str, ...], Figures] = {}
        if path is None:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True) if path.exists() else []
        whole = [line for line in lines if line.endswith("\n")]  # the process may have been killed within the last line
        if whole and json.loads(whole[0]) != of:
            raise ValueError(f"{path}: of {json.loads(whole[0])}, this is {of}: remove it to start over")
        for line in whole[1:]:
            figures = Figures(**json.loads(line))
            self._found[figures.group, figures.case, figures.operation] = figures
        if whole != lines or not whole:
            path.write_text("".join(whole) or json.dumps(of) + "\n", encoding="utf-8")

    def measured(self, group: Group, case: Case, operation: str) -> Figures:
        """Return the kept figures of a cell, or measure it and keep them."""
        found = self._found.get((group.name, case.name, operation))
        if found is None:
            if self.path is None:
                return measured(group, case, operation)
            with _cores(self.path.with_name("cores.lock"), group.alone):
                found = measured(group, case, operation)
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(found)) + "\n")
        return found


@contextlib.contextmanager
def _cores(path: Path, alone: bool) -> Iterator[None]:
    """Wait until the cells of other rows permit this one: measure it alone, or beside others that permit it."""
    import fcntl

    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        yield


def show(groups: Sequence[str], only: str, quick: bool, slow: bool) -> None:
    """Measure cells and print for each the time of cpkg's call, and the ratio and interval of each other library."""
    begun = time.perf_counter()
    for group, case, operation in cells.cells(quick, slow, only):
        if groups and group.name not in groups:
            continue
        start = time.perf_counter()
        figures = measured(group, case, operation)
        ours, *others = lines(figures)
        took = f"{len(figures.processes)} processes, {time.perf_counter() - start:.1f} s"
        print(f"{cells.named(group, case, operation)}: {ours}, {took}")
        print(*(f"    {line}" for line in others), sep="\n", flush=True)
    print(f"{time.perf_counter() - begun:.0f} s")


def lines(figures: Figures) -> list[str]:
    """Return the lines that `show` prints for a cell: cpkg's figure, then a line for each other library."""
    missing = [f"{name:26}{why}" for name, why in figures.missing.items()]
    if not figures.processes:
        return ["no figure", *missing]
    value = turns.seconds(figures.processes, OURS)
    found = [f"{value / 1e6:.2f} MB" if figures.unit == "bytes" else f"{value * 1e6:.4g} us"]
    for name in dict.fromkeys(name for process in figures.processes for name in process if name != OURS):
        each = turns.ratio(figures.processes, OURS, name)
        other = " (limit)" if name in figures.limits else " (other format)"
        mark = "" if name in figures.alternatives else other
        found.append(f"{name:26}{each.value:9.3f}  [{each.low:.3f}, {each.high:.3f}]{mark}")
    return found + missing


def child(group: str, case: str, operation: str, number: str, *without: str) -> None:
    """Measure a cell's calls in this process, and check their results before and after; print the fields of Figures."""
    found = cells.group(group)
    try:
        works = found.works(found.case(case), operation)
    except cells.NotHere as reason:
        print(json.dumps({"rounds": {}, "missing": {OURS: str(reason)}}))
        return
    works.calls = {library: call for library, call in works.calls.items() if library not in without}
    # garbage collections within the calls should not search the payload and the libraries
    gc.collect()
    getattr(gc, "freeze", int)()
    took, clock = works.once(), CLOCKS[works.clock]
    rounds = turns.in_rounds(works.calls, took, clock, int(number), OURS) if works.calls else {}
    works.once(longest=turns.LONG)
    kept = ("missing", "formats", "limits", "size", "values", "clock", "info")
    print(json.dumps({"rounds": rounds, **{name: getattr(works, name) for name in kept}}))


def serve(group: str, case: str, operation: str) -> None:
    """Time cpkg's call of a cell for each line on standard input, and print the seconds of one."""
    from bench import peers

    peers.hide()  # the two environments may have different peers
    found = cells.group(group)
    works = found.works(found.case(case), operation)
    call = works.calls[OURS]
    works.calls = {OURS: call}
    _, count = turns.calibrated(call, works.once()[OURS])
    for _ in sys.stdin:
        print(turns.time_of(call, count, CLOCKS[works.clock]), flush=True)


def pair(pythons: Sequence[str], *cell: str) -> turns.Rounds:
    """Start a process of each Python; return the seconds of both in each round, or {} if one ended with an error."""
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


def builds(pythons: Sequence[str], only: str, quick: bool) -> int:
    """Compare cpkg in two environments, such as a wheel and a local build, or CPython without and with the GIL.

    Print for each cell the time in the first environment divided by the time in the second. For a cell, a few pairs of
    processes, one in each environment, measure cpkg's call in turns, with the statistics of the matrix.
    """
    logs = []
    for group, case, operation in cells.cells(quick, only=only):
        if group.works is not None:
            ratio = _ratio(pythons, group.name, case.name, operation)
            shown = "not in both" if ratio is None else f"{ratio.value:6.3f}  [{ratio.low:.3f}, {ratio.high:.3f}]"
            print(f"{cells.named(group, case, operation):70} {shown}", flush=True)
            logs += [] if ratio is None else [math.log(ratio.value)]
    if logs:
        print(f"{'geometric mean':70} {math.exp(sum(logs) / len(logs)):6.3f}")
    return 0 if logs else 2


def _ratio(pythons: Sequence[str], *cell: str) -> turns.Ratio | None:
    """Measure a cell in pairs of processes until the interval is narrow; None if one environment does not have it."""
    first, second = pythons
    found: list[turns.Rounds] = []
    least, most = turns.PROCESSES
    while len(found) < least or (len(found) < most and not turns.narrow(found, second, [first])):
        found.append(pair(pythons, *cell))
        if not found[-1]:
            return None
    return turns.ratio(found, second, first)


def publish(interpreters: list[str], folder: Path, build: str, minutes: float | None, only: str | None) -> int:
    """Measure a row of each interpreter, or continue an earlier call; return the exit code: 1 if a row is incomplete.

    Two rows are measured at the same time, those of PyPy first, since they take longest. build: `wheel` for the wheel
    in dist/, or another backend of the rows for benchmarks. minutes: for each row. only: a part of the cells.
    """
    from bench import machine

    revision = machine.describe()["revision"]  # figures of several commits are not mixed

    def complete(interpreter: str) -> bool:
        name = f"{interpreter}-{build}"
        path = folder / f"{name}-bench.json"
        options = ["--bench-keep", str((folder / "kept" / f"{name}-{revision}.jsonl").resolve())]
        options += [] if minutes is None else ["--bench-minutes", str(minutes)]
        options += [] if only is None else ["-k", only]
        # otherwise a row that cannot be measured here would seem to have the figures of an earlier day
        path.unlink(missing_ok=True)
        tox = [sys.executable, "-m", "tox", "run", "--skip-missing-interpreters=false", "-e", f"{name}-bench"]
        if not subprocess.run([*tox, "--", *options], check=False).returncode and path.exists():
            return True
        print(f"{name}: not complete; the same command continues where it ended", file=sys.stderr)
        return False

    rows = sorted(interpreters or INTERPRETERS, key=lambda each: not each.startswith("pypy"))
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return 0 if all([*pool.map(complete, rows)]) else 1
