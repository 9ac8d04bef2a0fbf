# SPDX-License-Identifier: Apache-2.0
"""
Reading bits: a bitstream is read backwards, from its last bit to its first (RFC 8878 section 4.1, "Bitstream").

A position is the number of a bit in the whole buffer, counted from its first byte. The bits between the stream's first
bit and the position are still unread. Reading n bits means to move the position down by n and take the n bits above it:
with `lo = position - n`, they are `load(data, lo >> 3)[0] >> (lo & 7) & MASKS[n]`, for n up to 56. So no store of bits
has to be refilled, and no integer exceeds 64 bits. Loops contain this code inline, because a call would cost more than
the read.

`load` reads eight bytes at any position, so every buffer with bitstreams has PADDING on both sides.
"""

from __future__ import annotations

from struct import Struct

from purepy.zstd.format.error_codes import corruption

_WORD = Struct("<q")
load = _WORD.unpack_from
"""Read 8 bytes as a signed little-endian integer; signed, so that PyPy needs no big integer."""
store = _WORD.pack_into
"""Write 8 bytes as a signed little-endian integer."""

PADDING = bytes(8)
PADDING_SIZE = len(PADDING)


def padded(data: bytes | bytearray | memoryview) -> bytes:
    """Return a copy of `data` with PADDING on both sides."""
    return b"".join((PADDING, data, PADDING))


def stream_end(data: bytes, start: int, end: int, origin: int, what: str) -> int:
    """
    Return the position, in bits, at which reading of the bitstream `data[start:end]` begins.

    The highest set bit of the last byte marks the end and is not part of the content. Raises ZstdError if there is no
    such bit; the error names the content, `what`. `origin` is the input offset of `data[0]`.
    """
    if start >= end:
        raise corruption(origin + start, f"bitstream of {what} is empty")
    last = data[end - 1]
    if not last:
        raise corruption(origin + end - 1, f"bitstream of {what} has no end mark")
    return (end - 1) * 8 + last.bit_length() - 1


def not_at_end(position: int, start: int, origin: int, what: str) -> Exception:
    """Return the ZstdError for a bitstream from byte `start` if reading ended at bit `position`, not its first bit."""
    left = position - start * 8
    found = f"{left} bits are left over" if left > 0 else f"{-left} bits are missing"
    return corruption(origin + start, f"bitstream of {what} does not end exactly: {found}")
