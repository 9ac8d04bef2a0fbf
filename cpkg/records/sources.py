# SPDX-License-Identifier: Apache-2.0
"""Open sources and targets of record files, and read ahead."""

from __future__ import annotations

import io
from typing import Final

from cpkg._places import Place, is_file
from cpkg._urls import Upload, is_url
from cpkg.records.errors import LockedError, RecordsError
from cpkg.records.positions import FileSource, FileTarget, PathSource, PathTarget, Source, Target, UrlSource

_TAIL_SIZE: Final = 1 << 16
"""How many bytes at the end of a file are read first: most indexes are smaller, and a second request costs more."""
WINDOW: Final = 4 << 20
"""The bytes to read at once from a source that is read from front to back."""


def open_source(place: Place) -> Source:
    """
    Open a place for reading at any position.

    Raises OSError like `open`, RecordsError for a stream that cannot seek, ImportError if a URL needs fsspec, and
    TypeError for an object that is not a place.
    """
    try:
        if is_file(place, "read"):
            return FileSource(place)
        return UrlSource(place) if is_url(place) else PathSource(place)
    except io.UnsupportedOperation as exc:
        raise RecordsError(str(exc)) from None


def open_target(place: Place, mode: str = "wb") -> Target:
    """
    Open a place for writing at growing offsets; `mode` is "wb" or, only for paths, "xb", "ab" or "rb" (must exist).

    Raises LockedError if another writer has the file, RecordsError for a path that is not a regular file, OSError,
    ImportError if a URL needs fsspec, ValueError for a mode that the place does not support, and TypeError for an
    object that is not a place.
    """
    try:
        if not is_file(place, "write") and not isinstance(place, int) and not is_url(place):
            return PathTarget(place, mode)
        if mode != "wb":
            what, advice = ("repair", "copy it to a file") if mode == "rb" else (f"mode {mode!r}", "use mode 'wb'")
            raise ValueError(f"{what} needs the path of a local file, found a URL or an open file: {advice}")
        return FileTarget(Upload(place) if isinstance(place, str) else place)
    except io.UnsupportedOperation as exc:
        raise RecordsError(str(exc)) from None
    except BlockingIOError as exc:
        raise LockedError(f"{exc.filename}: {exc.strerror}") from None


class Window(Source):
    """
    A buffer for another source, read from front to back `piece` bytes at a time (more if requested); for one thread.

    Bytes after `end` are not read in advance, but `read_at` can return them. The caller closes the other source.
    """

    def __init__(self, source: Source, end: int, piece: int) -> None:
        self.name = source.name
        self._source = source
        self._end = end
        self._piece = piece
        self._at = 0
        self._data = b""

    def size(self) -> int:
        return self._source.size()

    def read_at(self, offset: int, size: int) -> bytes:
        start = offset - self._at
        if 0 <= start and start + size <= len(self._data):
            return self._data[start : start + size]
        ahead = max(size, min(self._piece, self._end - offset))
        kept = self._data[start:] if 0 <= start < len(self._data) else b""
        self._data = kept + self._source.read_at(offset + len(kept), ahead - len(kept)) if ahead > len(kept) else kept
        self._at = offset
        return self._data[:size]


class Tail:
    """A source as a file object for `read_seek_table`; the last 64 KiB are read at once, when it is created."""

    def __init__(self, source: Source) -> None:
        self._size = source.size()
        self._window = Window(source, self._size, 0)
        start = max(self._size - _TAIL_SIZE, 0)
        self._window.read_at(start, self._size - start)
        self._at = 0

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = offset if whence == io.SEEK_SET else self._size + offset
        return self._at

    def read(self, size: int) -> bytes:
        data = self._window.read_at(self._at, max(min(size, self._size - self._at), 0))
        self._at += len(data)
        return data

    def read_from(self, offset: int) -> bytes:
        """Return all bytes from an offset to the end of the source."""
        self._at = offset
        return self.read(self._size - offset)
