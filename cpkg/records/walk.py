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
from contextlib import suppress
from typing import Final, NamedTuple

from cpkg import zstd
from cpkg.records import format as fmt
from cpkg.records.decoding import read_dictionary
from cpkg.records.errors import RecordsError
from cpkg.records.layout import MARKED, Frame, Gap
from cpkg.records.positions import Source
from cpkg.records.sources import Stretch, Tail
from purepy.base.errors import SeekableFormatError, ZstdError
from purepy.zstd.format.rules import CHECKSUM_FLAG, MAGIC
from purepy.zstd.format.scanner import frame_extent
from purepy.zstd.seekable.table import read_seek_table

_SEARCH_PIECE_MIN: Final = 1 << 12
_SEARCH_PIECE_MAX: Final = 1 << 20
_KIND_AT: Final = 8
_LOOK_BACK_MAX: Final = 64 << 20
"""So far in front of a stretch the frame is looked for that goes on in it."""
_BLOCKS_MAX: Final = 1 << 20
"""So many blocks are looked at to find the end of a frame whose header is damaged."""
_NOWHERE: Final = range(0)
_DICTIONARY_CONTENT: Final = fmt.PREFIX.size + 8
_FRAME_CONTENT: Final = 9
_FILE_CONTENT: Final = fmt.FILE_HEADER_SIZES[0] + _DICTIONARY_CONTENT
"""
So far behind the beginning of a dictionary's frame, of a Zstandard frame and of a record file bytes of a record may be.
"""
_KIND_END: Final = fmt.PREFIX.size - 4
_TOKEN_IN_INDEX: Final = 40
_REASON: Final = "a header is damaged, or what stands behind it"
_HEADER_KINDS: Final = re.compile(b"|".join((fmt.DATA, fmt.LOST, fmt.FILE)))


class Other(NamedTuple):
    """A skippable frame that holds no records."""

    kind: bytes
    offset: int
    size: int


class Joint(NamedTuple):
    """
    The place where a search came upon the header of a record file.

    `doubt` is None where another file was joined. Else it is where a frame begins that is damaged and was never
    finished, so that the header may be part of a record in it.
    """

    offset: int
    doubt: int | None = None


class Walk:
    """
    Go over `source[start:end]` from header to header; yield frames, gaps and other skippable frames in order.

    A frame whose header is in front of `end` belongs to the stretch, also if it ends behind it. `first` is the number
    of the record that comes first, None where that is not known: the walk then begins at the first sound header.
    Headers of the file with the `token` alone count; None takes the token of the first sound header that is in its
    place. In the end, `torn` is how many bytes at the end of the file are of a frame that was never finished, `inner`
    where the header of a record file is in them, and `joined` where another record file follows, which ends the walk.

    Headers say their own positions and numbers. Where bytes were lost or came in between, positions have moved.

    A writer may be at work meanwhile: it cuts the index off and puts frames in its place, while frames stay as they
    are. What looks like damage is therefore looked at again from behind the last frame on.
    """

    def __init__(self, source: Source, start: int, end: int, first: int | None, token: bytes | None) -> None:
        self.token = token
        self._source = source
        self._is_probe = False  # whether to end at any damage
        self._at = start
        self._behind = start  # the last frame or what else stays: where a writer puts the next one
        self._end = end
        self._size = source.size()
        self._next = first
        self._moved = 0  # how far frames are behind the positions in their headers
        self._patience = self._size  # how many bytes to look at in all for something better than a moved header
        self._last: tuple[fmt.DataHeader, int] | None = None  # of the frame that came last, and where it is
        self._rejected = False  # whether the last search has passed over sound headers
        self._other_file: int | None = None  # where the last search has come upon the header of a file
        self._is_closed = False  # whether the index came behind the last frame
        self.dictionary = 0
        """Where the dictionary is, by the header of the frame that came last."""
        self.torn = 0
        self.inner: int | None = None
        self.joined: Joint | None = None

    def __iter__(self) -> Iterator[Frame | Gap | Other]:
        if self._next is None:
            found = self._search(self._at, self._end, 0)
            if found is None or self._is_in_a_record(*found):
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

    def _is_in_a_record(self, at: int, header: fmt.DataHeader) -> bool:
        """Return whether the first header of a stretch is a copy, in a record of a frame that begins in front of it."""
        end = self._at
        while header.offset != at and end > max(self._at - _LOOK_BACK_MAX, 0):
            start = max(end - _SEARCH_PIECE_MAX, 0)
            found = [(place, one) for place, one in self._headers(start, end) if one and one.token == self.token]
            own = [(place, one) for place, one in found if one.offset == place]
            if own:
                begin, last = own[-1]
                return at < begin + last.size + last.compressed and self._is_plausible(last, begin)
            end = start
        return False

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
            self._is_closed = False
            self.dictionary = header.dictionary
            frame = Frame(at, header.compressed, header.decompressed, header.records, first, header.checksum)
            return frame._replace(offset=at + header.size)
        if header is None and (other := fmt.parse_skippable(head)) is not None:
            size, kind = other
            if at + size <= self._size and (not kind or self._is_sound(at, size, kind)):
                if kind == fmt.FILE and at:
                    is_cut = self._last is not None and not self._is_plausible(*self._last)
                    is_doubtful = is_cut and not self._is_probe and not self._is_whole_to_the_end(at)
                    self.joined = Joint(at, self._last[1] if self._last is not None and is_doubtful else None)
                    return None
                begun = fmt.parse_file_header(head) if kind == fmt.FILE else None
                if begun is not None:
                    self.token = begun[1]
                self._at = at + size
                self._is_closed = self._is_closed or kind == fmt.INDEX
                return Other(kind, at, size)
        return self._damaged(at, following)

    def _continues(self, header: fmt.DataHeader, at: int, following: int) -> bool:
        """
        Return whether a header at `at` is where it says, and its records are those that follow, or later ones.

        The index could not say that more are lost in one place.
        """
        return header.offset + self._moved == at and 0 <= header.first - following <= fmt.LOST_MAX

    def _is_sound(self, at: int, size: int, kind: bytes) -> bool:
        """Return whether a frame of our own is as it was written."""
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
        found = None if self._is_probe else self._search(at + 1, self._size, after, exactly=True)
        if found is not None:
            if found[0] == end:
                return self._step(following)  # a writer has finished it meanwhile, and the next one, too
            return self._continue(found, at, following)
        inner = self._other_file
        if inner is not None:
            begin = at + fmt.data_header_size(self.token or fmt.NO_TOKEN)
            size = min(self._size, self._source.size())
            is_file = inner < begin + _FRAME_CONTENT
            if is_file or self._blocks(begin)[0] < size:
                self._at = inner
                self.joined = Joint(inner, None if is_file else at)
                return Gap(at, inner, following, 0, _REASON)
        self.inner = inner
        self.torn = self._size - at
        self._at = self._size
        return None

    def _damaged(self, at: int, following: int) -> Frame | Gap | Other | None:
        """Find out where sound frames go on behind `at`, where there is none."""
        if self._is_probe:
            self.torn = self._size - at
            return None
        start = self._behind
        if self._last is not None and not self._is_plausible(*self._last):
            start = self._last[1] + self._last[0].size  # bytes of that frame are lost: it has not ended here
        frames, partial = self._hidden(at)
        whole = range(frames[0].start, frames[-1].stop) if frames else _NOWHERE
        found = self._search(start, self._size, following, whole=whole, partial=partial)
        if found is not None:
            # A writer may have put frames there meanwhile, in the place of its index. One read can give a part of that
            # and a later frame behind it: so it is the frame in front that is looked for, once more.
            header = fmt.parse_data_header(self._source.read_at(self._behind, fmt.DATA_HEADER_SIZE), self.token)
            if header is not None and self._continues(header, self._behind, following):
                self._at = self._behind
                return self._step(following)
            return self._continue(found, at, following)
        if self._other_file is not None:
            self._at = self._other_file
            self.joined = Joint(self._at, self._doubt(self._at, at, frames))
            return Gap(min(at, self._at), self._at, following, 0, _REASON)
        self._at = self._size
        if not self._rejected:
            self.torn = self._size - at
            return None
        # somebody's frames: they are no torn tail that could be cut off
        return Gap(at, self._size, following, 0, "headers of frames that do not continue the file")

    def _hidden(self, at: int) -> tuple[list[range], range]:
        """
        Return where frames are whose headers are damaged, the first of them at `at` or passed over in front of it.

        Those of the list are whole, one behind the other; the range is a frame behind them that is not whole, as far as
        its blocks go on.
        """
        frames: list[range] = []
        starts = (at,) if at else fmt.FILE_HEADER_SIZES  # a damaged header of the file
        sizes = (0, *(fmt.DATA_HEADER_SIZES if self.token is None else (fmt.data_header_size(self.token),)))
        left = _BLOCKS_MAX
        while True:
            for begin in (start + size for start in starts for size in sizes):
                end, is_whole, count = self._blocks(begin, left)
                left -= count
                if end > begin:
                    break
            else:
                return frames, _NOWHERE
            if not is_whole:
                return frames, range(begin, end)
            frames.append(range(begin, end))
            if fmt.parse_data_header(self._source.read_at(end, fmt.DATA_HEADER_SIZE), self.token) is not None:
                return frames, _NOWHERE  # the search finds it first, or all has moved
            starts = (end,)

    def _blocks(self, begin: int, count: int = _BLOCKS_MAX) -> tuple[int, bool, int]:
        """
        Return how far the blocks of a Zstandard frame go, whether it is whole, and how many of them were looked at.

        It is whole if it ends where the file does, or in front of a skippable frame. At most `count` blocks count.
        """
        reached, looked = begin, 0
        if self._source.read_at(begin, 4) != MAGIC:
            return reached, False, looked

        def read(size: int, offset: int) -> bytes:
            nonlocal reached, looked
            looked += 1
            data = b"" if looked > count else self._source.read_at(offset, size)
            reached = offset if len(data) == size or looked > count else offset + size
            return data

        with suppress(ZstdError):
            extent = frame_extent(read, begin, fmt.COMPRESSED_MAX)
            if extent is not None:
                reached = begin + extent[0]
                follows = fmt.parse_skippable(self._source.read_at(reached, fmt.PREFIX.size)) is not None
                return reached, follows or reached == self._size, looked
        return reached, False, looked

    def _doubt(self, place: int, at: int, frames: list[range]) -> int | None:
        """
        Return None if the header of a file at `place` begins another one, whatever bytes have changed in front of it.

        Else return where what is damaged begins that may hold it: a frame, or another file. What cannot be read is from
        `at` on; the blocks of `frames` there are whole.
        """
        if self._last is not None and not self._is_plausible(*self._last):
            header, begin = self._last
            content = begin + header.size
            end = content + header.compressed
            if place < end:
                is_file = place < content + _FRAME_CONTENT or self._is_whole_to_the_end(place, end)
                return None if is_file else begin
        begin = frames[-1].stop if frames else self._behind or fmt.FILE_HEADER_SIZES[0]
        size, kind = fmt.parse_skippable(self._source.read_at(begin, fmt.PREFIX.size)) or (0, b"")
        content = _DICTIONARY_CONTENT
        if size in fmt.DATA_HEADER_SIZES and kind in (fmt.DATA, fmt.LOST):
            content = _KIND_END + _FILE_CONTENT
        elif size not in fmt.DATA_HEADER_SIZES and kind == fmt.INDEX:  # the writer was killed while it wrote the index
            token = self._source.read_at(begin + _TOKEN_IN_INDEX, fmt.TOKEN_SIZE)
            content = (_TOKEN_IN_INDEX + fmt.TOKEN_SIZE if token == self.token else _KIND_END) + _FILE_CONTENT
        is_behind = place < begin + content and all(map(self._is_sound_frame, frames))
        is_ended = self._has_table(place) or (self._is_closed and self._is_behind_table(place, at))
        return None if is_behind or is_ended else begin

    def _is_behind_table(self, place: int, at: int) -> bool:
        """Return whether what is left of a damaged seek table at `at` shows that it ends at `place`."""
        size = int.from_bytes(self._source.read_at(at + 4, 4), "little")
        count = int.from_bytes(self._source.read_at(place - 9, 4), "little")
        return place < at + _FILE_CONTENT or place - at in (8 + size, 17 + 12 * count)

    def _is_sound_frame(self, place: range) -> bool:
        """Return whether a Zstandard frame has the content that its checksum is of."""
        data = self._source.read_at(place.start, len(place))
        try:
            info = zstd.get_frame_info(data)
            dictionary = read_dictionary(self._source, self.dictionary) if info.dictionary_id else None
            zstd.decompress(data, zstd_dict=dictionary, max_output_size=fmt.CONTENT_MAX)
        except (ZstdError, RecordsError):
            return False
        return bool(data[len(MAGIC)] & CHECKSUM_FLAG)

    def _is_whole_to_the_end(self, start: int, beyond: int = 0) -> bool:
        """
        Return whether from the header of a file at `start` on one thing follows the other to the end, undamaged.

        The file itself has to end behind `beyond`; others may follow.
        """
        while True:
            part = Stretch(self._source, start, self._size)
            walk = Walk(part, 0, part.size(), 0, None)
            walk._is_probe = True
            if any(isinstance(piece, Gap) and not piece.known for piece in walk) or walk.torn:
                return False
            if walk.joined is None:
                return walk._last is None or walk._is_plausible(*walk._last)
            start += walk.joined.offset
            if start <= beyond:
                return False
            beyond = 0

    def _has_table(self, end: int) -> bool:
        """Return whether the seek table of this file ends there, so that no frame goes on behind it."""
        try:
            table = read_seek_table(Tail(Stretch(self._source, 0, end)))
        except SeekableFormatError:
            return False
        if not len(table):
            return False
        offset, size, _, _, _ = table.frame(len(table) - 1)
        index = fmt.parse_index_frame(self._source.read_at(offset, size))
        if index is not None:
            return index.token == self.token
        if self._last is None:
            return False
        header, at = self._last
        own = at + header.size, header.compressed, header.checksum
        entries = (table.frame(number) for number in range(len(table)))
        return any((offset, size, checksum) == own for offset, size, _, _, checksum in entries)

    def _is_plausible(self, header: fmt.DataHeader, at: int) -> bool:
        """Return whether the frame behind a header ends with the checksum that the header has."""
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
        self,
        start: int,
        end: int,
        following: int,
        *,
        exactly: bool = False,
        whole: range = _NOWHERE,
        partial: range = _NOWHERE,
    ) -> tuple[int, fmt.DataHeader] | None:
        """
        Return the position of the next sound header in front of `end`, and the header itself.

        Its records have number `following` or, unless `exactly` that is asked for, a higher one. A header that says
        itself that it is there goes before others, which may be part of somebody's records. Others are taken where
        bytes were lost, so that all that follows has moved; but not in frames that show by their blocks that they are
        in their places, `whole` ones and a `partial` one. Where a record file begins behind the damage, not in a whole
        frame, and no header in its place comes after that, what follows is of that file: `_other_file`.
        """
        moved: tuple[int, fmt.DataHeader] | None = None
        self._rejected = False
        self._other_file = None
        for at, header in self._headers(start, end):
            if moved is not None and at - moved[0] > self._patience:
                break
            is_in_place = header is not None and header.offset + self._moved == at
            if at in whole and (self.token is None or not is_in_place):
                continue
            if header is None:
                if moved is None and self._other_file is None:
                    self._other_file = at
                continue
            if self.token not in (None, header.token):
                self._rejected = True
                continue
            if at + header.size + header.compressed > self._size:
                continue
            if not 0 <= header.first - following <= (0 if exactly else fmt.LOST_MAX):
                self._rejected = True
                continue
            if is_in_place:
                return at, header
            if self.token is None or at in partial:
                self._rejected = True
            elif moved is None and self._other_file is None:
                moved = at, header
        if moved is not None:
            self._patience -= min(self._size - moved[0], self._patience)
        return moved

    def _headers(self, start: int, end: int) -> Iterator[tuple[int, fmt.DataHeader | None]]:
        """Yield the sound headers of any file in `source[start:end]`; None in the place of the header of a file."""
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
                header = fmt.parse_data_header(data, None, at)
                if header is not None:
                    yield start + at, header
            if len(data) <= overlap:
                return
            start += len(data) - overlap
            piece = min(2 * piece, _SEARCH_PIECE_MAX)
