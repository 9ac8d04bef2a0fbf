# SPDX-License-Identifier: Apache-2.0
"""
Time works in turns: the clock, the processes, the options and the lines that the scripts of this folder share.

Each work has one turn in each round, so that disturbances on the machine affect all of them alike.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

PYPY = sys.implementation.name == "pypy"

Call = Callable[[], Any]


class Taken(NamedTuple):
    """Seconds of a call."""

    clock: float
    processor: float


def timed(call: Call, turn: float = 0, before: Call | None = None) -> Callable[[], Taken]:
    """Return a work that times a call, or as many calls as fill `turn` seconds; `before` runs untimed first."""
    count = 1
    if turn:
        call()
        count = max(1, int(turn / max(_time(call, 1).clock, 1e-9)))

    def work() -> Taken:
        if before is not None:
            before()
        return _time(call, count)

    return work


def _time(call: Call, count: int) -> Taken:
    clock, processor = time.perf_counter(), time.process_time()
    for _ in itertools.repeat(None, count - 1):
        call()
    result = call()
    taken = Taken((time.perf_counter() - clock) / count, (time.process_time() - processor) / count)
    del result  # freeing it is not part of the call
    return taken


def in_turns(
    works: Mapping[Any, Callable[[], Any]], rounds: int, skipped: int = 0, shuffled: bool = False
) -> dict[Any, list[Any]]:
    """Run each work once a round; return the results of each work in each round after the skipped ones."""
    found: dict[Any, list[Any]] = {name: [] for name in works}
    order = list(works)
    for turn in range(skipped + rounds):
        if shuffled:
            random.shuffle(order)
        for name in order:
            figures = works[name]()
            if turn >= skipped:
                found[name].append(figures)
    return found


def least(found: Mapping[Any, Sequence[Sequence[float]]]) -> dict[Any, list[float]]:
    """Return the least value of each figure of each work over the rounds."""
    return {name: [min(column) for column in zip(*rounds)] for name, rounds in found.items()}


def fastest(
    calls: Mapping[Any, Call], rounds: int, turn: float = 0, skipped: int = 0, shuffled: bool = False
) -> dict[Any, Taken]:
    """Time calls in turns; return the least time of each."""
    works = {name: timed(call, turn) for name, call in calls.items()}
    return {name: Taken(*best) for name, best in least(in_turns(works, rounds, skipped, shuffled)).items()}


def again(*arguments: object, environment: dict[str, str] | None = None) -> Any:
    """Run this script in a new process, and return the JSON that it prints.

    Raises RuntimeError with the last line of its standard error.
    """
    command = [sys.executable, sys.argv[0], *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1])
    return json.loads(done.stdout)


def compiled() -> dict[str, str]:
    """Return an environment in which new processes compile modules only once, like modules that pip installed."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def options(text: str | None, rounds: int, size: int = 0, files: bool = False) -> argparse.ArgumentParser:
    """Return a parser with options that many scripts share; `text` is the script's docstring, `size` MiB of content."""
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=rounds, help="turns of each (default: %(default)s)")
    parser.add_argument("--child", nargs="*", help=argparse.SUPPRESS)
    if size:
        parser.add_argument("--size", type=int, default=size, help="MiB of content (default: %(default)s)")
    if files:
        parser.add_argument("--folder", default=memory(), help="where files go (default: %(default)s)")
    return parser


def memory() -> str | None:
    """Return a folder whose files are in memory, or None."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def in_memory() -> tempfile.TemporaryDirectory[str]:
    """Return a temporary folder, in memory if possible."""
    return tempfile.TemporaryDirectory(prefix="cpkg-bench-", dir=memory())


def heading(codec: str) -> str:
    """Name the interpreter and the backend."""
    import cpkg

    info = cpkg.backend_info()[codec]
    return f"{info.interpreter}, {info.backend} ({info.library})"


def row(name: str, *columns: object, width: int = 36, digits: int = 2) -> None:
    """Print a line of a table, aligned to the right, with that many decimals."""
    shown = (f"{each:12.{digits}f}" if isinstance(each, float) else f"{each!s:>12}" for each in columns)
    print(f"{name:{width}}" + "".join(shown), flush=True)


def versus(name: str, ours: Sequence[float], theirs: Sequence[float], note: str = "", width: int = 36) -> None:
    """Print the best of both sides, how many times as fast cpkg is, and the worst and the best of the pairs."""
    times = [other / one for one, other in zip(ours, theirs)]
    shown = f"{min(ours) * 1e6:9.2f} us {min(theirs) * 1e6:9.2f} us {min(theirs) / min(ours):6.2f}"
    print(f"{name:{width}} {shown} {min(times):8.2f} {max(times):5.2f}  {note}", flush=True)


class Processes:
    """Processes that start before anything is timed, one for each work, and do the works on request."""

    def __init__(self, works: Sequence[Call]) -> None:
        self._works = works
        self._pipes = [self._start() for _ in works]

    def _start(self) -> tuple[int, int]:
        orders, done = os.pipe(), os.pipe()
        if not os.fork():
            os.close(orders[1])
            try:
                while order := os.read(orders[0], 1):
                    self._works[order[0]]()
                    os.write(done[1], b"x")
            finally:
                os._exit(0)
        os.close(orders[0])
        os.close(done[1])
        return orders[1], done[0]

    def side_by_side(self) -> None:
        """Do each work in its own process, all at the same time."""
        for number, (orders, _) in enumerate(self._pipes):
            os.write(orders, bytes([number]))
        for _, done in self._pipes:
            assert os.read(done, 1)

    def one_by_one(self) -> None:
        """Do all works in one process."""
        orders, done = self._pipes[0]
        for number in range(len(self._works)):
            os.write(orders, bytes([number]))
            assert os.read(done, 1)

    def end(self) -> None:
        """End the processes."""
        for pipes in self._pipes:
            for end in pipes:
                os.close(end)
        for _ in self._pipes:  # only after closing all: a later process also has the pipes of earlier ones
            os.wait()
