# SPDX-License-Identifier: Apache-2.0
"""Locks are given back whenever a signal handler raises."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from interrupts import Outcome, by_timer

from purepy._locks import Lock, RLock

pytestmark = pytest.mark.once


@pytest.mark.skipif(
    sys.implementation.name == "pypy" or sys.version_info < (3, 10),
    reason="runs handlers between a block and the call of __exit__",
)
@pytest.mark.parametrize("kind", [Lock, RLock])
def test_a_signal_between_taking_a_lock_and_its_block(kind: Any) -> None:
    def act(lock: Any) -> None:
        for _ in range(300):
            with lock:
                pass

    def check(lock: Any, outcome: Outcome) -> None:
        with pytest.raises(RuntimeError):
            lock.release()

    by_timer(kind, act, check, times=400)


def test_a_lock_is_taken_once_and_given_back() -> None:
    lock = RLock()
    with lock as is_taken, lock:
        assert is_taken
        assert lock._is_owned()
    assert not lock._is_owned()
