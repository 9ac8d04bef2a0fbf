# SPDX-License-Identifier: Apache-2.0
"""How one cell is measured: the same rounds, checks and records for every library.

A cell is group, case, operation and library. Each cell is measured in several passes over the whole matrix, so that
its passes are minutes apart and those of two libraries alternate: noise here means the spread between the
passes.
"""

from __future__ import annotations

import functools
import gc
import itertools
import sys
import time
from dataclasses import dataclass
from typing import Any, Callable, NoReturn

import pytest

from bench import control, fresh, peers
from bench.cases import Case

PYPY = sys.implementation.name == "pypy"
ROUND_SECONDS = 200e-6
MAX_ROUNDS = 2000
# A call that takes this long is measured once per pass. Shorter ones are repeated: the first calls that need hundreds
# of megabytes wait for the system to provide them.
SLOW_CALL = 1.0
# A call of this many seconds is measured in the first pass only, unless it is cpkg's: its figure is then unconfirmed.
ONCE = 2.0
# A pass of a cell may wait this many times its seconds for moments in which the processor is not shared.
WAITS = 20
# How long a run first watches the processor.
WATCHES = 2.0


@dataclass(frozen=True)
class Settings:
    """The settings from the command line. seconds: how long one pass of one cell is measured."""

    enabled: bool
    passes: int
    seconds: float
    quick: bool
    slow: bool

    @property
    def patience(self) -> float:
        """The seconds that a pass of a cell may wait for the processor to be whole."""
        return WAITS * self.seconds

    @functools.cached_property
    def moments(self) -> control.Moments:
        """The moments in which the processor is whole; runs without measurements do not wait."""
        return control.Moments(WATCHES)


# Cells (with their operation and library) whose call took longer than that.
_too_long: set[tuple[str, ...]] = set()


# The lowest measured speed of the pure backend in bytes per second, so that a row does not hang for an hour.
PURE_SLOWEST = {"compress": 0.1e6, "decompress": 1e6}


def too_slow_pure(size: int, operation: str, patience: float) -> str | None:
    """Return how long the pure Zstandard backend would take for `size` bytes, if more than `patience` seconds."""
    seconds = size / (PURE_SLOWEST[operation] * (20 if PYPY else 1))
    return f"would take about {seconds:.0f} s a call on this backend" if seconds > patience else None


_reported: list[float] = [0.0]


def reported_time() -> float:
    """Return the time that other processes reported so far: the timer of benchmarks that run in fresh processes."""
    return _reported[0]


def _report(seconds: float) -> None:
    _reported[0] += seconds


def _repeated(function: Callable[[Any], Any], times: int) -> Callable[[Any], Any]:
    if times == 1:
        return function

    def run(argument: Any) -> Any:
        for _ in itertools.repeat(None, times - 1):
            function(argument)
        return function(argument)

    return run


def _calibrate(function: Callable[[Any], Any], argument: Any, seconds: float) -> float:
    """Warm up (long enough for a JIT on PyPy) and return the seconds of one call."""
    best = control.seconds_of(lambda: function(argument))
    deadline = time.perf_counter() + (seconds if PYPY else seconds / 10)
    while time.perf_counter() < deadline:
        best = min(best, control.seconds_of(lambda: function(argument)))
    return best


def plan(call_seconds: float, seconds: float) -> tuple[int, int]:
    """Return the rounds and the calls per round for a call of `call_seconds`, to fill about `seconds`."""
    inner = max(1, round(ROUND_SECONDS / max(call_seconds, 1e-9)))
    rounds = int(seconds / max(call_seconds * inner, 1e-9))
    least = 3 if call_seconds < SLOW_CALL else 1
    return min(max(rounds, least), MAX_ROUNDS), inner


@dataclass
class Cell:
    """One cell in one pass: its name, set by `begin` or `load`, and how it is measured."""

    benchmark: Any
    settings: Settings
    record: Callable[[dict[str, Any]], None]
    info: dict[str, Any]

    def begin(self, group: str, case: Case, operation: str, library: str, ours: bool, **more: Any) -> None:
        """Name the cell; `more` is for its readers."""
        copy = operation in case.copies
        self.info.update(
            group=group, case=case.name, operation=operation, copy=copy, library=library, ours=ours, **more
        )

    def load(self, group: str, case: Case, operation: str, peer: peers.Peer) -> peers.Library:
        """Name the cell of a peer and load it: a missing peer is a result, a missing cpkg is a failure."""
        self.begin(group, case, operation, peer.name, peer.ours, format=peer.format)
        loaded = peers.load(peer)
        if loaded.library is None:
            if peer.ours:
                pytest.fail(f"{peer.name}: {loaded.error}")
            self.not_run(loaded.error)
        assert loaded.library is not None
        return loaded.library

    def not_run(self, reason: object) -> NoReturn:
        """Record why the cell has no figure: the library cannot do it, or it would take hours."""
        self.record({**self.info, "reason": str(reason)})
        pytest.skip(str(reason))

    def ask(self, question: Callable[[], Any]) -> Any:
        """Return the answer of `question`, which runs children; if a peer fails, record it as not run."""
        try:
            return question()
        except fresh.ChildFailed as failure:
            if self.info["ours"] or self.info.get("limit") or "Error" not in str(failure):
                raise
            self.not_run(failure)

    def same(self, expected: Any) -> Callable[[Any], None]:
        """Return a check that a result equals `expected`."""

        def check(result: Any) -> None:
            assert result == expected, f"{self.info['library']} gave something else"

        return check

    def measure(self, function: Callable[[Any], Any], argument: Any, check: Callable[[Any], None]) -> None:
        """Measure function(argument), whose result `check` accepts, or raises an exception.

        The result is checked before and after the timing, outside the measured time.
        """
        settings, info = self.settings, self.info
        if not settings.enabled:
            check(self.benchmark.pedantic(function, (argument,)))
            return
        cell = (info["group"], info["case"], info["operation"], info["library"])
        if cell in _too_long:
            pytest.skip("another library's call of several seconds is measured in one pass")
        start = time.perf_counter()
        result = function(argument)
        call_seconds = time.perf_counter() - start
        check(result)
        del result
        if call_seconds > ONCE and not info["ours"]:
            _too_long.add(cell)
        gc.collect()
        if call_seconds < SLOW_CALL or PYPY:
            call_seconds = _calibrate(function, argument, settings.seconds)
        rounds, inner = plan(call_seconds, settings.seconds)
        left = settings.patience

        def wait() -> None:
            nonlocal left
            left = settings.moments.wait(left)

        def run() -> Any:
            return self.benchmark.pedantic(_repeated(function, inner), (argument,), setup=wait, rounds=rounds)

        result, info["control"] = beside(settings, run)
        check(result)
        self.benchmark.extra_info.update(info, inner=inner)

    def measure_reported(self, run: Callable[[], float]) -> None:
        """Measure the seconds that `run` reports from a fresh process.

        The control is measured beside `run`, unless the cell has the control of a process that ran before.
        The test must carry `pytest.mark.benchmark(timer=reported_time)`.
        """

        def reported() -> None:
            self.benchmark.pedantic(lambda: _report(run()))

        if "control" in self.info:
            reported()
        else:
            _, self.info["control"] = beside(self.settings, reported)
        if self.settings.enabled:
            self.benchmark.extra_info.update(self.info, inner=1)


def beside(settings: Settings, run: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    """Call `run` in a moment in which the processor is whole; return its result, and the control beside it."""
    if not settings.enabled:
        return run(), {}
    settings.moments.wait(settings.patience)
    before = control.measure()
    result = run()
    after = control.measure()
    return result, {key: min(before[key], after[key]) for key in before}
