# SPDX-License-Identifier: Apache-2.0
"""
Read the maps of sparse files: the old GNU format, and GNU tar's formats 0.0, 0.1 and 1.0 in pax headers.

A map lists the pieces that hold data, in order, as (offset, size). The functions take `read`, which returns exactly the
requested number of bytes after the header.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from purepy.base.errors import ArchiveError, ArchiveLimitError
from purepy.tar.decode import GNU_MAGIC, SIZE_MAX, decimal, number, within
from purepy.tar.entry import BLOCK, Entry

Map = "list[tuple[int, int]]"
PIECES_MAX: Final = 1 << 20
"""The maximum number of pieces in one file."""
_FIELD: Final = 12


def read_map(
    block: bytes, pax: dict[str, bytes], pieces: list[tuple[int, int]], entry: Entry, read: Callable[[int], bytes]
) -> None:
    """
    Set the map and size of an entry if its header or pax records mark a sparse file; otherwise change nothing.

    `pieces` is the map that `parse_pax` has found in GNU tar's format 0.0. Raises ArchiveError for a map that is wrong
    or has an unknown format.
    """
    if block[156:157] == b"S":
        if block[257:265] != GNU_MAGIC:
            raise _unknown()
        _read_gnu(block, entry, read)
    elif "GNU.sparse.realsize" in pax or "GNU.sparse.size" in pax:
        _read_pax(pax, pieces, entry, read)
    elif pax.get("SCHILY.filetype") == b"sparse":
        raise _unknown()


def _unknown() -> ArchiveError:
    return ArchiveError("the map of a sparse file has an unknown format")


def _read_gnu(block: bytes, entry: Entry, read: Callable[[int], bytes]) -> None:
    """Read a map in the old GNU format: 4 pieces in the header, more in blocks that the size field does not count."""
    pieces = _fields(block, 386, 4)
    more = block[482]
    while more not in (0, 0x30):
        following = read(BLOCK)
        pieces += _fields(following, 0, 21)
        _check_count(len(pieces))
        more = following[504]
    _apply(entry, pieces, within(number(block[483 : 483 + _FIELD]), 0, SIZE_MAX, "size"), entry.size)


def _fields(block: bytes, start: int, count: int) -> list[tuple[int, int]]:
    found = []
    for at in range(start, start + count * 2 * _FIELD, 2 * _FIELD):
        offset, size = block[at : at + _FIELD], block[at + _FIELD : at + 2 * _FIELD]
        if not offset.strip(b"\0 ") and not size.strip(b"\0 "):
            break
        found.append((number(offset), number(size)))
    return found


def _read_pax(pax: dict[str, bytes], pieces: list[tuple[int, int]], entry: Entry, read: Callable[[int], bytes]) -> None:
    """Read the map that pax records announce; in format 1.0 it precedes the data."""
    stored = entry.size
    real = decimal(pax.get("GNU.sparse.realsize") or pax.get("GNU.sparse.size") or b"", "a sparse file has no size")
    if pax.get("GNU.sparse.major") == b"1":
        pieces, used = _read_1_0(read)
        stored -= used
    elif "GNU.sparse.map" in pax:
        wrong = "the map of a sparse file is not a list of pairs of numbers"
        numbers = [decimal(item, wrong) for item in pax["GNU.sparse.map"].split(b",") if pax["GNU.sparse.map"]]
        if len(numbers) % 2:
            raise ArchiveError(wrong)
        pieces = list(zip(numbers[::2], numbers[1::2]))
        _check_count(len(pieces))
    _apply(entry, pieces, within(real, 0, SIZE_MAX, "size"), stored)


def _read_1_0(read: Callable[[int], bytes]) -> tuple[list[tuple[int, int]], int]:
    data = bytearray()
    at = used = 0
    wrong = "expected a number in the map of a sparse file"

    def next_number() -> int:
        nonlocal at, used
        while True:
            end = data.find(b"\n", at)
            if end >= 0:
                digits = bytes(data[at:end])
                at = end + 1
                return decimal(digits, wrong)
            if len(data) - at > 20:
                raise ArchiveError(wrong)
            del data[:at]
            at = 0
            data.extend(read(BLOCK))
            used += BLOCK

    count = next_number()
    _check_count(count)
    return [(next_number(), next_number()) for _ in range(count)], used


def _check_count(count: int) -> None:
    if count > PIECES_MAX:
        raise ArchiveLimitError(f"the map of a sparse file lists more than {PIECES_MAX:,} pieces of data")


def _apply(entry: Entry, pieces: list[tuple[int, int]], size: int, stored: int) -> None:
    """
    Set the sparse map and the size of an entry.

    Raises ArchiveError if the pieces are out of order, end after `size`, or do not add up to `stored` bytes.
    """
    end = total = 0
    for offset, length in pieces:
        if offset < end or offset + length > size:
            raise ArchiveError("the map of a sparse file is out of order or reaches beyond the end of the file")
        end = offset + length
        total += length
    if total != stored:
        raise ArchiveError(f"the map of a sparse file covers {total} bytes, but {max(stored, 0)} are stored")
    entry.size = size
    entry.sparse = [(offset, length) for offset, length in pieces if length]
