# SPDX-License-Identifier: Apache-2.0
"""
The seek table of the Zstandard seekable format 0.1.0 (contrib/seekable_format of zstd): created, written and read.

A seekable file is a sequence of frames, each of which can be decompressed alone, followed by one skippable frame, the
seek table. The table has an entry per frame: its size in bytes, the size of its content and, if the table has
checksums, the low 32 bits of the content's XXH64. Empty and skippable frames also have entries, with a content of 0
bytes.

    skippable frame's header (8)  |  entries (8 or 12 each)  |  number of entries (4)  descriptor (1)  magic number (4)

Code that only reads a table loads neither the decoder nor the encoder of purepy.zstd.
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_right
from itertools import accumulate
from struct import Struct

from purepy.base.errors import SeekableFormatError
from purepy.base.reading import read_full
from purepy.zstd.format.error_codes import located
from purepy.zstd.format.rules import SKIPPABLE_HEADER_SIZE, content_size_max

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from purepy.base.types import Seekable

SKIPPABLE_MAGIC = 0x184D2A5E
SEEKABLE_MAGIC = 0x8F92EAB1
_MAGIC_BYTES = SEEKABLE_MAGIC.to_bytes(4, "little")
FRAMES_MAX = 0x8000000
"""The largest number of entries in a table, as in zstd's own reader."""
SIZE_MAX = 0xFFFFFFFF
"""The largest size in bytes of a seekable file's frame, and of its content: an entry has 32 bits for each."""

_CHECKSUM_FLAG = 0x80
_RESERVED_BITS = 0x7C  # must be 0; the lowest two bits are ignored
_HEADER = Struct("<II")
_FOOTER = Struct("<IBI")
_TAIL_SIZE = 4096  # bytes read from the end of the file first; most tables fit


class SeekTable:
    """
    The frames of a seekable file, in order: the position of each, and the position of its content in the whole content.

    A table is created empty and filled with `append`, or read from a file by `read_seek_table`. `checksums` is whether
    entries have a checksum. All sizes and positions are in bytes. An entry uses about 16 bytes of memory, with a
    checksum 20.
    """

    __slots__ = ("_checksums", "_offsets", "_positions", "checksums")

    def __init__(self, *, checksums: bool) -> None:
        self.checksums = checksums
        # the positions of each frame and of its content; the last item is the position of the next frame
        self._offsets = array("Q", (0,))
        self._positions = array("Q", (0,))
        self._checksums = array("I")

    def append(self, compressed_size: int, decompressed_size: int, checksum: int | None = None) -> None:
        """
        Add the next frame.

        `checksum`, the low 32 bits of the content's XXH64, is required if the table has checksums, and ignored
        otherwise. Raises ValueError for a size or checksum that does not fit in 32 bits, and SeekableFormatError if the
        table is full.
        """
        for size in (compressed_size, decompressed_size):
            if not 0 <= size <= SIZE_MAX:
                raise ValueError(f"the size of a frame and of its content must be 0 to {SIZE_MAX} bytes, not {size}")
        if len(self) >= FRAMES_MAX:
            raise SeekableFormatError(f"a seek table has at most {FRAMES_MAX} entries; use larger frames")
        if self.checksums:
            if checksum is None or not 0 <= checksum <= 0xFFFFFFFF:
                raise ValueError(f"this seek table needs a checksum of 32 bits for each frame, not {checksum}")
            self._checksums.append(checksum)
        self._offsets.append(self._offsets[-1] + compressed_size)
        self._positions.append(self._positions[-1] + decompressed_size)

    def __len__(self) -> int:
        """Return the number of entries."""
        return len(self._offsets) - 1

    def frame(self, index: int) -> tuple[int, int, int, int, int | None]:
        """
        Return (offset, compressed size, position of the content, its size, checksum or None) of one frame.

        Frames are counted from 0. Raises IndexError for a number out of range.
        """
        if not 0 <= index < len(self):
            raise IndexError(f"frame {index} does not exist; the table has {len(self)} entries")
        offset, position = self._offsets[index], self._positions[index]
        checksum = self._checksums[index] if self.checksums else None
        return offset, self._offsets[index + 1] - offset, position, self._positions[index + 1] - position, checksum

    def find(self, position: int) -> int:
        """Return the number of the frame that holds a position of the content; raises IndexError beyond the content."""
        if not 0 <= position < self.decompressed_size:
            raise IndexError(f"position {position} is outside the content of {self.decompressed_size} bytes")
        # if several frames begin there, all but the last are empty
        return bisect_right(self._positions, position) - 1

    @property
    def compressed_size(self) -> int:
        """The size of all frames in bytes, without the table itself."""
        return self._offsets[-1]

    @property
    def decompressed_size(self) -> int:
        """The size of the whole content in bytes."""
        return self._positions[-1]

    def to_bytes(self) -> bytes:
        """Return the table as a skippable frame, which follows the other frames in a seekable file."""
        columns = [_sizes(self._offsets), _sizes(self._positions)]
        if self.checksums:
            columns.append(self._checksums)
        entries = array("I", bytes(4 * len(columns) * len(self)))
        for number, column in enumerate(columns):
            entries[number :: len(columns)] = column
        if sys.byteorder == "big":
            entries.byteswap()
        size = len(entries) * 4 + _FOOTER.size
        footer = _FOOTER.pack(len(self), _CHECKSUM_FLAG if self.checksums else 0, SEEKABLE_MAGIC)
        return b"".join((_HEADER.pack(SKIPPABLE_MAGIC, size), entries.tobytes(), footer))


def _sizes(bounds: array[int]) -> array[int]:
    return array("I", (bounds[index + 1] - bounds[index] for index in range(len(bounds) - 1)))


def _bounds(sizes: Iterable[int]) -> array[int]:
    bounds = array("Q", (0,))
    bounds.extend(accumulate(sizes))
    return bounds


def read_seek_table(file: Seekable, frames_size: int | None = None) -> SeekTable:
    """
    Return the table at the end of a seekable binary file; the frames and the table must fill the file.

    `frames_size` is for a table in a separate file: the size of the file with the frames. Only the table is read; the
    file's position afterwards is undefined. Raises SeekableFormatError if there is no table, if it is truncated or
    damaged, or if it does not match the file: if its sizes do not add up to the size of the file, or a frame is too
    small for its content. Only decompression shows whether the entries match the frames.
    """
    file_size = file.seek(0, 2)
    tail = _read_at(file, max(file_size - _TAIL_SIZE, 0), file_size)
    smallest = SKIPPABLE_HEADER_SIZE + _FOOTER.size
    if len(tail) < smallest:
        raise _no_table(file_size, f"the file has {file_size} bytes, fewer than the smallest seek table ({smallest})")
    count, descriptor, magic = _FOOTER.unpack_from(tail, len(tail) - _FOOTER.size)
    if magic != SEEKABLE_MAGIC:
        raise _no_table(file_size, f"it ends with the bytes {tail[-4:].hex(' ')} instead of {_MAGIC_BYTES.hex(' ')}")
    if descriptor & _RESERVED_BITS:
        raise _damaged(file_size - 5, f"its descriptor {descriptor:#04x} has reserved bits set")
    if count > FRAMES_MAX:
        raise _damaged(file_size - _FOOTER.size, f"it would have {count} entries, more than {FRAMES_MAX}")
    columns = 3 if descriptor & _CHECKSUM_FLAG else 2
    content_size = count * columns * 4 + _FOOTER.size
    start = file_size - content_size - SKIPPABLE_HEADER_SIZE
    if start < 0:
        raise _damaged(file_size - _FOOTER.size, f"its {count} entries would not fit into the file")
    table_size = file_size - start
    frame = tail[-table_size:] if table_size <= len(tail) else _read_at(file, start, file_size)
    found, size = _HEADER.unpack_from(frame)
    if found != SKIPPABLE_MAGIC or size != content_size:
        raise _damaged(start, f"the frame that holds its {count} entries does not begin where it should")
    entries = array("I", frame[SKIPPABLE_HEADER_SIZE : -_FOOTER.size])
    if sys.byteorder == "big":
        entries.byteswap()
    return _table(entries, columns, start if frames_size is None else frames_size)


def _table(entries: array[int], columns: int, frames_size: int) -> SeekTable:
    """
    Return a table of entries that consist of 2 or 3 (`columns`) numbers each.

    Raises SeekableFormatError if their frames do not have `frames_size` bytes in total, or if an entry has more content
    than its frame can hold.
    """
    compressed, decompressed = entries[0::columns], entries[1::columns]
    total = sum(compressed)
    if total != frames_size:
        raise _damaged(
            frames_size, f"its entries cover {total} bytes of frames, but the frames in the file have {frames_size}"
        )
    for index, (size, content) in enumerate(zip(compressed, decompressed)):
        if content and (not size or content > content_size_max(size)):
            raise _damaged(frames_size, f"entry {index} has {content} bytes of content in a frame of {size} bytes")
    table = SeekTable(checksums=columns == 3)
    table._offsets, table._positions = _bounds(compressed), _bounds(decompressed)
    if columns == 3:
        table._checksums = entries[2::columns]
    return table


def _read_at(file: Seekable, start: int, end: int) -> bytes:
    """Return the bytes of a file from `start` to `end`; raises SeekableFormatError if the file is shorter."""
    file.seek(start)
    data = read_full(file, end - start)
    if len(data) < end - start:
        raise SeekableFormatError(f"the file ended at byte {start + len(data)} while reading, expected {end} bytes")
    return data


def _no_table(offset: int, why: str) -> SeekableFormatError:
    exc = located(SeekableFormatError(f"the file has no seek table, or is truncated: {why}"), offset)
    exc.has_table = False
    return exc


def _damaged(offset: int, why: str) -> SeekableFormatError:
    return located(SeekableFormatError(f"the seek table is damaged: {why}"), offset)
