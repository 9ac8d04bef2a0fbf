# SPDX-License-Identifier: Apache-2.0
"""
Locks that a `with` block always releases, even if a signal handler raises an exception.

The locks written in C do so wherever no handler can run between the call of `__enter__` and the block. Only CPython
3.14 runs handlers there: one signal in three, during a loop of `with lock: pass`, left the lock taken forever. On that
version, Lock and RLock are both a subclass whose `__enter__` ends with an operator that takes the lock; no handler runs
after the operator. `__exit__` remains the method in C.

A block that holds a lock stores the result of a call before it returns the result. PyPy 8 runs handlers after a call
that ends a block, without releasing the lock: there, `return call()` left the lock taken in one of eight runs.

Threads may share an object derived from Exclusive. Its methods wait for each other, and raise RuntimeError when they
are entered again from inside one of the object's own calls, where waiting would never end. Signal handlers, finalizers,
callbacks and the caller's files can all cause such a call.
"""

from __future__ import annotations

import sys
from os import getpid

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
        __contains__ = _thread.RLock.acquire  # so that the operator `in` is a call of C

        def __enter__(self) -> bool:
            return True in self

    Lock = RLock
else:
    import _thread

    Lock, RLock = _thread.allocate_lock, _thread.RLock


def process_lock(locks: dict[int, RLock]) -> RLock:
    """
    Return this process's lock in `locks`, which maps numbers of processes to locks.

    After a fork, the child needs its own lock: a thread that exists only in the parent may have held the parent's. The
    lock is an RLock, because a finalizer may take it again inside the block.
    """
    return locks.setdefault(getpid(), RLock())


class Exclusive:
    """
    Base of an object whose methods wait for each other, and whose `_lock` is an RLock.

    Each method runs inside `with self._turn():`. A call from inside another call of the same object raises
    RuntimeError. The lock is an RLock because an RLock knows its owner. Only `with` enters it, because then no signal
    handler can run between taking the lock and the block that releases it.
    """

    __slots__ = ()

    if TYPE_CHECKING:
        _lock: Any

    def _turn(self) -> Any:
        """Return the lock to enter; raises RuntimeError if the calling thread already holds it."""
        if self._lock._is_owned():
            raise RuntimeError(self._reentered())
        return self._lock

    def _reentered(self) -> str:
        """Return the text of the error, which names both calls."""
        calls = list(calls_of(sys._getframe(1), self))
        if len(calls) < 2:  # a call in C or in another greenlet has no frame here
            return f"{type(self).__name__} was called from inside one of its own methods: let that call return first"
        return f"{calls[0]} was called from inside {calls[-1]} of the same object: let that call return first"


def calls_of(frame: FrameType | None, *things: object) -> Iterator[str]:
    """Yield "Type.method()" for each public method of `things` running in `frame` and its callers, innermost first."""
    while frame is not None:
        code = frame.f_code
        name = code.co_name
        is_public = not name.startswith("_") or name.endswith("__")
        if is_public and code.co_varnames[:1] == ("self",):
            owner = frame.f_locals.get("self")
            if any(owner is thing for thing in things):
                yield f"{type(owner).__name__}.{name}()"
        frame = frame.f_back
