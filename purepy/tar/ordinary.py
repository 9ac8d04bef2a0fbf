# SPDX-License-Identifier: Apache-2.0
"""
Read the headers of ordinary entries in one step: what most archives are full of, without what others may need.

Ordinary is a file or directory whose name and numbers stand in a header of ustar or GNU tar, with at most its time in a
pax header. What this leaves, right or wrong, is for purepy/tar/reader.py.
"""

from __future__ import annotations

from typing import Final

from purepy.errors import ArchiveError
from purepy.tar.decode import shared
from purepy.tar.encode import NANO
from purepy.tar.entry import BLOCK, DIRECTORY, FILE, Entry, sum_of

_PAX, _FILE, _DIRECTORY = b"x05"
_KEY: Final = b" mtime="


def ordinary(chunk: bytes, at: int, end: int) -> tuple[Entry, int] | None:
    """Return the entry whose headers lie at `at` of a chunk, and where its data begin; None if it is not ordinary."""
    mtime = -1
    try:
        if at + BLOCK <= end and chunk[at + 156] == _PAX:
            block = chunk[at : at + BLOCK]
            size = _octal(block[124:136])
            at += 2 * BLOCK
            if at > end or size > BLOCK or not _is_right(block):
                return None
            record = chunk[at - BLOCK : at - BLOCK + size]
            if record[2:9] != _KEY or int(record[:2]) != size or record[-1:] != b"\n":
                return None
            seconds, _, fraction = record[9:-1].partition(b".")
            if len(seconds) > 12 or not (seconds + fraction).isdigit():
                return None
            mtime = int(seconds) * NANO + int(fraction[:9].ljust(9, b"0"))
        block = chunk[at : at + BLOCK]
        if at + BLOCK > end or block[345] or not _is_right(block):  # which is where a prefix begins
            return None
        flag = block[156]
        name = block[:100].partition(b"\0")[0]
        if (flag != _FILE and flag != _DIRECTORY) or not name.strip(b"/"):
            return None
        size = _octal(block[124:136])
        time = _octal(block[136:148])
        is_ustar, is_gnu, mode, uid, gid, uname, gname = shared(block)
        if not (is_ustar or is_gnu):
            return None
    except (ArchiveError, ValueError):
        return None
    entry = Entry(
        name.rstrip(b"/").decode("utf-8", "surrogateescape"),
        FILE if flag == _FILE else DIRECTORY,
        size=size if flag == _FILE else 0,
        mode=mode,
        mtime_ns=mtime if mtime >= 0 else time * NANO,
        uid=uid,
        gid=gid,
        uname=uname,
        gname=gname,
    )
    return entry, at + BLOCK


def _octal(field: bytes) -> int:
    """Return a number in the form in which all write it; raises ValueError for another."""
    if not field[:11].isdigit() or field[11] not in b"\0 ":
        raise ValueError("another form")
    return int(field[:11], 8)


def _is_right(block: bytes) -> bool:
    """Say whether the checksum is right and in the form in which all write it."""
    field = block[148:156]
    return field == b"%06o\0 " % (8 * 32 + sum_of(block) - sum(field))
