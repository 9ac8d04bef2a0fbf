# SPDX-License-Identifier: Apache-2.0
"""Take frames by a seek table: only those that are needed are read."""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator
from typing import Any, NamedTuple

from purepy.errors import SeekableFormatError, ZstdError, ZstdLimitError
from purepy.tar import members
from purepy.tar.members import Members
from purepy.zstd_frames import WHOLE_CONTENT_MAX, WHOLE_SIZE_MAX, Frame, FrameSplitter
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

    def __init__(self, file: Any, table: SeekTable, include: list[str], window_log_max: int) -> None:
        self._file = file
        self._table = table
        self._window_log_max = window_log_max
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
        with self._lock:
            self._file.seek(offset)
            pieces = []
            while size:
                piece = self._file.read(size)
                if not piece:
                    raise SeekableFormatError("the file has become shorter")
                pieces.append(piece)
                size -= len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def __iter__(self) -> Iterator[StoredFrame]:
        number = left_out = 0
        total = self._table.decompressed_size
        for index in range(len(self._table)):
            offset, compressed_size, position, size, _ = self._table.frame(index)
            self.consumed += compressed_size
            if not size:
                continue
            is_needed = self._chosen is None or self._chosen[number] or position + size == total
            if is_needed:
                is_continued = None if self._members is None else self._members.is_continued(number)
                yield StoredFrame(offset, compressed_size, size, left_out, is_continued)
            left_out = 0 if is_needed else left_out + size
            number += 1

    def load(self, stored: StoredFrame) -> Frame:
        """Read a frame; called in threads. Raises ZstdError if it is none, or not of the size that the table says."""
        data = self._bytes(stored.offset, stored.compressed_size)
        why = "it holds another"
        try:
            found = list(FrameSplitter(io.BytesIO(data).read, self._window_log_max))
            if len(found) == 1 and isinstance(found[0], Frame) and found[0].size in (None, stored.size):
                return found[0]
        except ZstdLimitError:
            raise
        except ZstdError as exc:
            why = str(exc)
        raise SeekableFormatError(
            f"the file is damaged at byte {stored.offset:,}, or its seek table is wrong: "
            f"there is no frame of {stored.compressed_size:,} bytes and a content of {stored.size:,} ({why})"
        )


def stored_frames(file: Any, include: list[str], window_log_max: int) -> StoredFrames | None:
    """Return the frames of a file by its seek table; None, and the file at its begin, if it has none or cannot seek."""
    try:
        if not file.seekable():
            return None
        try:
            table = read_seek_table(file)
            sizes = [table.frame(index) for index in range(len(table))]
            if sizes and all(size <= WHOLE_SIZE_MAX and most <= WHOLE_CONTENT_MAX for _, size, _, most, _ in sizes):
                return StoredFrames(file, table, include, window_log_max)
        except SeekableFormatError:
            pass
        file.seek(0)
    except (AttributeError, OSError, ValueError):  # it cannot seek after all
        pass
    return None
