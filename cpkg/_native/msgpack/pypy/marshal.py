# SPDX-License-Identifier: Apache-2.0
"""
Pack and unpack through the interpreter's own `marshal`, on PyPy before the JIT has compiled the loops.

`marshal` is compiled ahead of time, so that it creates and reads objects as fast in the first call of a process as in
any other. C checks a message completely and converts it to the bytes that `marshal.loads` reads
(`ffi_build/msgpack/pypy/to_marshal.c`), and converts the result of `marshal.dumps` to a message (`from_marshal.c`).
`marshal.loads` never reads bytes that C did not create.

The compiled loops (`decoder`, `pack`) are as fast or faster, most of all for short messages and numbers. Compiling them
takes tens of milliseconds, which pays off only if the process packs or unpacks enough later, and that is not known.
This is the ski rental problem: if we rent until the rent has reached the price, and then buy, we pay at most twice the
optimum. marshal is rented, compiled loops are bought; `READING` and `WRITING` keep the accounts.

All of this also works on CPython, where the tests use it.
"""

from __future__ import annotations

from cpkg._native._msgpack_ffi import ffi

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    from cpkg._native.cffi_types import CData


class Rent:
    """
    The account of one direction: marshal may still lose an estimated `left` nanoseconds against compiled loops.

    When `left` is 0 or less, marshal is not used any more.
    """

    __slots__ = ("left",)

    def __init__(self, price: int) -> None:
        self.left = price


READING: Final = Rent(20_000_000)
WRITING: Final = Rent(40_000_000)
"""The prices in nanoseconds: the measured time to trace the loops (see docs/notebook/msgpack.md)."""

CALL: Final = 1000
BYTE: Final = 2
"""The rent in nanoseconds of a call, and of each byte: of the data to unpack, or of marshal's output when packing."""

REFUSED: Final = 500_000
"""The rent in nanoseconds of an object or message that is refused: if most are refused, marshal is soon abandoned."""

KEPT: Final = 1 << 16
"""How many bytes of a C buffer are kept from one call to the next, as in marshal_buffer.c."""


def owned(handle: CData, free: CData) -> CData:
    """Return `handle` as cdata that calls `free` when its last reference ends; raise MemoryError if it is NULL."""
    if handle == ffi.NULL:
        raise MemoryError("not enough memory to pack or unpack a message")
    return ffi.gc(handle, free)
