# SPDX-License-Identifier: Apache-2.0
"""
Read the headers of ordinary entries in one step. Most entries of most archives are ordinary.

An entry is ordinary if it is a file or directory whose name and numbers are in a header of ustar or GNU tar. It may
have a pax header that contains only its time. purepy/tar/reader.py handles all other headers, valid or not.
"""

from __future__ import annotations

from typing import Final

from purepy.base.errors import ArchiveError
from purepy.tar.decode import is_checksum_right, shared, text
from purepy.tar.encode import NANO, pax_block
from purepy.tar.entry import BLOCK, DIRECTORY, FILE, Entry

_PAX: Final = b"x"
_FILE, _DIRECTORY = b"05"
_KEY: Final = b" mtime="


def ordinary(chunk: bytes, at: int, end: int) -> tuple[Entry, int] | None:
    """
    Return the entry whose headers begin at `at` in a chunk, and the position in the chunk at which its data begins.

    Also returns None if the headers continue beyond `end`. The chunk is bytes, or another buffer whose slices are
    bytes. The `position` of the entry is not set.
    """
    blocks = chunk[at : min(at + 3 * BLOCK, end)]  # the chunk may not be bytes, which are cheaper to slice
    begin = 0
    mtime = -1
    try:
        if blocks[156:157] == _PAX:
            size = _octal(blocks[124:136])
            begin = 2 * BLOCK
            if size > BLOCK or not (blocks[:BLOCK] == pax_block(size) or is_checksum_right(blocks[:BLOCK])):
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
        kind = block[156]
        is_ustar, is_gnu, mode, uid, gid, uname, gname = shared(block)
        # a prefix begins at byte 345
        if kind not in (_FILE, _DIRECTORY) or block[345] or not (is_ustar or is_gnu) or not is_checksum_right(block):
            return None
        name = block[:100].partition(b"\0")[0].rstrip(b"/")
        if not name:
            return None
        size = _octal(block[124:136])
        time = _octal(block[136:148])
    except (ArchiveError, ValueError):
        return None
    is_file = kind == _FILE
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


def _octal(field: bytes) -> int:
    """Return a number in the usual form, 11 octal digits; raises ValueError for other forms."""
    if not field[:11].isdigit() or field[11] not in b"\0 ":
        raise ValueError("not 11 octal digits")
    return int(field[:11], 8)
