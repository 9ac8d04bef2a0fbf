# SPDX-License-Identifier: Apache-2.0
"""Run threads that interfere with each other."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Callable


@contextmanager
def switching(seconds: float) -> Iterator[None]:
    """Set the interpreter's interval for switching threads, in seconds, during a block."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(seconds)
    try:
        yield
    finally:
        sys.setswitchinterval(interval)


def run_threads(*works: Callable[[], Any]) -> list[BaseException]:
    """Run each function in its own thread, and return the errors that they raised."""
    with beside(*works) as errors:
        pass
    return errors


@contextmanager
def beside(*works: Callable[[], Any]) -> Iterator[list[BaseException]]:
    """Run functions in threads during a block, and wait for the threads at its end; yield the list of their errors."""
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
