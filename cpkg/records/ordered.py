# SPDX-License-Identifier: Apache-2.0
"""Calls on several cores, with their results in the order of the calls."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterable
from typing import TYPE_CHECKING, Any, Callable, Final, TypeVar

from cpkg import _backend
from purepy._cores import checked_threads, usable_cores

if TYPE_CHECKING:
    from concurrent.futures import Future

T = TypeVar("T")

_MOST: Final = 4
"""More threads than this find no work: packing and unpacking take turns."""
_AHEAD: Final = 2
"""So many results wait for each thread, so that memory stays bounded."""


def thread_count(threads: int | None, *, alone: bool = False, beside: bool = False, most: int = _MOST) -> int:
    """
    Return how many threads to use where the caller asks for `threads`; None is as many as help here.

    That is one per core, or one for each but the caller's where he works `beside` them without a pause, and at `most`
    so many; none on a single core, where Zstandard is the pure backend, whose threads would take turns, and where the
    caller is faster `alone`. Raises TypeError and ValueError as `checked_threads`.
    """
    if threads is not None:
        return checked_threads(threads)
    if alone or _backend.choose("zstd").module.BACKEND == "pure":
        return 0
    cores = usable_cores()
    if cores == 1:
        return 0
    return min(cores - 1 if beside else cores, most)


def mapped(function: Callable[..., T], calls: Iterable[tuple[Any, ...]], threads: int) -> Generator[T, None, None]:
    """Yield `function(*arguments)` for each of `calls`, in order, some of them made in advance by threads."""
    if not threads:
        for arguments in calls:
            yield function(*arguments)
        return
    from concurrent.futures import ThreadPoolExecutor

    pool = ThreadPoolExecutor(threads, "cpkg-records")
    ahead: deque[Future[T]] = deque()
    try:
        for arguments in calls:
            if len(ahead) >= _AHEAD * threads:
                yield ahead.popleft().result()
            ahead.append(pool.submit(function, *arguments))
        while ahead:
            yield ahead.popleft().result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
