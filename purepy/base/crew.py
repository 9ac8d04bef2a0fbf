# SPDX-License-Identifier: Apache-2.0
"""
Threads that run jobs in order: the only mechanism with which our Python code works ahead or in parallel.

A Crew runs jobs in the order in which they are given, and passes on their output in that order. The following holds
when an exception arrives at any point, including inside `take` and `stop`:

- A job owns what it works on: it holds references to its memory, and its own duplicate of a descriptor. So the job can
  still use them if the waiting caller is interrupted.
- `stop` sets a flag. A job checks the flag (`Shared.check`) before each write and each long step. Then `stop` waits for
  the running jobs. If this wait is interrupted as well, the jobs end on their own and their output is dropped.
- No lock is held while a caller's code runs. A Crew has no finalizer, because Python drops an exception that is raised
  in a finalizer. Instead, threads check once a second whether their Crew still exists.
- A forked child has no threads: there the calls raise RuntimeError, and `stop` returns without waiting.

Threads are started by `_thread` and wait on its locks, because both are C code in every interpreter. The wrappers in
threading (Thread.start and join, Condition) are Python code, and a signal handler may raise between their lines.
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
"""A function that `run_all` calls with a number and a function `check`, which raises Stopped once it is not needed."""

_STOPPED = "the threads of this object were stopped, and output is missing: close the object before you drop it"
LOOK_AGAIN = 1.0
"""Seconds after which a waiting thread checks whether it is still needed."""


class Stopped(Exception):
    """Raised inside a job whose output is no longer needed."""


class Bell:
    """
    Wakes one waiting thread. If no thread waits, one ring is kept for the next wait; further rings are dropped.

    A ring only means that something may have changed: a thread checks whether it has to wait before each wait and after
    each ring. So nothing is missed if an interrupted wait has consumed a ring.
    """

    __slots__ = ("_lock",)

    def __init__(self) -> None:
        self._lock = allocate_lock()
        self._lock.acquire()

    def ring(self) -> None:
        """Wake the waiting thread, or the next thread that waits."""
        try:
            self._lock.release()
        except RuntimeError:  # it has already been rung
            pass

    def wait(self) -> None:
        """Wait for a ring, at most LOOK_AGAIN seconds."""
        self._lock.acquire(timeout=LOOK_AGAIN)


class Job:
    """
    A piece of work on its way through a Crew. Subclasses define `run`, which calls `put` for each result.

    Results wait in `output` until they are taken. A job with `output_max` bytes of output waits before it puts more.
    `failure` is the error that ended the job.
    """

    output_max = 1 << 62

    def __init__(self) -> None:
        self.crew: Shared
        self.output: deque[Sized] = deque()
        self.room = Bell()
        self.is_begun = False
        self.is_done = False
        self.is_given_up = False
        """Whether the job was stopped before its end, so that output is missing."""
        self.failure: BaseException | None = None
        self._put = 0  # these two count bytes and only grow; one thread writes each
        self._taken = 0

    def run(self) -> None:
        """Do the work, in one of the threads."""
        raise NotImplementedError

    def put(self, piece: Sized) -> None:
        """Add a piece of output, an object with a length; wait while `output` is full. Raises Stopped if not needed."""
        crew = self.crew
        while self._put - self._taken >= self.output_max and crew.has_threads:
            crew.check()
            self.room.wait()
        crew.check()
        self._put += len(piece)
        self.output.append(piece)
        crew.bell.ring()

    def wake(self) -> None:
        """Ring every bell that `run` may wait for, so that it checks whether it is still needed."""
        self.room.ring()

    def taken(self, size: int) -> None:
        """Count `size` bytes of output as taken, and wake the job if it waits in `put`."""
        self._taken += size
        self.room.ring()


class Call(Job):
    """A call of a function as a job; `result()` returns what the function returned."""

    def __init__(self, function: Callable[..., object], arguments: tuple[object, ...]) -> None:
        super().__init__()
        self._call: tuple[Callable[..., object], tuple[object, ...]] | None = function, arguments
        self._value: object = None

    def run(self) -> None:
        call, self._call = self._call, None
        if call is not None:
            self._value = call[0](*call[1])

    def result(self) -> Any:
        """
        Wait for the call; return its result or raise its exception.

        Raises RuntimeError if the crew was stopped before the call began, or if the call ended with Stopped.
        """
        wait_for(self)
        if self.failure is not None:
            raise self.failure
        if self.is_given_up:
            raise RuntimeError(_STOPPED)
        return self._value


class Shared:
    """The state that a Crew shares with its threads and jobs, which hold no reference to the Crew itself."""

    def __init__(self, owner: Crew) -> None:
        self._owner = ref(owner)
        self._is_stopped = False
        self.lock = Lock()
        self.bell = Bell()
        """Jobs ring it for each change that the caller may be waiting for."""
        self.waiting: deque[Job] = deque()
        self.work = Bell()
        self.alive: dict[int, Lock] = {}  # for each thread, a lock that it holds until it ends
        self.idle = 0
        self.started = 0

    @property
    def is_stopped(self) -> bool:
        """Whether the output is no longer needed."""
        return self._is_stopped or self._owner() is None

    @property
    def has_threads(self) -> bool:
        """Whether jobs run in threads; otherwise the call that starts a job also runs it."""
        return self.started > 0

    def check(self) -> None:
        """Raise Stopped if the output is no longer needed; called by jobs."""
        if self.is_stopped:
            raise Stopped

    def stop(self) -> None:
        """Start no further job, and let running jobs notice that they are no longer needed."""
        self._is_stopped = True
        self.waiting.clear()
        self.work.ring()

    def main(self) -> None:
        """Run jobs until the crew is stopped; this is the main function of each thread."""
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
                del job  # free the job's memory before waiting for the next job
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
                if self.waiting:  # a ring wakes only one thread
                    self.work.ring()
                return job
            return None
        finally:
            with self.lock:
                self.idle -= 1


def perform(job: Job) -> None:
    """Run a job in this thread and record how it ended."""
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
    del failure  # avoid a cycle of the error and its frames, which may hold memory of C
    job.is_done = True
    job.crew.bell.ring()


class Crew:
    """
    Up to `threads` threads that run jobs and return the results in the order of the jobs.

    One thread at a time may use a Crew. With 0 threads, or where the system cannot start a thread, the caller runs the
    jobs. Threads start when there is work for them. They end with `stop`, or after the Crew is freed.
    """

    def __init__(self, threads: int) -> None:
        self._threads_max = threads
        self._shared = Shared(self)
        self._given: deque[Job] = deque()
        self._pid = os.getpid()

    @property
    def is_stopped(self) -> bool:
        """Whether `stop` was called, or `take` has raised the error of a job."""
        return self._shared.is_stopped

    def __len__(self) -> int:
        """Return the number of jobs passed to `give` whose output has not all been taken."""
        return len(self._given)

    def _check_process(self) -> None:
        if os.getpid() != self._pid:
            raise RuntimeError("the threads of this object are in the process that created it: a forked child has none")

    def begin(self) -> int:
        """Start a thread if there is none yet; return the number of threads: with 0, the caller must run the jobs."""
        self._check_process()
        if not self._shared.started:
            self._start()
        return self._shared.started

    def _start(self) -> None:
        shared = self._shared
        if shared.started < self._threads_max:
            try:
                start_new_thread(shared.main, ())
            except (RuntimeError, MemoryError):  # no more can be started: the existing threads do all the work
                self._threads_max = shared.started
            else:
                shared.started += 1

    def give(self, job: Job) -> None:
        """Start a job as `start` does; `take` returns its output after the output of the jobs given earlier."""
        self.start(job)
        self._given.append(job)  # last, so that `take` never waits for a job that did not start

    def submit(self, function: Callable[..., object], *arguments: object) -> Call:
        """Start a call of a function and return the Call, whose `result()`, not `take`, returns the result."""
        call = Call(function, arguments)
        self.start(call)
        return call

    def start(self, job: Job) -> None:
        """
        Start a job in a thread, or run it in this call if there are no threads; `take` does not return its output.

        If the job runs in this call, an exception from a signal handler is raised at once, because the result may never
        be requested. An error of the job itself is raised when its result is requested.
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
        Return the next piece of output, in order; None after the last piece.

        Also returns None instead of waiting if `is_wanted()` is false; it is called again after each change. Raises the
        error that ended a job, after the job's earlier output, and RuntimeError if the jobs were stopped. After any
        other exception, for example from a signal handler, a piece may be missing: the object that uses the Crew must
        then refuse further calls.
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
        """Take back a job that no thread has started; return whether that was possible."""
        try:
            self._shared.waiting.remove(job)
        except ValueError:
            return False
        return True

    def stop(self) -> bool:
        """
        Start no further job and wait for the running ones. A second call continues the wait.

        Returns whether all have ended. It returns False where waiting is impossible: in one of the crew's own threads
        (where a collector may close a generator), during the interpreter's shutdown (which stops threads where they
        are), and in a forked child.
        """
        shared = self._shared
        shared.stop()
        for job in list(self._given):
            job.wake()
        if os.getpid() != self._pid or sys.is_finalizing() or get_ident() in shared.alive:
            return False
        with shared.lock:  # a thread that starts from here on sees that it is not needed
            ended = list(shared.alive.values())
        for lock in ended:
            with lock:
                pass
        self._given.clear()
        return True


def wait_for(job: Job) -> None:
    """Wait until a job is done; raises RuntimeError if its crew was stopped before the job started."""
    while not job.is_done:
        _check_begins(job)
        job.crew.bell.wait()


def _check_begins(job: Job) -> None:
    """Raise RuntimeError if no thread will start a job, for example after a garbage collector closed the file."""
    if job.crew.is_stopped and not job.is_begun:
        raise RuntimeError(_STOPPED)


class _Share(Job):
    """The part of `run_all` that one thread does: it takes one number after another until none is left."""

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
            except BaseException:  # not stored: if a second one followed, a cycle with memory of C would remain
                self._failures[number] = None
                raise

    def check(self) -> None:
        """Raise Stopped if another number has failed, or the result is no longer needed."""
        self.crew.check()
        if self._failures:
            raise Stopped


def run_all(threads: int, count: int, work: Work) -> None:
    """
    Call `work(number, check)` for each number below `count`, in this thread and up to `threads` - 1 others.

    Returns when all calls have ended. If calls raise errors, no further call starts, and the error of the lowest number
    is raised here; a long call should call `check()`, which then ends it. If `run_all` is interrupted twice, calls may
    still run after it has ended. So `work` must hold references to all that it uses, and call `check` before it writes.
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
    """Yield `function(item)` for each item, in order; 2 or more `threads` run up to `ahead` calls in advance."""
    if threads <= 1:
        yield from map(function, items)
        return
    crew = Crew(threads)
    waiting: deque[Call] = deque()
    try:
        for item in items:
            waiting.append(crew.submit(function, item))
            del item  # only the job refers to it
            if len(waiting) >= ahead:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        crew.stop()
