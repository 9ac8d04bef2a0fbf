# SPDX-License-Identifier: Apache-2.0
"""
The formats of the MessagePack specification, as tables indexed by a value's first byte.

Only these tables know which byte starts what. The fast loops of the decoder and the encoder spell out the formats
that they inline; everything else looks here.
"""

from __future__ import annotations

from typing import Final

# The families of formats, in the order of the specification's overview.
INVALID: Final = 0
IMMEDIATE: Final = 1  # the value is in the first byte: positive and negative fixint, nil, false, true
NUMBER: Final = 2
STR: Final = 3
BIN: Final = 4
EXT: Final = 5
ARRAY: Final = 6
MAP: Final = 7

TIMESTAMP_CODE: Final = -1
MAX_LENGTH: Final = 2**32 - 1
"""The longest str, bin and ext payload in bytes, and the most items of an array or pairs of a map."""


def _family(byte: int) -> int:
    if byte <= 0x7F or byte >= 0xE0 or byte in (0xC0, 0xC2, 0xC3):
        return IMMEDIATE
    if 0xA0 <= byte <= 0xBF or 0xD9 <= byte <= 0xDB:
        return STR
    if 0x90 <= byte <= 0x9F or byte in (0xDC, 0xDD):
        return ARRAY
    if 0x80 <= byte <= 0x8F or byte in (0xDE, 0xDF):
        return MAP
    if 0xC4 <= byte <= 0xC6:
        return BIN
    if 0xCA <= byte <= 0xD3:
        return NUMBER
    return INVALID if byte == 0xC1 else EXT  # 0xc7..0xc9, 0xd4..0xd8


def _value(byte: int) -> int | bool | None:
    if byte <= 0x7F:
        return byte
    if byte >= 0xE0:
        return byte - 0x100
    return {0xC2: False, 0xC3: True}.get(byte)


def _length_bytes(byte: int) -> int:
    """Return the size of the length field: 0 where the first byte holds the length, or no length is needed."""
    by_family = {
        0xC4: 1, 0xC5: 2, 0xC6: 4, 0xC7: 1, 0xC8: 2, 0xC9: 4,
        0xD9: 1, 0xDA: 2, 0xDB: 4, 0xDC: 2, 0xDD: 4, 0xDE: 2, 0xDF: 4,
    }  # fmt: skip
    return by_family.get(byte, 0)


def _length(byte: int) -> int:
    """Return the length that the first byte holds: of a payload, in items, or in pairs."""
    if 0x80 <= byte <= 0x9F:
        return byte & 0x0F
    if 0xA0 <= byte <= 0xBF:
        return byte & 0x1F
    if 0xD4 <= byte <= 0xD8:
        return int(1 << (byte - 0xD4))
    return {0xCA: 4, 0xCB: 8, 0xCC: 1, 0xCD: 2, 0xCE: 4, 0xCF: 8, 0xD0: 1, 0xD1: 2, 0xD2: 4, 0xD3: 8}.get(byte, 0)


FAMILY: Final = bytes(map(_family, range(256)))
"""The family of each first byte."""

IMMEDIATES: Final = tuple(map(_value, range(256)))
"""The value of each first byte of the family IMMEDIATE."""

LENGTH_BYTES: Final = bytes(map(_length_bytes, range(256)))
"""The size in bytes of the length field that follows each first byte."""

LENGTHS: Final = tuple(map(_length, range(256)))
"""The length that each first byte itself tells: bytes of payload of a number, str or ext, items, pairs."""


def value_header(data: bytes, position: int) -> tuple[int, int, int]:
    """
    Return the family of the value at a position, where its header ends, and the length that the header tells.

    The code of an extension, which follows, is not part of the header here. For those who need no speed: the decoder
    has its own.
    """
    byte = data[position]
    end = position + 1 + LENGTH_BYTES[byte]
    return FAMILY[byte], end, int.from_bytes(data[position + 1 : end], "big") if LENGTH_BYTES[byte] else LENGTHS[byte]
