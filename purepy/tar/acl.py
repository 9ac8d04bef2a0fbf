# SPDX-License-Identifier: Apache-2.0
"""POSIX access control lists: the binary form of Linux (linux/posix_acl_xattr.h) and the text form in archives."""

from __future__ import annotations

import struct
from typing import Final

from purepy.tar.owners import owner_number

ACL_KEYS: Final = {
    "system.posix_acl_access": b"SCHILY.acl.access",
    "system.posix_acl_default": b"SCHILY.acl.default",
}
"""Extended attribute of Linux -> pax record of star, GNU tar and bsdtar for the same list."""

_VERSION: Final = 2
_ENTRY: Final = struct.Struct("<HHI")
_NO_ID: Final = 0xFFFFFFFF
_ENTRIES_MAX: Final = 8190
"""The most entries that `to_binary` accepts; they fit into an attribute, which is limited to 64 KiB."""
_TAGS: Final = {0x01: "user", 0x02: "user", 0x04: "group", 0x08: "group", 0x10: "mask", 0x20: "other"}
_WITH_ID: Final = (0x02, 0x08)
_OWN: Final = {"user": 0x01, "u": 0x01, "group": 0x04, "g": 0x04, "mask": 0x10, "m": 0x10, "other": 0x20, "o": 0x20}
_NAMED: Final = {"user": 0x02, "u": 0x02, "group": 0x08, "g": 0x08}


def to_text(binary: bytes) -> bytes:
    """Return a binary list as text with numeric ids (`user::rw-,user:1000:r--,...`); raises ValueError if invalid."""
    if len(binary) < 4 or len(binary) % _ENTRY.size != 4 or binary[:4] != struct.pack("<I", _VERSION):
        raise ValueError("the access control list has an unknown version or is truncated")
    entries = []
    for tag, bits, number in _ENTRY.iter_unpack(binary[4:]):
        if tag not in _TAGS:
            raise ValueError(f"the access control list has the unknown tag {tag}")
        rights = "".join(letter if bits & bit else "-" for letter, bit in (("r", 4), ("w", 2), ("x", 1)))
        entries.append(f"{_TAGS[tag]}:{number if tag in _WITH_ID else ''}:{rights}")
    return ",".join(entries).encode("ascii")


def to_binary(text: bytes) -> bytes:
    """
    Return a list in text form as binary; raises ValueError if it is not valid.

    The user or group of an entry is a number, a name followed by a number in a fourth field (as star writes it), or a
    name that this system knows (as GNU tar writes it).
    """
    entries = []
    for line in text.decode("utf-8", "surrogateescape").replace("\n", ",").split(","):
        fields = line.partition("#")[0].strip().split(":")
        if fields == [""]:
            continue
        if len(fields) < 3 or fields[0] not in _OWN:
            raise ValueError(f"not a valid entry of an access control list: {line!r}")
        qualifier = fields[3] if len(fields) > 3 and fields[3] else fields[1]
        tag, number = _OWN[fields[0]], _NO_ID
        if fields[1]:
            if fields[0] not in _NAMED:
                raise ValueError(f"not a valid entry of an access control list: {line!r}")
            tag = _NAMED[fields[0]]
            number = _number_of(qualifier, is_user=tag == _NAMED["user"])
        bits = sum(bit for letter, bit in (("r", 4), ("w", 2), ("x", 1)) if letter in fields[2])
        entries.append((tag, number, bits))
    entries.sort()
    if len(entries) > _ENTRIES_MAX:
        raise ValueError(f"the access control list has {len(entries):,} entries, more than {_ENTRIES_MAX:,}")
    return struct.pack("<I", _VERSION) + b"".join(_ENTRY.pack(tag, bits, number) for tag, number, bits in entries)


def _number_of(qualifier: str, is_user: bool) -> int:
    """Return the number of a user or group; raises ValueError for a name that this system does not know."""
    number = int(qualifier) if qualifier.isdecimal() and len(qualifier) <= 10 else owner_number(qualifier, is_user)
    if number is None or number >= _NO_ID:
        raise ValueError(
            f"the access control list names the {'user' if is_user else 'group'} {qualifier!r}, unknown on this system"
        )
    return number
