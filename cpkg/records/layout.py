# SPDX-License-Identifier: Apache-2.0
"""
Where the frames of a record file are: from the index at its end, or by walking from header to header.

A file has an index once a writer has closed it. Without one (the writer is at work, or was killed), and where the
index is damaged, the headers in front of the frames tell the same. Where a header is damaged, too, the walk goes on at
the next one that is sound.
"""

from __future__ import annotations

import re
import sys
import zlib
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from typing import Final, NamedTuple

from cpkg.records import format as fmt
from cpkg.records.errors import RecordsError
from cpkg.records.sources import Source, Tail
from purepy.errors import SeekableFormatError
from purepy.zstd_seek_table import SeekTable, read_seek_table

MARKED: Final = "lost before the file was repaired"
"""The reason of a gap that `repair` has marked."""

_SEARCH_PIECE_MIN: Final = 1 << 12
_SEARCH_PIECE_MAX: Final = 1 << 20
_KIND_AT: Final = 8
_HEADER_KINDS: Final = re.compile(b"|".join((fmt.DATA, fmt.LOST)))


class Frame(NamedTuple):
    """One frame of records; `offset` is that of the Zstandard frame, behind its header."""

    offset: int
    compressed: int
    decompressed: int
    records: int
    first: int
    checksum: int

    @property
    def header(self) -> fmt.DataHeader:
        """The header that belongs in front of it."""
        at = self.offset - fmt.DATA_HEADER_SIZE
        return fmt.DataHeader(self.records, self.compressed, self.first, at, self.decompressed, self.checksum)


class Gap(NamedTuple):
    """
    A stretch of a file that holds no records that can be read.

    `first` is the number of the first record that was there and `records` how many there were. `known` is whether
    `repair` has marked it: reading passes over it.
    """

    start: int
    end: int
    first: int
    records: int
    reason: str
    known: bool = False


class Layout:
    """The frames of a file in order, in arrays: 32 bytes of memory each."""

    def __init__(self) -> None:
        self.offsets = array("Q")
        self.firsts = array("Q")
        self._compressed = array("I")
        self._decompressed = array("I")
        self._records = array("I")
        self._checksums = array("I")
        self.gaps: list[Gap] = []
        self.end = 0
        """The offset behind the last whole frame, where the next one is written."""
        self.total = 0
        """The number that the next record gets."""
        self.torn = 0
        """How many bytes of a frame that was never finished stand behind the last one."""
        self.dictionary: tuple[int, int] | None = None
        """Offset and size of the dictionary's frame."""
        self.indexed = False
        self.problems: list[str] = []
        """What is wrong with the file's header, its dictionary or its index."""

    def __len__(self) -> int:
        return len(self.offsets)

    def add(self, frame: Frame) -> None:
        """Append a frame."""
        self.offsets.append(frame.offset)
        self._compressed.append(frame.compressed)
        self._decompressed.append(frame.decompressed)
        self._records.append(frame.records)
        self.firsts.append(frame.first)
        self._checksums.append(frame.checksum)
        self.end = frame.offset + frame.compressed
        self.total = frame.first + frame.records

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

    def find(self, record: int) -> int:
        """Return the number of the last frame that begins with this record or an earlier one; -1 if there is none."""
        return bisect_right(self.firsts, record) - 1

    @property
    def records(self) -> int:
        """The number of records that are there."""
        return sum(self._records)

    @property
    def compressed(self) -> int:
        """The size of all Zstandard frames."""
        return sum(self._compressed)

    @property
    def decompressed(self) -> int:
        """The size of all records as MessagePack."""
        return sum(self._decompressed)

    def pieces(self, start: int = 0) -> Iterator[Frame | Gap]:
        """Yield frames from number `start` on, and between them what is damaged or lost, as the file has them."""
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
            """Add the frames without content up to `offset`, each with an entry of its own."""
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
            entries.append(min(frame.first - following, 2**32 - 1))
            following = frame.first + frame.records
        empty_until(self.end)
        size = fmt.INDEX_HEADER_SIZE + len(entries) * entries.itemsize
        table.append(size, 0, fmt.EMPTY_CHECKSUM)
        seek_table = table.to_bytes()
        if sys.byteorder == "big":
            entries.byteswap()
        dictionary = self.dictionary[0] if self.dictionary is not None else 0
        return fmt.index_frame(self.total, dictionary, entries.tobytes(), zlib.crc32(seek_table)) + seek_table


def load(source: Source) -> Layout:
    """
    Return the layout of a file: by its index if there is a sound one, else by walking over all headers.

    Raises RecordsError if it is no record file, or one of a newer version.
    """
    head = source.read_at(0, fmt.FILE_HEADER_SIZE)
    problems = _check_head(source, head)
    layout, why = from_index(source)
    if layout is None:
        layout = walked(source)
        if problems and not len(layout) and not layout.gaps:
            raise RecordsError(f"{source.name}: this is no record file: {problems[0]}")
    layout.problems += problems
    if why:
        layout.problems.append(why)
    return layout


def _check_head(source: Source, head: bytes) -> list[str]:
    if len(head) < fmt.FILE_HEADER_SIZE:
        if fmt.file_header().startswith(head):
            return []  # its writer was killed before it had written more
        return ["it does not begin with the header of one"]
    version = fmt.parse_file_header(head)
    if version is None:
        return ["its header is damaged" if head[8:12] == fmt.FILE else "it does not begin with the header of one"]
    if version > fmt.VERSION:
        raise RecordsError(f"{source.name}: version {version} of the format; this package reads {fmt.VERSION}")
    return []


def from_index(source: Source) -> tuple[Layout | None, str]:
    """Return the layout that the index tells, or None and what is wrong with the index ("" if there is none)."""
    try:
        tail = Tail(source)
        table = read_seek_table(tail)
    except SeekableFormatError as exc:
        return None, "" if "no seek table" in str(exc) else str(exc)
    if not len(table):
        return None, "the seek table is empty"
    offset, size, _, content, _ = table.frame(len(table) - 1)
    tail.seek(offset)
    data = tail.read(tail.seek(0, 2) - tail.seek(offset))
    index = fmt.parse_index_frame(data[:size])
    if index is None or content:
        return None, "the index in front of the seek table is damaged"
    if zlib.crc32(data[size:]) != index.table_crc:
        return None, "the seek table is not the one that the index belongs to"
    return _from_table(table, index, offset)


def _from_table(table: SeekTable, index: fmt.Index, end: int) -> tuple[Layout | None, str]:
    layout = Layout()
    layout.indexed = True
    entries = array("I", index.entries)
    if sys.byteorder == "big":
        entries.byteswap()
    used = 0
    covered = first = 0
    for number in range(len(table) - 1):
        offset, compressed, _, decompressed, checksum = table.frame(number)
        if not decompressed:
            continue
        if used + 2 > len(entries):
            return None, "the seek table has more frames than the index"
        records, lost = entries[used], entries[used + 1]
        used += 2
        if not 0 < records <= decompressed:
            return None, f"the index has a frame with {records} records in {decompressed} bytes"
        if lost:
            layout.gaps.append(Gap(covered, offset - fmt.DATA_HEADER_SIZE, first, lost, MARKED, known=True))
            first += lost
        layout.add(Frame(offset, compressed, decompressed, records, first, checksum or 0))
        covered, first = layout.end, layout.total
    if used != len(entries):
        return None, "the index has more frames than the seek table"
    if index.total > first:
        layout.gaps.append(Gap(covered, end, first, index.total - first, MARKED, known=True))
        layout.total = index.total
    layout.end = end
    if index.dictionary:
        for number in range(len(table)):
            offset, size, _, _, _ = table.frame(number)
            if offset == index.dictionary:
                layout.dictionary = (offset, size)
                break
            if offset > index.dictionary:
                return None, "the index names a dictionary that is not there"
    return layout, ""


def find_dictionary(source: Source) -> tuple[int, int] | None:
    """Return where the dictionary of a file without index is, if it stands in front of the records."""
    head = source.read_at(fmt.FILE_HEADER_SIZE, fmt.PREFIX.size)
    other = fmt.parse_skippable(head)
    return (fmt.FILE_HEADER_SIZE, other[0]) if other is not None and other[1] == fmt.DICTIONARY else None


def walked(source: Source) -> Layout:
    """Return the layout that the headers of the whole file tell."""
    layout = Layout()
    extend(layout, source)
    return layout


def extend(layout: Layout, source: Source) -> None:
    """Add what stands behind `layout.end`: the frames that were written since the layout was made."""
    walk = Walk(source, layout.end, source.size(), layout.total)
    for piece in walk:
        if isinstance(piece, Frame):
            layout.add(piece)
        elif isinstance(piece, Gap):
            layout.gaps.append(piece)
            layout.end = piece.end
            layout.total = piece.first + piece.records
        else:
            kind, offset, length = piece
            if kind == fmt.DICTIONARY and layout.dictionary is None:
                layout.dictionary = (offset, length)
            if kind in (fmt.FILE, fmt.DICTIONARY):
                layout.end = offset + length
    layout.torn = walk.torn


class Other(NamedTuple):
    """A skippable frame that holds no records."""

    kind: bytes
    offset: int
    size: int


class Walk:
    """
    Go over `source[start:end]` from header to header; yield frames, gaps and other skippable frames in order.

    A frame whose header is in front of `end` belongs to the stretch, also if it ends behind it. `first` is the number
    of the record that comes first, None where that is not known: the walk then begins at the first sound header.
    `torn` is, in the end, how many bytes at the end of the file are of a frame that was never finished.

    Headers tell their own positions and numbers. A file header in the middle (several files were joined) starts
    both anew; and where bytes were lost or came in between, positions have moved from there on.
    """

    def __init__(self, source: Source, start: int, end: int, first: int | None) -> None:
        self._source = source
        self._at = start
        self._end = end
        self._size = source.size()
        self._next = first
        self._moved = 0  # how far frames are behind the positions that their headers tell
        self._base = 0  # what is added to the numbers that headers tell
        self._patience = self._size  # how many bytes to look at in all for something better than a moved header
        self._last: tuple[fmt.DataHeader, int] | None = None  # of the frame that came last, and where it is
        self._rejected = False  # whether the last search has passed over sound headers
        self.torn = 0

    def __iter__(self) -> Iterator[Frame | Gap | Other]:
        if self._next is None:
            found = self._search(self._at, self._end, 0)
            if found is None:
                return
            self._at, header = found
            self._next = header.first
        while self._at < self._end:
            piece = self._step(self._next)
            if piece is None:
                return
            yield piece

    def _step(self, following: int) -> Frame | Gap | Other | None:
        at = self._at
        head = self._source.read_at(at, fmt.DATA_HEADER_SIZE)
        header = fmt.parse_data_header(head)
        if header is not None and header.offset + self._moved == at and self._base + header.first >= following:
            end = at + fmt.DATA_HEADER_SIZE + header.compressed
            first = self._base + header.first
            if end > self._size:
                return self._torn(at, following, first + header.records)
            if not header.lost and first > following:
                self._next = first
                return Gap(at, at, following, first - following, "the frame in front of this one is missing")
            self._at, self._next = end, first + header.records
            if header.lost:
                return Gap(at, end, following, self._next - following, MARKED, known=True)
            self._last = header, at
            frame = Frame(at, header.compressed, header.decompressed, header.records, first, header.checksum)
            return frame._replace(offset=at + fmt.DATA_HEADER_SIZE)
        if header is None and (other := fmt.parse_skippable(head)) is not None:
            size, kind = other
            if at + size <= self._size and (not kind or self._is_sound(at, size, kind)):
                self._at = at + size
                if kind == fmt.FILE:
                    self._moved, self._base = at, following
                return Other(kind, at, size)
        return self._damaged(at, following)

    def _is_sound(self, at: int, size: int, kind: bytes) -> bool:
        """Tell whether a frame of our own is as it was written."""
        if kind not in (fmt.FILE, fmt.DICTIONARY, fmt.INDEX) or size < fmt.PREFIX.size:
            return False  # a header in front of records, and a damaged one
        prefix = self._source.read_at(at, fmt.PREFIX.size)
        if len(prefix) < fmt.PREFIX.size:
            return False  # a writer that appends has cut it away meanwhile
        expected: int = fmt.PREFIX.unpack(prefix)[3]
        crc = zlib.crc32(kind)
        for start in range(at + fmt.PREFIX.size, at + size, _SEARCH_PIECE_MAX):
            crc = zlib.crc32(self._source.read_at(start, min(_SEARCH_PIECE_MAX, at + size - start)), crc)
        return crc == expected

    def _torn(self, at: int, following: int, after: int) -> Gap | None:
        """
        Deal with a sound header whose frame would end behind the file.

        It was never finished, unless bytes were lost from the middle of it: then the next header follows.
        """
        found = self._search(at + 1, self._size, after, exactly=True)
        if found is not None:
            return self._continue(found, at, following)
        self.torn = self._size - at
        self._at = self._size
        return None

    def _damaged(self, at: int, following: int) -> Frame | Gap | Other | None:
        """Find out where sound frames go on behind `at`, where there is none."""
        start = at
        if self._last is not None and not self._is_plausible(*self._last):
            start = self._last[1] + fmt.DATA_HEADER_SIZE  # bytes of that frame are lost: it has not ended here
        found = self._search(start, self._size, following)
        if found is not None:
            if found[0] == at and found[1].offset + self._moved == at:
                return self._step(following)  # a writer has put it there meanwhile, in the place of its index
            return self._continue(found, at, following)
        self._at = self._size
        if not self._rejected:
            self.torn = self._size - at
            return None
        # somebody's frames: they are no torn tail that could be cut off
        return Gap(at, self._size, following, 0, "headers of frames that do not continue the file")

    def _is_plausible(self, header: fmt.DataHeader, at: int) -> bool:
        """Tell whether the checksum of a header stands at the end of the frame behind it."""
        end = at + fmt.DATA_HEADER_SIZE + header.compressed
        return int.from_bytes(self._source.read_at(end - 4, 4), "little") == header.checksum

    def _continue(self, found: tuple[int, fmt.DataHeader], at: int, following: int) -> Gap:
        """Go on at a header that was found, behind a gap."""
        self._at, header = found
        self._moved = self._at - header.offset
        self._next = self._base + header.first
        reason = "a header is damaged, or what stands behind it"
        return Gap(min(at, self._at), self._at, following, self._next - following, reason)

    def _search(
        self, start: int, end: int, following: int, *, exactly: bool = False
    ) -> tuple[int, fmt.DataHeader] | None:
        """
        Return the position of the next sound header in front of `end`, and the header itself.

        Its records have number `following` or, unless `exactly` that is asked for, a higher one. A header that says
        itself that it is there goes before others, which may be part of somebody's records. Others are taken where
        bytes were lost, so that all that follows has moved.
        """
        moved: tuple[int, fmt.DataHeader] | None = None
        self._rejected = False
        for at, header in self._headers(start, end):
            if moved is not None and at - moved[0] > self._patience:
                break
            first = self._base + header.first
            if at + fmt.DATA_HEADER_SIZE + header.compressed > self._size:
                continue
            if first < following or (exactly and first > following):
                self._rejected = True
                continue
            if header.offset + self._moved == at:
                return at, header
            if moved is None:
                moved = at, header
        if moved is not None:
            self._patience -= min(self._size - moved[0], self._patience)
        return moved

    def _headers(self, start: int, end: int) -> Iterator[tuple[int, fmt.DataHeader]]:
        """Yield all sound headers that begin in `source[start:end]`."""
        overlap = fmt.DATA_HEADER_SIZE - 1
        piece = _SEARCH_PIECE_MIN
        while start < end:
            data = self._source.read_at(start, min(piece, end - start + overlap))
            for match in _HEADER_KINDS.finditer(data, _KIND_AT):
                header = fmt.parse_data_header(data, match.start() - _KIND_AT)
                if header is not None:
                    yield start + match.start() - _KIND_AT, header
            if len(data) <= overlap:
                return
            start += len(data) - overlap
            piece = min(2 * piece, _SEARCH_PIECE_MAX)
