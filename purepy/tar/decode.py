# SPDX-License-Identifier: Apache-2.0
"""Read headers of V7, ustar, pax, GNU tar and star. A block has 512 bytes; all errors raised are ArchiveError."""

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
"""The limit for times, in seconds before or after 1970: no file system stores times beyond it."""

Shared = tuple[bool, bool, int, int, int, str, str]
"""Whether the header is ustar, whether it is GNU tar's, its mode, user number, group number, user name, group name."""
_ASCII: Final = bytes(range(128))
_ATTRIBUTES: Final = {key.decode("ascii"): name for name, key in ACL_KEYS.items()}
_OWNER_KEYS: Final = frozenset(("uid", "gid", "uname", "gname"))
_FOUND_MAX: Final = 256
_found: dict[bytes, Shared] = {}
_SCHILY: Final = "SCHILY.xattr."
_LIBARCHIVE: Final = "LIBARCHIVE.xattr."

_NAMES_READ: Final = "path linkpath size uid gid uname gname mtime GNU.sparse. SCHILY. LIBARCHIVE.xattr."
READ_KEYS: Final = tuple(_NAMES_READ.split())
"""Prefixes of the pax keys that are used; all other keys are ignored."""


def text(data: bytes) -> str:
    """Decode the bytes of a name as UTF-8; other bytes become surrogates, which `encoded` turns into bytes again."""
    try:
        return data.decode()  # fast on PyPy, as in `encoded`
    except UnicodeDecodeError:
        return data.decode("utf-8", "surrogateescape")


def string(data: bytes) -> bytes:
    """Return the bytes of a field up to the first NUL."""
    return data.partition(b"\0")[0]


def is_checksum_right(block: bytes) -> bool:
    """Return whether a header's checksum is the sum of its bytes: unsigned, or signed as in some old programs."""
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
    """
    Return the number in a field: octal digits, or GNU's base 256 (first bit set), which may be negative.

    An empty field is 0. Raises ArchiveError for anything else.
    """
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
        raise ArchiveError(f"expected an octal number in a header, found {digits!r}")
    return int(digits, 8)


def within(value: int, low: int, high: int, what: str) -> int:
    """Return `value` if it is from `low` to `high`; otherwise raise ArchiveError, whose text calls the value `what`."""
    if not low <= value <= high:
        raise ArchiveError(f"a header has an impossible {what}: {value}")
    return value


def decode(block: bytes, pax: dict[str, bytes], long_name: bytes | None, long_link: bytes | None) -> Entry:
    """
    Return the entry that a header describes, together with the pax headers and GNU long names before it.

    The caller has checked the checksum. The entry's `size` is the size of the data that follows in the archive; it is 0
    unless the entry is a file. `sparse.read_map` reads the map of a sparse file later. Raises ArchiveError for wrong
    fields.
    """
    flag = block[156:157]
    is_ustar, is_gnu, mode, uid, gid, uname, gname = (
        shared(block) if _OWNER_KEYS.isdisjoint(pax) else _read_shared(block, pax)
    )
    name = string(block[:100])
    end = 0
    if is_ustar:
        end = 500 if block[508:512] != _STAR_MAGIC else 476  # star has other fields from byte 476 on
    elif is_gnu and 0 < block[345] < 0x80 and block[345:357].translate(None, b"01234567 \0"):
        end = 500  # Go before 1.9 wrote a prefix here, where GNU tar has a time
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
        raise ArchiveError(f"a name contains a NUL byte: {text(stripped)!r}")
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
    """Return the fields that most headers of an archive share (see Shared), from a cache; raises ArchiveError."""
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
    wrong = f"a pax header has {key}={value[:40]!r}, which is not a number"
    return -decimal(value[1:], wrong) if value[:1] == b"-" else decimal(value, wrong)


def decimal(digits: bytes, wrong: str) -> int:
    """Return decimal digits as a number; raises ArchiveError(wrong) for other bytes, or over 20 significant digits."""
    significant = digits.lstrip(b"0") or b"0"
    if not digits.isdigit() or len(significant) > 20:
        raise ArchiveError(wrong)
    return int(significant)


def _time_of(pax: dict[str, bytes], field: bytes) -> int:
    value = pax.get("mtime")
    if not value:
        return within(number(field), -SECONDS_MAX, SECONDS_MAX, "time") * NANO
    wrong = f"a pax header has mtime={value[:40]!r}, which is not a time"
    whole, _, fraction = value.partition(b".")
    sign = -1 if whole[:1] == b"-" else 1
    seconds = within(decimal(whole[1:] if sign < 0 else whole, wrong), 0, SECONDS_MAX, "time")
    if fraction and not fraction.isdigit():
        raise ArchiveError(wrong)
    return sign * (seconds * NANO + int(fraction[:9].ljust(9, b"0")))


def _take_attributes(entry: Entry, pax: dict[str, bytes]) -> None:
    """Set `xattrs` of an entry from pax records, including access control lists, and `unreadable` for invalid ones."""
    found: dict[str, bytes] = {}
    unreadable: dict[str, str] = {}
    for key, value in pax.items():
        name = key
        try:
            if key in _ATTRIBUTES:
                name = _ATTRIBUTES[key]
                found[name] = to_binary(value)
            elif key.startswith(_SCHILY):
                # GNU tar escapes these two characters, because = ends a key
                name = key[len(_SCHILY) :].replace("%3D", "=").replace("%25", "%")
                found[name] = value
            elif key.startswith(_LIBARCHIVE):
                name = unquote(key[len(_LIBARCHIVE) :], errors="surrogateescape")
                found.setdefault(name, base64.b64decode(value + b"=" * (-len(value) % 4), validate=True))
        except ValueError as exc:  # includes binascii.Error
            unreadable[name] = str(exc)
    entry.xattrs, entry.unreadable = found or None, unreadable or None


def parse_pax(data: bytes) -> tuple[dict[str, bytes], list[tuple[int, int]]]:
    """
    Return the records of a pax header, and the pieces of a sparse map in GNU tar's format 0.0.

    Values may be empty. Raises ArchiveError for a record that is wrong.
    """
    records: dict[str, bytes] = {}
    pieces: list[int] = []
    at = 0
    while at < len(data):
        if not data[at]:
            break  # some writers pad with NULs
        space = data.find(b" ", at, at + 21)
        digits = data[at:space]
        if space < 0 or not digits.isdigit():
            raise ArchiveError("a pax header has a record without a length")
        end = at + int(digits)
        equals = data.find(b"=", space, end)
        if end > len(data) or equals < 0 or data[end - 1 : end] != b"\n":
            raise ArchiveError("a pax header has a record whose length is wrong")
        key, value = text(data[space + 1 : equals]), data[equals + 1 : end - 1]
        if key in ("GNU.sparse.offset", "GNU.sparse.numbytes"):  # format 0.0 repeats these keys
            pieces.append(decimal(value, "expected a number in the map of a sparse file"))
        else:
            records[key] = value
        at = end
    return records, list(zip(pieces[::2], pieces[1::2]))
