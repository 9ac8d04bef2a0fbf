# SPDX-License-Identifier: Apache-2.0
"""
Write headers of entries: ustar (POSIX.1-1988), after a pax header (POSIX.1-2001) for fields that ustar cannot hold.

Names are stored as their original bytes. The C loop of archives (ffi_build/archive/read_run.c) completes the result of
`common_block` to ordinary headers. Tests check that C and Python write the same headers.
"""

from __future__ import annotations

import base64
from typing import Final
from zlib import adler32

from purepy.tar.acl import ACL_KEYS, to_text
from purepy.tar.entry import BLOCK, DIRECTORY, FILE, TYPEFLAGS, Entry, padding, sum_of

END: Final = bytes(2 * BLOCK)
"""The two blocks that end an archive."""
OCTAL_7_MAX: Final = 0o7777777
OCTAL_11_MAX: Final = 0o77777777777
_NAME_MAX: Final = 100
_PREFIX_MAX: Final = 155
_OWNER_MAX: Final = 32
_PAX_NAME: Final = b"././@PaxHeader"
NANO: Final = 10**9
_FOUND_MAX: Final = 256
_shared: dict[tuple[str, int, int, int, str, str], tuple[bytes, bytes, int]] = {}
_pax_blocks: dict[tuple[int, bytes], bytes] = {}


def encoded(text: str) -> bytes:
    """Return the bytes of a name: UTF-8, and for each surrogate the byte that `decode.text` read."""
    try:
        return text.encode()  # fast on PyPy, where an error handler costs microseconds
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogateescape")


def pax_record(key: bytes, value: bytes) -> bytes:
    """Return one record of a pax header: its own length in decimal, the key and the value."""
    size = len(key) + len(value) + 3
    total = size + len(str(size))
    total = size + len(str(total))
    return b"%d %s=%s\n" % (total, key, value)


def pax_time(mtime_ns: int) -> bytes:
    """Return a time, given in nanoseconds, as text in seconds with as many decimals as it needs."""
    sign, value = ("-", -mtime_ns) if mtime_ns < 0 else ("", mtime_ns)
    seconds, nanoseconds = divmod(value, NANO)
    fraction = f".{nanoseconds:09}".rstrip("0").rstrip(".") if nanoseconds else ""
    return f"{sign}{seconds}{fraction}".encode("ascii")


def split_name(name: bytes) -> tuple[bytes, bytes] | None:
    """Split a long name at a slash into ustar's prefix and name; None if it does not fit."""
    if len(name) > _PREFIX_MAX + 1 + _NAME_MAX:
        return None
    # the earliest slash after which the rest is short enough, but not a slash at the end of the name
    cut = name.find(b"/", max(len(name) - _NAME_MAX - 1, 1), len(name) - 1)
    return (name[:cut], name[cut + 1 :]) if 0 < cut <= _PREFIX_MAX else None


def _block(
    name: bytes,
    prefix: bytes,
    typeflag: bytes,
    mode: int,
    uid: int,
    gid: int,
    size: int,
    mtime: int,
    linkname: bytes,
    uname: bytes,
    gname: bytes,
    device: tuple[int, int],
) -> bytes:
    block = b"%s%07o\0%07o\0%07o\0%011o\0%011o\0        %s%sustar\00000%s%s%07o\0%07o\0%s" % (
        name.ljust(_NAME_MAX, b"\0"),
        mode,
        uid,
        gid,
        size,
        mtime,
        typeflag,
        linkname.ljust(_NAME_MAX, b"\0"),
        uname.ljust(_OWNER_MAX, b"\0"),
        gname.ljust(_OWNER_MAX, b"\0"),
        device[0],
        device[1],
        prefix.ljust(167, b"\0"),
    )
    return b"%s%06o\0 %s" % (block[:148], sum_of(block), block[156:])


def encode(entry: Entry) -> bytes:
    """
    Return all blocks before the data of an entry: a pax header if needed, then the ustar header.

    The caller must write the map of a sparse file (`sparse_map`) before its data; `stored_size` does not count the map.

    Raises ValueError for an entry that no header can describe.
    """
    return _encode_ordinary(entry) or _encode_any(entry)


def _encode_ordinary(entry: Entry) -> bytes:
    """
    Return the blocks of an ordinary entry, with a pax header if its time has a fraction; b"" for other entries.

    Other entries are links, devices, names beyond 100 bytes, and entries that need other pax fields.
    """
    if entry.linkname or entry.xattrs or entry.sparse is not None or entry.device != (0, 0):
        return b""
    name = encoded(entry.name)
    size = 0
    if entry.type == FILE:
        size = entry.size
    elif entry.type == DIRECTORY and not name.endswith(b"/"):
        name += b"/"
    seconds, nanoseconds = divmod(entry.mtime_ns, NANO)
    if not (0 < len(name) <= _NAME_MAX and 0 <= size <= OCTAL_11_MAX and 0 <= seconds <= OCTAL_11_MAX):
        return b""
    owner, after, rest = _shared_by(entry)
    if not owner or b"\0" in name:
        return b""
    begin = b"%s%s%011o\0%011o\0" % (name.ljust(_NAME_MAX, b"\0"), owner, size, seconds)
    # for so few bytes, the low half of Adler-32 is their sum plus 1
    header = b"%s%06o\0 %s" % (begin, (adler32(begin) & 0xFFFF) - 1 + rest, after)
    if not nanoseconds:
        return header
    time = (b"%d.%09d" % (seconds, nanoseconds)).rstrip(b"0")
    length = len(time) + len("00 mtime=\n")  # the length always has two digits
    return b"%s%d mtime=%s\n%s%s" % (pax_block(length), length, time, bytes(BLOCK - length), header)


def common_block(entry: Entry) -> bytes:
    """Return a header with an entry's type, mode and owner, and all other fields empty; b"" if a value is too large."""
    owner, rest, _ = _shared_by(entry)
    return bytes(_NAME_MAX) + owner + bytes(24) + b" " * 8 + rest if owner else b""


def _shared_by(entry: Entry) -> tuple[bytes, bytes, int]:
    """
    Return the parts that many headers share: the fields mode, uid and gid; the fields after the checksum; and a sum.

    The sum adds the bytes after the checksum and 8 spaces, which a header has instead of the checksum while its bytes
    are added. Returns (b"", b"", 0) if a value does not fit.
    """
    key = entry.type, entry.mode, entry.uid, entry.gid, entry.uname, entry.gname
    found = _shared.get(key)
    if found is not None:
        return found
    uname, gname = encoded(entry.uname), encoded(entry.gname)
    found = b"", b"", 0
    if (
        0 <= entry.uid <= OCTAL_7_MAX
        and 0 <= entry.gid <= OCTAL_7_MAX
        and len(uname) <= _OWNER_MAX
        and len(gname) <= _OWNER_MAX
    ):
        mode, flag = entry.mode & 0o7777, TYPEFLAGS[entry.type]
        block = _block(b"", b"", flag, mode, entry.uid, entry.gid, 0, 0, b"", uname, gname, (0, 0))
        found = block[100:124], block[156:], sum(block[156:]) + 8 * ord(" ")
    if len(_shared) >= _FOUND_MAX:
        _shared.clear()
    _shared[key] = found
    return found


def _encode_any(entry: Entry) -> bytes:
    records: list[bytes] = []

    def cut(key: bytes, value: bytes, most: int) -> bytes:
        """Return the first `most` bytes of a text, for the header; if it has more, add a record with the whole text."""
        if len(value) > most:
            records.append(pax_record(key, value))
        return value[:most]

    def bounded(key: bytes, number: int, most: int) -> int:
        """Return a number that fits into the header; otherwise return 0 and add a record."""
        if 0 <= number <= most:
            return number
        records.append(pax_record(key, b"%d" % number))
        return 0

    name = encoded(entry.name)
    size = entry.stored_size
    if entry.sparse is not None:
        directory, _, last = name.rpartition(b"/")
        records.append(pax_record(b"GNU.sparse.major", b"1"))
        records.append(pax_record(b"GNU.sparse.minor", b"0"))
        records.append(pax_record(b"GNU.sparse.name", name))
        records.append(pax_record(b"GNU.sparse.realsize", b"%d" % entry.size))
        name = (directory + b"/" if directory else b"") + b"GNUSparseFile.0/" + last
        size += len(sparse_map(entry))
    if entry.type == DIRECTORY and not name.endswith(b"/"):
        name += b"/"
    if not name or b"\0" in name:
        raise ValueError(f"a tar archive cannot store the name {entry.name!r}")
    prefix = b""
    if len(name) > _NAME_MAX:
        parts = split_name(name)
        prefix, name = (b"", cut(b"path", name, _NAME_MAX)) if parts is None else parts
    linkname = cut(b"linkpath", encoded(entry.linkname), _NAME_MAX)
    size = bounded(b"size", size, OCTAL_11_MAX)
    owner = bounded(b"uid", entry.uid, OCTAL_7_MAX), bounded(b"gid", entry.gid, OCTAL_7_MAX)
    names = cut(b"uname", encoded(entry.uname), _OWNER_MAX), cut(b"gname", encoded(entry.gname), _OWNER_MAX)
    mtime, nanoseconds = divmod(entry.mtime_ns, NANO)
    if nanoseconds or not 0 <= mtime <= OCTAL_11_MAX:
        records.append(pax_record(b"mtime", pax_time(entry.mtime_ns)))
        mtime = mtime if 0 <= mtime <= OCTAL_11_MAX else 0
    for key_text, value in sorted((entry.xattrs or {}).items()):
        records.append(_xattr_record(key_text, value))
    if not (0 <= entry.device[0] <= OCTAL_7_MAX and 0 <= entry.device[1] <= OCTAL_7_MAX):
        raise ValueError(f"a tar archive cannot store the device number {entry.device}")
    flag, mode = TYPEFLAGS[entry.type], entry.mode & 0o7777
    header = _block(name, prefix, flag, mode, *owner, size, mtime, linkname, *names, entry.device)
    return pax_header(records) + header if records else header


def pax_header(records: list[bytes], typeflag: bytes = b"x") -> bytes:
    """Return a pax header with these records, and with hdrcharset=BINARY before them if a record is not UTF-8."""
    body = b"".join(records)
    try:
        body.decode("utf-8")
    except UnicodeDecodeError:
        body = pax_record(b"hdrcharset", b"BINARY") + body
    return pax_block(len(body), typeflag) + body + bytes(padding(len(body)))


def pax_block(size: int, typeflag: bytes = b"x") -> bytes:
    """Return the block that begins a pax header with `size` bytes of records."""
    found = _pax_blocks.get((size, typeflag))
    if found is None:
        if len(_pax_blocks) >= _FOUND_MAX:
            _pax_blocks.clear()
        found = _block(_PAX_NAME, b"", typeflag, 0, 0, 0, size, 0, b"", b"", b"", (0, 0))
        _pax_blocks[size, typeflag] = found
    return found


def _xattr_record(name: str, value: bytes) -> bytes:
    if name in ACL_KEYS:
        return pax_record(ACL_KEYS[name], to_text(value))
    if "=" in name or "%" in name:  # a key ends at the first =, and GNU tar reads %3D as =
        key = f"LIBARCHIVE.xattr.{name.replace('%', '%25').replace('=', '%3D')}"
        return pax_record(encoded(key), base64.b64encode(value).rstrip(b"="))
    return pax_record(b"SCHILY.xattr." + encoded(name), value)


def sparse_map(entry: Entry) -> bytes:
    """Return the map before the data of a sparse file (GNU tar's format 1.0): the number of pieces, then each piece."""
    pieces = list(entry.sparse or ())
    if not pieces or sum(pieces[-1]) < entry.size:
        pieces.append((entry.size, 0))  # GNU tar takes the end of the last piece as the size of the file
    text = b"%d\n" % len(pieces) + b"".join(b"%d\n%d\n" % piece for piece in pieces)
    return text + bytes(padding(len(text)))
