# SPDX-License-Identifier: Apache-2.0
"""The control: fixed work that no change of cpkg can speed up, measured beside every benchmark.

A result divided by the control of the same moment can be compared with another day, a busy hour or another machine.
The two parts are what codecs consist of: interpreted Python, and bytes moved through memory.

A shorter piece of work, a checksum by zlib, shows whether the processor is fully available: on a shared machine
another guest of the same core takes nearly half of it, for milliseconds or for seconds. The rounds of every library
wait for moments without such a guest. The checksum is C code on every interpreter: a loop that a JIT compiles waits for
its own results, and takes no longer beside a guest.
"""

from __future__ import annotations

import bisect
import time
import zlib
from typing import Callable

LOOP_STEPS = 20_000
WHOLE = 1.25
"""The checksum may take this many times its least time for the processor to count as whole."""
FASTEST = 10
"""Its least time is the tenth fastest so far: a few times that a clock error made too short do not count."""
LOOK_AGAIN = 2e-3
"""Seconds until the next wait."""
COPY_SIZE = 4 * 1024 * 1024

_source = bytes(range(256)) * (COPY_SIZE // 256)
_target = bytearray(COPY_SIZE)
_checked = _source[: 16 * 1024]
"""This size leaves part of the first cache to other code."""


def python_loop() -> int:
    """Do a fixed amount of integer arithmetic in Python."""
    total = 1
    for step in range(LOOP_STEPS):
        total = (total * 31 + step) & 0xFFFFF
    return total


def memory_copy() -> None:
    """Copy 4 MiB once."""
    _target[:] = _source


def checksum() -> None:
    """Compute a checksum of 16 KiB five times: about 25 microseconds."""
    for _ in range(5):
        zlib.crc32(_checked)


def measure(repeat: int = 3) -> dict[str, float]:
    """Return the best time in seconds of `repeat` runs of each part."""
    best = {"loop": float("inf"), "copy": float("inf")}
    for _ in range(repeat):
        for name, work in (("loop", python_loop), ("copy", memory_copy)):
            best[name] = min(best[name], seconds_of(work))
    return best


def seconds_of(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


class Moments:
    """Waits for moments in which the processor is whole: no other guest of its core uses it."""

    def __init__(self, seconds: float) -> None:
        """Watch the best time of the checksum for that many seconds; a JIT compiles the control meanwhile."""
        self._fastest: list[float] = []
        self._until = 0.0
        end = time.perf_counter() + seconds
        while len(self._fastest) < FASTEST or time.perf_counter() < end:
            self._is_whole()
            python_loop()

    def _is_whole(self) -> bool:
        took = seconds_of(checksum)
        bisect.insort(self._fastest, took)
        del self._fastest[FASTEST:]
        return took <= WHOLE * self._fastest[-1]

    def wait(self, patience: float) -> float:
        """Return in such a moment, or `patience` seconds later; the result is the number of seconds left."""
        start = now = time.perf_counter()
        if start < self._until:
            return patience
        while not self._is_whole() and now < start + patience:
            now = time.perf_counter()
        self._until = time.perf_counter() + LOOK_AGAIN
        return max(start + patience - now, 0.0)
