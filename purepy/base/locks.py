# SPDX-License-Identifier: Apache-2.0
"""
Locks that `with` takes and gives back whatever a signal handler raises.

With a lock of C it does so where no handler can run between the call of `__enter__` and the block. CPython 3.14 alone
runs them there: one signal in three, during a loop of `with lock: pass`, left the lock taken for ever. There both are a
type whose `__enter__` ends with an operator, which takes the lock; no handler runs after it. `__exit__` is C's.

A block that holds a lock stores the result of a call before it returns the result: PyPy 8 runs handlers after a call
that is the last thing in a block where the lock is not given back, and there `return call()` left it taken in one of
eight.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from threading import Lock as Lock
    from threading import RLock as RLock
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
