# SPDX-License-Identifier: Apache-2.0
"""Entries that C reports, as `on_entry` is given them."""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from typing import TYPE_CHECKING, Final

from cpkg._native.archive import ffi
from purepy.tar.decode import text
from purepy.tar.encode import NANO
from purepy.tar.entry import TYPES, Entry

if TYPE_CHECKING:
    from cpkg._native.cffi_types import CData

_HEAD: Final = Struct("=2I5q10I")
"""`cpkg_record` in ffi_build/archive/cdef.h."""
_KINDS: Final = {flag[0]: kind for flag, kind in TYPES.items()}


def entries_of(records: CData, size: int) -> Iterator[Entry]:
    """Yield the entries of records, but for those that were lost."""
    data: bytes = ffi.buffer(records, size)[:] if size else b""
    at = 0
    while at < size:
        (record_size, _, position, uid, gid, content, seconds, nanoseconds, mode, flag, major, minor, *sizes, lost) = (
            _HEAD.unpack_from(data, at)
        )
        begin = at + _HEAD.size
        at += record_size
        if lost:
            continue
        texts = []
        for length in sizes:
            texts.append(text(data[begin : begin + length]))
            begin += length
        name, linkname, uname, gname = texts
        yield Entry(
            name.rstrip("/") or name[:1],
            _KINDS[flag],
            size=content,
            mode=mode,
            mtime_ns=seconds * NANO + nanoseconds,
            uid=uid,
            gid=gid,
            uname=uname,
            gname=gname,
            linkname=linkname,
            device=(major, minor),
            position=position if position >= 0 else None,
        )
