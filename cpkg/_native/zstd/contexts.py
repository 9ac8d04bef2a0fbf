# SPDX-License-Identifier: Apache-2.0
"""
Create libzstd contexts, and keep them in places for the next call: Python's only pool of contexts.

Creating a context takes several times as long as compressing a short message. A place holds one context or a few. Each
thread has a place for compression and one for decompression; presets, archives and dictionaries also have places. The
rules below apply to all of them (`ffi_build/zstd/contexts.c` has the rules for C):

- Re-entrance and threads: a context leaves its place while in use. A finalizer, a signal handler or another thread that
  finds the place empty creates its own context. To take a context out of a list is one uninterruptible step.
- Errors: a context whose call failed is freed, because libzstd's reset does not undo all effects of an error.
- Parameters: the contexts of presets, archives and dictionaries keep their parameters. Before a thread's context is
  given back, its parameters are reset, and so are its dictionaries, which are raw pointers.
- Size: a thread keeps no context that has grown beyond a few MB.
- Forks: a context with worker threads is freed only in the process that created it; in a forked child a preset forgets
  it.
- Shutdown: finalizers use places while the interpreter ends, so `cpkg/_native/pins.py` keeps their contexts alive.

A thread's scratch memory is kept in the same way.
"""

from __future__ import annotations

import itertools
import os
import sys
from _thread import _local as local
from _weakref import ref

from cpkg._native.pins import pin
from cpkg._native.pressure import report_size
from purepy.zstd.format.rules import BLOCK_SIZE_MAX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable

    from cpkg._native.cffi_types import FFI, CData

RESET_SESSION, RESET_ALL = 1, 3

RESULT_MAX = sys.maxsize
"""
The largest size that a libzstd function returns. Greater results are errors: 2**64 (or 2**32) minus the error code.

The comparison is faster than a call of ZSTD_isError(), and a short message would need several such calls.
"""

_numbers = itertools.count()

KEPT_CCTX_MAX = 4 << 20
KEPT_DCTX_MAX = 1 << 20
SCRATCH_SIZE = BLOCK_SIZE_MAX + (4 << 10)


class Scratch:
    """A thread's scratch memory, and the two structs for libzstd's stream calls."""

    def __init__(self, ffi: FFI, new_nonzero: Callable[..., CData]) -> None:
        self.memory = new_nonzero("char[]", SCRATCH_SIZE)
        self.input = ffi.new("ZSTD_inBuffer *")
        self.output = ffi.new("ZSTD_outBuffer *")


class KeptScratch(local):
    """The scratch memory that a thread keeps for its next call."""

    work: Scratch | None = None


class Place:
    """A place for one context, or for up to `most` contexts."""

    __slots__ = ("_contexts", "_pin", "most")

    def __init__(self, most: int = 1) -> None:
        self._contexts: list[CData] = []
        self.most = most
        self._pin = pin(self._contexts)

    def take(self) -> CData | None:
        """Remove a context from the place and return it; None if the place is empty."""
        try:
            return self._contexts.pop()
        except IndexError:
            return None

    def give(self, context: CData) -> bool:
        """Keep a context; return False if the place is full."""
        if len(self._contexts) >= self.most:
            return False
        self._contexts.append(context)
        return True


class _Kept(local):
    """Each thread's own place for a context."""

    def __init__(self) -> None:
        self.place = Place()
        self.reported = 0
        """The size reported to PyPy's collector for the context that is in `place`, or was there last."""


class Contexts:
    """Contexts of one direction (compressing or decompressing), and libzstd's functions for them."""

    def __init__(self, ffi: FFI, create: CData, free: CData, size_of: CData, reset: CData, kept_max: int) -> None:
        self._ffi = ffi
        self._create = create
        self._free = free
        self.size_of = size_of
        self._reset = reset
        self._kept_max = kept_max
        self._kept = _Kept()
        self._with_workers: dict[int, tuple[ref[CData], object]] | None = None
        self._gone: list[object] = []

    def take(self) -> CData:
        """Return this thread's kept context, without parameters, or a new context."""
        context = self._kept.place.take()
        if context is None:
            self._kept.reported = 0
            context = self.new()
        return context

    def new(self) -> CData:
        """Create a context; raises MemoryError if libzstd cannot."""
        context = self._checked(self._create())
        return self._ffi.gc(context, self._free, self.size_of(context))

    def new_with_workers(self, keep: object) -> CData:
        """
        Create a context for libzstd's worker threads.

        The context is freed before `keep`, which holds the dictionary that the workers may be reading. In a forked
        child the context is never freed: the child does not have the workers, so waiting for them would never end. A C
        function frees the context, because a signal handler could raise in a Python function, where nothing would catch
        the exception.
        """
        context = self._ffi.gc(self._checked(self._create()), self._free)
        held = self._with_workers
        if held is None:
            held = self._with_workers = {}
            if hasattr(os, "register_at_fork"):
                os.register_at_fork(after_in_child=self._forget_workers)
        # a context counts as gone just before it is freed, so its dictionary is kept until this method is called again
        self._gone = [held.pop(number, None) for number, (found, _) in list(held.items()) if found() is None]
        held[next(_numbers)] = ref(context), keep
        return context

    def _forget_workers(self) -> None:
        """Prevent a forked child from freeing the contexts of its parent."""
        for found, _ in (self._with_workers or {}).values():
            context = found()
            if context is not None:
                self._ffi.gc(context, None)

    def _checked(self, context: CData) -> CData:
        if not context:
            raise MemoryError("libzstd cannot create a context")
        return context

    def give(self, context: CData, reported: int | None = None) -> None:
        """
        Keep a context for this thread's next call, or free it.

        A context that has grown large, that cannot be reset, or for which the place is full, is freed at once: PyPy's
        collector does not know the size of the context's memory and would free it late. `reported` is the size in
        bytes that was last reported to the collector; None if unchanged.
        """
        kept = self._kept
        is_fit = self.is_small(context) and self._reset(context, RESET_ALL) <= RESULT_MAX
        if not is_fit or not kept.place.give(context):
            self._ffi.release(context)
        elif reported is not None:
            kept.reported = reported

    def is_small(self, context: CData) -> bool:
        """Return whether a context is small enough for a thread to keep."""
        return bool(self.size_of(context) <= self._kept_max)

    def end_session(self, context: CData) -> bool:
        """Abandon the current frame, if any, and keep the parameters; return False if libzstd cannot."""
        return bool(self._reset(context, RESET_SESSION) <= RESULT_MAX)

    def share(self, take: CData, give: CData) -> None:
        """From now on, take and give contexts with these C functions, so that C's builtins use the same contexts."""

        def take_shared() -> CData:
            return self._ffi.gc(self._checked(take()), self._free)

        def give_shared(context: CData, reported: int | None = None) -> None:
            self._ffi.gc(context, None)  # from here on the place in C owns it
            give(context)

        self.take, self.give = take_shared, give_shared  # type: ignore[method-assign]

    def report(self, context: CData, reported: int | None) -> int:
        """
        Report to PyPy's collector how large a context has become; return the size that it knows now.

        `reported` is the size reported before; None for a context that `take` returned and that was not reported since.
        """
        return report_size(self.size_of(context), self._kept.reported if reported is None else reported)
