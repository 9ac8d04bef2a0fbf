# SPDX-License-Identifier: Apache-2.0
"""
Read the headers of ordinary entries in one step: what most archives are full of, without what others may need.

Ordinary is a file or directory with its name and numbers in a header of ustar or GNU tar, and at most its time in a
pax header. What this leaves, right or wrong, is for purepy/tar/reader.py.
"""

from __future__ import annotations

from typing import Final
from zlib import adler32

from purepy.base.errors import ArchiveError
from purepy.tar.decode import shared, text
from purepy.tar.encode import NANO
from purepy.tar.entry import BLOCK, DIRECTORY, FILE, Entry, sum_of

_PAX: Final = b"x"
_FILE, _DIRECTORY = b"05"
_KEY: Final = b" mtime="
_KNOWN_MAX: Final = 256
_pax_known: dict[bytes, tuple[bytes, int]] = {}
"""Headers of pax headers that are right, and what they say of the size; by the fields that differ most."""
_known: dict[bytes, tuple[bytes, int, int, int, int, str, str]] = {}
"""Bytes that many headers share from the flag on, their part of the checksum and their meaning; by flag and owner."""


def ordinary(chunk: bytes, at: int, end: int) -> tuple[Entry, int] | None:
    """
    Return the entry whose headers lie at `at` of a chunk, and where its data begin; None if it is not ordinary.

    The chunk is bytes, or another buffer whose slices are bytes.
    """
    blocks = chunk[at : min(at + 3 * BLOCK, end)]  # once: slices of bytes cost the least
    begin = 0
    mtime = -1
    try:
        if blocks[156:157] == _PAX:
            size = _pax_size(blocks[:BLOCK])
            begin = 2 * BLOCK
            if size > BLOCK:
                return None
            record = blocks[BLOCK : BLOCK + size]
            if record[2:9] != _KEY or int(record[:2]) != size or record[-1:] != b"\n":
                return None
            seconds, _, fraction = record[9:-1].partition(b".")
            if len(seconds) > 12 or not (seconds + fraction).isdigit():
                return None
            mtime = int(seconds) * NANO + int(fraction[:9].ljust(9, b"0"))
        block = blocks[begin : begin + BLOCK]
        if len(block) < BLOCK:
            return None
        rest = block[156:]
        key = rest[:1] + block[100:124]
        known = _known.get(key)
        if known is None or known[0] != rest:
            known = _learn(key, block)
        _, rest_sum, mode, uid, gid, uname, gname = known
        # of so few bytes, this half of Adler-32 is 1 more than their sum
        if block[148:156] != b"%06o\0 " % ((adler32(block[:148]) & 0xFFFF) - 1 + rest_sum):
            return None
        name = block[:100].partition(b"\0")[0].rstrip(b"/")
        if not name:
            return None
        size = _octal(block[124:136])
        time = _octal(block[136:148])
    except (ArchiveError, ValueError):
        return None
    is_file = rest[0] == _FILE
    entry = Entry(
        text(name),
        FILE if is_file else DIRECTORY,
        size=size if is_file else 0,
        mode=mode,
        mtime_ns=mtime if mtime >= 0 else time * NANO,
        uid=uid,
        gid=gid,
        uname=uname,
        gname=gname,
    )
    return entry, at + begin + BLOCK


def _pax_size(block: bytes) -> int:
    """Return the size of a pax header by its own header; raises ValueError if that is not ordinary."""
    key = block[124:156]  # size, time and checksum
    known = _pax_known.get(key)
    if known is not None and known[0] == block:
        return known[1]
    size = _octal(block[124:136])
    field = block[148:156]
    if field != b"%06o\0 " % (8 * 32 + sum_of(block) - sum(field)):
        raise ValueError("another form")
    if len(_pax_known) >= _KNOWN_MAX:
        _pax_known.clear()
    _pax_known[key] = block, size
    return size


def _learn(key: bytes, block: bytes) -> tuple[bytes, int, int, int, int, str, str]:
    """Return what many headers share, and keep it; raises ValueError or ArchiveError if that is not ordinary."""
    is_ustar, is_gnu, mode, uid, gid, uname, gname = shared(block)
    if (
        block[156] not in (_FILE, _DIRECTORY) or block[345] or not (is_ustar or is_gnu)
    ):  # which is where a prefix begins
        raise ValueError("another form")
    if len(_known) >= _KNOWN_MAX:
        _known.clear()
    rest = block[156:]
    found = _known[key] = rest, 8 * 32 + sum(rest), mode, uid, gid, uname, gname
    return found


def _octal(field: bytes) -> int:
    """Return a number in the form in which all write it; raises ValueError for another."""
    if not field[:11].isdigit() or field[11] not in b"\0 ":
        raise ValueError("another form")
    return int(field[:11], 8)
