# SPDX-License-Identifier: Apache-2.0
"""Locks are released whenever a signal handler raises, and never held in a forked child."""

from __future__ import annotations

import ast
import inspect
import os
import re
import sys
from functools import partial
from pathlib import Path
from textwrap import dedent
from types import ModuleType
from typing import Any, Callable

import pytest
from interrupts import ROOTS, Outcome, by_timer
from threads import run_threads

from cpkg.objects import dumps_loads
from purepy.base import locks
from purepy.base.lazy import grouped_names
from purepy.base.locks import Lock, RLock, process_lock
from purepy.zstd.format.zdict import Digests


@pytest.mark.nightly
@pytest.mark.parametrize("kind", [Lock, RLock])
def test_a_signal_between_taking_a_lock_and_its_block(kind: Any) -> None:
    def act(lock: Any) -> None:
        for _ in range(300):
            with lock:
                pass

    def check(lock: Any, outcome: Outcome) -> None:
        pytest.raises(RuntimeError, lock.release)

    by_timer(kind, act, check, times=400)


def test_a_lock_is_taken_once_and_given_back() -> None:
    lock = RLock()
    with lock as is_taken, lock:
        assert is_taken
        assert lock._is_owned()
    assert not lock._is_owned()


def ends_in_a_call(value: ast.expr | None) -> bool:
    """Return whether an expression may end with a call."""
    if isinstance(value, ast.IfExp):
        return ends_in_a_call(value.body) or ends_in_a_call(value.orelse)
    if isinstance(value, ast.BoolOp):
        return ends_in_a_call(value.values[-1])
    return isinstance(value, (ast.Call, ast.Await))


def holds_a_lock(item: ast.withitem) -> bool:
    """Return whether the object of a `with` is named as a lock, or comes from a method that returns a lock."""
    entered = ast.unparse(item.context_expr).partition("(")[0].split(".")[-1]
    return entered.endswith("lock") or entered in ("_turn", "_enter", "_open")


def calls_returned_with_a_lock(source: str) -> list[int]:
    """Return the lines where a block that holds a lock returns the result of a call without storing it first."""
    return [
        node.lineno
        for block in ast.walk(ast.parse(source))
        if isinstance(block, (ast.With, ast.AsyncWith)) and any(map(holds_a_lock, block.items))
        for statement in block.body
        for node in ast.walk(statement)
        if isinstance(node, ast.Return) and ends_in_a_call(node.value)
    ]


@pytest.mark.once
def test_no_block_that_holds_a_lock_returns_a_call() -> None:
    """On PyPy 8, the lock would stay locked if a signal handler raises after that call."""
    paths = [path for root in ROOTS for path in Path(root).rglob("*.py")]
    texts = {path.name: text for path in paths if re.search("lock|_turn|_enter|_open", text := path.read_text("utf-8"))}
    assert len(texts) > 50
    assert {name: lines for name, text in texts.items() if (lines := calls_returned_with_a_lock(text))} == {}


@pytest.mark.once
def test_a_call_that_is_returned_with_a_lock_is_seen() -> None:
    def method(self: Any) -> Any:
        with process_lock(self.locks):
            if self:
                return self.size
            return self.read() or self.write()

    lines, _ = inspect.getsourcelines(method)
    assert calls_returned_with_a_lock(dedent("".join(lines))) == [len(lines)]


@pytest.mark.parametrize("made", ["codecs", "group", "digest"])
def test_a_forked_child_waits_for_no_thread_of_its_parent(monkeypatch: pytest.MonkeyPatch, made: str) -> None:
    """In the child, what is made once is made again although a thread of the parent holds the lock."""
    processes: list[int] = []

    def make(*_: object) -> Any:
        processes.append(locks.getpid())
        if len(processes) == 1:
            monkeypatch.setattr(locks, "getpid", lambda: -1)
            assert run_threads(use) == []
        return {"name": made}

    module = ModuleType("of_this_test")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(dumps_loads, "_chosen", None)
    monkeypatch.setattr(dumps_loads, "Codecs", make)
    use: Callable[[], object] = {
        "codecs": dumps_loads.chosen_codecs,
        "group": partial(grouped_names(module.__name__, make), "name"),
        "digest": partial(Digests().single, "key", make),
    }[made]
    use()
    assert processes == [os.getpid(), -1]
