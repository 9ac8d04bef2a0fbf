# SPDX-License-Identifier: Apache-2.0
"""
The base of compressors and decompressors that use libzstd through cffi; each backend derives types that use its
Library.

Threads may share an object: a method holds the object's lock while it runs. A call from inside another call of the same
object (in a finalizer or signal handler) raises RuntimeError, because waiting would never end.
"""

from __future__ import annotations

from cpkg._native.pins import pin
from purepy.zstd.format.locks import ExclusiveStream

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar

    from cpkg._native.zstd.library import Library


class ContextStream(ExclusiveStream):
    """Base of compressors and decompressors, which hold a libzstd context of the subclass's `_library`."""

    __slots__ = ()

    _library: ClassVar[Library]

    if TYPE_CHECKING:
        _context: Any
        """The context; None after it was given back."""
        _handle: Any
        _pin: Any
        _settings: Any
        _has_failed: bool
        _reported: int | None

    def _take(self) -> None:
        self._context = context = self._settings._take(self._library)
        self._handle = self._library.handle(context)
        self._pin = pin(context)

    def _give_back(self) -> None:
        """
        Return the context to the thread or preset that keeps it, or free it if one of its calls has failed.

        Call with the lock held. A second call does nothing.
        """
        context, self._context = self._context, None
        if context is not None:
            self._handle = self._pin = None
            if self._has_failed:
                self._library.drop(context)
            else:
                self._settings._give(self._library, context, self._reported)

    def _release(self) -> None:
        """Give the context back, unless a call on this thread is using it; the object must not be used again."""
        if not self._lock._is_owned():  # otherwise a signal handler calls this inside a call that uses the context
            with self._lock:
                self._give_back()
