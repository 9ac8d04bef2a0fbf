# SPDX-License-Identifier: Apache-2.0
"""
The formats of the MessagePack specification, as tables indexed by a value's first byte.

Code that reads packed bytes uses these tables; fast loops inline the most frequent formats. Writers need no tables.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
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
"""The largest size in bytes of str, bin and ext data, and the largest number of items or pairs in a container."""


def _table(*runs: tuple[int, int]) -> bytes:
    """Return a table with an entry for each first byte, given runs of equal entries: (length of the run, entry)."""
    return b"".join([bytes((entry,)) * count for count, entry in runs])


FAMILY: Final = _table(
    (0x80, IMMEDIATE), (16, MAP), (16, ARRAY), (32, STR),  # 0x00 to 0xbf
    (1, IMMEDIATE), (1, INVALID), (2, IMMEDIATE), (3, BIN), (3, EXT), (10, NUMBER), (5, EXT),  # 0xc0 to 0xd8
    (3, STR), (2, ARRAY), (2, MAP), (32, IMMEDIATE),  # 0xd9 to 0xff
)  # fmt: skip
"""The family of each first byte."""

IMMEDIATES: Final = (*range(0x80), *[None] * 66, False, True, *[None] * 28, *range(-32, 0))
"""The value of each first byte of the family IMMEDIATE; None for all other first bytes."""

LENGTH_BYTES: Final = _table(
    (0xC4, 0), (1, 1), (1, 2), (1, 4), (1, 1), (1, 2), (1, 4), (15, 0),  # to 0xd8
    (1, 1), (1, 2), (1, 4), (1, 2), (1, 4), (1, 2), (1, 4), (32, 0),
)  # fmt: skip
"""The size in bytes of the length field that follows each first byte; 0 if none follows."""

LENGTHS: Final = (
    *[0] * 0x80, *range(16), *range(16), *range(32), *[0] * 10,  # to 0xc9
    4, 8, 1, 2, 4, 8, 1, 2, 4, 8,  # floats, unsigned and signed numbers
    1, 2, 4, 8, 16, *[0] * 39,  # fixext
)  # fmt: skip
"""The length that each first byte states: bytes of a number, str or ext, items of an array, pairs of a map; else 0."""


def value_header(data: bytes, position: int) -> tuple[int, int, int]:
    """
    Return the family of the value at a position, the end of its header, and the length in its header.

    The header of an extension value ends before its type code. This function is for code that need not be fast; the
    decoder inlines the same steps.
    """
    byte = data[position]
    end = position + 1 + LENGTH_BYTES[byte]
    return FAMILY[byte], end, int.from_bytes(data[position + 1 : end], "big") if LENGTH_BYTES[byte] else LENGTHS[byte]
