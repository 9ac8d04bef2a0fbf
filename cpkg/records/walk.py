# SPDX-License-Identifier: Apache-2.0
"""
Walking over a record file from header to header, past damage and beside a writer.

This is how a file without a sound index is read: one whose writer is at work or was killed. Where a header is damaged,
the walk goes on at the next one that is sound.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from typing import Final, NamedTuple

from cpkg._places import Source
from cpkg.records import format as fmt
from cpkg.records.layout import MARKED, Frame, Gap

_SEARCH_PIECE_MIN: Final = 1 << 12
_SEARCH_PIECE_MAX: Final = 1 << 20
_KIND_AT: Final = 8
_REASON: Final = "a header is damaged, or what stands behind it"
_HEADER_KINDS: Final = re.compile(b"|".join((fmt.DATA, fmt.LOST, fmt.FILE)))


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
    Headers of the file with the `token` alone count; None takes the token of the first sound header that is in its
    place. In the end, `torn` is how many bytes at the end of the file are of a frame that was never finished, `joined`
    where the header of another record file follows, which ends the walk.

    Headers say their own positions and numbers. Where bytes were lost or came in between, positions have moved.

    A writer may be at work meanwhile: it cuts the index off and puts frames in its place, while frames stay as they
    are. What looks like damage is therefore looked at again from behind the last frame on.
    """

    def __init__(self, source: Source, start: int, end: int, first: int | None, token: bytes | None) -> None:
        self.token = token
        self._source = source
        self._at = start
        self._behind = start  # the last frame or what else stays: where a writer puts the next one
        self._end = end
        self._size = source.size()
        self._next = first
        self._moved = 0  # how far frames are behind the positions that their headers tell
        self._patience = self._size  # how many bytes to look at in all for something better than a moved header
        self._last: tuple[fmt.DataHeader, int] | None = None  # of the frame that came last, and where it is
        self._rejected = False  # whether the last search has passed over sound headers
        self._other_file: int | None = None  # where the last search has come upon the header of a file
        self.dictionary = 0
        """Where the dictionary is, by the header of the frame that came last."""
        self.torn = 0
        self.joined: int | None = None

    def __iter__(self) -> Iterator[Frame | Gap | Other]:
        if self._next is None:
            found = self._search(self._at, self._end, 0)
            if found is None:
                return
            self._at, header = found
            self._next = header.first
        while self._at < self._end and self.joined is None:
            piece = self._step(self._next)
            if piece is None:
                return
            if not isinstance(piece, Other) or piece.kind in (fmt.FILE, fmt.DICTIONARY):
                self._behind = self._at
            yield piece

    def _step(self, following: int) -> Frame | Gap | Other | None:
        at = self._at
        head = self._source.read_at(at, fmt.DATA_HEADER_SIZE)
        header = fmt.parse_data_header(head, self.token)
        if header is not None and self._continues(header, at, following):
            self.token = header.token
            end = at + header.size + header.compressed
            first = header.first
            # the file may be shorter than it was at first: cut by a writer that has not written this frame to its end
            if end > min(self._size, self._source.size()):
                return self._torn(at, end, following, first + header.records)
            if not header.lost and first > following:
                self._next = first
                return Gap(at, at, following, first - following, "the frame in front of this one is missing")
            self._at, self._next = end, first + header.records
            if header.lost:
                return Gap(at, end, following, self._next - following, MARKED, known=True)
            self._last = header, at
            self.dictionary = header.dictionary
            frame = Frame(at, header.compressed, header.decompressed, header.records, first, header.checksum)
            return frame._replace(offset=at + header.size)
        if header is None and (other := fmt.parse_skippable(head)) is not None:
            size, kind = other
            if at + size <= self._size and (not kind or self._is_sound(at, size, kind)):
                if kind == fmt.FILE and at:
                    self.joined = at
                    return None
                begun = fmt.parse_file_header(head) if kind == fmt.FILE else None
                if begun is not None:
                    self.token = begun[1]
                self._at = at + size
                return Other(kind, at, size)
        return self._damaged(at, following)

    def _continues(self, header: fmt.DataHeader, at: int, following: int) -> bool:
        """
        Return whether a header at `at` is where it says, and its records are those that follow, or later ones.

        The index could not say that more are lost in one place.
        """
        return header.offset + self._moved == at and 0 <= header.first - following <= fmt.LOST_MAX

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

    def _torn(self, at: int, end: int, following: int, after: int) -> Frame | Gap | Other | None:
        """
        Deal with a sound header whose frame would end at `end`, behind the file.

        It was never finished, unless bytes were lost from the middle of it: then the next header follows.
        """
        found = self._search(at + 1, self._size, after, exactly=True)
        if found is not None:
            if found[0] == end:
                return self._step(following)  # a writer has finished it meanwhile, and the next one, too
            return self._continue(found, at, following)
        self.torn = self._size - at
        self._at = self._size
        return None

    def _damaged(self, at: int, following: int) -> Frame | Gap | Other | None:
        """Find out where sound frames go on behind `at`, where there is none."""
        start = self._behind
        if self._last is not None and not self._is_plausible(*self._last):
            start = self._last[1] + self._last[0].size  # bytes of that frame are lost: it has not ended here
        found = self._search(start, self._size, following)
        if found is not None:
            # A writer may have put frames there meanwhile, in the place of its index. One read can give a part of that
            # and a later frame behind it: so it is the frame in front that is looked for, once more.
            header = fmt.parse_data_header(self._source.read_at(self._behind, fmt.DATA_HEADER_SIZE), self.token)
            if header is not None and self._continues(header, self._behind, following):
                self._at = self._behind
                return self._step(following)
            return self._continue(found, at, following)
        if self._other_file is not None:
            self._at = self.joined = self._other_file
            return Gap(min(at, self._at), self._at, following, 0, _REASON)
        self._at = self._size
        if not self._rejected:
            self.torn = self._size - at
            return None
        # somebody's frames: they are no torn tail that could be cut off
        return Gap(at, self._size, following, 0, "headers of frames that do not continue the file")

    def _is_plausible(self, header: fmt.DataHeader, at: int) -> bool:
        """Tell whether the checksum of a header stands at the end of the frame behind it."""
        end = at + header.size + header.compressed
        return int.from_bytes(self._source.read_at(end - 4, 4), "little") == header.checksum

    def _continue(self, found: tuple[int, fmt.DataHeader], at: int, following: int) -> Gap:
        """Go on at a header that was found, behind a gap."""
        self._at, header = found
        self.token = header.token
        self._moved = self._at - header.offset
        self._next = header.first
        return Gap(min(at, self._at), self._at, following, self._next - following, _REASON)

    def _search(
        self, start: int, end: int, following: int, *, exactly: bool = False
    ) -> tuple[int, fmt.DataHeader] | None:
        """
        Return the position of the next sound header in front of `end`, and the header itself.

        Its records have number `following` or, unless `exactly` that is asked for, a higher one. A header that says
        itself that it is there goes before others, which may be part of somebody's records. Others are taken where
        bytes were lost, so that all that follows has moved. But where a record file begins behind the damage, and no
        header in its place comes after that, what follows is of that file: `_other_file`.
        """
        moved: tuple[int, fmt.DataHeader] | None = None
        self._rejected = False
        self._other_file = None
        for at, header in self._headers(start, end):
            if moved is not None and at - moved[0] > self._patience:
                break
            if header is None:
                if moved is None and self._other_file is None:
                    self._other_file = at
                continue
            if at + header.size + header.compressed > self._size:
                continue
            if not 0 <= header.first - following <= (0 if exactly else fmt.LOST_MAX):
                self._rejected = True
                continue
            if header.offset + self._moved == at:
                return at, header
            if moved is None and self._other_file is None:
                moved = at, header
        if moved is not None:
            self._patience -= min(self._size - moved[0], self._patience)
        return moved

    def _headers(self, start: int, end: int) -> Iterator[tuple[int, fmt.DataHeader | None]]:
        """Yield all sound headers that begin in `source[start:end]`; None in the place of the header of a file."""
        overlap = fmt.DATA_HEADER_SIZE - 1
        piece = _SEARCH_PIECE_MIN
        while start < end:
            data = self._source.read_at(start, min(piece, end - start + overlap))
            last = min(len(data), end - start)
            for match in _HEADER_KINDS.finditer(data, _KIND_AT):
                at = match.start() - _KIND_AT
                if at >= last:
                    break
                if match.group() == fmt.FILE:
                    if start + at and fmt.parse_file_header(data, at) is not None:
                        yield start + at, None
                    continue
                header = fmt.parse_data_header(data, self.token, at)
                if header is not None:
                    yield start + at, header
            if len(data) <= overlap:
                return
            start += len(data) - overlap
            piece = min(2 * piece, _SEARCH_PIECE_MAX)
