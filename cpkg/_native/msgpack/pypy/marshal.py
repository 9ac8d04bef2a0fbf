# SPDX-License-Identifier: Apache-2.0
"""
Packing and unpacking through the interpreter's own `marshal`: what serves on PyPy before the JIT has compiled loops.

`marshal` is compiled ahead, so that it makes and walks objects as fast in a process's first call as in any other. C
turns a message into the bytes that `marshal.loads` reads, having checked all of it
(`ffi_build/msgpack/pypy/to_marshal.c`), and what `marshal.dumps` gives into a message (`from_marshal.c`).
`marshal.loads` never sees other bytes.

Once compiled, the loops (`decoder`, `pack`) are as fast or faster, most of all for short
messages and numbers. Compiling them costs tens of milliseconds, which pay when enough is packed or unpacked. How much
will be is not known: as with skis that can be rented or bought, who rents until the rent has reached the price pays at
most twice what was best. `READING` and `WRITING` keep the accounts.

All of this works on CPython too, where the tests use it.
"""

from __future__ import annotations

from cpkg._native._msgpack_ffi import ffi

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    from cpkg._native.cffi_types import CData


class Rent:
    """
    How much longer marshal serves, in nanoseconds of the time that it takes beyond what compiled loops would take.

    `left` at 0 or below ends it for good: there is nothing to pay from then on.
    """

    __slots__ = ("left",)

    def __init__(self, price: int) -> None:
        self.left = price


READING: Final = Rent(20_000_000)
WRITING: Final = Rent(40_000_000)
"""The prices: what tracing the loops takes, as measured; docs/notebook/msgpack.md has the figures."""

CALL: Final = 1000
BYTE: Final = 2
"""The rent of a call and of each byte of its message."""

REFUSED: Final = 500_000
"""The cost of a call that found something that marshal has not: where that is the rule, marshal is soon out of use."""

KEPT: Final = 1 << 16
"""Bytes of C's memory that one call leaves to the next, as in marshal_buffer.c."""


def owned(handle: CData, free: CData) -> CData:
    """Return memory of C's that is freed with the last reference to it; MemoryError if there is none."""
    if handle == ffi.NULL:
        raise MemoryError("no memory to pack or unpack with")
    return ffi.gc(handle, free)
