# SPDX-License-Identifier: Apache-2.0
"""
What a compressor and a decompressor over libzstd share; each backend subclasses them with its Library.

An object may be shared by threads: a method holds the object's lock while it runs. Coming back into the same object
from inside one of its own calls (a finalizer, a signal handler) is a RuntimeError, because waiting would not end.
"""

from __future__ import annotations

from purepy.zstd.common.locks import ExclusiveStream

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import ClassVar

    from cpkg._native.zstd.library import Library


class ContextStream(ExclusiveStream):
    """Base of a compressor or decompressor that holds a context of libzstd, of the `_library` of its subclass."""

    __slots__ = ()

    _library: ClassVar[Library]

    if TYPE_CHECKING:

        def _give_back(self) -> None:
            """Give the context back to this thread; for the holder of the lock."""

    def _release(self) -> None:
        """Give the context back; the object must not be used again."""
        if not self._lock._is_owned():  # else a signal handler asks inside of a call, which goes on using it
            with self._lock:
                self._give_back()
