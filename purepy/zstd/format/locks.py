# SPDX-License-Identifier: Apache-2.0
"""
Objects that threads share: one call at a time, and no call from inside of another.

All that wait for each other and refuse to be entered again do so here: streams, files, and what buffers for those.
"""

from __future__ import annotations

from purepy.base.locks import RLock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn


def refuse_second_init(thing: object) -> None:
    """Raise RuntimeError if an object has its lock: __init__() would take from a call under way what it works on."""
    if hasattr(thing, "_lock"):
        raise RuntimeError(f"{type(thing).__name__} is initialized once")


class Exclusive:
    """
    Base of an object whose methods wait for each other, and whose `_lock` is an RLock.

    A method runs inside of `with self._turn():`. Coming back into the same object from inside one of its own calls (a
    finalizer, a signal handler) is a RuntimeError, because waiting would not end. An RLock serves for what it knows,
    its owner. It is entered with `with` alone, as no signal handler can run between taking the lock and the block that
    gives it back.
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
        return f"reentrant call inside {self!r}"


class ExclusiveStream(Exclusive):
    """Base of every backend's compressors and decompressors."""

    __slots__ = ("_lock",)

    def __init__(self) -> None:
        refuse_second_init(self)
        self._lock = RLock()

    def _reentered(self) -> str:
        return f"{type(self).__name__} is used again from inside one of its own calls"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError(f"cannot pickle {type(self).__name__!r} object")


def release(stream: object) -> None:
    """Let a stream object that is not used again give back what it keeps, if its backend has that."""
    give_back = getattr(stream, "_release", None)
    if give_back is not None:
        give_back()
