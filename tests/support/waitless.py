# SPDX-License-Identifier: Apache-2.0
"""Run asynchronous calls that never wait, without an event loop, because a loop would swallow an interrupt."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any


def result_of(awaitable: Any) -> Any:
    """Run an awaitable that never waits; return its result."""
    steps: Generator[Any, None, Any] = awaitable.__await__()
    try:
        steps.send(None)
    except StopIteration as stop:
        return stop.value
    raise AssertionError("it waits")
