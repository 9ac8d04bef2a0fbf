# SPDX-License-Identifier: Apache-2.0
"""Objects that threads share: one call at a time, and no call from inside of another."""

from __future__ import annotations

from _thread import RLock
from typing import Any


class Exclusive:
    """
    Base of an object whose methods wait for each other.

    A method runs inside of `with self._turn():`. Coming back into the same object from inside one of its own calls (a
    finalizer, a signal handler) is a RuntimeError, because waiting would not end.
    """

    __slots__ = ("_lock",)

    def __init__(self) -> None:
        # An RLock for what it knows, its owner; being asked twice by it is refused.
        self._lock: Any = RLock()

    def _turn(self) -> Any:
        """Return the lock to enter; raises RuntimeError if the calling thread is inside of it."""
        if self._lock._is_owned():
            raise RuntimeError(f"{type(self).__name__} is used again from inside one of its own calls")
        return self._lock
