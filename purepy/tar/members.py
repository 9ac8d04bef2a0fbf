# SPDX-License-Identifier: Apache-2.0
"""
The list of members of an archive: it states which frames may contain a name, so that only these have to be read.

The list is a skippable frame between the frames of content and the seek table. For each frame of content, in order, it
stores whether the frame begins inside an entry, and a number for each name in the frame and for each directory above
such a name: a 16-bit hash. If two names have the same number, a frame may be read in vain. All integers are
little-endian.

    skippable frame's header (8)  |  b"cpkg.tar" (8)  |  number of frames (4)  |  a count per frame (4 each)
    numbers (2 each, sorted within a frame)  |  CRC-32 of everything after the header of the skippable frame (4)

The highest bit of a count is set if the frame begins inside an entry.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable
from struct import Struct
from typing import Final
from zlib import crc32

from purepy.tar.encode import encoded

MAGIC: Final = 0x184D2A5C
_HEADER: Final = Struct("<II8sI")
_SIGNATURE: Final = b"cpkg.tar"
_CONTINUED: Final = 0x80000000
SIZE_MAX: Final = 64 << 20
_WILD: Final = "*?[\\"


class Collector:
    """
    Collects the numbers (16-bit hashes) of the names in a frame, and of the directories above them, in the set `found`.

    `is_continued`, which the caller sets, is whether the frame begins inside an entry.
    """

    __slots__ = ("_crc", "_parent", "found", "is_continued")

    def __init__(self) -> None:
        self.found: set[int] = set()
        self.is_continued = False
        self._parent: bytes | None = None
        self._crc = 0

    def add(self, name: str) -> None:
        """Add a name and the directories above it."""
        parent, slash, base = encoded(name).rpartition(b"/")
        self._enter(parent)
        self.found.add(crc32(slash + base, self._crc) & 0xFFFF)

    def add_all(self, parent: bytes, bases: list[bytes]) -> None:
        """Add names in the directory `parent`, which is not the root, and the directories above them."""
        self._enter(parent)
        crc = crc32(b"/", self._crc)
        self.found.update([crc32(base, crc) & 0xFFFF for base in bases])

    def _enter(self, parent: bytes) -> None:
        if parent == self._parent:
            return
        self._parent, self._crc = parent, 0
        at = 0
        while parent and at >= 0:
            end = parent.find(b"/", at + 1)
            self._crc = crc32(parent[at:] if end < 0 else parent[at:end], self._crc)
            self.found.add(self._crc & 0xFFFF)
            at = end

    def numbers(self) -> array[int]:
        """Return the sorted numbers."""
        return array("H", sorted(self.found))


class Members:
    """The list of members: for each frame, the numbers of its names and whether it begins inside an entry."""

    def __init__(self) -> None:
        self._counts = array("I")
        self._numbers = array("H")

    def append(self, numbers: array[int], is_continued: bool) -> None:
        """Add the next frame: the sorted numbers in it, and whether it begins inside an entry."""
        self._counts.append(len(numbers) | (_CONTINUED if is_continued else 0))
        self._numbers.extend(numbers)

    def __len__(self) -> int:
        """Return the number of frames."""
        return len(self._counts)

    def is_continued(self, index: int) -> bool:
        """Return whether a frame begins inside an entry."""
        return self._counts[index] >= _CONTINUED

    def to_bytes(self) -> bytes:
        """Return the list as a skippable frame; b"" if more than SIZE_MAX bytes would follow the frame's first 8."""
        body = _little(self._counts) + _little(self._numbers)
        size = _HEADER.size - 8 + len(body) + 4
        if size > SIZE_MAX:
            return b""
        data = _HEADER.pack(MAGIC, size, _SIGNATURE, len(self)) + body
        return data + crc32(data[8:]).to_bytes(4, "little")

    def frames_with(self, patterns: Iterable[str]) -> list[bool] | None:
        """
        Return for each frame whether one of the patterns (see `include` of extract) may match a name in it.

        A frame that begins inside an entry is in the group of the frame before it; any other frame begins a new group.
        A match in one frame counts for its whole group. Returns None if a pattern may match in any frame.
        """
        wanted = set()
        for pattern in patterns:
            number = _number_of(pattern)
            if number is None:
                return None
            wanted.add(number)
        found: list[bool] = []
        at = first = 0
        for index, count in enumerate(self._counts):
            end = at + (count & ~_CONTINUED)
            found.append(not wanted.isdisjoint(self._numbers[at:end]))
            at = end
            if count < _CONTINUED:
                first = index
            elif found[first] or found[index]:
                found[first : index + 1] = [True] * (index + 1 - first)
        return found


def _number_of(pattern: str) -> int | None:
    """Return the number of a name or directory that covers all matches of a pattern; None if any name may match."""
    plain = next((at for at, letter in enumerate(pattern) if letter in _WILD), None)
    if plain is not None:
        pattern = pattern[: max(pattern.rfind("/", 0, plain), 0)]
    return crc32(encoded(pattern)) & 0xFFFF if pattern else None


def _little(values: array[int]) -> bytes:
    if sys.byteorder == "big":
        values = array(values.typecode, values)
        values.byteswap()
    return values.tobytes()


def read(data: bytes) -> Members | None:
    """Return the list in a skippable frame, or None if the frame holds something else or is damaged."""
    if not _HEADER.size + 4 <= len(data) <= SIZE_MAX + 8:
        return None
    magic, size, signature, frames = _HEADER.unpack_from(data)
    if magic != MAGIC or size != len(data) - 8 or signature != _SIGNATURE:
        return None
    if crc32(data[8:-4]) != int.from_bytes(data[-4:], "little"):
        return None
    found = Members()
    start = _HEADER.size + 4 * frames
    if start > len(data) - 4 or (len(data) - start) % 2:
        return None
    found._counts, found._numbers = array("I", data[_HEADER.size : start]), array("H", data[start:-4])
    if sys.byteorder == "big":
        found._counts.byteswap()
        found._numbers.byteswap()
    total = sum(count & ~_CONTINUED for count in found._counts)
    return found if total == len(found._numbers) else None
