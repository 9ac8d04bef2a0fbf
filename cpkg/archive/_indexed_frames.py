# SPDX-License-Identifier: Apache-2.0
"""Find frames by a seek table, so that only the needed frames are read."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Iterator, Sized
from typing import TYPE_CHECKING, NamedTuple

from purepy.base.descriptors import bytes_at
from purepy.base.errors import SeekableFormatError, Suppressed, ZstdError
from purepy.base.reading import read_full
from purepy.tar import members
from purepy.tar.members import Members
from purepy.zstd.format.header import read_header
from purepy.zstd.format.rules import HEADER_SIZE_MAX
from purepy.zstd.format.scanner import frame_extent
from purepy.zstd.format.splitter import WHOLE_CONTENT_MAX, WHOLE_SIZE_MAX, WholeFrame
from purepy.zstd.seekable.table import SeekTable, read_seek_table

if TYPE_CHECKING:
    from purepy.base.types import File


class IndexedFrame(NamedTuple):
    """A frame not yet read; `left_out` bytes of content between the previous IndexedFrame and this one are left out."""

    offset: int
    compressed_size: int
    size: int
    left_out: int
    is_continued: bool | None
    """Whether it begins inside an entry; None if unknown."""


class IndexedFrames:
    """
    Iterates over the frames with content; with `include`, only over those that may have wanted entries, and the last.

    The archive's list of members shows which frames these are; without a list, or if `include` may match anywhere, all
    frames are yielded. A frame that has no content according to the table is also yielded if its header disagrees. The
    table is only a hint: `agrees` compares it with the headers of all frames, and `check` looks at each frame that is
    skipped. `consumed` counts the compressed bytes of the frames yielded or left out so far and, at the end, of the
    table.
    """

    def __init__(self, file: File, table: SeekTable, include: list[str]) -> None:
        self._file = file
        self._table = table
        self._members = self._listed()
        chosen = self._members.frames_with(include) if include and self._members is not None else None
        self._chosen = chosen
        self.consumed = 0

    def _listed(self) -> Members | None:
        """Return the list of members; None if it is missing, too large, damaged, or for another number of frames."""
        offset, size, _, content, _ = self._table.frame(len(self._table) - 1)
        if content or size > members.SIZE_MAX:
            return None
        found = members.read(self._bytes(size, offset))
        count = sum(1 for index in range(len(self._table)) if self._table.frame(index)[3])
        return found if found is not None and len(found) == count else None

    @property
    def _is_local(self) -> bool:
        return isinstance(self._file, io.FileIO)

    def _read(self, size: int, offset: int) -> bytes:
        """Read up to `size` bytes at `offset`; other threads than the caller's must do this only for a local file."""
        if self._is_local:
            return bytes_at(self._file.fileno(), size, offset)
        self._file.seek(offset)
        return read_full(self._file, size)

    def _bytes(self, size: int, offset: int) -> bytes:
        found = self._read(size, offset)
        if len(found) < size:
            raise SeekableFormatError("the file became shorter while it was read")
        return found

    def __iter__(self) -> Iterator[IndexedFrame]:
        number = left_out = 0
        total = self._table.decompressed_size
        for index in range(len(self._table)):
            offset, compressed_size, position, size, _ = self._table.frame(index)
            self.consumed += compressed_size
            if not size:
                if not self._has_content(offset, compressed_size, 0):  # the frame may have content after all
                    yield IndexedFrame(offset, compressed_size, size, left_out, None)
                    left_out = 0
                continue
            is_needed = self._chosen is None or self._chosen[number] or position + size == total
            if is_needed:
                is_continued = None if self._members is None else self._members.is_continued(number)
                yield IndexedFrame(offset, compressed_size, size, left_out, is_continued)
            left_out = 0 if is_needed else left_out + size
            number += 1
        self.consumed += len(self._table.to_bytes())

    def _has_content(self, offset: int, compressed_size: int, content_size: int) -> bool:
        """
        Return whether the header at `offset` is that of a frame that declares `content_size`.

        A skippable frame counts as a frame without content, and must also have `compressed_size` bytes.
        """
        try:
            data = self._read(min(compressed_size, HEADER_SIZE_MAX), offset)
            header = read_header(data, 0, len(data), offset)
        except ZstdError:
            return False
        if isinstance(header, int) or header.content_size != content_size:
            return False
        return not header.is_skippable or header.size + header.skipped_size == compressed_size

    def agrees(self) -> bool:
        """Return whether the table agrees with the headers of all frames, as far as `_has_content` compares them."""
        frames = map(self._table.frame, range(len(self._table)))
        return all(self._has_content(offset, size, content) for offset, size, _, content, _ in frames)

    def check(self, stored: IndexedFrame) -> None:
        """
        Check a frame that is skipped; raises SeekableFormatError if the table is wrong about it.

        In a local file, this also checks where the blocks end, because another frame could follow.
        """
        offset, size, content = stored.offset, stored.compressed_size, stored.size
        try:
            if self._is_local:
                is_right = frame_extent(self._read, offset, 1 << 62) == (size, content)
            else:
                is_right = self._has_content(offset, size, content)
        except ZstdError:
            is_right = False
        if not is_right:
            raise self._wrong(stored, "its header has other sizes")

    def begin(self, stored: IndexedFrame) -> bytes | None:
        """Return the bytes of a frame if only the calling thread can read them; None if `inflate` can do so later."""
        return None if self._is_local else self._bytes(stored.compressed_size, stored.offset)

    def inflate(self, stored: IndexedFrame, data: bytes | None, inflate: Callable[[WholeFrame], Sized]) -> Sized:
        """
        Return the content of a frame, decompressed by the function `inflate`; called in threads.

        `data` has the bytes of the frame; if it is None, they are read here. Raises SeekableFormatError if the frame is
        damaged or does not agree with the table.
        """
        why = "it holds less"
        try:
            if data is None:
                data = self._bytes(stored.compressed_size, stored.offset)
            chunk = inflate(WholeFrame(data, stored.size, stored.size))
            if len(chunk) == stored.size:
                return chunk
        except ZstdError as exc:
            why = str(exc)
        raise self._wrong(stored, why)

    def _wrong(self, stored: IndexedFrame, why: str) -> SeekableFormatError:
        return SeekableFormatError(
            f"the file is damaged at byte {stored.offset:,}, or its seek table is wrong: "
            f"expected a frame of {stored.compressed_size:,} bytes with {stored.size:,} bytes of content ({why})"
        )


def indexed_frames(file: File, include: list[str], recover: bool) -> IndexedFrames | None:
    """
    Return the frames of a file by its seek table.

    Returns None if the file has no table or cannot seek, if a frame is too large to be read as a whole, or if the
    headers of frames in a local file disagree with the table. A file that can seek is then at its beginning. The
    headers are not checked for a URL, where each may cost a request, or with `recover`, because the file may be
    damaged.
    """
    with Suppressed(AttributeError, OSError, ValueError):  # a file may fail to seek although it reports that it can
        if not file.seekable():
            return None
        with contextlib.suppress(SeekableFormatError):
            table = read_seek_table(file)
            sizes = [table.frame(index) for index in range(len(table))]
            if sizes and all(size <= WHOLE_SIZE_MAX and most <= WHOLE_CONTENT_MAX for _, size, _, most, _ in sizes):
                found = IndexedFrames(file, table, include)
                if recover or not isinstance(file, io.FileIO) or found.agrees():
                    return found
        file.seek(0)
    return None
