# SPDX-License-Identifier: Apache-2.0
"""Take frames by a seek table: only those that are needed are read."""

from __future__ import annotations

import io
import os
import threading
from collections.abc import Iterator
from typing import Any, NamedTuple

from purepy.errors import SeekableFormatError
from purepy.tar import members
from purepy.tar.members import Members
from purepy.zstd_format import MAGIC, SKIPPABLE_HEADER_SIZE, is_frame
from purepy.zstd_frames import WHOLE_CONTENT_MAX, WHOLE_SIZE_MAX, Frame
from purepy.zstd_seek_table import SeekTable, read_seek_table


class StoredFrame(NamedTuple):
    """A frame that is not read yet; in front of it, `left_out` bytes of content are left out."""

    offset: int
    compressed_size: int
    size: int
    left_out: int
    is_continued: bool | None
    """Whether it begins within an entry; None if nobody knows."""


class StoredFrames:
    """
    An iterator over the frames with content, or those of them that `include` needs, and the last.

    `consumed` counts the compressed bytes that were taken or left out.
    """

    def __init__(self, file: Any, table: SeekTable, include: list[str]) -> None:
        self._file = file
        self._table = table
        self._lock = threading.Lock()
        self._members = self._listed()
        chosen = self._members.frames_with(include) if include and self._members is not None else None
        self._chosen = chosen
        self.consumed = 0

    def _listed(self) -> Members | None:
        """Return the list of members, if there is one and it is of as many frames as there are."""
        offset, size, _, content, _ = self._table.frame(len(self._table) - 1)
        if content or size > members.SIZE_MAX:
            return None
        found = members.read(self._bytes(offset, size))
        count = sum(1 for index in range(len(self._table)) if self._table.frame(index)[3])
        return found if found is not None and len(found) == count else None

    def _bytes(self, offset: int, size: int) -> bytes:
        pieces = []
        while size:
            if isinstance(self._file, io.FileIO):
                piece = os.pread(self._file.fileno(), size, offset)
            else:
                with self._lock:
                    self._file.seek(offset)
                    piece = self._file.read(size)
            if not piece:
                raise SeekableFormatError("the file has become shorter")
            pieces.append(piece)
            offset += len(piece)
            size -= len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def __iter__(self) -> Iterator[StoredFrame]:
        number = left_out = 0
        total = self._table.decompressed_size
        for index in range(len(self._table)):
            offset, compressed_size, position, size, _ = self._table.frame(index)
            self.consumed += compressed_size
            if not size:
                if not self._is_skippable(offset, compressed_size):  # it may hold what the table does not tell
                    yield StoredFrame(offset, compressed_size, size, left_out, None)
                    left_out = 0
                continue
            is_needed = self._chosen is None or self._chosen[number] or position + size == total
            if is_needed:
                is_continued = None if self._members is None else self._members.is_continued(number)
                yield StoredFrame(offset, compressed_size, size, left_out, is_continued)
            left_out = 0 if is_needed else left_out + size
            number += 1
        self.consumed += len(self._table.to_bytes())

    def _is_skippable(self, offset: int, size: int) -> bool:
        head = self._bytes(offset, min(size, SKIPPABLE_HEADER_SIZE))
        if len(head) < SKIPPABLE_HEADER_SIZE or not is_frame(head) or head[:4] == MAGIC:
            return False
        return int.from_bytes(head[4:8], "little") == size - SKIPPABLE_HEADER_SIZE

    def load(self, stored: StoredFrame) -> Frame:
        """Read a frame; called in threads."""
        data = self._bytes(stored.offset, stored.compressed_size)
        return Frame(data, stored.size, stored.size)


def stored_frames(file: Any, include: list[str]) -> StoredFrames | None:
    """Return the frames of a file by its seek table; None, and the file at its begin, if it has none or cannot seek."""
    try:
        if not file.seekable():
            return None
        try:
            table = read_seek_table(file)
            sizes = [table.frame(index) for index in range(len(table))]
            if sizes and all(size <= WHOLE_SIZE_MAX and most <= WHOLE_CONTENT_MAX for _, size, _, most, _ in sizes):
                return StoredFrames(file, table, include)
        except SeekableFormatError:
            pass
        file.seek(0)
    except (AttributeError, OSError, ValueError):  # it cannot seek after all
        pass
    return None
