# SPDX-License-Identifier: Apache-2.0
"""Objects that threads share: one call at a time, and no call from inside of another."""

from __future__ import annotations

from _thread import RLock
from typing import Any


def refuse_second_init(thing: Any) -> None:
    """Raise RuntimeError if an object has its lock: __init__() would take from a call under way what it works on."""
    if hasattr(thing, "_lock"):
        raise RuntimeError(f"{type(thing).__name__} is initialized once")


class Exclusive:
    """
    Base of an object whose methods wait for each other.

    A method runs inside of `with self._turn():`. Coming back into the same object from inside one of its own calls (a
    finalizer, a signal handler) is a RuntimeError, because waiting would not end.
    """

    __slots__ = ("_lock",)

    def __init__(self) -> None:
        refuse_second_init(self)
        # An RLock for what it knows, its owner; being asked twice by it is refused.
        self._lock: Any = RLock()

    def _turn(self) -> Any:
        """Return the lock to enter; raises RuntimeError if the calling thread is inside of it."""
        if self._lock._is_owned():
            raise RuntimeError(f"{type(self).__name__} is used again from inside one of its own calls")
        return self._lock
