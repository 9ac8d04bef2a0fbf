# SPDX-License-Identifier: Apache-2.0
"""Calls on several cores, with their results in the order of the calls."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterable
from typing import TYPE_CHECKING, Any, Callable, Final, Generic, TypeVar

from cpkg import _backend
from purepy._cores import checked_threads, usable_cores

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

T = TypeVar("T")

_MOST: Final = 4
"""More threads than this find no work: packing and unpacking take turns."""
_MOST_BESIDE: Final = 2
"""The same for threads that work while the caller packs or unpacks, which takes him longer."""


def thread_count(threads: int | None, *, alone: bool = False, beside: bool = False) -> int:
    """
    Return how many threads to use where the caller asks for `threads`; None is as many as help here.

    That is one per core, or one for each but the caller's where he works `beside` them without a pause; none on a
    single core, where Zstandard is the pure backend, whose threads would take turns, and where the caller is faster
    `alone`. Raises TypeError and ValueError as `checked_threads`.
    """
    if threads is not None:
        return checked_threads(threads)
    if alone or _backend.choose("zstd").module.BACKEND == "pure":
        return 0
    cores = usable_cores()
    if beside:
        return min(cores - 1, _MOST_BESIDE)
    return min(cores, _MOST) if cores > 1 else 0


class Ordered(Generic[T]):
    """
    A queue of calls that threads make.

    At most `depth` of them for each thread should wait or be done and not taken (`is_full`), so that memory stays
    bounded. With no threads, or after `close`, calls are made at once, by the caller.
    """

    def __init__(self, threads: int, depth: int = 2) -> None:
        self._threads = threads
        self._depth = depth
        self._pool: ThreadPoolExecutor | None = None
        self._queue: deque[Callable[[], T]] = deque()

    def __len__(self) -> int:
        return len(self._queue)

    @property
    def is_full(self) -> bool:
        """Whether a result should be taken before the next call."""
        return len(self._queue) >= max(self._depth * self._threads, 1)

    def call(self, function: Callable[..., T], *args: Any, here: bool = False) -> None:
        """Queue a call; `here` makes it at once in this thread."""
        if here or not self._threads:
            result = function(*args)
            self._queue.append(lambda: result)
            return
        if self._pool is None:
            from concurrent.futures import ThreadPoolExecutor

            self._pool = ThreadPoolExecutor(self._threads, "cpkg-records")
        self._queue.append(self._pool.submit(function, *args).result)

    def first(self) -> T:
        """Wait for the first call and return its result, which stays in the queue; raises what the call raised."""
        return self._queue[0]()

    def drop(self) -> None:
        """Remove the first call."""
        self._queue.popleft()

    def take(self) -> T:
        """Do both."""
        result = self.first()
        self.drop()
        return result

    def close(self) -> None:
        """End the threads and empty the queue; calls that were not begun are not made."""
        pool, self._pool = self._pool, None
        self._threads = 0
        self._queue.clear()
        if pool is not None:
            pool.shutdown(wait=True, cancel_futures=True)


def mapped(function: Callable[..., T], calls: Iterable[tuple[Any, ...]], threads: int) -> Generator[T, None, None]:
    """Yield `function(*arguments)` for each of `calls`, in order, some of them made in advance by threads."""
    if not threads:
        for arguments in calls:
            yield function(*arguments)
        return
    ahead: Ordered[T] = Ordered(threads)
    try:
        for arguments in calls:
            if ahead.is_full:
                yield ahead.take()
            ahead.call(function, *arguments)
        while len(ahead):
            yield ahead.take()
    finally:
        ahead.close()
