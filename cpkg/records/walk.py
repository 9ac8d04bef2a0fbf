# SPDX-License-Identifier: Apache-2.0
"""
Walk over a record file from header to header, past damage and while a writer is at work.

A file is read in this way if it has no valid index, because its writer is at work or was killed. At each position, the
walk expects the header of the next frame. A header belongs to the file if it is valid, has the token of the file, and
is at the offset that it stores. It is a "next header" if the number of its first record is the expected one or higher.
There are five cases:

1. A next header, of a frame or of lost records: any records whose numbers were skipped are also lost.
2. Another valid skippable frame (dictionary, index, seek table, one of a later version of the format, or one of
   another program): the walk skips it.
3. The header of another file: files were concatenated without `records.join`. The walk ends with an error.
4. A next header whose frame would end after the end of the file: the frame is torn, because it was never finished.
5. Anything else is damage. The walk searches for a next header and continues there; the bytes in between are a gap.
   Headers inside record data do not belong to the file, because they have another token or offset.

If bytes were lost or inserted, all later headers have moved. So if a search finds no header at its stored offset (the
search may end before the end of the file), it accepts a header at another offset, and the walk then expects all headers
to have moved by the same distance. Case 4 also searches: if there is a next header after a torn frame, bytes inside
the frame were lost.

A writer may be at work meanwhile. It replaces the index by frames, and never changes a complete frame. So before the
walk reports damage, it looks once more after the last complete frame.
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
    """
    A skippable frame without records.

    `kind` has the four letters of a frame of the record format, and is b"" for any other frame, such as a seek table.
    """

    kind: bytes
    offset: int
    size: int


class Walk:
    """
    Iterates over the frames, gaps and other skippable frames of `source[start:end]`, in order.

    `following` is the expected number of the next record. `token` is the token of the file, or b"" to use the token of
    the file header or of the first frame header at its stored offset. After the walk, `torn` is the number of bytes at
    the end of the file that belong to an unfinished frame, and `foreign` is the offset in the file of a header of
    another file or frame among these bytes, or 0. Iterating raises RecordsError at a file appended without `join`.
    """

    def __init__(self, source: Source, start: int, following: int, token: bytes, end: int | None = None) -> None:
        self.token = token
        self.dictionary = 0
        """The offset of the dictionary according to the header of the last frame; 0 for none."""
        self.torn = 0
        self.foreign = 0
        self._source = source
        self._size = source.size()
        self._end = self._size if end is None else end
        self._at = start
        self._following = following
        self._stop = following  # the number after the last frame; at most LOST_MAX records are lost before the next one
        self._moved = 0  # the position of a frame minus the offset in its header
        self._settled = start  # the end of the last frame that stays, where a writer adds the next one
        self._last: Frame | None = None
        self._patience = self._size  # bytes that may be searched in total for something better than a moved header

    def __iter__(self) -> Iterator[Frame | Gap | Other]:
        while self._at < self._end:
            piece = self._step()
            if piece is None:
                return
            if not isinstance(piece, Other) or piece.kind in (fmt.FILE, fmt.DICTIONARY):
                self._settled = self._at
            yield piece

    def _step(self) -> Frame | Gap | Other | None:
        """Return the next piece and advance; None if the rest of the file is an unfinished frame."""
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
        """Return whether a header at `at` is the next one: its offset plus `_moved` is `at`, its number can follow."""
        return header.offset + self._moved == at and self._can_follow(header, self._following)

    def _can_follow(self, header: fmt.DataHeader, following: int) -> bool:
        """Return whether a header has the number `following` or a higher one, and not too many records are lost."""
        stop = header.first + header.records if header.lost else header.first
        return following <= header.first and stop - self._stop <= fmt.LOST_MAX

    def _frame(self, header: fmt.DataHeader) -> Frame | Gap | Other | None:
        """
        Return the frame, or the gap of lost records, that the header at the current position announces.

        If records between the previous frame and this one are missing, returns the gap before the frame; if the frame
        is torn, returns the result of `_torn`.
        """
        at, following = self._at, self._following
        begin = at + fmt.DATA_HEADER_SIZE
        end = begin + header.compressed
        self.token = header.token
        # the file may have become shorter: a writer cut it off and has not finished this frame yet
        if end > min(self._size, self._source.size()):
            return self._torn(header, end)
        if header.lost:
            self._at, self._following = end, header.first + header.records
            return Gap(at, end, following, self._following - following, MARKED, known=True)
        if header.first > following:
            self._following = header.first
            return Gap(at, at, following, header.first - following, "the frame before this one is missing")
        self._at = end
        self._following = self._stop = header.first + header.records
        self.dictionary = header.dictionary
        size, records = header.decompressed, header.records
        self._last = Frame(begin, header.compressed, size, records, header.first, header.checksum)
        return self._last

    def _torn(self, header: fmt.DataHeader, end: int) -> Frame | Gap | Other | None:
        """Search for the header after a frame that the file's end cuts off; return the next piece, None if torn."""
        found, foreign = self._search(self._at + 1, header.first + header.records, is_exact=True)
        if found is None:
            self.torn, self.foreign = self._size - self._at, foreign
            return None
        if found[0] == end:  # a writer has finished this frame and the next one meanwhile
            return self._step()
        return self._continue(found)

    def _damage(self) -> Gap | Frame | Other | None:
        """
        Search for the next header after damage, and return the gap before it.

        If a writer has added a frame meanwhile, returns that frame. If there is no next header, returns a gap up to the
        end of the file if the search found headers of other files or frames, otherwise None: the rest is a torn frame.
        """
        at, start = self._at, self._settled
        if self._last is not None and not self._is_whole(self._last):
            start = self._last.offset  # bytes of the last frame are lost, so it did not end here
        found, foreign = self._search(start, self._following)
        if found is not None:
            # One read may return a part of the old index, and after it a frame that a writer has just added. So look
            # for a frame at the place of the index.
            header = fmt.parse_data_header(self._source.read_at(self._settled, fmt.DATA_HEADER_SIZE), self.token)
            if header is not None and self._is_next(header, self._settled):
                self._at = self._settled
                return self._step()
            return self._continue(found)
        self._at = self._size
        if not foreign:
            self.torn = self._size - at
            return None
        # frames of another file are not a torn tail, which the next writer would cut off
        reason = f"expected a frame of this file, found the header of another file or frame at byte {foreign}"
        return Gap(at, self._size, self._following, 0, reason)

    def _continue(self, found: tuple[int, fmt.DataHeader]) -> Gap:
        """Continue at a header that a search found; return the gap before it."""
        at, following = self._at, self._following
        self._at, header = found
        self.token = header.token
        self._moved = self._at - header.offset
        self._following = header.first
        reason = "a header or the bytes after it are damaged"
        return Gap(min(at, self._at), self._at, following, header.first - following, reason)

    def _is_whole(self, frame: Frame) -> bool:
        """Return whether the last four bytes of a frame equal the checksum in its header."""
        return self._source.read_at(frame.offset + frame.compressed - 4, 4) == frame.checksum.to_bytes(4, "little")

    def _is_sound(self, at: int, size: int, kind: bytes) -> bool:
        """Return whether a skippable frame has the right CRC; False for a header of existing or lost records."""
        if kind in (fmt.DATA, fmt.LOST):
            return False
        prefix = self._source.read_at(at, fmt.PREFIX.size)
        if len(prefix) < fmt.PREFIX.size:
            return False  # a writer that appends has removed it meanwhile
        expected: int = fmt.PREFIX.unpack(prefix)[3]
        crc = zlib.crc32(kind)
        for start in range(at + fmt.PREFIX.size, at + size, _SEARCH_PIECE_MAX):
            crc = zlib.crc32(self._source.read_at(start, min(_SEARCH_PIECE_MAX, at + size - start)), crc)
        return crc == expected

    def _search(
        self, start: int, following: int, *, is_exact: bool = False
    ) -> tuple[tuple[int, fmt.DataHeader] | None, int]:
        """
        Find the next header that can continue this file, from `start` on.

        Return `(position, header)` or None, and the position of the first header that cannot continue this file (for
        example one of another file), or 0. The first record of the header has the number `following` or, unless
        `is_exact`, a higher one. A header at another offset than its stored one is returned only if no better is found.
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
        """Yield (position, header) of each valid header from `start` on, of any file; None stands for a file header."""
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
