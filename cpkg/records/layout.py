# SPDX-License-Identifier: Apache-2.0
"""The frames of a record file, and the index that lists them."""

from __future__ import annotations

import os
import sys
import zlib
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from typing import Final, NamedTuple

from cpkg.records import format as fmt
from cpkg.records.errors import covered
from purepy.zstd.seekable.table import SeekTable

MARKED: Final = "lost before the file was repaired"
"""The reason of a gap whose records a repair marked as lost."""


def new_token() -> bytes:
    """Return a random token for a new file; the headers of the file and of its frames contain it."""
    return os.urandom(fmt.TOKEN_SIZE)


class Frame(NamedTuple):
    """
    One frame of records; `offset` is the offset in the file of the Zstandard frame, just after its `fmt.DataHeader`.

    `compressed` is the size of the Zstandard frame, `decompressed` the size of its content, and `checksum` the low 32
    bits of the XXH64 of the content. `records` is the number of records, `first` the number of the first one.
    """

    offset: int
    compressed: int
    decompressed: int
    records: int
    first: int
    checksum: int


class Gap(NamedTuple):
    """
    A stretch of a file without readable records, from byte `start` to `end`.

    `first` is the number of the first lost record and `records` the number of lost records, which may be 0. `start` and
    `end` are equal if the bytes of lost records are missing. `known` is whether a repair marked the records as lost;
    iterating then skips the gap without an error.
    """

    start: int
    end: int
    first: int
    records: int
    reason: str
    known: bool = False


class Layout:
    """The frames of records in a file, with 32 bytes of memory each, and the gaps; `token` is b"" if unknown."""

    def __init__(self, token: bytes) -> None:
        self.token = token
        self.offsets = array("Q")
        self.firsts = array("Q")
        self._compressed = array("I")
        self._decompressed = array("I")
        self._records = array("I")
        self._checksums = array("I")
        self.gaps: list[Gap] = []
        self._place = (0, 0, 0)  # a number of frames, and the end and total that were set after them
        self.torn = 0
        """The number of bytes of an unfinished frame after the last frame."""
        self.foreign = 0
        """The offset in the file of the header of another file or frame inside the unfinished frame; 0 for none."""
        self.dictionary: tuple[int, int] | None = None
        """The offset and size of the skippable frame with the dictionary; None if the file has no dictionary."""
        self.indexed = False
        self.has_table = False
        """Whether a walk found an index and a possible seek table after the last frame."""
        self.problems: list[str] = []
        """Texts that describe faults of the file header, the index or the end of the file."""

    def __len__(self) -> int:
        return len(self.offsets)

    @property
    def dictionary_at(self) -> int:
        """The offset of the skippable frame with the dictionary, 0 if there is none."""
        return self.dictionary[0] if self.dictionary is not None else 0

    def check_torn(self, name: str) -> None:
        """Raise RecordsError if the unfinished frame of the file `name`, to be cut off, may contain another file."""
        if self.foreign:
            raise covered(name, self.end, self.foreign)

    def header(self, frame: Frame) -> fmt.DataHeader:
        """Return the header that belongs before a frame in the file."""
        at = frame.offset - fmt.DATA_HEADER_SIZE
        dictionary = self.dictionary_at if self.dictionary_at < at else 0
        fields = (frame.records, frame.compressed, frame.first, at, frame.decompressed, frame.checksum)
        return fmt.DataHeader(*fields, self.token, dictionary)

    def part(self, start: int, stop: int) -> Layout:
        """
        Return a layout with the frames from number `start` to `stop` (not included), and the gaps after each of them.

        If `start` is 0, it also has the gaps before the first frame.
        """
        part = Layout(self.token)
        for name in ("offsets", "firsts", "_compressed", "_decompressed", "_records", "_checksums"):
            setattr(part, name, getattr(self, name)[start:stop])
        low = self.offsets[start] if start else 0
        part.dictionary = self.dictionary
        if stop < len(self):
            high = self.offsets[stop]
            part.go_on(high - fmt.DATA_HEADER_SIZE, self.firsts[stop])
        else:
            high = self.end + 1
            part.go_on(self.end, self.total)
        part.gaps = [gap for gap in self.gaps if low <= gap.start < high]
        return part

    def add(self, frame: Frame) -> None:
        """Append a frame; if a signal interrupts the call, the frame is either complete or not there."""
        number = len(self)
        if len(self._compressed) > number:
            for column in (self._compressed, self._decompressed, self._records, self.firsts, self._checksums):
                del column[number:]
        self._compressed.append(frame.compressed)
        self._decompressed.append(frame.decompressed)
        self._records.append(frame.records)
        self.firsts.append(frame.first)
        self._checksums.append(frame.checksum)
        self.offsets.append(frame.offset)

    def go_on(self, end: int, total: int) -> None:
        """Set `end`, where the header of the next frame belongs, and `total`, the number of its first record."""
        self._place = len(self), end, total

    @property
    def end(self) -> int:
        """The offset after the last frame, gap, dictionary or file header, where the next frame's header belongs."""
        frames, end, _ = self._place
        last = len(self) - 1
        if frames <= last:
            end = self.offsets[last] + self._compressed[last]
        return max(end, sum(self.dictionary)) if self.dictionary is not None else end

    @property
    def total(self) -> int:
        """The number that the next record gets: the number of all records, with lost ones."""
        frames, _, total = self._place
        last = len(self) - 1
        return self.firsts[last] + self._records[last] if frames <= last else total

    def frame(self, number: int) -> Frame:
        """Return a frame by its number."""
        return Frame(
            self.offsets[number],
            self._compressed[number],
            self._decompressed[number],
            self._records[number],
            self.firsts[number],
            self._checksums[number],
        )

    def columns(self) -> tuple[array[int], array[int], array[int], array[int]]:
        """Return arrays with the offsets, compressed sizes, content sizes and record counts of all frames."""
        return self.offsets, self._compressed, self._decompressed, self._records

    def find(self, record: int) -> int:
        """Return the number of the last frame whose first record is `record` or earlier, -1 if there is none."""
        return bisect_right(self.firsts, record) - 1

    @property
    def records(self) -> int:
        """The number of records in frames, so without lost ones."""
        return sum(self._records)

    @property
    def compressed(self) -> int:
        """The total size of the compressed frames in bytes, without their headers."""
        return sum(self._compressed)

    @property
    def decompressed(self) -> int:
        """The total size of all records as MessagePack in bytes."""
        return sum(self._decompressed)

    def pieces(self, start: int = 0) -> Iterator[Frame | Gap]:
        """Yield the frames from number `start` on and the gaps after them (for 0: all gaps), in file order."""
        gaps = iter(self.gaps)
        gap = next(gaps, None)
        begin = self.offsets[start] if start < len(self) else self.end
        while start and gap is not None and gap.start < begin:
            gap = next(gaps, None)
        for number in range(start, len(self)):
            while gap is not None and gap.start < self.offsets[number]:
                yield gap
                gap = next(gaps, None)
            yield self.frame(number)
        while gap is not None:
            yield gap
            gap = next(gaps, None)

    def tail(self) -> bytes:
        """Return the index and the seek table that belong at `end`."""
        table = SeekTable(checksums=True)
        at = 0
        start, size = self.dictionary or (0, 0)
        known = (bound for gap in self.gaps for bound in (gap.start, gap.end))
        borders = iter(sorted({fmt.FILE_HEADER_SIZE, start, start + size, *known}))
        border = next(borders, None)

        def empty_until(offset: int) -> None:
            """Add entries to the seek table up to `offset`, for skippable frames and gaps, which have no content."""
            nonlocal at, border
            while at < offset:
                while border is not None and border <= at:
                    border = next(borders, None)
                size = min(offset if border is None else min(offset, border), at + fmt.LOST_SIZE_MAX) - at
                table.append(size, 0, fmt.EMPTY_CHECKSUM)
                at += size

        entries = array("I")
        following = 0
        for number in range(len(self)):
            frame = self.frame(number)
            empty_until(frame.offset - fmt.DATA_HEADER_SIZE)
            empty_until(frame.offset)
            table.append(frame.compressed, frame.decompressed, frame.checksum)
            at += frame.compressed
            entries.append(frame.records)
            entries.append(frame.first - following)
            following = frame.first + frame.records
        empty_until(self.end)
        table.append(fmt.index_size(len(self)), 0, fmt.EMPTY_CHECKSUM)
        seek_table = table.to_bytes()
        if sys.byteorder == "big":
            entries.byteswap()
        index = fmt.Index(self.total, self.dictionary_at, entries.tobytes(), zlib.crc32(seek_table), self.token)
        return fmt.index_frame(index) + seek_table
