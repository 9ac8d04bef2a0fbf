# SPDX-License-Identifier: Apache-2.0
"""The entry of an archive, and constants of the format."""

from __future__ import annotations

import dataclasses
from typing import Any, Final, TypeVar, cast
from zlib import adler32

_Class = TypeVar("_Class")

BLOCK: Final = 512

FILE: Final = "file"
HARDLINK: Final = "hardlink"
SYMLINK: Final = "symlink"
CHARACTER: Final = "character"
BLOCK_DEVICE: Final = "block"
DIRECTORY: Final = "directory"
FIFO: Final = "fifo"

TYPEFLAGS: Final = {
    FILE: b"0",
    HARDLINK: b"1",
    SYMLINK: b"2",
    CHARACTER: b"3",
    BLOCK_DEVICE: b"4",
    DIRECTORY: b"5",
    FIFO: b"6",
}
TYPES: Final = {flag: kind for kind, flag in TYPEFLAGS.items()}


def _slotted(cls: type[_Class]) -> type[_Class]:
    """Return a dataclass with slots, so that a misspelt attribute is an error (`slots=True` needs Python 3.10)."""
    slots = tuple(field.name for field in dataclasses.fields(cls))  # type: ignore[arg-type]
    kept = {name: value for name, value in vars(cls).items() if name not in (*slots, "__dict__", "__weakref__")}
    return cast("type[_Class]", type(cls.__name__, cls.__bases__, {**kept, "__slots__": (*slots, "__weakref__")}))


@_slotted
@dataclasses.dataclass(repr=False)
class Entry:
    """
    One entry of an archive: a file, directory, link, device or fifo.

    `name` and `linkname` are as stored, but `name` has no slash at the end; bytes that are not UTF-8 become surrogates
    (see os.fsdecode). `type` is "file", "directory", "symlink", "hardlink", "fifo", "character" or "block".
    `mode` has the permission bits, `uid` and `gid` are the numbers of owner and group, `uname` and `gname` their names.
    `size` is the size of the content in bytes, holes included. `mtime_ns` is in nanoseconds since 1970. `device` is the
    (major, minor) number of a device. `xattrs` is None or maps names of extended attributes to bytes. `sparse` is None
    or lists the pieces of a sparse file that hold data, as (offset, size). `position` is where the entry starts in the
    uncompressed archive, None if the entry was not read from an archive. `unreadable` is None, or maps the name of each
    attribute or access control list that cannot be read here to the reason.
    """

    name: str
    type: str = FILE
    size: int = 0
    mode: int = 0o644
    mtime_ns: int = 0
    uid: int = 0
    gid: int = 0
    uname: str = ""
    gname: str = ""
    linkname: str = ""
    device: tuple[int, int] = (0, 0)
    xattrs: dict[str, bytes] | None = None
    sparse: list[tuple[int, int]] | None = None
    position: int | None = None
    unreadable: dict[str, str] | None = None

    def replace(self, **changes: Any) -> Entry:
        """Return a copy with the attributes in `changes`; raises TypeError for an unknown attribute."""
        return dataclasses.replace(self, **changes)

    @property
    def stored_size(self) -> int:
        """The size in bytes of the data after the header, without padding and without a sparse map; 0 unless a file."""
        if self.type != FILE:
            return 0
        return self.size if self.sparse is None else sum(size for _, size in self.sparse)

    def __repr__(self) -> str:
        link = f" -> {self.linkname!r}" if self.linkname else ""
        return f"<Entry {self.type} {self.name!r}{link} size={self.size} mode={self.mode:#o}>"


Entry.__module__ = "cpkg.archive"  # where callers find it; dataclasses look for names of annotations in their module


def padding(size: int) -> int:
    """Return how many padding bytes complete the last block of `size` bytes."""
    return -size % BLOCK


def sum_of(block: bytes) -> int:
    """Return the sum of the bytes of a block."""
    # the low half of Adler-32 is 1 plus the sum, modulo 65,521: large enough for 256 bytes
    return (adler32(block[:256]) & 0xFFFF) + (adler32(block[256:]) & 0xFFFF) - 2
