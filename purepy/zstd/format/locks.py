# SPDX-License-Identifier: Apache-2.0
"""Streams that threads may share: they run one call at a time, and refuse calls from inside another call."""

from __future__ import annotations

from purepy.base.locks import Exclusive, RLock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


def refuse_second_init(thing: object, attribute: str = "_lock") -> None:
    """Raise RuntimeError if `thing` has `attribute` already: a second __init__() must not replace state in use."""
    if hasattr(thing, attribute):
        raise RuntimeError(f"{type(thing).__name__} is already initialized")


class ExclusiveStream(Exclusive):
    """Base of compressors and decompressors written in Python: they run one call at a time and refuse pickling."""

    __slots__ = ("_lock",)

    def __init__(self) -> None:
        refuse_second_init(self)
        self._lock = RLock()

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError(f"cannot pickle {type(self).__name__!r} object")


def release(stream: object) -> None:
    """Release the resources of a stream that is no longer used, if its backend supports that."""
    give_back = getattr(stream, "_release", None)
    if give_back is not None:
        give_back()
