# SPDX-License-Identifier: Apache-2.0
"""A pool of threads that ends with the block that it serves."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor


def frames_ahead(threads: int) -> int:
    """Return how many frames are made or decompressed ahead of their use: one per thread, and one that is ready."""
    return threads + 1


@contextlib.contextmanager
def pool_of(threads: int) -> Iterator[ThreadPoolExecutor]:
    """Start threads, and end them when the block ends: what has not begun by then is not done."""
    pool = ThreadPoolExecutor(threads, thread_name_prefix="cpkg-archive")
    try:
        yield pool
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
