# SPDX-License-Identifier: Apache-2.0
"""How many threads to use, and a pool of them that ends with the block that it serves."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from purepy._cores import usable_cores


def usable_cpus() -> int:
    """Return the number of processors that this process may use, by its affinity and its control group's quota."""
    count = usable_cores()
    try:
        with open("/sys/fs/cgroup/cpu.max", encoding="ascii") as file:
            quota, period = file.read().split()
        if quota != "max":
            count = min(count, max(1, -(-int(quota) // int(period))))
    except (OSError, ValueError):
        pass
    return count


def thread_count(threads: int | None) -> int:
    """Return how many threads to start for the argument `threads`; raises ValueError for a negative number."""
    if threads is not None and threads < 0:
        raise ValueError(f"threads is the number of threads, or 0 or None for one per processor, not {threads}")
    return threads or usable_cpus()


@contextlib.contextmanager
def pool_of(threads: int) -> Iterator[ThreadPoolExecutor]:
    """Start threads, and end them when the block ends: what has not begun by then is not done."""
    pool = ThreadPoolExecutor(threads, thread_name_prefix="cpkg-archive")
    try:
        yield pool
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
