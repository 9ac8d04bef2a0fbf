# SPDX-License-Identifier: Apache-2.0
"""
Interrupt a call at each of its lines, or at random moments with the signal of a timer, and check the state afterwards.

`make()` returns a new subject, `act(subject)` makes the call, and `check(subject, outcome)` checks the state after the
call. After each call, there must be no more threads and descriptors than before. `pytest --interrupts` runs the tests
that use this module, and prints for each test how often its calls were interrupted.
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
SPARSE = 32 if IS_PYPY else 1 if IS_FULL else 4
"""One in this many of a test's points is interrupted; PyPy traces slowly."""
SETTLES = 10.0
"""Seconds that threads, and on PyPy finalizers, may take to end after a call."""
COMPARES = 64 if IS_PYPY else 1
"""Calls between checks for remaining threads and descriptors; PyPy frees objects only when it collects."""
LOOKS = 5
"""Checks for threads that are still ending, a millisecond apart, between collections."""
AGAIN = 8
"""If a test of the same file has already interrupted a line, one in this many of the points there is interrupted."""


class Interrupt(BaseException):
    """An exception that our code does not handle specially."""


class LoopInterrupt(Interrupt, KeyboardInterrupt):
    """An exception like that of Ctrl-C. From any callback of its loop, asyncio propagates it but swallows others."""


class TimedOut(TimeoutError):
    """An OSError, as handlers of SIGALRM raise it; code that handles OSError may mistake it for an error of a file."""


ERRORS: tuple[type[BaseException], ...] = (TimedOut, Interrupt, TimedOut, LoopInterrupt)
"""The exceptions that interrupt calls, in turn."""


IS_NIGHTLY = False
"""Whether the running test is in the nightly tier; only nightly tests use real signals."""
COUNTS: dict[str, list[int]] = {}
"""Test -> [how often its calls were interrupted at lines, and by signals]."""
LEAST = 2 if IS_PYPY else 8
"""The least number of points to interrupt in a test, if its call reaches so many."""
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
"""A line of a file, and how often the call has reached this line before."""


def _raise(error: BaseException | type[BaseException]) -> NoReturn:
    raise error


@contextmanager
def _looking_often() -> Iterator[None]:
    """Make waiting threads check often whether they should continue: an interrupt may lose the call that wakes them."""
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
    Raise `errors`, in turn, at lines of our packages that `act` reaches in this thread; return how many were raised.

    The call must raise the same exception. Each of the first `times` times that the call reaches a line is a point. One
    in `every * SPARSE` points is interrupted, and AGAIN times fewer on lines that a test of the same file and backend
    has already interrupted. `tox run -e explore` raises each error at all points. Without `settles`, threads and
    descriptors may remain.
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
        raised += trace.has_acted  # False if the call took another path this time, because of its threads
        if trace.has_acted and outcome.error is not raises:
            faults.append(f"{error.__name__} at {point.file}:{point.line} ({point.time}) came out as {outcome}"[:400])
        else:
            _checked(check, subject, outcome, f"{point} with {error.__name__}")
        del subject, outcome, trace, raises
        traces.end(point)
    traces.compare(point)
    assert not faults, "\n".join(["the call did not raise the exception that interrupted it:", *faults])
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
    Send signals at random moments of `times` calls; return how many calls raised the exception of the handler.

    The signal handler calls `interrupt`, by default to raise Interrupt. With `signals=2`, a second signal may arrive
    while the call cleans up after the first.
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
    if not IS_PYPY:  # on PyPy, a collection takes a third of a second, and the callbacks run at any time anyway
        gc.collect()  # run pending callbacks of importlib before the signals
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
        if outcome.error is None:  # other processes may have slowed down the first call, which set `longest`
            longest = min(longest, time.perf_counter() - begin)
        _checked(check, subject, outcome, f"call {number}, seed {seed}")
        del subject, outcome
        traces.end(number)
    traces.compare(number)
    gc.collect()
    assert interrupted or times < 40, "no call was interrupted: it is too short for a timer"
    return interrupted


def storms(*ways: str) -> list[Any]:
    """Return the parameters of a nightly test, one for each way in which it sends real signals."""
    return [pytest.param(way, marks=pytest.mark.nightly) for way in ways]


class Table:
    """A pytest plugin that selects the tests that interrupt calls, and prints how often each of them did so."""

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        ours = at_every_line, by_timer, sys.modules[__name__]
        items[:] = [item for item in items if any(each is our for each in vars(item.module).values() for our in ours)]

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        for test, (lines, signals) in sorted(COUNTS.items()):
            terminalreporter.write_line(f"{test}: at {lines} lines, by {signals} signals")


def _chosen(points: list[Point], done: set[tuple[str, int]], every: int) -> list[Point]:
    """
    Return one in `every` points on lines that are not in `done`, and AGAIN times fewer on others; add the lines.

    If these are fewer than LEAST, return about LEAST points without regard to `done`.
    """
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
    """Return the file of a test and the backends among its parameters; `test` is the name that pytest gives it."""
    file, _, name = test.partition("::")
    parameters = name.removesuffix(" (call)").partition("[")[2].rstrip("]").split("-")
    return file, *sorted(_BACKENDS.intersection(parameters))


def _counts(test: str) -> list[int]:
    """Return the counts of a test; `test` is the name that pytest gives it."""
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
    """Run `act(subject)`, and `call` at a point of it, like a signal handler; return how `act` ended."""
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
        self._lines.clear()  # PyPy may keep this tracer, which would keep the frames alive

    def _call(self, frame: FrameType, event: str, argument: Any) -> Any:
        code = frame.f_code
        if self._wanted is None:
            is_ours = code.co_filename.startswith(ROOTS)
        else:  # trace only functions with the wanted line
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
            return self._line  # no signal is handled at a `try`, nor at the end of a `with` before `__exit__`
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
    """Return whether a frame runs in a finalizer, or in a callback of another package that a collection may cause."""
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
            begin -= not IS_PYPY  # on CPython, `f_lasti` is still the offset of the previous instruction
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
    """Return the lines of a function, from the first to the last."""
    lines = [code.co_firstlineno, *(line for _, line in dis.findlinestarts(code) if line)]
    return range(min(lines), max(lines) + 1)


@functools.cache
def _with_blocks(file: str) -> dict[int, int]:
    """Map the line of each `with` to the last line of its block, and the line of each `try` to itself."""
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
    """Clear the frames of the current exception, which PyPy 8 does not forget if a signal came before an `__exit__`."""
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
        """Make the call. Signals raise only in this function and functions that it calls, so `run` catches them all."""
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
    """Compares the threads and descriptors before a call with those after it; on PyPy after COMPARES calls."""

    def __init__(self, settles: bool = True) -> None:
        self._settles = settles
        self._calls = 0
        self._before: tuple[int, set[str]] | None = None

    def begin(self) -> None:
        """Record the threads and descriptors before a call."""
        self._before = self._before or (len(_threads()), _descriptors())

    def end(self, point: Any) -> None:
        """Compare, after each COMPARES calls."""
        self._calls += 1
        if self._calls % COMPARES == 0:
            self.compare(point)

    def compare(self, point: Any) -> None:
        """Wait until there are no more threads and descriptors than before; run the collector after some waiting."""
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
    """Return the open descriptors with their targets; an empty set if the system does not list descriptors."""
    found = set()
    for number in os.listdir("/proc/self/fd") if os.path.isdir("/proc/self/fd") else ():
        with suppress(OSError):  # listdir's own descriptor is closed already
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
    """Return whether a call raises the RuntimeError that a stream object is broken, with the way to continue."""
    try:
        call()
    except RuntimeError as exc:
        if "create a new Unpacker" not in str(exc) and "lost the data after byte" not in str(exc):
            raise
        return True
    return False
