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

from purepy.base.cores import usable_cores
from purepy.base.crew import Crew, Job, Stopped
from purepy.base.pypy import JIT

STEP = 1 << 20
JOINED_MAX = STEP if JIT else 4 * STEP  # what takes a millisecond or two to join


_THREADS_MAX = 32
_crews: WeakKeyDictionary[asyncio.AbstractEventLoop, tuple[int, Crew]] = WeakKeyDictionary()
"""The threads of each event loop, with the process that they belong to."""


class Work(Job):
    """
    A call in a thread, whose result an event loop has in `future`, for which only `asyncio.shield` may wait.

    It is `start` that has it done, once however often it is called: a caller who was interrupted starts it again.
    `done(result)` is called in the thread behind it, also if nobody waits for it.
    """

    def __init__(
        self, function: Callable[..., Any], *arguments: object, done: Callable[[Any], object] | None = None
    ) -> None:
        super().__init__()
        self._loop = asyncio.get_running_loop()
        self.future: asyncio.Future[Any] = self._loop.create_future()
        self.future.add_done_callback(asyncio.Future.exception)  # nobody need ask for it
        self._calls = [(function, arguments, done)]

    def start(self, crew: Crew | None = None) -> asyncio.Future[Any]:
        """Have the call done by a Crew, that of the loop if none is given; return `future`."""
        if crew is None:
            process, crew = _crews.get(self._loop, (0, None))
            if crew is None or process != os.getpid():
                crew = Crew(min(_THREADS_MAX, usable_cores() + 4))
                _crews[self._loop] = os.getpid(), crew
        crew.start(self)
        return self.future

    def run(self) -> None:
        try:
            function, arguments, done = self._calls.pop()
        except IndexError:
            return
        try:
            outcome = function(*arguments)
            if done is not None:
                done(outcome)
            give = self.future.set_result  # of C, so that no signal handler raises in what the loop calls
        except BaseException as exc:
            outcome, give = exc, self.future.set_exception
        with suppress(RuntimeError):  # the loop is closed, so that nobody waits
            self._loop.call_soon_threadsafe(give, outcome)
        del outcome, give  # no cycle of an error with its frames


async def in_thread(work: Callable[[Callable[[], None]], bytes]) -> bytes:
    """Return what `work(check)` returns in a thread; `check()` raises once the task was cancelled."""
    is_stopped = False

    def check() -> None:
        if is_stopped:
            raise Stopped

    try:
        result: bytes = await asyncio.shield(Work(work, check).start())
        return result
    except BaseException:
        is_stopped = True
        raise


def joined(pieces: Iterable[bytes], check: Callable[[], None]) -> bytes:
    """
    Return pieces as one, as b"".join does, in copies of a STEP at most, between which other threads may run.

    `check` is called for each piece. CPython's BytesIO gives away the memory that it has filled; PyPy's copies it once.
    """
    gatherer = io.BytesIO()
    for piece in pieces:
        check()
        if len(piece) <= STEP:
            gatherer.write(piece)
        else:
            for start in range(0, len(piece), STEP):
                gatherer.write(piece[start : start + STEP])
    check()
    return gatherer.getvalue()
