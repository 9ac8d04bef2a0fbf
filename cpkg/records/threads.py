# SPDX-License-Identifier: Apache-2.0
"""How many threads work on record files, and calls that they do ahead."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterable
from typing import Any, Callable, Final, TypeVar

from cpkg import _backend
from purepy import _cores
from purepy._cores import usable_cores
from purepy.crew import Call, Crew

T = TypeVar("T")

_MOST: Final = 4
"""More threads than this find no work by default: packing and unpacking take turns."""
_AHEAD: Final = 2
"""So many results wait for each thread, so that memory stays bounded."""


def has_threads_of_c() -> bool:
    """Return whether the backend of Zstandard has threads that compress and decompress without Python."""
    return _backend.zstd().compressing_queue is not None


def thread_count(threads: int | None, *, alone: bool = False, most: int = _MOST) -> int:
    """
    Return how many threads are to work where the caller asks for `threads`: 0 is one per core, 1 his own alone.

    None is one per core and at `most` so many; his own alone where Zstandard is the pure backend, whose threads would
    take turns, and where he is faster `alone`. Raises TypeError and ValueError as `checked_threads`.
    """
    if threads is not None:
        return _cores.thread_count(threads)
    if alone or not _backend.zstd().RELEASES_GIL:
        return 1
    return min(usable_cores(), most)


def mapped(function: Callable[..., T], calls: Iterable[tuple[Any, ...]], threads: int) -> Generator[T, None, None]:
    """Yield `function(*arguments)` for each of `calls`, in order, some of them made in advance by threads."""
    if threads <= 1:
        for arguments in calls:
            yield function(*arguments)
        return
    crew = Crew(threads)
    ahead: deque[Call] = deque()
    try:
        for arguments in calls:
            if len(ahead) >= _AHEAD * threads:
                yield ahead.popleft().result()
            ahead.append(crew.submit(function, *arguments))
        while ahead:
            yield ahead.popleft().result()
    finally:
        crew.stop()
