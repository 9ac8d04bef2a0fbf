# SPDX-License-Identifier: Apache-2.0
"""How many processors there are to work on, how a caller asks for threads, and whether threads of Python help."""

from __future__ import annotations

import operator
import os
import sys

from purepy.base.errors import Suppressed

THREADS_MAX = 256

_quota: int | None = None


def usable_cores() -> int:
    """
    Return the number of processors that this process may use, at least 1.

    That is the least of the system's processors, those of the process's affinity, and the quota of its control groups
    (Linux, both versions), rounded up. The quota is looked up once.
    """
    global _quota
    if _quota is None:
        _quota = quota_cores()
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(count, _quota) if _quota else count


def quota_cores(membership: str = "/proc/self/cgroup", root: str = "/sys/fs/cgroup") -> int:
    """
    Return how many processors the control groups of a process give it time for, rounded up; 0 without a limit.

    `membership` is the file that names its groups, `root` the folder where they are mounted. A group's limit holds for
    all below it, so the least on the way up counts. In a container, `root` may be the group itself.
    """
    lines: list[str] = []
    with Suppressed(OSError), open(membership, encoding="utf-8", errors="surrogateescape") as file:
        lines = file.read().splitlines()
    found = [0]
    for line in lines:
        _, _, place = line.partition(":")
        controllers, _, path = place.partition(":")
        if not controllers:
            mount, read = root, _quota_of
        elif "cpu" in controllers.split(","):
            mount, read = os.path.join(root, "cpu"), _quota_of_first_version
        else:
            continue
        parts = [part for part in path.split("/") if part not in ("", "..")]
        found += [read(os.path.join(mount, *parts[:depth])) for depth in range(len(parts) + 1)]
    return min(filter(None, found), default=0)


def _quota_of(group: str) -> int:
    return _rounded_up(*_words(group, "cpu.max"))


def _quota_of_first_version(group: str) -> int:
    return _rounded_up(*_words(group, "cpu.cfs_quota_us"), *_words(group, "cpu.cfs_period_us"))


def _words(group: str, name: str) -> list[str]:
    # there may be no limit, or no group that can be seen from here
    with Suppressed(OSError, ValueError), open(os.path.join(group, name), encoding="ascii") as file:
        return file.read().split()
    return []


def _rounded_up(*words: str) -> int:
    try:
        quota, period = map(int, words)
        return max(-(-quota // period), 1) if quota > 0 else 0
    except (ValueError, ZeroDivisionError):  # "max", or nothing there
        return 0


def checked_threads(threads: int) -> int:
    """Return the argument `threads` of a function; raises TypeError if it is no integer, ValueError if not 0 to 256."""
    count = operator.index(threads)
    if not 0 <= count <= THREADS_MAX:
        raise ValueError(f"threads must be 0 to {THREADS_MAX}, not {count}")
    return count


def thread_count(threads: int) -> int:
    """Return the argument `threads`, checked, where 0 means one per core that this process may use."""
    return checked_threads(threads) or min(usable_cores(), THREADS_MAX)


def python_runs_in_parallel() -> bool:
    """Whether threads of Python code run beside each other: where there is no GIL."""
    is_gil_enabled = getattr(sys, "_is_gil_enabled", None)
    return is_gil_enabled is not None and not is_gil_enabled()
