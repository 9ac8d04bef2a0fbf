# SPDX-License-Identifier: Apache-2.0
"""Threads that get in each other's way."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Callable


@contextmanager
def switching(seconds: float) -> Iterator[None]:
    """Let the interpreter change between threads that often."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(seconds)
    try:
        yield
    finally:
        sys.setswitchinterval(interval)


def run_threads(*works: Callable[[], Any]) -> list[BaseException]:
    """Run each function in a thread of its own and return the errors that they raised."""
    with beside(*works) as errors:
        pass
    return errors


@contextmanager
def beside(*works: Callable[[], Any]) -> Iterator[list[BaseException]]:
    """Run functions in threads while the block runs, and wait for them after it; give the errors that they raised."""
    errors: list[BaseException] = []

    def guarded(work: Callable[[], Any]) -> None:
        try:
            work()
        except BaseException as exc:
            errors.append(exc)

    threads = [threading.Thread(target=guarded, args=(work,), daemon=True) for work in works]
    for thread in threads:
        thread.start()
    try:
        yield errors
    finally:
        for thread in threads:
            thread.join(timeout=300)
            assert not thread.is_alive()
