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

TURN = 0.004
"""Seconds of a turn: long beside the clock and the caches of the turn before, short beside disturbances."""
ROUNDS = (5, 60)
"""The least and the largest number of rounds in a process, unless a call takes longer than LONG."""
LONG = 0.1
"""Seconds of a call that is timed in few rounds: a turn of it is already long."""
SECONDS = 0.04
"""Seconds for each library in each process."""
WARM = 0.5 if PYPY else 0.01
"""Seconds in which each library's call runs before it is timed: a JIT compiles it."""
NARROW = 0.03
"""A cell is measured until the interval of every alternative that is nearly as fast as cpkg is narrower than this."""
PROCESSES = (4, 8)
"""The least and the largest number of processes of a cell."""
NEAR = 2
"""An alternative that takes more than this many times as long as cpkg needs no narrow interval."""

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
    def level(self) -> bool:
        """Whether the interval holds 1: neither side is shown to be faster."""
        return self.low <= 1 <= self.high

    def overlaps(self, other: Ratio) -> bool:
        """Return whether two intervals have a value in common."""
        return self.low <= other.high and other.low <= self.high


def median_ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """Return the median over the rounds of a process of `theirs` divided by `ours`."""
    return statistics.median(other / one for one, other in zip(ours, theirs))


def ratio(processes: Sequence[Rounds], ours: str, other: str) -> Ratio:
    """Return the ratio of two libraries over the processes that measured both: the mean of the processes' logarithms.

    The interval is Student's over the processes, and from 0 to infinity if only one process measured both.
    """
    both = [one for one in processes if one.get(ours) and one.get(other)]
    logs = [math.log(median_ratio(one[ours], one[other])) for one in both]
    mean = statistics.fmean(logs)
    if len(logs) < 2:
        return Ratio(math.exp(mean), 0.0, math.inf)
    half = _student(len(logs)) * statistics.stdev(logs) / math.sqrt(len(logs))
    return Ratio(math.exp(mean), math.exp(mean - half), math.exp(mean + half))


def _student(count: int) -> float:
    return next((value for least, value in sorted(_STUDENT.items(), reverse=True) if least <= count), 12.71)


def seconds(processes: Sequence[Rounds], library: str) -> float:
    """Return the seconds of a call: the median over the processes of the median over their rounds."""
    return statistics.median(statistics.median(one[library]) for one in processes if one.get(library))


def narrow(processes: Sequence[Rounds], ours: str, others: Sequence[str]) -> bool:
    """Return whether enough processes were measured: the ratios to all `others` near to `ours` are narrow."""
    found = [ratio(processes, ours, other) for other in others if any(one.get(other) for one in processes)]
    return all(each.width <= NARROW for each in found if each.value < NEAR)


def in_rounds(calls: Mapping[str, Call], before: Mapping[str, Call], clock: Callable[[], float], seed: int) -> Rounds:
    """Time each call in turns in this process; return the seconds of a call in each round.

    calls: by library. before: what runs untimed before a turn. clock: returns seconds. seed: of the order.
    """
    order, draw = list(calls), random.Random(seed)
    counts = {library: _calibrated(calls[library], before.get(library)) for library in order}
    gc.collect()
    found: Rounds = {library: [] for library in order}
    least, most = ROUNDS
    end = time.perf_counter() + SECONDS * len(order)
    slow = max(took * count for took, count in counts.values()) > LONG
    for number in itertools.count():
        if number >= most or (number >= (1 if slow else least) and time.perf_counter() > end):
            return found
        draw.shuffle(order)
        for library in order:
            if library in before:
                before[library]()
            found[library].append(time_of(calls[library], counts[library][1], clock))
    raise AssertionError  # for type checkers: count() does not end


def _calibrated(call: Call, before: Call | None) -> tuple[float, int]:
    """Run a call until it is warm; return the seconds of one, and how many of them fill a turn."""
    best, end = math.inf, time.perf_counter() + WARM
    while True:
        if before is not None:
            before()
        best = min(best, time_of(call, 1, time.perf_counter))
        if time.perf_counter() >= end:
            # what has to be prepared before each call cannot be repeated within a turn
            return best, 1 if before is not None else max(1, int(TURN / max(best, 1e-9)))


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
