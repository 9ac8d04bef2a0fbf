# SPDX-License-Identifier: Apache-2.0
"""
The one pool of libzstd's contexts in Python: how they are made, and the places where they wait for their next call.

Making a context costs several times what a short message does. A place holds one context, or a few; a thread has one
for each direction, and so have a preset and an archive. The rules, which hold for all (`ffi_build/zstd/contexts.c` has
those of C):

- Re-entrance, threads: a context is out of its place while in use. A finalizer, a signal handler or another thread that
  finds the place empty makes its own. Taking one out of a list is a step that nothing comes between.
- Errors: a context whose call failed is freed. libzstd's reset does not reach all that an error may leave.
- Parameters: the context of a preset or archive keeps its own. Before a thread's goes back, all of them are reset, and
  dictionaries, which are raw pointers.
- Size: a thread keeps none that has grown beyond a few MB.
- Forks: a context with worker threads is freed in the process that made it alone; elsewhere a preset forgets it.
- Ends: finalizers take from places as the interpreter ends, so their contexts are pinned.

The scratch memory of a thread is kept in the same way.
"""

from __future__ import annotations

import itertools
import os
from _thread import _local as local
from _weakref import ref

from cpkg._native.pins import pin
from cpkg._native.pressure import report_size
from purepy.zstd.format.rules import BLOCK_SIZE_MAX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable

    from cpkg._native.cffi_types import FFI, CData, Lib

RESET_SESSION, RESET_ALL = 1, 3

_numbers = itertools.count()

KEPT_CCTX_MAX = 4 << 20
KEPT_DCTX_MAX = 1 << 20
SCRATCH_SIZE = BLOCK_SIZE_MAX + (4 << 10)


class Scratch:
    """A thread's scratch memory, and the two structs that libzstd's stream calls take."""

    def __init__(self, ffi: FFI, new_nonzero: Callable[..., CData]) -> None:
        self.memory = new_nonzero("char[]", SCRATCH_SIZE)
        self.input = ffi.new("ZSTD_inBuffer *")
        self.output = ffi.new("ZSTD_outBuffer *")


class KeptScratch(local):
    """The scratch memory that a thread keeps for its next call."""

    work: Scratch | None = None


class Place:
    """The place of one context, or of `most`."""

    __slots__ = ("_contexts", "_pin", "most")

    def __init__(self, most: int = 1) -> None:
        self._contexts: list[CData] = []
        self.most = most
        self._pin = pin(self._contexts)

    def take(self) -> CData | None:
        """Return a context, or None if all are in use or were never made."""
        try:
            return self._contexts.pop()
        except IndexError:
            return None

    def give(self, context: CData) -> bool:
        """Keep a context; return False if there is no room for it."""
        if len(self._contexts) >= self.most:
            return False
        self._contexts.append(context)
        return True


class _Kept(local):
    """A thread's place."""

    def __init__(self) -> None:
        self.place = Place()
        self.reported = 0
        """The size that was reported to PyPy's collector for the context that is, or was last, in `place`."""


class Contexts:
    """Contexts of one direction, by the functions of libzstd that make one, free it, return its size and reset it."""

    def __init__(
        self, ffi: FFI, lib: Lib, create: CData, free: CData, size_of: CData, reset: CData, kept_max: int
    ) -> None:
        self._ffi = ffi
        self._is_error = lib.ZSTD_isError
        self._create = create
        self._free = free
        self.size_of = size_of
        self._reset = reset
        self._kept_max = kept_max
        self._kept = _Kept()
        self._with_workers: dict[int, tuple[ref[CData], object]] | None = None
        self._gone: list[object] = []

    def take(self) -> CData:
        """Return this thread's kept context, without parameters, or a new one."""
        context = self._kept.place.take()
        if context is None:
            self._kept.reported = 0
            context = self.new()
        return context

    def new(self) -> CData:
        """Make a context; MemoryError if libzstd cannot."""
        context = self._checked(self._create())
        return self._ffi.gc(context, self._free, self.size_of(context))

    def new_with_workers(self, keep: object) -> CData:
        """
        Make a context for threads of libzstd's.

        It is freed before `keep`, the dictionary that they may be reading, and is never freed in a forked child: its
        threads are not there, and waiting for them would not end. What frees it is a function of C, because a signal
        would interrupt a function of Python's where nobody catches what the handler raises.
        """
        context = self._ffi.gc(self._checked(self._create()), self._free)
        held = self._with_workers
        if held is None:
            held = self._with_workers = {}
            if hasattr(os, "register_at_fork"):
                os.register_at_fork(after_in_child=self._forget_workers)
        # that a context is gone is seen just before it is freed: its dictionary stays until the next time
        self._gone = [held.pop(number, None) for number, (found, _) in list(held.items()) if found() is None]
        held[next(_numbers)] = ref(context), keep
        return context

    def _forget_workers(self) -> None:
        """Free no context of the process that this one was forked from."""
        for found, _ in (self._with_workers or {}).values():
            context = found()
            if context is not None:
                self._ffi.gc(context, None)

    def _checked(self, context: CData) -> CData:
        if not context:
            raise MemoryError("libzstd cannot make a context")
        return context

    def give(self, context: CData, reported: int | None = None) -> None:
        """
        Keep a context for this thread's next call, or free it.

        A context that has grown large or is one too many is freed at once: PyPy's collector, which does not know its
        memory, would let it wait.
        """
        kept = self._kept
        is_fit = self.is_small(context) and not self._is_error(self._reset(context, RESET_ALL))
        if not is_fit or not kept.place.give(context):
            self._ffi.release(context)
        elif reported is not None:
            kept.reported = reported

    def is_small(self, context: CData) -> bool:
        """Say whether a thread would keep a context of its size."""
        return bool(self.size_of(context) <= self._kept_max)

    def end_session(self, context: CData) -> bool:
        """Forget the frame at hand, but no parameter; return False if libzstd cannot."""
        return not self._is_error(self._reset(context, RESET_SESSION))

    def share(self, take: CData, give: CData) -> None:
        """Have functions of C keep contexts, for its builtins and these methods alike."""

        def take_shared() -> CData:
            return self._ffi.gc(self._checked(take()), self._free)

        def give_shared(context: CData, reported: int | None = None) -> None:
            self._ffi.gc(context, None)  # it is the place's from here on
            give(context)

        self.take, self.give = take_shared, give_shared  # type: ignore[method-assign]

    def report(self, context: CData, reported: int | None) -> int:
        """
        Report to PyPy's collector how large a context has become; return the size that it knows.

        `reported` is the size that it knew, None for a context that was just taken.
        """
        return report_size(self.size_of(context), self._kept.reported if reported is None else reported)
