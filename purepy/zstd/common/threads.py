# SPDX-License-Identifier: Apache-2.0
"""
Threads that work on frames: how large a frame is for them, and the two ways in which they are run.

`run_all` works on a list that is there; `Crew` on jobs that come in order and whose results are wanted in that order.
Both stop early for any failure, and leave no thread behind that goes on to another frame.
"""

from __future__ import annotations

import operator
import os
import sys
from abc import ABC, abstractmethod
from collections import deque
from threading import Condition, Thread, current_thread
from typing import Any, Callable

from purepy.zstd.common.parameters import COMPRESSION_LEVEL_DEFAULT, CompressionParameter

FRAME_SIZE_MIN = 1 << 10
FRAME_SIZE_MAX = 1 << 30
"""The most content of one frame, as in zstd's seekable format."""

_DEFAULT_SIZE_MIN, _DEFAULT_SIZE_MAX = 16 << 20, 64 << 20
_WINDOWS_PER_FRAME = 16
# the highest level that has a window of that logarithm, for content of more than 256 KiB
_WINDOW_LOGS = ((1, 19), (2, 20), (8, 21), (16, 22), (19, 23), (20, 25), (21, 26))
_WINDOW_LOG_LONG = 27
_SLOW_LEVEL, _SLOW_STRATEGY = 10, 6
LOOK_AGAIN = 1.0  # seconds until a thread finds out by itself that a finalizer, which may not wait, has stopped it


def _parameters(level: Any, options: Any) -> dict[int, int]:
    found = {int(key): int(value) for key, value in options.items()} if options else {}
    if level:
        found[int(CompressionParameter.compression_level)] = int(level)
    return {key: value for key, value in found.items() if value}


def frame_size_for(frame_size: Any, level: Any, options: Any) -> int:
    """
    Return the content's size of each frame but the last: the argument `frame_size`, or what suits checked parameters.

    That is sixteen windows, so that little is lost by each beginning without history, but at least 16 MiB and at most
    64 MiB. Raises TypeError for what is no integer, ValueError for a size below 1 KiB or above 1 GiB.
    """
    if frame_size is not None:
        size = operator.index(frame_size)
        if not FRAME_SIZE_MIN <= size <= FRAME_SIZE_MAX:
            raise ValueError(f"frame_size must be {FRAME_SIZE_MIN} to {FRAME_SIZE_MAX} bytes, not {size}")
        return size
    found = _parameters(level, options)
    chosen = found.get(int(CompressionParameter.compression_level), COMPRESSION_LEVEL_DEFAULT)
    window_log = next((log for highest, log in _WINDOW_LOGS if chosen <= highest), _WINDOW_LOG_LONG)
    if found.get(int(CompressionParameter.enable_long_distance_matching)) == 1:
        window_log = _WINDOW_LOG_LONG
    window_log = found.get(int(CompressionParameter.window_log), window_log)
    return min(max(_WINDOWS_PER_FRAME << window_log, _DEFAULT_SIZE_MIN), _DEFAULT_SIZE_MAX)


def is_slow(level: Any, options: Any) -> bool:
    """Say whether a frame takes so long that a thread has to look in between whether it is still wanted."""
    found = _parameters(level, options)
    return (
        found.get(int(CompressionParameter.compression_level), 0) >= _SLOW_LEVEL
        or found.get(int(CompressionParameter.strategy), 0) >= _SLOW_STRATEGY
    )


class Stopped(Exception):
    """Raised inside of a job that nobody wants any more."""


class _Share:
    """The state that the threads of `run_all` share."""

    def __init__(self, count: int) -> None:
        self.left = iter(range(count))
        self.is_stopped = False
        self.failures: list[tuple[int, BaseException]] = []
        self.lock = Condition()

    def take(self) -> int | None:
        with self.lock:
            return None if self.is_stopped else next(self.left, None)

    def run(self, work: Callable[[int, Callable[[], None]], None]) -> None:
        while True:
            number = self.take()
            if number is None:
                return
            try:
                work(number, self.check)
            except Stopped:
                return
            except BaseException as exc:
                with self.lock:
                    self.failures.append((number, exc))
                    self.is_stopped = True
                return

    def check(self) -> None:
        if self.is_stopped:
            raise Stopped


def run_all(threads: int, count: int, work: Callable[[int, Callable[[], None]], None]) -> None:
    """
    Call `work(number, check)` for each number below `count`, in this thread and up to `threads` - 1 others.

    Returns when all is done. The first number's error among those that were raised is raised here, and what has not
    begun then never does; `check()`, called by a long work, ends it too.
    """
    share = _Share(count)
    helpers = [
        Thread(target=share.run, args=(work,), name="cpkg-zstd", daemon=True) for _ in range(min(threads, count) - 1)
    ]
    started = []
    try:
        for helper in helpers:
            helper.start()
            started.append(helper)
        share.run(work)
    except BaseException:
        share.is_stopped = True
        raise
    finally:
        for helper in started:
            helper.join()
    if share.failures:
        failure = min(share.failures, key=operator.itemgetter(0))[1]
        share.failures.clear()  # no cycle of an error and the frames that it went through, which may hold memory of C
        try:
            raise failure
        finally:
            del failure


class Job(ABC):
    """
    One frame, or several, on the way through a Crew; subclasses say what `run` does.

    What comes out stands in `output`, piece after piece, until `is_done`; `failure` is the error that ended it. A job
    that has put `output_max` bytes there waits until they are taken.
    """

    output_max = 1 << 62

    def __init__(self) -> None:
        self.crew: Crew
        self.output: deque[Any] = deque()
        self.output_size = 0
        self.is_done = False
        self.failure: BaseException | None = None

    @abstractmethod
    def run(self) -> None:
        """Do the work; called in one of the threads."""

    def put(self, piece: Any, is_last: bool = False) -> None:
        """Hand on a piece of output; called by `run`, which does not fail behind the last one."""
        crew = self.crew
        with crew.changed:
            while self.output_size >= self.output_max and not crew.is_stopped:
                crew.changed.wait(LOOK_AGAIN)
            crew.check()
            self.output.append(piece)
            self.output_size += len(piece)
            self.is_done = is_last
            crew.changed.notify_all()


class Crew:
    """
    Threads that run jobs in the order in which they are given, and hand on their output in that order.

    With 0 threads a job is run by who gives it. Threads begin when there is work for them and end with `stop`. They
    hold the Crew alone, so that whoever holds the Crew may be forgotten and stop it in a finalizer.
    """

    def __init__(self, threads: int) -> None:
        self.changed = Condition()
        self.is_stopped = False
        self._threads_max = threads
        self._threads: list[Thread] = []
        self._idle = 0
        self._waiting: deque[Job] = deque()
        self._given: deque[Job] = deque()
        self._pid = os.getpid()

    def check(self) -> None:
        """Raise Stopped if nobody wants the output any more; for jobs."""
        if self.is_stopped:
            raise Stopped

    def __len__(self) -> int:
        """Return how many jobs were given whose output has not been taken."""
        return len(self._given)

    def _check_process(self) -> None:
        if os.getpid() != self._pid:
            raise RuntimeError("the threads of this object belong to the process that it was made in: a fork has none")

    def give(self, job: Job) -> None:
        """Give a job to the threads."""
        self._check_process()
        job.crew = self
        self._given.append(job)
        if not self._threads_max:
            self._run(job)
            return
        with self.changed:
            self._waiting.append(job)
            is_short = len(self._waiting) > self._idle and len(self._threads) < self._threads_max
            self.changed.notify_all()
        if is_short:
            thread = Thread(target=self._work, name="cpkg-zstd", daemon=True)
            self._threads.append(thread)
            thread.start()

    def take(self, is_wanted: Callable[[], bool]) -> Any:
        """
        Return the next piece of output, in order; None if there is none, or none yet and `is_wanted()` is false.

        `is_wanted` is asked again whenever something has changed. Raises the error that ended the job, behind what it
        had put out before.
        """
        self._check_process()
        while self._given:
            job = self._given[0]
            with self.changed:
                while not job.output and not job.is_done:
                    if not is_wanted():
                        return None
                    self.changed.wait()
                if job.output:
                    piece = job.output.popleft()
                    job.output_size -= len(piece)
                    if job.is_done and not job.output and job.failure is None:
                        self._given.popleft()
                    self.changed.notify_all()
                    return piece
            self._given.popleft()
            if job.failure is not None:
                failure, job.failure = job.failure, None
                self.stop()
                try:
                    raise failure
                finally:
                    del failure  # as in run_all
        return None

    def stop(self) -> None:
        """
        Let the threads end, at the latest with the frames under way, and wait for them; may be called again.

        Within one of them, where a collector may run the finalizer of a generator, nothing can be waited for.
        """
        if os.getpid() != self._pid:
            return
        if current_thread() in self._threads:
            self.abandon()
            return
        if sys.is_finalizing():
            # the threads stand still where they are, also with a lock: nothing of theirs can be waited for any more
            self.is_stopped = True
            return
        with self.changed:
            self.is_stopped = True
            self._waiting.clear()
            self.changed.notify_all()
        while self._threads:
            self._threads[-1].join()
            self._threads.pop()
        self._given.clear()

    def abandon(self) -> None:
        """Let the threads end without waiting for them; for finalizers, which may run inside of one of them."""
        self.is_stopped = True
        if os.getpid() == self._pid and self.changed.acquire(blocking=False):
            self.changed.notify_all()
            self.changed.release()

    def _work(self) -> None:
        while True:
            with self.changed:
                self._idle += 1
                while not self._waiting and not self.is_stopped:
                    self.changed.wait(LOOK_AGAIN)
                self._idle -= 1
                if self.is_stopped:
                    return
                job = self._waiting.popleft()
            self._run(job)
            del job

    def _run(self, job: Job) -> None:
        failure: BaseException | None = None
        try:
            job.run()
        except Stopped:
            pass
        except BaseException as exc:
            failure = exc
        with self.changed:
            job.failure = failure
            job.is_done = True
            del failure
            self.changed.notify_all()
