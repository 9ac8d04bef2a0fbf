# SPDX-License-Identifier: Apache-2.0
"""Time calls in turns of a few milliseconds, in a few processes, and compute ratios with their 95 % interval.

Absolute times on a shared machine depend on its other guests, on frequencies and on the addresses of memory. All
libraries of a cell take turns in one process, in a random order in each round, so that disturbances affect all of them
alike. The ratio of a process is the median over its rounds. The addresses of a process's memory make some calls faster
than others as long as the process lives. So a cell is measured in several processes, and the interval is computed from
their ratios.
"""

from __future__ import annotations

import gc
import itertools
import math
import random
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

PYPY = sys.implementation.name == "pypy"

Call = Callable[[], Any]
Rounds = dict[str, list[float]]
"""The seconds of a call of each library in each round of a process."""

TURN = 0.002
"""Seconds of a turn: long compared with reading the clock and filling caches, short compared with disturbances."""
ROUNDS = (5, 60)
"""The least and the largest number of rounds in a process; if a turn takes more than LONG seconds, the least is FEW."""
FEW = 2
SECONDS = 0.03
"""Seconds in each process for each library whose time is near to cpkg's."""
WARM = (0.03, 0.8) if PYPY else (0.003, 0.02)
"""Before a library's call is timed, it runs so that a JIT can compile it: the seconds of a span, and the most seconds
in all. A span has at least ten calls. Spans repeat until three in a row differ by less than a factor of STEADY."""
STEADY = 1.15
NARROW = 0.03
"""A cell needs no more processes once the intervals of all alternatives that are NEAR are at most this wide."""
PROCESSES = (3, 5) if PYPY else (4, 6)
"""The least and the largest number of processes of a cell."""
FLOOR = 0.01
"""The least half width of an interval, as a fraction: processes of the same minute resemble each other too closely."""
PATIENCE = 12
"""Seconds after which three processes are enough for a cell."""
NEAR = 2
"""An alternative that takes at least this many times as long as cpkg needs no narrow interval."""
LONG = 0.1
FAR = 4
"""A call that takes more than LONG seconds, and more than FAR times as long as cpkg's, is timed once in each of few
processes."""

_STUDENT = {2: 12.71, 3: 4.30, 4: 3.18, 5: 2.78, 6: 2.57, 7: 2.45, 8: 2.36, 9: 2.31, 10: 2.26, 12: 2.20, 16: 2.13}
"""The two-sided 95 % quantile of Student's distribution by the number of values (degrees of freedom plus one)."""


class Ratio(NamedTuple):
    """The time of another library divided by cpkg's, with the 95 % interval: above 1, cpkg is faster."""

    value: float
    low: float
    high: float

    @property
    def width(self) -> float:
        """The width of the interval as a fraction of the value; infinite if one process alone was measured."""
        return (self.high - self.low) / self.value

    @property
    def half(self) -> float:
        """The larger part of the interval, above or below the value, as a logarithm."""
        return max(math.log(self.high / self.value), math.log(self.value / self.low)) if self.low else math.inf

    @property
    def level(self) -> bool:
        """Whether the interval contains 1, so that neither side is shown to be faster."""
        return self.low <= 1 <= self.high


def ratio(processes: Sequence[Rounds], ours: str, other: str) -> Ratio:
    """Return the ratio of two libraries: the geometric mean of the ratios of the processes that measured both.

    The ratio of a process is the median over its rounds. The interval comes from Student's distribution, and has at
    least FLOOR on each side. If only one process measured both libraries, the interval is from 0 to infinity.
    """
    both = [one for one in processes if one.get(ours) and one.get(other)]
    rounds = [[theirs / mine for mine, theirs in zip(one[ours], one[other])] for one in both]
    logs = [math.log(statistics.median(each)) for each in rounds]
    mean = statistics.fmean(logs)
    if len(logs) < 2:
        return Ratio(math.exp(mean), 0.0, math.inf)
    student = next(value for count, value in reversed(_STUDENT.items()) if count <= len(logs))
    half = max(student * statistics.stdev(logs) / math.sqrt(len(logs)), FLOOR)
    return Ratio(math.exp(mean), math.exp(mean - half), math.exp(mean + half))


def seconds(processes: Sequence[Rounds], library: str) -> float:
    """Return the seconds of a library's call: the median of the processes' medians over their rounds."""
    return statistics.median(statistics.median(one[library]) for one in processes if one.get(library))


def narrow(processes: Sequence[Rounds], ours: str, others: Sequence[str]) -> bool:
    """Return whether enough processes were measured: the intervals of all `others` that are NEAR `ours` are narrow."""
    found = [ratio(processes, ours, other) for other in others if any(one.get(other) for one in processes)]
    return all(each.width <= NARROW for each in found if each.value < NEAR)


def is_far(ours: float, other: float) -> bool:
    """Return whether a call of `other` seconds is so long, compared with `ours`, that it is timed only a few times."""
    return other > LONG and other > FAR * ours


def in_rounds(
    calls: Mapping[str, Call], took: Mapping[str, float], clock: Callable[[], float], seed: int, ours: str
) -> Rounds:
    """Time each call in turns in this process; return the seconds of a call in each round.

    calls: by library. took: the seconds of each first call. clock: returns seconds. seed: for the order. Libraries that
    are not near to `ours` take part only in the least number of rounds, and libraries far from it only in the first.
    """
    order, draw = list(calls), random.Random(seed)
    warm = {library: calibrated(calls[library], took[library]) for library in order}
    far = [library for library in order if is_far(warm[ours][0], warm[library][0])]
    near = [library for library in order if warm[library][0] < 1.2 * NEAR * warm[ours][0]]
    found: Rounds = {library: [] for library in order}
    gc.collect()
    turn = max(warm[library][0] * warm[library][1] for library in near)
    least = FEW if turn > LONG else ROUNDS[0]
    for number in range(min(max(least, int(SECONDS / turn)), ROUNDS[1])):
        taking = order if not number else near if number >= least else [each for each in order if each not in far]
        for library in draw.sample(taking, len(taking)):
            found[library].append(time_of(calls[library], warm[library][1], clock))
    return found


def calibrated(call: Call, took: float) -> tuple[float, int]:
    """Run a call until it is warm; return its seconds, and the number of calls in a turn."""
    spans: list[float] = []
    end = time.perf_counter() + (WARM[1] if PYPY or took < LONG else 0)
    while (until := time.perf_counter() + WARM[0]) < end:
        calls: list[float] = []
        while not calls or (now := time.perf_counter()) < until or (len(calls) < 10 and now < end):
            calls.append(time_of(call, max(1, int(WARM[0] / 10 / took)), time.perf_counter))
            took = min(took, calls[-1])
        spans = [*spans[-2:], statistics.fmean(calls)]
        if len(spans) == 3 and max(spans) < STEADY * min(spans):
            break
    return took, max(1, int(TURN / took))


def time_of(call: Call, count: int, clock: Callable[[], float]) -> float:
    """Return the mean seconds of `count` calls. The seconds do not include freeing the last result.

    If the call is a `functools.partial` of a function and one argument, the function is called directly, because the
    partial takes as long as packing a small object.
    """
    repeat = itertools.repeat(None, count - 1)
    if isinstance(call, partial) and len(call.args) == 1 and not call.keywords:
        function, argument = call.func, call.args[0]
        start = clock()
        for _ in repeat:
            function(argument)
        result = function(argument)
        took = (clock() - start) / count
    else:
        start = clock()
        for _ in repeat:
            call()
        result = call()
        took = (clock() - start) / count
    del result
    return took
