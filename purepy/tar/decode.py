# SPDX-License-Identifier: Apache-2.0
"""Read headers: V7, ustar, pax, GNU tar's and star's. A block is 512 bytes; errors are ArchiveError."""

from __future__ import annotations

import base64
from typing import Final
from urllib.parse import unquote

from purepy.base.errors import ArchiveError
from purepy.tar.acl import ACL_KEYS, to_binary
from purepy.tar.encode import NANO
from purepy.tar.entry import BLOCK, DIRECTORY, FILE, TYPES, Entry, sum_of

NUL_BLOCK: Final = bytes(BLOCK)
GNU_MAGIC: Final = b"ustar  \0"
_STAR_MAGIC: Final = b"tar\0"
SIZE_MAX: Final = (1 << 63) - 1
"""The largest size that a file can have."""
NUMBER_MAX: Final = (1 << 32) - 1
"""The largest user, group and device number."""
SECONDS_MAX: Final = 1 << 55
"""Times further from 1970 are refused: no file system has them, and nanoseconds must fit in 64 bits with a margin."""

Shared = tuple[bool, bool, int, int, int, str, str]
"""Whether a header is ustar's, whether GNU tar's, mode, numbers and names of the owner."""
_ASCII: Final = bytes(range(128))
_ATTRIBUTES: Final = {key.decode("ascii"): name for name, key in ACL_KEYS.items()}
_OWNER_KEYS: Final = frozenset(("uid", "gid", "uname", "gname"))
_FOUND_MAX: Final = 256
_found: dict[bytes, Shared] = {}
_SCHILY: Final = "SCHILY.xattr."
_LIBARCHIVE: Final = "LIBARCHIVE.xattr."

_NAMES_READ: Final = "path linkpath size uid gid uname gname mtime GNU.sparse. SCHILY. LIBARCHIVE.xattr."
READ_KEYS: Final = tuple(_NAMES_READ.split())
"""What the keys begin with that mean anything here."""


def text(data: bytes) -> str:
    """Return a name's bytes as str."""
    try:
        return data.decode()  # as in `encoded`
    except UnicodeDecodeError:
        return data.decode("utf-8", "surrogateescape")


def string(data: bytes) -> bytes:
    """Return a field's bytes up to the first NUL."""
    return data.partition(b"\0")[0]


def is_checksum_right(block: bytes) -> bool:
    """Say whether the checksum holds: the sum of the bytes, unsigned or, as old programs computed it, signed."""
    field = block[148:156]
    unsigned = 256 + sum_of(block) - sum(field)
    if field == b"%06o\0 " % unsigned:
        return True
    try:
        stored = number(field)
    except ArchiveError:
        return False
    if stored == unsigned:
        return True
    high = len(block[:148].translate(None, _ASCII)) + len(block[156:].translate(None, _ASCII))
    return stored == unsigned - 256 * high


def number(field: bytes) -> int:
    """Return a field's number: octal digits, or GNU's base 256 with the first bit set, where it may be negative."""
    digits = field[:-1]
    if field[-1] in b"\0 " and digits.isdigit():
        try:
            return int(digits, 8)
        except ValueError:
            pass
    first = field[0]
    if first & 0x80:
        value = int.from_bytes(field, "big", signed=True) if first & 0x40 else int.from_bytes(field, "big")
        return value if first & 0x40 else value - (0x80 << 8 * (len(field) - 1))
    digits = field.partition(b"\0")[0].strip(b" ")
    if not digits:
        return 0
    if digits.translate(None, b"01234567"):
        raise ArchiveError(f"a header has {digits!r} where an octal number belongs")
    return int(digits, 8)


def within(value: int, low: int, high: int, what: str) -> int:
    """Return a number that lies within its bounds; raises ArchiveError if it does not."""
    if not low <= value <= high:
        raise ArchiveError(f"a header has an impossible {what}: {value}")
    return value


def decode(block: bytes, pax: dict[str, bytes], long_name: bytes | None, long_link: bytes | None) -> Entry:
    """
    Return the entry that a header describes, with what pax headers and GNU's long names before it say.

    The checksum has been checked. `size` is what follows in the archive; a sparse file's comes from its map. Raises
    ArchiveError.
    """
    flag = block[156:157]
    is_ustar, is_gnu, mode, uid, gid, uname, gname = (
        shared(block) if _OWNER_KEYS.isdisjoint(pax) else _read_shared(block, pax)
    )
    name = string(block[:100])
    end = 0
    if is_ustar:
        end = 500 if block[508:512] != _STAR_MAGIC else 476  # where star has other fields
    elif is_gnu and 0 < block[345] < 0x80 and block[345:357].translate(None, b"01234567 \0"):
        end = 500  # of Go's before 1.9, which put a prefix where GNU tar has a time
    prefix = string(block[345:end])
    if prefix:
        name = prefix + b"/" + name
    if long_name is not None:
        name = long_name
    name = pax.get("GNU.sparse.name") or pax.get("path") or name
    linkname = pax.get("linkpath") or (long_link if long_link is not None else string(block[157:257]))
    kind = TYPES.get(flag, FILE)
    if flag == b"\0" and name.endswith(b"/") and "size" not in pax:  # V7 has no flag for directories
        kind = DIRECTORY
    stripped = name.rstrip(b"/") or name[:1]
    if not stripped:
        raise ArchiveError("a header has no name")
    if b"\0" in stripped or b"\0" in linkname:
        raise ArchiveError(f"a name holds a NUL byte: {text(stripped)!r}")
    size = _number_of(pax, "size", block[124:136])
    entry = Entry(
        text(stripped),
        kind,
        size=within(size, 0, SIZE_MAX, "size") if kind == FILE else 0,
        mode=mode,
        mtime_ns=_time_of(pax, block[136:148]),
        uid=uid,
        gid=gid,
        uname=uname,
        gname=gname,
        linkname=text(linkname) if kind in ("symlink", "hardlink") else "",
    )
    if (is_ustar or is_gnu) and kind in ("character", "block"):
        entry.device = (
            within(number(block[329:337]), 0, NUMBER_MAX, "device number"),
            within(number(block[337:345]), 0, NUMBER_MAX, "device number"),
        )
    if len(pax) > 1 or (pax and "mtime" not in pax):
        _take_attributes(entry, pax)
    return entry


def shared(block: bytes) -> Shared:
    """Return what most headers of an archive have in common, kept by the fields' bytes; raises ArchiveError."""
    key = block[100:124] + block[257:329]
    found = _found.get(key)
    if found is None:
        found = _read_shared(block, {})
        if len(_found) >= _FOUND_MAX:
            _found.clear()
        _found[key] = found
    return found


def _read_shared(block: bytes, pax: dict[str, bytes]) -> Shared:
    is_ustar, is_gnu = block[257:263] == b"ustar\0", block[257:265] == GNU_MAGIC
    uid = within(_number_of(pax, "uid", block[108:116]), 0, NUMBER_MAX, "user number")
    gid = within(_number_of(pax, "gid", block[116:124]), 0, NUMBER_MAX, "group number")
    uname = gname = ""
    if is_ustar or is_gnu:
        uname = text(pax["uname"] if "uname" in pax else string(block[265:297]))
        gname = text(pax["gname"] if "gname" in pax else string(block[297:329]))
    return is_ustar, is_gnu, number(block[100:108]) & 0o7777, uid, gid, uname, gname


def _number_of(pax: dict[str, bytes], key: str, field: bytes) -> int:
    value = pax.get(key)
    if not value:
        return number(field)
    wrong = f"a pax header has {key}={value[:40]!r}, which is no number"
    return -decimal(value[1:], wrong) if value[:1] == b"-" else decimal(value, wrong)


def decimal(digits: bytes, wrong: str) -> int:
    """Return the number that `digits` write, at most 20 after leading zeros; raises ArchiveError(wrong)."""
    significant = digits.lstrip(b"0") or b"0"
    if not digits.isdigit() or len(significant) > 20:
        raise ArchiveError(wrong)
    return int(significant)


def _time_of(pax: dict[str, bytes], field: bytes) -> int:
    value = pax.get("mtime")
    if not value:
        return within(number(field), -SECONDS_MAX, SECONDS_MAX, "time") * NANO
    wrong = f"a pax header has mtime={value[:40]!r}, which is no time"
    whole, _, fraction = value.partition(b".")
    sign = -1 if whole[:1] == b"-" else 1
    seconds = within(decimal(whole[1:] if sign < 0 else whole, wrong), 0, SECONDS_MAX, "time")
    if fraction and not fraction.isdigit():
        raise ArchiveError(wrong)
    return sign * (seconds * NANO + int(fraction[:9].ljust(9, b"0")))


def _take_attributes(entry: Entry, pax: dict[str, bytes]) -> None:
    """Give an entry its attributes and lists; what cannot be read of them is noted."""
    found: dict[str, bytes] = {}
    unreadable: dict[str, str] = {}
    for key, value in pax.items():
        name = key
        try:
            if key in _ATTRIBUTES:
                name = _ATTRIBUTES[key]
                found[name] = to_binary(value)
            elif key.startswith(_SCHILY):
                # GNU tar writes these two in hexadecimal, since = ends a key
                name = key[len(_SCHILY) :].replace("%3D", "=").replace("%25", "%")
                found[name] = value
            elif key.startswith(_LIBARCHIVE):
                name = unquote(key[len(_LIBARCHIVE) :], errors="surrogateescape")
                found.setdefault(name, base64.b64decode(value + b"=" * (-len(value) % 4), validate=True))
        except ValueError as exc:  # binascii.Error is one
            unreadable[name] = str(exc)
    entry.xattrs, entry.unreadable = found or None, unreadable or None


def parse_pax(data: bytes) -> tuple[dict[str, bytes], list[tuple[int, int]]]:
    """
    Return the records of a pax header, and the pieces of a sparse map of GNU tar's format 0.0 or 0.1 among them.

    An empty value means that there is no such record. Raises ArchiveError.
    """
    records: dict[str, bytes] = {}
    pieces: list[int] = []
    at = 0
    while at < len(data):
        if not data[at]:
            break  # some writers fill up with NULs
        space = data.find(b" ", at, at + 21)
        digits = data[at:space]
        if space < 0 or not digits.isdigit():
            raise ArchiveError("a pax header has a record without a length")
        end = at + int(digits)
        equals = data.find(b"=", space, end)
        if end > len(data) or equals < 0 or data[end - 1 : end] != b"\n":
            raise ArchiveError("a pax header has a record whose length is wrong")
        key, value = text(data[space + 1 : equals]), data[equals + 1 : end - 1]
        if key in ("GNU.sparse.offset", "GNU.sparse.numbytes"):  # in format 0.0 they come again and again
            pieces.append(decimal(value, "a sparse file's map holds no number"))
        else:
            records[key] = value
        at = end
    return records, list(zip(pieces[::2], pieces[1::2]))
