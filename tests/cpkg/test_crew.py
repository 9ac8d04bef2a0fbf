# SPDX-License-Identifier: Apache-2.0
"""The Crew: jobs in order, and its state when the caller is interrupted; and the harness that interrupts."""

from __future__ import annotations

import os
import threading
from typing import Any, NoReturn

import interrupts
import pytest
from extent import IS_FULL
from interrupts import ERRORS, Outcome, at_every_line, by_timer, nothing_left

import purepy.base.crew
from purepy.base.crew import Crew, Job, Stopped, mapped, run_all


@pytest.fixture(autouse=True)
def threads_look_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(purepy.base.crew, "LOOK_AGAIN", 0.02)


class Pieces(Job):
    """Puts the same few bytes several times, with little space."""

    output_max = 4

    def __init__(self, number: int) -> None:
        super().__init__()
        self._number = number

    def run(self) -> None:
        for _ in range(5):
            self.put(bytes([self._number]) * 3)


class Failing(Job):
    def run(self) -> None:
        self.put(b"before")
        raise ArithmeticError


def drain(crew: Crew) -> list[bytes]:
    return list(iter(lambda: crew.take(lambda: True), None))


@pytest.mark.parametrize("threads", [0, 1, 3])
def test_output_comes_in_the_order_of_the_jobs(threads: int) -> None:
    """An error follows the output of its job, and stops the crew."""
    crew = Crew(threads)
    for number in range(10):
        crew.give(Pieces(number))
    assert drain(crew) == [bytes([number]) * 3 for number in range(10) for _ in range(5)]
    crew.give(Failing())
    assert crew.take(lambda: True) == b"before"
    pytest.raises(ArithmeticError, crew.take, lambda: True)
    assert crew.is_stopped
    assert crew.stop()


@pytest.mark.parametrize("error", dict.fromkeys(ERRORS))
def test_what_a_handler_raises_in_the_callers_thread_comes_out_at_once(error: type[BaseException]) -> None:
    def fail(kind: type[BaseException]) -> NoReturn:
        raise kind

    crew = Crew(0)
    pytest.raises(error, crew.submit, fail, error)
    # an error of the job itself; a job without a result
    for kind, found, text in ((ArithmeticError, ArithmeticError, ""), (Stopped, RuntimeError, "output is missing")):
        call = crew.submit(fail, kind)
        pytest.raises(found, call.result).match(text)


def test_stop_wakes_a_job_that_waits_for_room() -> None:
    crew = Crew(1)
    with nothing_left():
        crew.give(Pieces(1))
        while not crew._given[0].output:
            pass
        assert crew.stop()


def test_without_threads_the_caller_does_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(purepy.base.crew, "start_new_thread", refuse)
    crew = Crew(4)
    assert crew.begin() == 0
    crew.give(Pieces(7))
    assert drain(crew) == [b"\7\7\7"] * 5
    found: list[int] = []
    run_all(4, 10, lambda number, check: found.append(number))
    assert sorted(found) == list(range(10))


@pytest.mark.parametrize("threads", [1, 3])
def test_mapped_is_in_order_and_may_be_left(threads: int) -> None:
    with nothing_left():
        assert list(mapped(lambda number: number**2, range(50), threads, 4)) == [number**2 for number in range(50)]
        begun = mapped(lambda number: 1 // number, [1, 1, 0, 1], threads, 4)
        assert (next(begun), next(begun)) == (1, 1)
        pytest.raises(ZeroDivisionError, next, begun)
        left = mapped(str, range(50), threads, 4)
        assert next(left) == "0"
        left.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_forked_child_has_no_threads() -> None:
    crew = Crew(1)
    assert crew.submit(len, b"abc").result() == 3
    child = os.fork()
    if not child:
        try:
            crew.stop()
            crew.submit(len, b"abc")
        except RuntimeError:
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    assert crew.submit(len, b"abcd").result() == 4
    crew.stop()


def test_a_job_may_stop_its_own_crew() -> None:
    crew = Crew(1)
    assert crew.submit(crew.stop).result() is False
    assert crew.stop()


def work(subject: Any) -> list[int]:
    found: list[int] = []
    run_all(3, 20, lambda number, check: found.append(number))
    crew = Crew(2)
    try:
        for number in range(6):
            crew.give(Pieces(number))
        assert len(drain(crew)) == 30
        calls = [crew.submit(pow, 2, number) for number in range(4)]
        assert [call.result() for call in calls] == [1, 2, 4, 8]
    finally:
        crew.stop()
    return sorted(found)


def check(subject: Any, outcome: Outcome) -> None:
    assert outcome.is_interrupted or outcome.value == list(range(20)), outcome


def test_interrupted_at_every_line() -> None:
    assert at_every_line(lambda: None, work, check) > (10 if IS_FULL else 5)


@pytest.mark.nightly
@pytest.mark.parametrize("signals", [1, 2])
def test_interrupted_by_signals(monkeypatch: pytest.MonkeyPatch, signals: int) -> None:
    """`pytest --interrupts` prints how many signals came."""
    monkeypatch.setattr(interrupts, "COUNTS", {})
    by_timer(lambda: None, work, check, times=400, signals=signals)
    ((test, counts),) = interrupts.COUNTS.items()
    assert test.endswith(f"::test_interrupted_by_signals[{signals}]")
    assert counts[1] > counts[0] == 0


@pytest.mark.parametrize("is_given_before", [True, False])
def test_a_crew_that_is_forgotten_loses_nothing_silently(is_given_before: bool) -> None:
    """If a crew and its file are in a reference cycle, the collector finalizes the crew before it closes the file."""
    crew, begun, wanted = Crew(1), threading.Event(), threading.Event()

    class Waits(Job):
        def run(self) -> None:
            begun.set()
            wanted.wait()
            self.put(b"output")

    if is_given_before:
        crew.give(Waits())
        begun.wait()
    crew._shared._owner = lambda: None
    if not is_given_before:
        crew.give(Waits())
    wanted.set()
    pytest.raises(RuntimeError, crew.take, lambda: True).match("close the object before you drop it")
    crew.stop()


def test_the_harness_sees_what_an_interrupt_breaks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Code that loses a lock, a descriptor or a thread to an interrupt fails; otherwise the harness is useless."""
    lock, read_ends = threading.Lock(), []

    def leaks(_: Any) -> None:
        crew = Crew(1)
        lock.acquire()
        crew.submit(len, b"").result()
        lock.release()
        crew.stop()

    def check(_: Any, outcome: Outcome) -> None:
        was_locked = lock.locked()
        if was_locked:
            lock.release()
        assert not was_locked

    pytest.raises(AssertionError, at_every_line, lambda: None, leaks, check).match("after an interrupt at")

    def opens(_: Any) -> None:
        read_ends.append(os.dup(0))
        Crew(0).submit(len, b"").result()
        os.close(read_ends.pop())

    monkeypatch.setattr("interrupts.SETTLES", 0.1)
    for act, text in ((opens, "left resources open"), (lambda _: None, "no line of ours")):
        pytest.raises(AssertionError, at_every_line, lambda: None, act, lambda *_: None).match(text)
    os.close(read_ends.pop())
