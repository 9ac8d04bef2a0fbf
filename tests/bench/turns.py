# SPDX-License-Identifier: Apache-2.0
"""Time works in turns of a few milliseconds, in a few processes, and compute ratios with their 95 % interval.

Absolute times on a shared machine depend on its other guests, on frequencies and on where memory is. All libraries of
a cell take turns in one process, in a random order in each round, so that disturbances affect all of them alike. The
ratio of a process is the median over its rounds. Where a process has its memory makes some calls faster than others,
for as long as it lives: so a cell is measured in several processes, and they are the sample that the interval is
computed from.
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
"""Seconds of a turn: long beside the clock and the caches of the turn before, short beside disturbances."""
ROUNDS = (5, 60)
"""The least and the largest number of rounds in a process; a call of more than LONG seconds needs only FEW."""
FEW = 2
SECONDS = 0.03
"""Seconds for each library that is near to cpkg, in each process."""
WARM = (0.03, 0.8) if PYPY else (0.003, 0.02)
"""Each library's call runs before it is timed, so that a JIT compiles it: in spans of so many seconds, and at least ten
calls, until three of them in a row differ by less than STEADY, and in how many seconds at most."""
STEADY = 1.15
NARROW = 0.03
"""A cell is measured until the interval of every alternative that is nearly as fast as cpkg is narrower than this."""
PROCESSES = (3, 5) if PYPY else (4, 6)
"""The least and the largest number of processes of a cell."""
FLOOR = 0.01
"""The least half of an interval, as a fraction: the processes of one minute have more in common than those of two."""
PATIENCE = 12
"""Seconds after which a cell is done if it has the least number of processes, or three."""
NEAR = 2
"""An alternative that takes more than this many times as long as cpkg needs no narrow interval."""
LONG = 0.1
FAR = 4
"""A call of more seconds than LONG, and FAR times as long as cpkg's, is timed once in each of few processes."""

_STUDENT = {2: 12.71, 3: 4.30, 4: 3.18, 5: 2.78, 6: 2.57, 7: 2.45, 8: 2.36, 9: 2.31, 10: 2.26, 12: 2.20, 16: 2.13}
"""The two-sided 95 % quantile of Student's distribution by the number of values (degrees of freedom plus one)."""


class Ratio(NamedTuple):
    """How many times as long another library takes, with the 95 % interval: above 1, cpkg is faster."""

    value: float
    low: float
    high: float

    @property
    def width(self) -> float:
        """The width of the interval as a fraction of the value; infinite if one process alone was measured."""
        return (self.high - self.low) / self.value

    @property
    def half(self) -> float:
        """Half of the interval as a logarithm, its larger half if they differ."""
        return max(math.log(self.high / self.value), math.log(self.value / self.low)) if self.low else math.inf

    @property
    def level(self) -> bool:
        """Whether the interval holds 1: neither side is shown to be faster."""
        return self.low <= 1 <= self.high


def ratio(processes: Sequence[Rounds], ours: str, other: str) -> Ratio:
    """Return the ratio of two libraries over the processes that measured both: the mean of the processes' logarithms.

    That of a process is the median over its rounds. The interval is Student's over the processes, at least FLOOR to
    each side, and from 0 to infinity if only one process measured both.
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
    """Return the seconds of a call: the median over the processes of the median over their rounds."""
    return statistics.median(statistics.median(one[library]) for one in processes if one.get(library))


def narrow(processes: Sequence[Rounds], ours: str, others: Sequence[str]) -> bool:
    """Return whether enough processes were measured: the ratios to all `others` near to `ours` are narrow."""
    found = [ratio(processes, ours, other) for other in others if any(one.get(other) for one in processes)]
    return all(each.width <= NARROW for each in found if each.value < NEAR)


def is_far(ours: float, other: float) -> bool:
    """Return whether a library's call is so long, beside cpkg's, that it is measured as rarely as possible."""
    return other > LONG and other > FAR * ours


def in_rounds(
    calls: Mapping[str, Call], took: Mapping[str, float], clock: Callable[[], float], seed: int, ours: str
) -> Rounds:
    """Time each call in turns in this process; return the seconds of a call in each round.

    calls: by library. took: the seconds of the first call. clock: returns seconds. seed: of the order. Libraries that
    are not near to `ours` take part in the least number of rounds only, those far away in the first.
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
    """Run a call until it is warm; return the seconds of one, and how many of them fill a turn."""
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
    """Return the seconds of a call, by calling it `count` times. Freeing the last result is not part of them.

    What `functools.partial` makes of a function and one argument is called without the partial, which takes as long as
    packing a small object.
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
