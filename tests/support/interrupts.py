# SPDX-License-Identifier: Apache-2.0
"""
Interrupt a call at each of its lines, or at random moments with the signal of a timer, and check the state afterwards.

`make()` returns a new subject, `act(subject)` makes the call, and `check(subject, outcome)` asserts the conditions
after it. After each call, there must be as many threads and descriptors as before. `pytest --interrupts` runs the tests
that do this, and prints for each how often it was interrupted.
"""

from __future__ import annotations

import ast
import dis
import functools
import gc
import itertools
import os
import random
import signal
import sys
import sysconfig
import threading
import time
import traceback
from collections import namedtuple
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from types import CodeType, FrameType
from typing import Any, Callable, NamedTuple, NoReturn

import pytest
from extent import IS_FULL, IS_PYPY, IS_THOROUGH
from seeds import SEED

import cpkg
import purepy
import purepy.base.crew
from cpkg import _backend

ROOTS = tuple(os.path.join(os.path.dirname(os.path.abspath(package.__file__)), "") for package in (cpkg, purepy))
# PyPy traces slowly
SPARSE = 32 if IS_PYPY else 1 if IS_FULL else 4
SETTLES = 10.0
"""Seconds that threads, and on PyPy finalizers, may take to end after a call."""
COMPARES = 64 if IS_PYPY else 1
"""Calls between checks for remaining threads and descriptors; PyPy frees objects only when it collects."""
LOOKS = 5
"""Checks for threads that are still ending, a millisecond apart, between collections."""
AGAIN = 8
"""Of the points whose lines a test of the same file has already interrupted, one in this many is interrupted again."""


class Interrupt(BaseException):
    """Raised in a call; our code does not handle this exception specially."""


class LoopInterrupt(Interrupt, KeyboardInterrupt):
    """Ctrl-C: asyncio propagates it from any callback of its loop, and swallows other exceptions."""


class TimedOut(TimeoutError):
    """An OSError, typically raised by a handler of SIGALRM, which code may mistake for its own error."""


ERRORS: tuple[type[BaseException], ...] = (TimedOut, Interrupt, TimedOut, LoopInterrupt)
"""The exceptions that calls are interrupted with, in turn."""


IS_NIGHTLY = False
"""Whether the running test is in the nightly tier; only nightly tests use real signals."""
COUNTS: dict[str, list[int]] = {}
"""Test -> how often its calls were interrupted: at lines, and by signals."""
LEAST = 2 if IS_PYPY else 8
"""The minimum number of points for a test, if there are that many."""
_LINES: dict[tuple[str, ...], set[tuple[str, int]]] = {}
"""The lines that were interrupted, by test file and backend."""
_BACKENDS = frozenset(name for backends in _backend.MODULES.values() for name in backends)


class Outcome(NamedTuple):
    """How a call ended: its result, or the exception that it raised."""

    value: Any
    error: BaseException | None

    @property
    def is_interrupted(self) -> bool:
        """Whether the call raised the exception of the interrupt itself."""
        return isinstance(self.error, (Interrupt, TimedOut))


Point = namedtuple("Point", "file line time")
"""A line of a file, and which time it is reached in a call."""


def _raise(error: BaseException | type[BaseException]) -> NoReturn:
    raise error


@contextmanager
def _looking_often() -> Iterator[None]:
    """Make threads check often whether they are wanted, because an interrupt may lose the call that wakes them."""
    kept, purepy.base.crew.LOOK_AGAIN = purepy.base.crew.LOOK_AGAIN, 0.01
    try:
        yield
    finally:
        purepy.base.crew.LOOK_AGAIN = kept


@_looking_often()
def at_every_line(
    make: Callable[[], Any],
    act: Callable[[Any], Any],
    check: Callable[[Any, Outcome], None],
    *,
    times: int = 2,
    every: int = 1,
    settles: bool = True,
    errors: tuple[type[BaseException], ...] = ERRORS,
) -> int:
    """
    Raise `errors`, in turn, at lines of our packages that `act` reaches in this thread; return the number of points.

    The call must raise the same exception. A point is one of the first `times` times that a line is reached. One in
    `every` points is interrupted, and one in AGAIN of the lines that a test of the same file and backend has already
    interrupted; `tox run -e explore` raises each error at all points. Without `settles`, no threads are counted.
    """
    trace = _Trace()
    subject = make()
    with trace:
        value = act(subject)
    check(subject, Outcome(value, None))
    test = os.environ["PYTEST_CURRENT_TEST"]
    assert trace.points, "no line of ours was reached"
    points = [point for point in trace.points if point.time < times]
    if not IS_THOROUGH:
        points = _chosen(points, _LINES.setdefault(_where(test), set()), every * SPARSE)
    raised = 0
    traces = _Watched(settles)
    faults = []
    kinds = dict.fromkeys(errors)
    turns = itertools.product(points, kinds) if IS_THOROUGH else zip(points, itertools.cycle(errors))
    for point, error in turns:
        subject = make()
        traces.begin()
        raises = error()
        trace = _Trace(point, functools.partial(_raise, raises))
        outcome = _traced(trace, act, subject)
        raised += trace.has_acted  # with threads, the call may have taken another path this time
        if trace.has_acted and outcome.error is not raises:
            faults.append(f"{error.__name__} at {point.file}:{point.line} ({point.time}) came out as {outcome}"[:400])
        else:
            _checked(check, subject, outcome, f"{point} with {error.__name__}")
        del subject, outcome, trace, raises
        traces.end(point)
    traces.compare(point)
    assert not faults, "\n".join(["what was raised did not come out:", *faults])
    gc.collect()  # find leaked objects in this test and not in a later one
    _counts(test)[0] += raised
    return raised


@_looking_often()
def by_timer(
    make: Callable[[], Any],
    act: Callable[[Any], Any],
    check: Callable[[Any, Outcome], None],
    *,
    times: int = 100,
    signals: int = 1,
    seed: int = SEED,
    settles: bool = True,
    interrupt: Callable[[], None] = functools.partial(_raise, Interrupt),
) -> int:
    """
    Raise Interrupt from a signal handler at random moments of `times` calls; return how many were interrupted.

    The handler calls `interrupt`, which may make the call end in another way. With `signals=2`, a second signal may
    arrive while the call cleans up after the first.
    """
    assert IS_NIGHTLY, "a storm of signals is not for the gate: mark the test nightly"
    if sysconfig.get_config_var("Py_GIL_DISABLED") and sys.version_info < (3, 14, 5):
        pytest.skip("gh-148820: a signal while threads wait for the interpreter's own locks ends the process")
    chance = random.Random(seed)
    counts = _counts(os.environ["PYTEST_CURRENT_TEST"])
    begin = time.perf_counter()
    value = act(subject := make())
    longest = time.perf_counter() - begin
    check(subject, Outcome(value, None))
    interrupted = number = 0
    if not IS_THOROUGH:
        times = times // SPARSE + 1
    if not IS_PYPY:  # on PyPy, a collection takes a third of a second, and such callbacks run at any time
        gc.collect()  # run pending callbacks of importlib
    traces = _Watched(settles)
    while number < times or (not interrupted and number < 10 * times):
        number += 1
        subject = make()
        traces.begin()
        begin = time.perf_counter()
        timer = _Timer(chance, longest, signals, interrupt)
        outcome = timer.run(act, subject)
        counts[1] += timer.raised
        interrupted += outcome.is_interrupted
        if outcome.error is None:  # the first call may have been slow because of other processes
            longest = min(longest, time.perf_counter() - begin)
        _checked(check, subject, outcome, f"call {number}, seed {seed}")
        del subject, outcome
        traces.end(number)
    traces.compare(number)
    gc.collect()
    assert interrupted or times < 40, "no call was interrupted: it is too short for a timer"
    return interrupted


def storms(*ways: str) -> list[Any]:
    """Return parameters for a nightly test with real signals, sent in these ways."""
    return [pytest.param(way, marks=pytest.mark.nightly) for way in ways]


class Table:
    """A pytest plugin that selects the tests that interrupt calls, and prints how often each did."""

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        ours = at_every_line, by_timer, sys.modules[__name__]
        items[:] = [item for item in items if any(each is our for each in vars(item.module).values() for our in ours)]

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        for test, (lines, signals) in sorted(COUNTS.items()):
            terminalreporter.write_line(f"{test}: at {lines} lines, by {signals} signals")


def _chosen(points: list[Point], done: set[tuple[str, int]], every: int) -> list[Point]:
    """Return one in `every` points of new lines, fewer points of others, at least LEAST in all; record the lines."""
    chosen = []
    passed = {True: 0, False: 0}
    for point in points:
        line = point.file, point.line
        is_done = line in done
        if passed[is_done] % (every * AGAIN if is_done else every) == 0:
            chosen.append(point)
            done.add(line)
        passed[is_done] += 1
    return chosen if len(chosen) >= LEAST else points[:: max(len(points) // LEAST, 1)]


def _where(test: str) -> tuple[str, ...]:
    """Return the file of a test, given by its pytest name, and the backends among its parameters."""
    file, _, name = test.partition("::")
    parameters = name.removesuffix(" (call)").partition("[")[2].rstrip("]").split("-")
    return file, *sorted(_BACKENDS.intersection(parameters))


def _counts(test: str) -> list[int]:
    """Return the counts of a test, given by its pytest name."""
    return COUNTS.setdefault(test.removesuffix(" (call)"), [0, 0])


def _checked(check: Callable[[Any, Outcome], None], subject: Any, outcome: Outcome, point: Any) -> None:
    try:
        check(subject, outcome)
    except Exception as exc:
        raise AssertionError(f"after an interrupt at {point}") from exc


def points_of(act: Callable[[Any], Any], subject: Any) -> list[Point]:
    """Return the points that a call reaches in this thread."""
    trace = _Trace()
    with trace:
        act(subject)
    return list(trace.points)


def calling_at(point: Point, call: Callable[[], object], act: Callable[[Any], Any], subject: Any) -> Outcome:
    """Make another call at a point of a call, like a signal handler; return how the first call ended."""
    return _traced(_Trace(point, call), act, subject)


class _Trace:
    """Records the points that a call reaches, and calls `action` at one of them."""

    def __init__(self, wanted: Point | None = None, action: Callable[[], object] | None = None) -> None:
        self.points: dict[Point, None] = {}
        self.has_acted = False
        self._action = action
        self._times: dict[tuple[str, int], int] = {}
        self._lines: dict[FrameType, int] = {}
        self._wanted = wanted
        self._before: Any = None

    def __enter__(self) -> None:
        self._before = sys.gettrace()
        sys.settrace(self._call)

    def __exit__(self, *_: object) -> None:
        sys.settrace(self._before)
        self._lines.clear()  # otherwise a tracer that PyPy keeps would keep the frames

    def _call(self, frame: FrameType, event: str, argument: Any) -> Any:
        code = frame.f_code
        if self._wanted is None:
            is_ours = code.co_filename.startswith(ROOTS)
        else:  # other lines do not affect how often this one is reached
            is_ours = code.co_filename == self._wanted.file and self._wanted.line in _lines_of(code)
        return self._line if is_ours and not _in_finalizer(frame) else None

    def _line(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "return":
            self._lines.pop(frame, None)
        if event != "line":
            return self._line
        file, line = frame.f_code.co_filename, frame.f_lineno
        last, self._lines[frame] = self._lines.get(frame, 0), line
        blocks = _with_blocks(file)
        if _leaves_a_block(frame) or (line in blocks and (blocks[line] == line or line < last <= blocks[line])):
            return self._line  # a `try`, or the end of a `with` before `__exit__`: no signal is handled or sent there
        count = self._times[file, line] = self._times.get((file, line), -1) + 1
        point = Point(file, line, count)
        self.points[point] = None
        if point == self._wanted:
            sys.settrace(self._before)
            assert self._action is not None
            self.has_acted = True
            self._action()
        return self._line


def _in_finalizer(frame: FrameType | None) -> bool:
    """Return whether a frame runs in a finalizer, or in a callback of importlib, pytest or hypothesis after one."""
    return any(
        code.co_name in ("__del__", "gc_callback")
        or (code.co_name == "cb" and "importlib" in code.co_filename)
        or "unraisable" in code.co_filename
        for code in (caller.f_code for caller in _callers(frame))
    )


def _leaves_a_block(frame: FrameType | None) -> bool:
    """Return whether an interrupted frame is between the end of a `with` block and `__exit__`."""
    # CPython 3.10 and newer run no signal handlers there
    if not IS_PYPY and sys.version_info >= (3, 10):
        return False
    interrupted = next(caller for caller in _callers(frame) if caller.f_code.co_filename != __file__)
    return interrupted.f_lasti in _ends_of_blocks(interrupted.f_code)


def holds_signals(frame: FrameType) -> bool:
    """Return whether no signal is handled at a line, which is a `with` or a `try`."""
    return frame.f_lineno in _with_blocks(frame.f_code.co_filename) or _leaves_a_block(frame)


@functools.cache
def _ends_of_blocks(code: CodeType) -> frozenset[int]:
    """Return the offsets of the instructions from each end of a `with` block to the call of `__exit__`."""
    instructions = list(dis.get_instructions(code))
    names = [instruction.opname for instruction in instructions]
    offsets: set[int] = set()
    for end in range(4, len(names)):
        if names[end - 3 : end + 1] == ["LOAD_CONST", "DUP_TOP", "DUP_TOP", "CALL_FUNCTION"]:
            begin = end - 4 if names[end - 4] == "ROT_TWO" else end - 3  # ROT_TWO is there if the block returns
            begin -= not IS_PYPY  # on CPython, `f_lasti` refers to the previous instruction
        elif names[end] == "WITH_EXCEPT_START":
            begin = end - 1 if names[end - 1] == "PUSH_EXC_INFO" else end
        else:
            continue
        offsets.update(instruction.offset for instruction in instructions[begin : end + 1])
    return frozenset(offsets)


def _callers(frame: FrameType | None) -> Iterator[FrameType]:
    """Yield a frame and its callers."""
    while frame is not None:
        yield frame
        frame = frame.f_back


@functools.cache
def _lines_of(code: CodeType) -> range:
    """Return the range of lines of a function."""
    lines = [code.co_firstlineno, *(line for _, line in dis.findlinestarts(code) if line)]
    return range(min(lines), max(lines) + 1)


@functools.cache
def _with_blocks(file: str) -> dict[int, int]:
    """Return the lines with a `with` -> the last line of its block, and the lines with a `try` -> the same line."""
    with open(file, encoding="utf-8") as source:
        nodes = list(ast.walk(ast.parse(source.read())))
    lines = {node.lineno: node.end_lineno or 0 for node in nodes if isinstance(node, (ast.With, ast.AsyncWith))}
    return lines | {node.lineno: node.lineno for node in nodes if isinstance(node, ast.Try)}


def _traced(trace: _Trace, act: Callable[[Any], Any], subject: Any) -> Outcome:
    try:
        with trace:
            return Outcome(act(subject), None)
    except BaseException as exc:
        return Outcome(None, exc.with_traceback(None))


def _forget_current() -> None:
    """Clear the frames of an exception that PyPy 8 keeps as the current one after a signal before an `__exit__`."""
    current = sys.exc_info()[1]
    while current is not None:
        traceback.clear_frames(current.__traceback__)
        current = current.__context__


class _Timer:
    """Signals that arrive at random moments of a call."""

    def __init__(self, chance: random.Random, longest: float, signals: int, interrupt: Callable[[], None]) -> None:
        self._chance = chance
        self._longest = longest
        self._left = signals
        self._interrupt = interrupt
        self.raised = 0

    def run(self, act: Callable[[Any], Any], subject: Any) -> Outcome:
        kept = signal.signal(signal.SIGALRM, self._handle)
        try:
            return Outcome(self._interrupted(act, subject), None)
        except BaseException as exc:
            return Outcome(None, exc.with_traceback(None))
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, kept)

    def _interrupted(self, act: Callable[[Any], Any], subject: Any) -> Any:
        """Make the call; signals raise only in this frame and below, so that `run` always catches the exception."""
        self._start()
        return act(subject)

    def _start(self) -> None:
        signal.setitimer(signal.ITIMER_REAL, max(self._chance.random() * self._longest, 1e-6))

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if not self._left or not any(caller.f_code is _Timer._interrupted.__code__ for caller in _callers(frame)):
            return
        if _in_finalizer(frame) or _leaves_a_block(frame):
            self._start()  # try again later
            return
        self._left -= 1
        self.raised += 1
        if self._left:
            self._start()
        self._interrupt()


class _Watched:
    """Compares threads and descriptors before a call and after it, or after COMPARES calls."""

    def __init__(self, settles: bool = True) -> None:
        self._settles = settles
        self._calls = 0
        self._before: tuple[int, set[str]] | None = None

    def begin(self) -> None:
        """Record the threads and descriptors before a call."""
        self._before = self._before or (len(_threads()), _descriptors())

    def end(self, point: Any) -> None:
        """Compare, if that is due."""
        self._calls += 1
        if self._calls % COMPARES == 0:
            self.compare(point)

    def compare(self, point: Any) -> None:
        """Wait until there are no more than before; run a slow garbage collection if waiting takes long."""
        before, self._before = self._before, None
        begin = time.monotonic()
        for look in itertools.count(1):
            threads, descriptors = len(_threads()), _descriptors()
            if not self._settles or before is None or (threads <= before[0] and len(descriptors) <= len(before[1])):
                return
            if time.monotonic() > begin + SETTLES:
                left = f"threads {before[0]} -> {threads}, descriptors {descriptors - before[1]}"
                raise AssertionError(f"an interrupt at {point} left resources open: {left}")
            if look % LOOKS == 0:
                _forget_current()
                gc.collect()
            time.sleep(0.001)


def _threads() -> Sequence[Any]:
    """Return the threads of this process, including C threads if the system lists them."""
    try:
        return os.listdir("/proc/self/task")
    except OSError:
        return threading.enumerate()


def _descriptors() -> set[str]:
    """Return the open descriptors with their targets; nothing if the system does not list them."""
    found = set()
    for number in os.listdir("/proc/self/fd") if os.path.isdir("/proc/self/fd") else ():
        with suppress(OSError):  # the descriptor of this listing itself
            found.add(f"{number}: {os.readlink(f'/proc/self/fd/{number}')}")
    return found


@contextmanager
def nothing_left() -> Iterator[None]:
    """Check that no thread and no descriptor remains after a block."""
    watched = _Watched()
    watched.begin()
    yield
    watched.compare("the block")


def is_told(call: Callable[[], Any]) -> bool:
    """Return whether a call reports that an exception broke a stream object, and how to continue."""
    try:
        call()
    except RuntimeError as exc:
        if "create a new Unpacker" not in str(exc) and "lost the data after byte" not in str(exc):
            raise
        return True
    return False
