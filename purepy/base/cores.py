# SPDX-License-Identifier: Apache-2.0
"""The number of usable processors, arguments that are integers, and whether Python threads run in parallel."""

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

    This is the smallest of three numbers: the system's processors, the processors in the process's affinity, and the
    quota of its control groups, rounded up (Linux, both versions). The quota is read once.
    """
    global _quota
    if _quota is None:
        _quota = quota_cores()
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(count, _quota) if _quota else count


def quota_cores(membership: str = "/proc/self/cgroup", root: str = "/sys/fs/cgroup") -> int:
    """
    Return how many processors the control groups of a process allow, rounded up; 0 without a limit.

    `membership` is the file that names the groups, `root` the folder where they are mounted. A group's limit applies
    to all groups below it, so the smallest limit on the path to the root counts. In a container, `root` may be the
    process's own group.
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
    # the group may have no limit, or may not be visible from here
    with Suppressed(OSError, ValueError), open(os.path.join(group, name), encoding="ascii") as file:
        return file.read().split()
    return []


def _rounded_up(*words: str) -> int:
    try:
        quota, period = map(int, words)
        return max(-(-quota // period), 1) if quota > 0 else 0
    except (ValueError, ZeroDivisionError):  # "max", or an empty file
        return 0


def checked_int(name: str, value: int) -> int:
    """Return `value`, the argument `name`, as an int; raises TypeError unless it is an integer."""
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an int, not {type(value).__name__}") from None


def checked_threads(threads: int) -> int:
    """Check and return an argument `threads`; raises TypeError unless it is an integer, ValueError unless 0 to 256."""
    count = checked_int("threads", threads)
    if not 0 <= count <= THREADS_MAX:
        raise ValueError(f"threads must be 0 to {THREADS_MAX}, not {count}")
    return count


def thread_count(threads: int) -> int:
    """
    Return the number of threads for an argument `threads`; 0 means one per usable core, but not more than 256.

    Raises the errors of `checked_threads`.
    """
    return checked_threads(threads) or min(usable_cores(), THREADS_MAX)


def python_runs_in_parallel() -> bool:
    """Return whether threads of Python code run in parallel, which they do without the GIL."""
    is_gil_enabled = getattr(sys, "_is_gil_enabled", None)
    return is_gil_enabled is not None and not is_gil_enabled()
