# SPDX-License-Identifier: Apache-2.0
"""
XXH64, whose low 32 bits are the content checksum of a frame (RFC 8878 section 3.1.1, "Content_Checksum").

The algorithm processes stripes of 32 bytes in four lanes of 64 bits. The loop over the stripes exists in two forms. For
a JIT, it uses signed integers that wrap. For interpreters, which pay for each operation, a single large integer holds
all four lanes.
"""

from __future__ import annotations

from struct import Struct

from purepy.base.pypy import JIT, int_add, int_lshift, int_mul, uint_rshift

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing_extensions import TypeAlias

Bytes: TypeAlias = "bytes | bytearray | memoryview"

_MASK = 0xFFFFFFFFFFFFFFFF
_PRIME_1 = 0x9E3779B185EBCA87
_PRIME_2 = 0xC2B2AE3D27D4EB4F
_PRIME_3 = 0x165667B19E3779F9
_PRIME_4 = 0x85EBCA77C2B2AE63
_PRIME_5 = 0x27D4EB2F165667C5

_SIGNED_PRIME_1 = _PRIME_1 - (1 << 64)
_SIGNED_PRIME_2 = _PRIME_2 - (1 << 64)

_STRIPE = Struct("<4q")
_WORD = Struct("<Q")


def _rotate(value: int, count: int) -> int:
    return ((value << count) | (value >> (64 - count))) & _MASK


def _round(lane: int, word: int) -> int:
    return _rotate((lane + word * _PRIME_2) & _MASK, 31) * _PRIME_1 & _MASK


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


def _stripes_jit(lanes: list[int], data: Bytes, start: int, end: int) -> None:
    """Update `lanes` with the stripes of `data[start:end]` (a multiple of 32 bytes), with one machine word per lane."""
    a, b, c, d = (_signed(lane) for lane in lanes)
    unpack_from = _STRIPE.unpack_from
    while start < end:
        w, x, y, z = unpack_from(data, start)
        a = int_add(a, int_mul(w, _SIGNED_PRIME_2))
        a = int_mul(int_lshift(a, 31) | uint_rshift(a, 33), _SIGNED_PRIME_1)
        b = int_add(b, int_mul(x, _SIGNED_PRIME_2))
        b = int_mul(int_lshift(b, 31) | uint_rshift(b, 33), _SIGNED_PRIME_1)
        c = int_add(c, int_mul(y, _SIGNED_PRIME_2))
        c = int_mul(int_lshift(c, 31) | uint_rshift(c, 33), _SIGNED_PRIME_1)
        d = int_add(d, int_mul(z, _SIGNED_PRIME_2))
        d = int_mul(int_lshift(d, 31) | uint_rshift(d, 33), _SIGNED_PRIME_1)
        start += 32
    lanes[:] = (a & _MASK, b & _MASK, c & _MASK, d & _MASK)


# Four 64-bit lanes, each in a field of 128 bits, so that the product of a lane and a prime stays in its field.
_FIELD = _MASK.to_bytes(16, "little")
_FIELDS = int.from_bytes(_FIELD * 4, "little")
_PIECE = 4096
_PIECE_FIELDS = int.from_bytes(_FIELD * (_PIECE // 8), "little")


def _stripes_wide(lanes: list[int], data: Bytes, start: int, end: int) -> None:
    """Update `lanes` with the stripes of `data[start:end]` (a multiple of 32 bytes), with one integer for all lanes."""
    acc = lanes[0] | lanes[1] << 128 | lanes[2] << 256 | lanes[3] << 384
    from_bytes = int.from_bytes
    fields, prime_1 = _FIELDS, _PRIME_1
    with memoryview(data) as whole, whole[start:end] as part, part.cast("B") as view, view.cast("Q") as words:
        for at in range(0, len(words), _PIECE >> 3):
            # Work that does not depend on the lanes is done for many stripes at once: words to fields, times a prime.
            piece = words[at : at + (_PIECE >> 3)]
            spread = bytearray(2 * piece.nbytes)
            with memoryview(spread) as target, target.cast("Q") as targets:
                targets[::2] = piece
            products = (from_bytes(spread, "little") * _PRIME_2 & _PIECE_FIELDS).to_bytes(len(spread), "little")
            for stripe in range(0, len(products), 64):
                acc = acc + from_bytes(products[stripe : stripe + 64], "little") & fields
                acc <<= 31
                acc = ((acc | acc >> 64) & fields) * prime_1 & fields
    lanes[:] = (acc & _MASK, acc >> 128 & _MASK, acc >> 256 & _MASK, acc >> 384 & _MASK)


_stripes = _stripes_jit if JIT else _stripes_wide


class XXH64:
    """
    Compute XXH64, with the seed 0, of data that arrives in pieces.

    Replaces XXH64_createState, XXH64_update and XXH64_digest of the xxHash library.
    """

    __slots__ = ("_lanes", "_size", "_tail")

    def __init__(self) -> None:
        self._lanes = [(_PRIME_1 + _PRIME_2) & _MASK, _PRIME_2, 0, -_PRIME_1 & _MASK]
        self._tail = b""
        self._size = 0

    def update(self, data: Bytes) -> None:
        """Add all of `data`, a contiguous buffer of bytes, to the hash."""
        size = len(data)
        self._size += size
        at = 0
        tail = self._tail
        if tail:
            at = 32 - len(tail)
            if size < at:
                self._tail = tail + bytes(data)
                return
            _stripes(self._lanes, tail + bytes(data[:at]), 0, 32)
        end = at + ((size - at) & ~31)
        if at < end:
            _stripes(self._lanes, data, at, end)
        self._tail = bytes(data[end:])

    def digest(self) -> int:
        """Return the hash of the data so far, an unsigned 64-bit integer; more data may follow."""
        tail = self._tail
        if self._size >= 32:
            a, b, c, d = self._lanes
            acc = (_rotate(a, 1) + _rotate(b, 7) + _rotate(c, 12) + _rotate(d, 18)) & _MASK
            for lane in self._lanes:
                acc = ((acc ^ _round(0, lane)) * _PRIME_1 + _PRIME_4) & _MASK
        else:
            acc = _PRIME_5
        acc = (acc + self._size) & _MASK
        at = 0
        while at + 8 <= len(tail):
            acc ^= _round(0, _WORD.unpack_from(tail, at)[0])
            acc = (_rotate(acc, 27) * _PRIME_1 + _PRIME_4) & _MASK
            at += 8
        if at + 4 <= len(tail):
            acc ^= int.from_bytes(tail[at : at + 4], "little") * _PRIME_1 & _MASK
            acc = (_rotate(acc, 23) * _PRIME_2 + _PRIME_3) & _MASK
            at += 4
        for byte in tail[at:]:
            acc ^= byte * _PRIME_5 & _MASK
            acc = _rotate(acc, 11) * _PRIME_1 & _MASK
        acc = (acc ^ acc >> 33) * _PRIME_2 & _MASK
        acc = (acc ^ acc >> 29) * _PRIME_3 & _MASK
        return acc ^ acc >> 32


def xxh64(data: Bytes) -> int:
    """Return XXH64 of `data`, an unsigned 64-bit integer (replaces XXH64 of the xxHash library)."""
    state = XXH64()
    state.update(data)
    return state.digest()
