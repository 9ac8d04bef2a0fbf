# SPDX-License-Identifier: Apache-2.0
"""
Walking over a record file from header to header, past damage and beside a writer.

This is how a file without a sound index is read: its writer is at work or was killed. At each position the walk
expects the header of the next frame. A header is the file's if it is sound, has the file's token and has its own
offset; it is next if its first record has the number that follows, or a higher one. There are five cases:

1. A header that is next, of a frame or of records that were lost: records with numbers in between are lost as well.
2. Another skippable frame that is sound (dictionary, index, seek table, somebody's own): the walk passes over it.
3. The header of another file: files were joined by other means than `records.join`. The walk ends with an error.
4. A header that is next, whose frame would end beyond the file: the frame is torn, its writer never finished it.
5. Anything else is damage. The walk searches for a header that is next, and continues there; what is in between is a
   gap. Headers in records are not the file's: they have another token, or another offset.

Where bytes were lost or added, all headers after that place have moved. So a search accepts a header with another
offset if it finds none with its own up to the end of the file, and the walk then expects headers that have moved as
far. Case 4 searches as well: the next header after a torn frame shows that bytes were lost from the middle of it.

A writer may be at work meanwhile. It cuts the index off and puts frames there, and it never changes a frame that is
whole. So before the walk reports damage, it looks once more after the last whole frame.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from typing import Final, NamedTuple

from cpkg.records import format as fmt
from cpkg.records.errors import joined
from cpkg.records.layout import MARKED, Frame, Gap
from cpkg.records.positions import Source

_SEARCH_PIECE_MIN: Final = 1 << 12
_SEARCH_PIECE_MAX: Final = 1 << 20
_KIND_AT: Final = 8
_KINDS: Final = re.compile(b"|".join((fmt.DATA, fmt.LOST, fmt.FILE)))


class Other(NamedTuple):
    """A skippable frame that holds no records."""

    kind: bytes
    offset: int
    size: int


class Walk:
    """
    Iterate over the frames, gaps and other skippable frames of `source[start:end]`, in order.

    `following` is the number that the next record should have, `token` the file's; b"" takes the token of the first
    header with its own offset. After the walk `torn` is the number of bytes at the end of the file that are of a frame
    that was never finished, and `foreign` the offset of a file header in these bytes, or 0. Raises RecordsError where
    another file was joined.
    """

    def __init__(self, source: Source, start: int, following: int, token: bytes, end: int | None = None) -> None:
        self.token = token
        self.dictionary = 0
        """The offset of the dictionary, by the header of the last frame."""
        self.torn = 0
        self.foreign = 0
        self._source = source
        self._size = source.size()
        self._end = self._size if end is None else end
        self._at = start
        self._following = following
        self._stop = following  # what follows the last frame: at most LOST_MAX records are lost before the next one
        self._moved = 0  # by how much the place of a frame exceeds the offset in its header
        self._settled = start  # the end of the last frame that stays: where a writer puts the next one
        self._last: Frame | None = None
        self._patience = self._size  # how many bytes to search in all for something better than a moved header

    def __iter__(self) -> Iterator[Frame | Gap | Other]:
        while self._at < self._end:
            piece = self._step()
            if piece is None:
                return
            if not isinstance(piece, Other) or piece.kind in (fmt.FILE, fmt.DICTIONARY):
                self._settled = self._at
            yield piece

    def _step(self) -> Frame | Gap | Other | None:
        """Return the next piece and go past it; None at the torn end of the file."""
        at = self._at
        head = self._source.read_at(at, fmt.DATA_HEADER_SIZE)
        header = fmt.parse_data_header(head, self.token)
        if header is not None and self._is_next(header, at):
            return self._frame(header)
        if header is None and (other := fmt.parse_skippable(head)) is not None:
            size, kind = other
            if at + size <= self._size and (not kind or self._is_sound(at, size, kind)):
                if kind == fmt.FILE:
                    if at:
                        raise joined(self._source.name, at)
                    begun = fmt.parse_file_header(head)
                    self.token = begun[1] if begun is not None else self.token
                self._at = at + size
                return Other(kind, at, size)
        return self._damage()

    def _is_next(self, header: fmt.DataHeader, at: int) -> bool:
        """Return whether a header at `at` has its own offset, and a number that follows or that the index can have."""
        return header.offset + self._moved == at and self._can_follow(header, self._following)

    def _can_follow(self, header: fmt.DataHeader, following: int) -> bool:
        """Return whether a header has the number `following` or a higher one, and not too many records are lost."""
        stop = header.first + header.records if header.lost else header.first
        return following <= header.first and stop - self._stop <= fmt.LOST_MAX

    def _frame(self, header: fmt.DataHeader) -> Frame | Gap | Other | None:
        """Return the frame of the header at the current position."""
        at, following = self._at, self._following
        begin = at + fmt.DATA_HEADER_SIZE
        end = begin + header.compressed
        self.token = header.token
        # the file may be shorter than it was at first: cut by a writer that has not written this frame to its end
        if end > min(self._size, self._source.size()):
            return self._torn(header, end)
        if header.lost:
            self._at, self._following = end, header.first + header.records
            return Gap(at, end, following, self._following - following, MARKED, known=True)
        if header.first > following:
            self._following = header.first
            return Gap(at, at, following, header.first - following, "the frame in front of this one is missing")
        self._at = end
        self._following = self._stop = header.first + header.records
        self.dictionary = header.dictionary
        size, records = header.decompressed, header.records
        self._last = Frame(begin, header.compressed, size, records, header.first, header.checksum)
        return self._last

    def _torn(self, header: fmt.DataHeader, end: int) -> Frame | Gap | Other | None:
        """Deal with a frame that would end beyond the file."""
        found, foreign = self._search(self._at + 1, header.first + header.records, is_exact=True)
        if found is None:
            self.torn, self.foreign = self._size - self._at, foreign
            return None
        if found[0] == end:  # a writer has finished this frame meanwhile, and the next one
            return self._step()
        return self._continue(found)

    def _damage(self) -> Gap | Frame | Other | None:
        """Find the next frame where there is damage."""
        at, start = self._at, self._settled
        if self._last is not None and not self._is_whole(self._last):
            start = self._last.offset  # bytes of that frame are lost: it has not ended here
        found, foreign = self._search(start, self._following)
        if found is not None:
            # One read can return a part of the index, and a later frame that a writer has put after it meanwhile. So
            # the walk looks for the frame in front of that.
            header = fmt.parse_data_header(self._source.read_at(self._settled, fmt.DATA_HEADER_SIZE), self.token)
            if header is not None and self._is_next(header, self._settled):
                self._at = self._settled
                return self._step()
            return self._continue(found)
        self._at = self._size
        if not foreign:
            self.torn = self._size - at
            return None
        # somebody's frames are not a torn tail, which the next writer would cut off
        reason = f"no frame of this file, but the header of another file or frame at byte {foreign}"
        return Gap(at, self._size, self._following, 0, reason)

    def _continue(self, found: tuple[int, fmt.DataHeader]) -> Gap:
        """Go to a header that a search has found; return the gap in front of it."""
        at, following = self._at, self._following
        self._at, header = found
        self.token = header.token
        self._moved = self._at - header.offset
        self._following = header.first
        reason = "a header is damaged, or the bytes that follow it"
        return Gap(min(at, self._at), self._at, following, header.first - following, reason)

    def _is_whole(self, frame: Frame) -> bool:
        """Return whether a frame ends with the checksum that its header has."""
        return self._source.read_at(frame.offset + frame.compressed - 4, 4) == frame.checksum.to_bytes(4, "little")

    def _is_sound(self, at: int, size: int, kind: bytes) -> bool:
        """Return whether a skippable frame of the format, which is not the header of a frame, is as it was written."""
        if kind not in (fmt.FILE, fmt.DICTIONARY, fmt.INDEX) or size < fmt.PREFIX.size:
            return False
        prefix = self._source.read_at(at, fmt.PREFIX.size)
        if len(prefix) < fmt.PREFIX.size:
            return False  # a writer that appends has cut it away meanwhile
        expected: int = fmt.PREFIX.unpack(prefix)[3]
        crc = zlib.crc32(kind)
        for start in range(at + fmt.PREFIX.size, at + size, _SEARCH_PIECE_MAX):
            crc = zlib.crc32(self._source.read_at(start, min(_SEARCH_PIECE_MAX, at + size - start)), crc)
        return crc == expected

    def _search(
        self, start: int, following: int, *, is_exact: bool = False
    ) -> tuple[tuple[int, fmt.DataHeader] | None, int]:
        """
        Return where the next header of the file is, and the header; and where the first other header is, or 0.

        Its first record has number `following` or, unless `is_exact`, a higher one.
        """
        moved: tuple[int, fmt.DataHeader] | None = None
        foreign = 0
        for at, header in self._headers(start):
            if moved is not None and at - moved[0] > self._patience:
                break
            if header is None or self.token not in (b"", header.token):
                foreign = foreign or at
            elif at + fmt.DATA_HEADER_SIZE + header.compressed > self._size:
                continue
            elif not self._can_follow(header, following) or (is_exact and header.first > following):
                foreign = foreign or at
            elif header.offset + self._moved == at:
                return (at, header), foreign
            elif not self.token:
                foreign = foreign or at
            elif moved is None:
                moved = at, header
        if moved is not None:
            self._patience -= min(self._size - moved[0], self._patience)
        return moved, foreign

    def _headers(self, start: int) -> Iterator[tuple[int, fmt.DataHeader | None]]:
        """Yield the sound headers of frames of any file from `start` on, and None for the header of another file."""
        overlap = fmt.DATA_HEADER_SIZE - 1
        piece = _SEARCH_PIECE_MIN
        while start < self._size:
            data = self._source.read_at(start, min(piece, self._size - start + overlap))
            last = min(len(data), self._size - start)
            for match in _KINDS.finditer(data, _KIND_AT):
                at = match.start() - _KIND_AT
                if at >= last:
                    break
                if match.group() == fmt.FILE:
                    if start + at and fmt.parse_file_header(data, at) is not None:
                        yield start + at, None
                elif (header := fmt.parse_data_header(data, at=at)) is not None:
                    yield start + at, header
            if len(data) <= overlap:
                return
            start += len(data) - overlap
            piece = min(2 * piece, _SEARCH_PIECE_MAX)
