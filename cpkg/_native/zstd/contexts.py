# SPDX-License-Identifier: Apache-2.0
"""
Contexts of libzstd: how they are made, and the one of each direction that a thread keeps for its next call.

Making a context costs several times what a short message does. A context is out of its place while in use, so that a
finalizer or signal handler on the same thread finds none and makes its own. Before it goes back all parameters and
dictionaries are reset, because they are raw pointers; one that has grown beyond a few MB, one with worker threads and
one whose call failed never goes back: libzstd's reset does not reach all that an error may leave. The scratch memory
of a thread is kept in the same way.
"""

from __future__ import annotations

import os
from _thread import _local as local

from cpkg._native.pins import pin
from cpkg._native.pressure import tell_size
from purepy.zstd_format import BLOCK_SIZE_MAX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

RESET_SESSION, RESET_ALL = 1, 3

KEPT_CCTX_MAX = 4 << 20
KEPT_DCTX_MAX = 1 << 20
SCRATCH_SIZE = BLOCK_SIZE_MAX + (4 << 10)


class Scratch:
    """A thread's scratch memory, and the two structs that libzstd's stream calls take."""

    def __init__(self, ffi: Any, new_nonzero: Any) -> None:
        self.memory = new_nonzero("char[]", SCRATCH_SIZE)
        self.input = ffi.new("ZSTD_inBuffer *")
        self.output = ffi.new("ZSTD_outBuffer *")


class KeptScratch(local):
    """The scratch memory that a thread keeps for its next call."""

    work: Scratch | None = None


class _Kept(local):
    """The context that a thread keeps, in a list: what a signal handler cannot come between is taking it out of one."""

    def __init__(self) -> None:
        self.contexts: list[Any] = []
        self._pin = pin(self.contexts)  # finalizers that run as the interpreter ends take from it
        self.told = 0
        """How much PyPy's collector was told of the context that is, or was last, in `contexts`."""


class Contexts:
    """Contexts of one direction, by the functions of libzstd that make one, free it, tell its size and reset it."""

    def __init__(self, library: Any, create: Any, free: Any, size_of: Any, reset: Any, kept_max: int) -> None:
        self._ffi = library.ffi
        self._is_error = library.lib.ZSTD_isError
        self._create = create
        self._free = free
        self.size_of = size_of
        self._reset = reset
        self._kept_max = kept_max
        self._kept = _Kept()

    def take(self) -> Any:
        """Return this thread's kept context, without parameters, or a new one."""
        try:
            return self._kept.contexts.pop()
        except IndexError:
            self._kept.told = 0
            return self.new()

    def new(self) -> Any:
        """Make a context; MemoryError if libzstd cannot."""
        context = self._checked(self._create())
        return self._ffi.gc(context, self._free, self.size_of(context))

    def new_with_workers(self, keep: Any) -> Any:
        """
        Make a context for threads of libzstd's.

        It is freed before `keep`, the dictionary that they may be reading, and is never freed in a forked child: its
        threads are not there, and waiting for them would not end.
        """
        free, getpid, made_in = self._free, os.getpid, os.getpid()

        def free_here(pointer: Any, held: Any = keep) -> None:
            if getpid() == made_in:
                free(pointer)

        return self._ffi.gc(self._checked(self._create()), free_here)

    def _checked(self, context: Any) -> Any:
        if not context:
            raise MemoryError("libzstd cannot make a context")
        return context

    def give(self, context: Any, told: int | None = None) -> None:
        """
        Keep a context for this thread's next call, or free it.

        What has grown large and what is one too many is freed at once: PyPy's collector, which knows nothing of its
        memory, would let it wait.
        """
        kept = self._kept
        if kept.contexts or not self.is_small(context) or self._is_error(self._reset(context, RESET_ALL)):
            self._ffi.release(context)
        else:
            kept.contexts.append(context)
            if told is not None:
                kept.told = told

    def is_small(self, context: Any) -> bool:
        """Say whether a thread would keep a context of its size."""
        return bool(self.size_of(context) <= self._kept_max)

    def end_session(self, context: Any) -> bool:
        """Forget the frame at hand, but no parameter; return False if libzstd cannot."""
        return not self._is_error(self._reset(context, RESET_SESSION))

    def share(self, take: Any, give: Any) -> None:
        """Have functions of C keep contexts, for its builtins and these methods alike."""

        def take_shared() -> Any:
            return self._ffi.gc(self._checked(take()), self._free)

        def give_shared(context: Any, told: int | None = None) -> None:
            self._ffi.gc(context, None)  # it is the place's from here on
            give(context)

        self.take, self.give = take_shared, give_shared  # type: ignore[method-assign]

    def tell(self, context: Any, told: int | None) -> int:
        """
        Tell PyPy's collector how large a context has become; return how much it knows.

        `told` is how much it knew, None for a context that was just taken.
        """
        return tell_size(self.size_of(context), self._kept.told if told is None else told)
