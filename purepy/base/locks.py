# SPDX-License-Identifier: Apache-2.0
"""
Locks that `with` takes and gives back whatever a signal handler raises.

With a lock of C it does so where no handler can run between the call of `__enter__` and the block. CPython 3.14 alone
runs them there: one signal in three, during a loop of `with lock: pass`, left the lock taken for ever. There both are a
type whose `__enter__` ends with an operator, which takes the lock; no handler runs after it. `__exit__` is C's.

A block that holds a lock stores the result of a call before it returns the result: PyPy 8 runs handlers after a call
that is the last thing in a block where the lock is not given back, and there `return call()` left it taken in one of
eight.

An object that threads share is an Exclusive: its methods wait for each other, and refuse to be entered again from
inside one of its own calls, where waiting would not end. Signal handlers, finalizers, callbacks and the caller's files
all enter so.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from threading import Lock as Lock
    from threading import RLock as RLock
    from types import FrameType
    from typing import Any
elif sys.implementation.name == "cpython" and sys.version_info[:2] == (3, 14):
    import _thread

    class RLock(_thread.RLock):
        __slots__ = ()
        __contains__ = _thread.RLock.acquire  # so that the operator is a call of C

        def __enter__(self) -> bool:
            return True in self

    Lock = RLock
else:
    import _thread

    Lock, RLock = _thread.allocate_lock, _thread.RLock


class Exclusive:
    """
    Base of an object whose methods wait for each other, and whose `_lock` is an RLock.

    A method runs inside of `with self._turn():`. A call from inside another call of the same object is a RuntimeError.
    The lock is an RLock because that knows its owner. It is entered with `with` alone: no signal handler can run
    between taking the lock and the block that gives it back.
    """

    __slots__ = ()

    if TYPE_CHECKING:
        _lock: Any

    def _turn(self) -> Any:
        """Return the lock to enter; raises RuntimeError if the calling thread is inside of it."""
        if self._lock._is_owned():
            raise RuntimeError(self._reentered())
        return self._lock

    def _reentered(self) -> str:
        """Return the text of the error, which names both calls of this object."""
        calls = list(calls_of(sys._getframe(1), self))
        if len(calls) < 2:  # a call of C, or one of another greenlet, has no frame here
            return f"{type(self).__name__} is used again from inside one of its own calls: let that return first"
        return f"{calls[0]} was called from inside {calls[-1]} of the same object: let that return first"


def calls_of(frame: FrameType | None, *things: object) -> Iterator[str]:
    """Yield the names of the methods of objects that a thread is in, the last call first."""
    while frame is not None:
        code = frame.f_code
        name = code.co_name
        is_public = not name.startswith("_") or name.endswith("__")
        if is_public and code.co_varnames[:1] == ("self",):
            owner = frame.f_locals.get("self")
            if any(owner is thing for thing in things):
                yield f"{type(owner).__name__}.{name}()"
        frame = frame.f_back
