# SPDX-License-Identifier: Apache-2.0
"""How work for asyncio is done in a thread: in steps, cancelled between them, and joined without holding the GIL."""

from __future__ import annotations

import asyncio
import io
import os
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Callable
from weakref import WeakKeyDictionary

from purepy._cores import usable_cores
from purepy._jit import JIT
from purepy.crew import Crew, Job, Stopped
from purepy.zstd.threads.positions import write_next

STEP = 1 << 20
JOINED_MAX = STEP if JIT else 4 * STEP  # what takes a millisecond or two to join


_THREADS_MAX = 32
_crews: WeakKeyDictionary[asyncio.AbstractEventLoop, tuple[int, Crew]] = WeakKeyDictionary()
"""The threads of each event loop, with the process that they belong to."""


class _Work(Job):
    """A call whose outcome goes to an event loop: `finish(result, error)` is called there."""

    def __init__(self, finish: Callable[[Any, Any], None], function: Callable[..., Any], arguments: Any) -> None:
        super().__init__()
        self._loop = asyncio.get_running_loop()
        self._finish = finish
        self._function = function
        self._arguments = arguments

    def run(self) -> None:
        result = error = None
        try:
            result = self._function(*self._arguments)
        except BaseException as exc:
            error = exc
        with suppress(RuntimeError):  # the loop is closed, so that nobody waits
            self._loop.call_soon_threadsafe(self._finish, result, error)
        del error  # no cycle with its frames


def start(
    function: Callable[..., Any], *arguments: Any, done: Callable[[Any], None] | None = None
) -> asyncio.Future[Any]:
    """
    Call a function in a thread; return a future of its result, which only `asyncio.shield` may wait for.

    `done(result)` is called in the event loop before the future has the result, and also if nothing waits for that.
    """
    loop = asyncio.get_running_loop()
    future = loop.create_future()

    def finish(result: Any, error: BaseException | None) -> None:
        if error is not None:
            future.set_exception(error)
            future.exception()  # nobody need ask for it
            return
        if done is not None:
            done(result)
        future.set_result(result)

    process, crew = _crews.get(loop, (0, None))
    if crew is None or process != os.getpid():
        crew = Crew(min(_THREADS_MAX, usable_cores() + 4))
        _crews[loop] = os.getpid(), crew
    crew.start(_Work(finish, function, arguments))
    return future


async def in_thread(work: Callable[[Callable[[], None]], Any]) -> Any:
    """Return what `work(check)` returns in a thread; `check()` raises once the task was cancelled."""
    is_stopped = False

    def check() -> None:
        if is_stopped:
            raise Stopped

    future = start(work, check)
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        is_stopped = True
        raise


def joined(pieces: Iterable[bytes], check: Callable[[], None]) -> bytes:
    """
    Return pieces as one, as b"".join does, but never with the GIL for longer than the copy of a STEP takes.

    `check` is called for each piece.
    """
    gatherer = _FileGatherer() if hasattr(os, "memfd_create") else _Gatherer()
    try:
        for piece in pieces:
            check()
            if len(piece) <= STEP:
                gatherer.add(piece)
            else:
                for start in range(0, len(piece), STEP):
                    gatherer.add(piece[start : start + STEP])
        check()
        return gatherer.value()
    finally:
        gatherer.close()


class _Gatherer:
    """
    Bytes in an io.BytesIO, where the system has no files in memory.

    CPython's gives away the memory that it has filled, but as it grows it may copy some 30 MiB with the GIL, once.
    """

    def __init__(self) -> None:
        self._file = io.BytesIO()

    def add(self, piece: bytes) -> None:
        self._file.write(piece)

    def value(self) -> bytes:
        return self._file.getvalue()

    def close(self) -> None:
        self._file.close()


class _FileGatherer:
    """
    Bytes in a file in memory: to read it makes an object without the GIL, where anything else copies with it.

    A few pieces are only joined.
    """

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._size = 0  # of the pieces, then of the file
        self._file = -1

    def add(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._file < 0:
            self._pieces.append(piece)
            if self._size <= JOINED_MAX:
                return
            self._file = os.memfd_create("cpkg-zstd")
            pieces, self._pieces = self._pieces, []
        else:
            pieces = [piece]
        for data in pieces:
            write_next(self._file, data)

    def value(self) -> bytes:
        if self._file < 0:
            return b"".join(self._pieces)
        data = os.pread(self._file, self._size, 0)
        if len(data) < self._size:  # more than the system reads in one call
            pieces = [data]
            position = len(data)
            while position < self._size:
                pieces.append(os.pread(self._file, self._size - position, position))
                position += len(pieces[-1])
            data = b"".join(pieces)
        return data

    def close(self) -> None:
        if self._file >= 0:
            os.ftruncate(self._file, 0)  # frees the memory without the GIL; close() has it on PyPy
            os.close(self._file)
