# SPDX-License-Identifier: Apache-2.0
"""Model one entry of an archive."""

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
    """Return a dataclass anew with slots for its fields, so that a misspelt attribute is an error, as from 3.10 on."""
    slots = tuple(field.name for field in dataclasses.fields(cls))  # type: ignore[arg-type]
    kept = {name: value for name, value in vars(cls).items() if name not in (*slots, "__dict__", "__weakref__")}
    return cast("type[_Class]", type(cls.__name__, cls.__bases__, {**kept, "__slots__": (*slots, "__weakref__")}))


@_slotted
@dataclasses.dataclass(repr=False)
class Entry:
    """
    One entry: a file, directory, link, device or fifo, with what the archive says of it.

    `name` and `linkname` are as stored, without the slash at a directory's end; bytes that are no UTF-8 are surrogates
    (os.fsdecode). `type` is "file", "directory", "symlink", "hardlink", "fifo", "character" or "block". `mode` has the
    permissions, `uid` and `gid` are the numbers of owner and group, `uname` and `gname` their names. `size` is in
    bytes of content (of a sparse file with its holes), `mtime_ns` in nanoseconds since 1970. `xattrs` maps names to
    bytes. `sparse` is None or the (offset, size) pairs of a sparse file that hold data. `position` is where the entry
    starts in the uncompressed archive, None for one that was not read. `unreadable` is None, or maps attributes and
    access control lists that the archive has in a form which cannot be read here to the reason.
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
        """Return a copy with other attributes, as `changes` has them; TypeError for one that an entry does not have."""
        return dataclasses.replace(self, **changes)

    @property
    def stored_size(self) -> int:
        """The bytes of data that follow the header, without padding and without a sparse map."""
        if self.type != FILE:
            return 0
        return self.size if self.sparse is None else sum(size for _, size in self.sparse)

    def __repr__(self) -> str:
        link = f" -> {self.linkname!r}" if self.linkname else ""
        return f"<Entry {self.type} {self.name!r}{link} size={self.size} mode={self.mode:#o}>"


def padding(size: int) -> int:
    """Return how many bytes fill up the last block of `size` bytes."""
    return -size % BLOCK


def sum_of(block: bytes) -> int:
    """Return the sum of a block's bytes."""
    # one half of Adler-32 counts from 1 up to 65,521, so that the sum of 256 bytes fits
    return (adler32(block[:256]) & 0xFFFF) + (adler32(block[256:]) & 0xFFFF) - 2
