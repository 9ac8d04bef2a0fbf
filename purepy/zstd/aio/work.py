# SPDX-License-Identifier: Apache-2.0
"""
Run work for asyncio in threads.

Long work consists of steps, between which it can be cancelled. `joined` joins bytes in steps, so that it never holds
the GIL for long.
"""

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
JOINED_MAX = STEP if JIT else 4 * STEP  # joining this many bytes takes a millisecond or two


_THREADS_MAX = 32
_crews: WeakKeyDictionary[asyncio.AbstractEventLoop, tuple[int, Crew]] = WeakKeyDictionary()
"""The threads of each event loop, with the id of the process that they belong to."""


class Work(Job):
    """
    A call in a thread, whose result arrives in `future`.

    Wait for the future with `asyncio.shield`, so that cancelling the task does not cancel the future. However often
    `start` is called, the call runs only once: a caller that was interrupted calls `start` again. After a call that
    raised no exception, `done(result)`, if given, is called in the thread, even if nothing waits for the result.
    """

    def __init__(
        self, function: Callable[..., Any], *arguments: object, done: Callable[[Any], object] | None = None
    ) -> None:
        super().__init__()
        self._loop = asyncio.get_running_loop()
        self.future: asyncio.Future[Any] = self._loop.create_future()
        self.future.add_done_callback(asyncio.Future.exception)  # marks an error as retrieved
        self._calls = [(function, arguments, done)]

    def start(self, crew: Crew | None = None) -> asyncio.Future[Any]:
        """Run the call in a Crew, by default the event loop's Crew; return `future`."""
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
            give = self.future.set_result  # a method in C, so that no signal handler raises in what the loop calls
        except BaseException as exc:
            outcome, give = exc, self.future.set_exception
        with suppress(RuntimeError):  # the loop is closed, and nothing waits
            self._loop.call_soon_threadsafe(give, outcome)
        del outcome, give  # avoid a cycle of an error and its frames


async def in_thread(work: Callable[[Callable[[], None]], bytes]) -> bytes:
    """Run `work(check)` in a thread and return its result; `check()` raises Stopped once the task is cancelled."""
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
    Join pieces like b"".join, but in copies of at most a STEP, between which other threads may run.

    `check` is called for each piece. CPython's BytesIO returns its memory without copying it; PyPy's copies it once.
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
