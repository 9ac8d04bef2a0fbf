# SPDX-License-Identifier: Apache-2.0
"""
Ordered work in threads: the one mechanism of everything here that works ahead or side by side in Python.

A Crew runs jobs in the order in which they are given and hands on their output in that order. What holds when an
exception arrives at any point, also within `take` and `stop`:

- A job owns what it works on: it holds references to its memory, and a duplicate of its own of a descriptor. A caller
  who is interrupted while he waits takes nothing away from it.
- Stopping is a flag. A job looks at it (`Crew.check`) before each write and each long step. `stop` waits for the jobs
  that run; if that wait is broken, too, they end by themselves and what they made is dropped.
- No lock is held while a caller's code runs. There is no finalizer, out of which an exception could not come: threads
  see by themselves, once a second, that their Crew was forgotten.
- A forked child has no threads: there the calls raise RuntimeError, and `stop` does nothing.

Threads are started by `_thread`, and wait by its locks: both are C in every interpreter. What threading makes of them
(Thread.start and join, Condition) is Python code, between whose lines a signal handler may raise.
"""

from __future__ import annotations

import os
import sys
from _thread import allocate_lock, get_ident, start_new_thread
from collections import deque
from weakref import ref

from purepy.base.errors import is_from_handler
from purepy.base.locks import Lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Sized
    from typing import Any, Callable, TypeVar

    from typing_extensions import TypeAlias

    _Item = TypeVar("_Item")
    _Result = TypeVar("_Result")

Work: TypeAlias = "Callable[[int, Callable[[], None]], None]"
"""The work of `run_all` on one number; the function that it is given raises Stopped once it is not wanted."""

_STOPPED = "the threads of this object were stopped, so that output is missing: close the object before you drop it"
LOOK_AGAIN = 1.0
"""Seconds until a thread that waits looks by itself whether it is still wanted."""


class Stopped(Exception):
    """Raised inside a job that nobody wants any more."""


class Bell:
    """
    Wakes one thread that waits. A ring that nobody waits for is kept, a second one is not.

    It is a hint, not a state: who waits looks at the state first, and again after each ring. So a ring that an
    interrupted wait has taken is not missed.
    """

    __slots__ = ("_lock",)

    def __init__(self) -> None:
        self._lock = allocate_lock()
        self._lock.acquire()

    def ring(self) -> None:
        """Wake the thread that waits, or the next one that will."""
        try:
            self._lock.release()
        except RuntimeError:  # it has been rung
            pass

    def wait(self) -> None:
        """Wait for a ring, at most LOOK_AGAIN seconds."""
        self._lock.acquire(timeout=LOOK_AGAIN)


class Job:
    """
    A piece of work on its way through a Crew. Subclasses define `run`, which calls `put` for each result.

    Results wait in `output` until they are taken. A job whose output has `output_max` bytes waits before it puts
    more. `failure` is the error that ended it.
    """

    output_max = 1 << 62

    def __init__(self) -> None:
        self.crew: Shared
        self.output: deque[Sized] = deque()
        self.room = Bell()
        self.is_begun = False
        self.is_done = False
        self.is_given_up = False
        """Whether it was stopped before its end, so that output is missing."""
        self.failure: BaseException | None = None
        self._put = 0  # counts of bytes that only grow, each written by one thread
        self._taken = 0

    def run(self) -> None:
        """Do the work, in one of the threads."""
        raise NotImplementedError

    def put(self, piece: Sized) -> None:
        """Hand on a piece of output, which has a length; waits while there is no room. Raises Stopped."""
        crew = self.crew
        while self._put - self._taken >= self.output_max and crew.has_threads:
            crew.check()
            self.room.wait()
        crew.check()
        self._put += len(piece)
        self.output.append(piece)
        crew.bell.ring()

    def wake(self) -> None:
        """Ring for whatever `run` may wait for, so that it looks whether it is still wanted."""
        self.room.ring()

    def taken(self, size: int) -> None:
        """Count `size` bytes as taken, for the room that `put` waits for."""
        self._taken += size
        self.room.ring()


class Call(Job):
    """A call of a function as a job; `result` is what it returned."""

    def __init__(self, function: Callable[..., object], arguments: tuple[object, ...]) -> None:
        super().__init__()
        self._call: tuple[Callable[..., object], tuple[object, ...]] | None = function, arguments
        self._value: object = None

    def run(self) -> None:
        call, self._call = self._call, None
        if call is not None:
            self._value = call[0](*call[1])

    def result(self) -> Any:
        """Wait for the call; return its result or raise its exception."""
        wait_for(self)
        if self.failure is not None:
            raise self.failure
        return self._value


class Shared:
    """What a Crew shares with its threads and jobs, which do not hold the Crew itself: so it may be forgotten."""

    def __init__(self, owner: Crew) -> None:
        self._owner = ref(owner)
        self._is_stopped = False
        self.lock = Lock()
        self.bell = Bell()
        """Rung for each change that the caller may wait for."""
        self.waiting: deque[Job] = deque()
        self.work = Bell()
        self.alive: dict[int, Lock] = {}  # by thread: a lock that it holds until it ends
        self.idle = 0
        self.started = 0

    @property
    def is_stopped(self) -> bool:
        """Whether nobody wants the output any more."""
        return self._is_stopped or self._owner() is None

    @property
    def has_threads(self) -> bool:
        """Whether jobs run in threads; else `submit` runs them."""
        return self.started > 0

    def check(self) -> None:
        """Raise Stopped if nobody wants the output any more; for jobs."""
        if self.is_stopped:
            raise Stopped

    def stop(self) -> None:
        """Begin no other job, and have those that run see that they are not wanted."""
        self._is_stopped = True
        self.waiting.clear()
        self.work.ring()

    def main(self) -> None:
        """Run jobs until the crew is stopped; what a thread does."""
        me, ended = get_ident(), Lock()
        with self.lock:
            if self.is_stopped:
                return
            ended.acquire()
            self.alive[me] = ended
        try:
            while True:
                job = self._next()
                if job is None:
                    return
                perform(job)
                del job  # a job's memory is not kept until the next one comes
        finally:
            with self.lock:
                self.alive.pop(me, None)
            ended.release()
            self.work.ring()

    def _next(self) -> Job | None:
        with self.lock:
            self.idle += 1
        try:
            while not self.is_stopped:
                try:
                    job = self.waiting.popleft()
                except IndexError:
                    self.work.wait()
                    continue
                if self.waiting:  # a ring wakes one thread alone
                    self.work.ring()
                return job
            return None
        finally:
            with self.lock:
                self.idle -= 1


def perform(job: Job) -> None:
    """Run a job in this thread and note how it ended."""
    job.is_begun = True
    failure: BaseException | None = None
    try:
        job.crew.check()
        job.run()
    except Stopped:
        job.is_given_up = True
    except BaseException as exc:
        failure = exc
    job.failure = failure
    del failure  # no cycle of an error and the frames that it went through, which may hold memory of C
    job.is_done = True
    job.crew.bell.ring()


class Crew:
    """
    Up to `threads` threads that run jobs, and pass on the results in the order of the jobs.

    Used by one thread at a time. With 0 threads, and where the system gives no thread, the caller runs its jobs.
    Threads begin when there is work for them; they end with `stop`, or when the Crew is forgotten.
    """

    def __init__(self, threads: int) -> None:
        self._threads_max = threads
        self._shared = Shared(self)
        self._given: deque[Job] = deque()
        self._pid = os.getpid()

    @property
    def is_stopped(self) -> bool:
        """Whether `stop` was called, or a job has failed."""
        return self._shared.is_stopped

    def __len__(self) -> int:
        """Return how many jobs were given whose output has not been taken."""
        return len(self._given)

    def _check_process(self) -> None:
        if os.getpid() != self._pid:
            raise RuntimeError("the threads of this object belong to the process that made it: a fork has none")

    def begin(self) -> int:
        """Start a thread if there is none yet; return how many there are: 0 where the system gives none."""
        self._check_process()
        if not self._shared.started:
            self._start()
        return self._shared.started

    def _start(self) -> None:
        shared = self._shared
        if shared.started < self._threads_max:
            try:
                start_new_thread(shared.main, ())
            except (RuntimeError, MemoryError):  # there can be no more: those that there are do all the work
                self._threads_max = shared.started
            else:
                shared.started += 1

    def give(self, job: Job) -> None:
        """Have a job run, whose output comes behind that of the jobs before it."""
        self.start(job)
        self._given.append(job)  # at last: `take` waits for no job that nobody will run

    def submit(self, function: Callable[..., object], *arguments: object) -> Call:
        """Have a function called; its result is asked for by the Call that is returned, not by `take`."""
        call = Call(function, arguments)
        self.start(call)
        return call

    def start(self, job: Job) -> None:
        """
        Have a job run whose output nobody takes.

        Where the caller runs it, an exception that a signal handler raises comes out at once: nobody may ask for the
        result. An error of the job itself comes with the result.
        """
        self._check_process()
        shared = job.crew = self._shared
        if len(shared.waiting) >= shared.idle:
            self._start()
        if shared.started:
            shared.waiting.append(job)
            shared.work.ring()
        else:
            perform(job)
            if job.failure is not None and (not isinstance(job.failure, Exception) or is_from_handler(job.failure)):
                raise job.failure

    def take(self, is_wanted: Callable[[], bool]) -> Any:
        """
        Return the next piece of output, in order; None if there is none, or none yet and `is_wanted()` is false.

        `is_wanted` is asked again whenever something has changed. Raises the error that ended a job, behind what it
        had put out before. After an exception that came from elsewhere a piece may be missing: whoever goes on with
        the object says that it is broken.
        """
        self._check_process()
        while self._given:
            job = self._given[0]
            while not job.output and not job.is_done:
                if not is_wanted():
                    return None
                _check_begins(job)
                self._shared.bell.wait()
            if job.output:
                piece = job.output.popleft()
                job.taken(len(piece))
                return piece
            if job.is_given_up:
                raise RuntimeError(_STOPPED)
            self._given.popleft()
            if job.failure is not None:
                failure, job.failure = job.failure, None
                self.stop()
                try:
                    raise failure
                finally:
                    del failure  # as in `perform`
        return None

    def cancel(self, job: Job) -> bool:
        """Take back a job that no thread has begun; return whether that was possible."""
        try:
            self._shared.waiting.remove(job)
        except ValueError:
            return False
        return True

    def stop(self) -> bool:
        """
        Stop: begin no other job, and wait for those that run. May be called again, and goes on waiting then.

        Returns whether all have ended. They have not where nothing can be waited for: in one of the threads, where a
        collector may close a generator; at the end of the interpreter, which stops threads where they are; in a
        forked child.
        """
        shared = self._shared
        shared.stop()
        for job in list(self._given):
            job.wake()
        if os.getpid() != self._pid or sys.is_finalizing() or get_ident() in shared.alive:
            return False
        with shared.lock:  # a thread that begins from here on sees that it is not wanted
            ended = list(shared.alive.values())
        for lock in ended:
            with lock:
                pass
        self._given.clear()
        return True


def wait_for(job: Job) -> None:
    """Wait until a job is done; RuntimeError if its crew was stopped before it began."""
    while not job.is_done:
        _check_begins(job)
        job.crew.bell.wait()


def _check_begins(job: Job) -> None:
    """Raise RuntimeError if no thread will begin a job: as for a file that is closed by a collector of cycles."""
    if job.crew.is_stopped and not job.is_begun:
        raise RuntimeError(_STOPPED)


class _Share(Job):
    """The part of `run_all` that one thread does: one number after the other, until none is left."""

    def __init__(self, numbers: deque[int], work: Work, failures: dict[int, BaseException | None]) -> None:
        super().__init__()
        self._numbers = numbers
        self._work = work
        self._failures = failures

    def run(self) -> None:
        while not self._failures:
            self.crew.check()
            try:
                number = self._numbers.popleft()
            except IndexError:
                return
            try:
                self._work(number, self.check)
            except Stopped:
                raise
            except Exception as exc:
                self._failures[number] = exc
                return
            except BaseException:  # not kept, since memory of C would be in a cycle with it if a second one follows
                self._failures[number] = None
                raise

    def check(self) -> None:
        """Raise Stopped if another number has failed, or nobody waits any more."""
        self.crew.check()
        if self._failures:
            raise Stopped


def run_all(threads: int, count: int, work: Work) -> None:
    """
    Call `work(number, check)` for each number below `count`, in this thread and up to `threads` - 1 others.

    Returns when all is done. The first number's error among those that were raised is raised here, and what has not
    begun then never does; `check()`, called by a long work, ends it too. If this call is interrupted twice, works may
    still run when it has ended: they hold what they need, and look at `check` before they write.
    """
    numbers = deque(range(count))
    failures: dict[int, BaseException | None] = {}
    crew = Crew(max(min(threads, count) - 1, 0))
    mine = _Share(numbers, work, failures)
    mine.crew = crew._shared
    try:
        shares = [_Share(numbers, work, failures) for _ in range(min(threads, count) - 1)]
        for share in shares:
            crew.give(share)
        try:
            mine.run()
        except Stopped:
            pass
        for share in shares:
            if not crew.cancel(share):
                wait_for(share)
    finally:
        crew.stop()
    if failures:
        failure = failures[min(failures)] or next(share.failure for share in shares if share.failure is not None)
        failures.clear()
        try:
            raise failure
        finally:
            del failure


def mapped(
    function: Callable[[_Item], _Result], items: Iterable[_Item], threads: int, ahead: int
) -> Generator[_Result, None, None]:
    """Yield `function(item)` for each item, in order; from 2 `threads` on they are `ahead` of who takes, by so many."""
    if threads <= 1:
        yield from map(function, items)
        return
    crew = Crew(threads)
    waiting: deque[Call] = deque()
    try:
        for item in items:
            waiting.append(crew.submit(function, item))
            del item  # the job's alone
            if len(waiting) >= ahead:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        crew.stop()
