# SPDX-License-Identifier: Apache-2.0
"""
Functions that exist only on PyPy, or are faster there in another form, and replacements for other interpreters.

The loops of the pure codecs never ask which interpreter runs them; they import the differences from here. `JIT` is true
if a tracing JIT compiles the loops. A codec with two forms of a hot loop uses `JIT` to choose: plain integer arithmetic
for a JIT, or few and large library calls for an interpreter that pays for each bytecode.
"""

from __future__ import annotations

import struct
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

    from typing_extensions import TypeAlias

    from purepy.base.types import Builder

JIT = sys.implementation.name == "pypy"
"""
True if a tracing JIT compiles the loops.

PyPy compiles a loop for the first path through the loop that it sees. Other paths join at the loop's head and must
leave the variables there in the same state as the first path: the same variables hold unboxed integers, with an equally
wide range, and variables that were different objects stay different. Otherwise PyPy boxes every variable and unboxes it
again at another entry, which costs as much as one round of the loop. Hot loops with several paths therefore add 0 to
integers that not all paths assign, and reset to 0 the variables that no later round reads.
"""


def _signed(value: int) -> int:
    """Wrap `value` to a signed 64-bit integer."""
    return ((value + 0x8000000000000000) & 0xFFFFFFFFFFFFFFFF) - 0x8000000000000000


def _int_add(a: int, b: int) -> int:
    return _signed(a + b)


def _int_mul(a: int, b: int) -> int:
    return _signed(a * b)


def _int_lshift(a: int, n: int) -> int:
    return _signed(a << n)


def _uint_rshift(a: int, n: int) -> int:
    return _signed((a & 0xFFFFFFFFFFFFFFFF) >> n)


# Signed 64-bit arithmetic that wraps. PyPy's JIT compiles each function to one machine instruction, where the ordinary
# operators would overflow into big integers. The replacements give the same results on any interpreter.
if JIT and not TYPE_CHECKING:
    from __pypy__.intop import int_add, int_lshift, int_mul, uint_rshift
else:
    int_add, int_lshift, int_mul, uint_rshift = _int_add, _int_lshift, _int_mul, _uint_rshift


if JIT and not TYPE_CHECKING and sys.pypy_version_info < (8,):
    _PAGE = bytearray(4096)

    def zeros(size):
        # On PyPy 7, bytearray(size) needs twice the memory while it is created, and multiplying a single byte copies
        # byte by byte. Multiplying a page avoids both.
        made = _PAGE * (size // len(_PAGE) + 1)
        del made[size:]
        return made
else:

    def zeros(size: int) -> bytearray:
        """Return a bytearray of `size` zero bytes; creating it uses no other memory."""
        return bytearray(size)


# --- MessagePack: big-endian numbers, builders, UTF-8 -------------------------------------------------------------
#
# Readers take (data, position) and return a tuple of one number, as `struct.Struct.unpack_from` does; on CPython they
# are that method. Writers take a number and return its bytes. PyPy compiles struct's native formats of one item to one
# machine instruction, but big-endian formats to a call that costs 20 times as much. So the bytes are read natively
# there and swapped by arithmetic. Each format has one item, and nothing is called between loading `pack` and calling
# it: only then does the JIT see a constant format and avoid interpreting it.

Reader: TypeAlias = "Callable[[bytes, int], tuple[Any, ...]]"
Writer: TypeAlias = "Callable[[Any], bytes]"

read_i8: Reader = struct.Struct(">b").unpack_from
read_f32: Reader = struct.Struct(">f").unpack_from
write_f32: Writer = struct.Struct(">f").pack

if write_f32(read_f32(b"\x7f\xa0\0\0", 0)[0]) == b"\x7f\xa0\0\0":
    # struct keeps a signalling NaN (PyPy, CPython 3.14): make it quiet, as C does, and keep its other bits
    _read_f32, _write_f32 = read_f32, write_f32

    def read_f32(data: bytes, pos: int) -> tuple[float]:
        """Return a tuple of the float in the 4 bytes at `pos`; a signalling NaN becomes quiet."""
        found = _read_f32(data, pos)
        return found if found[0] == found[0] else _read_f32(_quiet(data[pos : pos + 4]), 0)

    def write_f32(value: float) -> bytes:
        """Return a float in 4 bytes; a signalling NaN becomes quiet."""
        packed = _write_f32(value)
        return packed if value == value else _quiet(packed)

    def _quiet(packed: bytes) -> bytes:
        return bytes((packed[0], packed[1] | 0x40, packed[2], packed[3]))


if JIT and sys.byteorder == "little" and not TYPE_CHECKING:
    _pack = struct.pack
    _unpack_from = struct.unpack_from

    def read_u8(data, pos):
        return (data[pos],)

    def read_u16(data, pos):
        return (data[pos] << 8 | data[pos + 1],)

    def read_i16(data, pos):
        value = data[pos] << 8 | data[pos + 1]
        return (value - 0x10000 if value >= 0x8000 else value,)

    def read_u32(data, pos):
        value = _unpack_from("=I", data, pos)[0]
        return (value >> 24 | value >> 8 & 0xFF00 | (value & 0xFF00) << 8 | (value & 0xFF) << 24,)

    def read_i32(data, pos):
        value = _unpack_from("=I", data, pos)[0]
        value = value >> 24 | value >> 8 & 0xFF00 | (value & 0xFF00) << 8 | (value & 0xFF) << 24
        return (value - 0x100000000 if value >= 0x80000000 else value,)

    def read_u64(data, pos):
        low = _unpack_from("=I", data, pos + 4)[0]
        low = low >> 24 | low >> 8 & 0xFF00 | (low & 0xFF00) << 8 | (low & 0xFF) << 24
        high = _unpack_from("=I", data, pos)[0]
        high = high >> 24 | high >> 8 & 0xFF00 | (high & 0xFF00) << 8 | (high & 0xFF) << 24
        return (high << 32 | low,)

    def read_i64(data, pos):
        low = _unpack_from("=I", data, pos + 4)[0]
        low = low >> 24 | low >> 8 & 0xFF00 | (low & 0xFF00) << 8 | (low & 0xFF) << 24
        high = _unpack_from("=I", data, pos)[0]
        high = high >> 24 | high >> 8 & 0xFF00 | (high & 0xFF00) << 8 | (high & 0xFF) << 24
        if high >= 0x80000000:
            high -= 0x100000000
        return (high << 32 | low,)

    def read_f64(data, pos):
        bits = _pack("=q", read_i64(data, pos)[0])
        return _unpack_from("=d", bits)

    def write_u16(value):
        value = value >> 8 | (value & 0xFF) << 8
        return _pack("=H", value)

    def write_u32(value):
        value = value >> 24 | value >> 8 & 0xFF00 | (value & 0xFF00) << 8 | (value & 0xFF) << 24
        return _pack("=I", value)

    def write_i64(value):
        # the shifts of a value that fits in 64 bits stay within machine words; write_u64 handles larger values
        high = value >> 32 & 0xFFFFFFFF
        high = high >> 24 | high >> 8 & 0xFF00 | (high & 0xFF00) << 8 | (high & 0xFF) << 24
        low = value & 0xFFFFFFFF
        low = low >> 24 | low >> 8 & 0xFF00 | (low & 0xFF00) << 8 | (low & 0xFF) << 24
        if low >= 0x80000000:
            low -= 0x100000000
        high |= low << 32
        return _pack("=q", high)

    def write_f64(value):
        bits = _pack("=d", value)
        return write_i64(_unpack_from("=q", bits)[0])

    write_i16 = struct.Struct(">h").pack
    write_i32 = struct.Struct(">i").pack
    write_u64 = write_i64
else:
    read_u8 = struct.Struct(">B").unpack_from
    read_u16 = struct.Struct(">H").unpack_from
    read_i16 = struct.Struct(">h").unpack_from
    read_u32 = struct.Struct(">I").unpack_from
    read_i32 = struct.Struct(">i").unpack_from
    read_u64 = struct.Struct(">Q").unpack_from
    read_i64 = struct.Struct(">q").unpack_from
    read_f64 = struct.Struct(">d").unpack_from
    write_u16 = struct.Struct(">H").pack
    write_i16 = struct.Struct(">h").pack
    write_u32 = struct.Struct(">I").pack
    write_i32 = struct.Struct(">i").pack
    write_u64 = struct.Struct(">Q").pack
    write_i64 = struct.Struct(">q").pack
    write_f64 = struct.Struct(">d").pack

if JIT and not TYPE_CHECKING:
    from __pypy__ import newlist_hint
    from __pypy__ import strategy as list_kind
    from __pypy__ import utf8content as content
    from __pypy__.builders import BytesBuilder

    new_builder = BytesBuilder

    def finish(builder):
        return builder.build()

    def utf8(text):
        # PyPy stores text as UTF-8, surrogates included. The first byte of a surrogate is ED: only such text is checked
        packed = content(text)
        if len(packed) != len(text) and b"\xed" in packed:
            return text.encode()
        return packed
else:

    def newlist_hint(size: int) -> list[object]:
        """Return an empty list; PyPy makes room for `size` items."""
        return []

    def list_kind(items: list[object]) -> str:
        """Return the name of a list's storage on PyPy, "IntegerListStrategy" for unboxed ints; elsewhere a constant."""
        return "ObjectListStrategy"

    def content(text: str) -> bytes:
        """Return text as UTF-8, surrogates included."""
        return text.encode("utf-8", "surrogatepass")

    def new_builder(size: int) -> Builder:
        """Return an object that collects bytes with `append`; PyPy's makes room for `size` bytes."""
        return []

    finish = b"".join
    """Return the bytes that a builder collected."""

    utf8: Writer = str.encode
    """Encode text as UTF-8; raises UnicodeEncodeError for surrogates."""
