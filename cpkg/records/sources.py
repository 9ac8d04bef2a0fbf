# SPDX-License-Identifier: Apache-2.0
"""Where the bytes of a record file are read from: a local file, a file object, or a URL through fsspec."""

from __future__ import annotations

import io
import os
import threading
from typing import Any, Callable, Final, Union

from cpkg.records.errors import RecordsError

Place = Union[str, "os.PathLike[str]", Any]
"""A path, a URL (`s3://...`), or an object with `read` (and `seek`, for more than one pass)."""

_TAIL_SIZE: Final = 1 << 16
"""Read from the end of a URL at first: the index of most files is in it, and a request costs more than bytes."""


WINDOW: Final = 4 << 20
"""Read at once from what is read from front to back, in bytes."""


class Source:
    """Bytes at any position, for several threads at once."""

    name = ""
    is_local = False
    """Whether many small reads cost little."""
    size: Callable[[], int]
    """Return the number of bytes that there are now."""
    read_at: Callable[[int, int], bytes]
    """Return so many bytes from an offset on: `read_at(offset, size)`, fewer only at the end."""

    def check(self) -> None:
        """Raise ValueError if the file was closed."""

    def duplicate(self) -> int | None:
        """Return a descriptor of the file, which the caller closes; None if it has none that serves."""
        return None

    def close(self) -> None:
        """Let go of the file."""


class PathSource(Source):
    """A local file."""

    is_local = True

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.name = os.fsdecode(path)
        self._file = open(path, "rb", buffering=0)  # noqa: SIM115
        self._descriptor = self._file.fileno()

    def size(self) -> int:
        return os.fstat(self._descriptor).st_size

    def duplicate(self) -> int | None:
        self.check()
        try:
            return os.dup(self._descriptor)
        except OSError:  # there are too many open files
            return None

    def check(self) -> None:
        if self._descriptor < 0:
            raise ValueError("I/O operation on a closed record file")

    def read_at(self, offset: int, size: int) -> bytes:
        self.check()
        found = os.pread(self._descriptor, size, offset)
        self.check()  # closed meanwhile: these may be another file's bytes
        if len(found) == size or not found:
            return found
        pieces = [found]
        done = len(found)
        while done < size and (found := os.pread(self._descriptor, size - done, offset + done)):
            pieces.append(found)
            done += len(found)
        return b"".join(pieces)

    def close(self) -> None:
        self._descriptor = -1  # a read from now on is an error, and not of another file
        self._file.close()


class FileSource(Source):
    """An open binary file of the caller's, who also closes it."""

    is_local = True

    def __init__(self, file: Any) -> None:
        name = getattr(file, "name", "")
        self.name = name if isinstance(name, str) else ""
        self._file = file
        self._lock = threading.Lock()

    def size(self) -> int:
        with self._lock:
            size: int = self._file.seek(0, io.SEEK_END)
            return size

    def read_at(self, offset: int, size: int) -> bytes:
        with self._lock:
            self._file.seek(offset)
            pieces = []
            while size > 0:
                piece = self._file.read(size)
                if not piece:
                    break
                pieces.append(piece)
                size -= len(piece)
            return b"".join(pieces)


class UrlSource(Source):
    """The source of files that fsspec reads: requests for ranges of bytes, and none that is not asked for."""

    def __init__(self, url: str) -> None:
        fs, self._path = filesystem(url)
        self.name = url
        self._fs = fs
        self._size: int | None = None

    def size(self) -> int:
        if self._size is None:
            size = self._fs.info(self._path).get("size")
            if size is None:
                raise RecordsError(f"{self.name}: the server does not tell the file's size, which reading begins with")
            self._size = int(size)
        return self._size

    def read_at(self, offset: int, size: int) -> bytes:
        end = min(offset + size, self.size())
        return bytes(self._fs.cat_file(self._path, start=offset, end=end)) if offset < end else b""


class Window(Source):
    """
    A stretch of another source that is read from front to back, in large pieces.

    Nothing behind `end` is read in advance; `read_at` still gives it.
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


class Tail(io.RawIOBase):
    """A source as a file that can seek, whose end is read at once: what `read_seek_table` wants."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._size = source.size()
        self._start = max(self._size - _TAIL_SIZE, 0)
        self._tail = source.read_at(self._start, self._size - self._start)
        self._at = 0

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        return self._at

    def read(self, size: int = -1) -> bytes:
        end = self._size if size < 0 else min(self._at + size, self._size)
        data = b""
        if self._at < self._start:
            data = self._source.read_at(self._at, min(end, self._start) - self._at)
        data += self._tail[max(self._at + len(data) - self._start, 0) : max(end - self._start, 0)]
        self._at += len(data)
        return data


def is_url(place: object) -> bool:
    """Tell a URL of fsspec from a path."""
    return isinstance(place, str) and "://" in place


def filesystem(url: str) -> tuple[Any, str]:
    """Return fsspec's file system for a URL and the path in it; ImportError says what to install."""
    try:
        import fsspec
    except ImportError:
        raise ImportError(f"{url}: install fsspec to open URLs (pip install fsspec)") from None
    fs, path = fsspec.core.url_to_fs(url)
    return fs, path


def open_source(place: Place) -> Source:
    """Open a path, URL or file object to read at any position."""
    if isinstance(place, (str, os.PathLike)):
        if is_url(place):
            return UrlSource(str(place))
        return PathSource(place)
    if not hasattr(place, "read"):
        raise TypeError(f"a record file is a path, a URL or a binary file, not {type(place).__name__}")
    # a SpooledTemporaryFile can, and before Python 3.11 does not say so
    if not (place.seekable() if hasattr(place, "seekable") else hasattr(place, "seek")):
        raise RecordsError("a stream that cannot seek has no record number: copy it to a file first")
    return FileSource(place)
