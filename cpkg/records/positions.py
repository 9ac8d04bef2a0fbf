# SPDX-License-Identifier: Apache-2.0
"""
Read and write record files at positions: a Source and a Target for each kind of place.

A file that is opened for writing by its path is locked against other writers until it is closed.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import stat
import weakref

from cpkg._urls import Upload, filesystem
from cpkg.records.errors import about
from purepy.base import system
from purepy.base.descriptors import Descriptor, bytes_at, write_at
from purepy.base.errors import Suppressed, is_from_handler, raise_if_from_handler
from purepy.base.locks import Exclusive, RLock
from purepy.base.new_files import sync_directory
from purepy.base.reading import read_full
from purepy.base.writing import write_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from purepy.base.types import File, Name


class Source:
    """Bytes that can be read at any position, by several threads unless a subclass says otherwise."""

    name = ""
    place = ""
    """The absolute path or URL with which another process can open the source; "" if there is none."""
    is_local = False
    """Whether many small reads are cheap."""
    size: Callable[[], int]
    """A function `()` that returns the current size in bytes; for a URL, the size at the first call."""
    read_at: Callable[[int, int], bytes]
    """A function `(offset, size)` that returns `size` bytes from an offset on; fewer only at the end of the source."""

    def descriptor(self) -> int | None:
        """Return the descriptor of a PathSource, None for any other source; raise ValueError if the file was closed."""
        return None

    def close(self) -> None:
        """Close the file if this object opened it."""


class PathSource(Source):
    """A local file, given by path or descriptor."""

    is_local = True

    def __init__(self, path: Name | int) -> None:
        if not isinstance(path, int):
            self.name = os.fsdecode(path)
            self.place = os.path.abspath(self.name)  # now, because the working directory may change
        self._descriptor = -1
        self._file = open(path, "rb", buffering=0, closefd=not isinstance(path, int))  # noqa: SIM115
        if not self._file.seekable():
            self._file.close()
            raise _cannot_seek(self.name)
        self._descriptor = self._file.fileno()

    def size(self) -> int:
        self._check()
        return os.fstat(self._descriptor).st_size

    def descriptor(self) -> int | None:
        self._check()
        return self._descriptor

    def _check(self) -> None:
        if self._descriptor < 0:
            raise ValueError("I/O operation on a closed file: open it again")

    def read_at(self, offset: int, size: int) -> bytes:
        self._check()
        try:
            return bytes_at(self._descriptor, size, offset)
        finally:
            self._check()  # if it was closed meanwhile, the bytes or the error may be those of another file

    def close(self) -> None:
        self._descriptor = -1  # from now on, a read fails instead of reading another file
        self._file.close()


class FileSource(Exclusive, Source):
    """A binary file object, which the caller closes."""

    is_local = True

    def __init__(self, file: File) -> None:
        self.name = _name_of(file)
        self._file = file
        self._lock = RLock()
        # a SpooledTemporaryFile can seek, but has no `seekable` before Python 3.11
        if not (file.seekable() if hasattr(file, "seekable") else hasattr(file, "seek")):
            raise _cannot_seek(self.name)

    def size(self) -> int:
        with self._turn():
            self._file.seek(0, io.SEEK_END)
            size: int = self._file.tell()
            return size

    def read_at(self, offset: int, size: int) -> bytes:
        with self._turn():
            self._file.seek(offset)
            result = read_full(self._file, size)
            return result

    def _reentered(self) -> str:
        return f"{self._file!r} is used from inside its own seek(), tell() or read(): let that call return first"


class UrlSource(Source):
    """An object read by fsspec, with requests for exactly the wanted ranges of bytes."""

    def __init__(self, url: str) -> None:
        self._fs, self._path = filesystem(url)
        self.name = self.place = url
        self._size: int | None = None

    def size(self) -> int:
        if self._size is None:
            size = self._fs.info(self._path).get("size")
            if size is None:
                raise io.UnsupportedOperation(
                    f"{self.name}: the server does not report the size of the file: download it, and open the copy"
                )
            self._size = int(size)
        return self._size

    def read_at(self, offset: int, size: int) -> bytes:
        end = min(offset + size, self.size())
        return bytes(self._fs.cat_file(self._path, start=offset, end=end)) if offset < end else b""


class Target:
    """Bytes that are written at growing offsets."""

    name = ""
    is_broken = False
    """Whether it is unknown how much was written; `write` then raises OSError."""
    write: Callable[[int, bytes], None]
    """A function `(offset, data)` that writes all of `data` at an offset, the end of the bytes written before."""

    def cut(self, offset: int) -> None:
        """Remove the bytes after `offset`; does nothing if the target cannot remove bytes."""

    def flush(self) -> None:
        """Flush a file object; for an upload, send the data that the server accepts before the end."""

    def sync(self) -> None:
        """Force written bytes to disk if the target has a descriptor, otherwise only flush them."""

    def close(self) -> None:
        """
        Close and unlock the file if this object opened it, and complete an upload.

        A repeated call does nothing, or raises OSError if an upload failed.
        """

    def discard(self) -> None:
        """Close the file if this object opened it; cancel an upload."""
        self.close()

    @property
    def is_closed(self) -> bool:
        """Whether a local file was closed; always False for other targets."""
        return False

    @property
    def is_locked(self) -> bool:
        """Whether a local file is open, and locked if the system has locks; always False for other targets."""
        return False


class PathTarget(Target):
    """
    A local file, locked against other writers until it is closed.

    `mode` is "wb", "ab" or "xb", as in the builtin `open`; "rb" opens an existing file for writing without changing it.
    Raises OSError as `open` does, BlockingIOError if another writer has the file, and io.UnsupportedOperation if it is
    not a regular file; none of them changes the file. If `write` raises OSError, the file ends where the write began.
    """

    def __init__(self, path: Name, mode: str) -> None:
        self.name = os.fsdecode(path)
        self._new = not os.path.lexists(path)
        self._descriptor = _open_locked(path, mode, self.name)
        try:
            _locked.add(self)
            if mode == "wb":
                os.ftruncate(self._descriptor.number, 0)  # slow for large files
        except BaseException:
            self.close()
            raise

    def write(self, offset: int, data: bytes) -> None:
        try:
            write_at(self._descriptor.number, data, offset)
        except OSError as exc:
            if not is_from_handler(exc):
                exc.filename = self.name
            self.cut(offset)  # remove a partly written frame
            raise

    def cut(self, offset: int) -> None:
        if os.fstat(self._descriptor.number).st_size > offset:
            os.ftruncate(self._descriptor.number, offset)

    def sync(self) -> None:
        os.fsync(self._descriptor.number)
        if self._new:
            self._new = False
            sync_directory(os.path.dirname(self.name) or os.curdir)

    def close(self) -> None:
        self._descriptor.close()

    @property
    def is_closed(self) -> bool:
        return self._descriptor.is_closed

    @property
    def is_locked(self) -> bool:
        return not self.is_closed


_locked: weakref.WeakSet[PathTarget] = weakref.WeakSet()


def _unlock_in_child() -> None:
    """Close the parent's files in a forked child; otherwise they would stay locked until the child exits."""
    for target in list(_locked):
        with Suppressed(OSError, ValueError):  # a half-closed file must not prevent closing the others
            target.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_unlock_in_child)


class FileTarget(Target):
    """
    A file object or descriptor, which the caller closes, or an Upload, which this object closes.

    After an error or an interruption in `write`, it is unknown how much was written: `is_broken` is set, and further
    calls of `write` raise OSError. Calls that would have to replace bytes also do, because bytes cannot be removed.
    """

    def __init__(self, file: object) -> None:
        self._file: File = file if not isinstance(file, int) else open(file, "wb", buffering=0, closefd=False)  # noqa: SIM115
        self._is_owned = isinstance(file, Upload)
        self._done = 0
        self._last: tuple[int, int, bytes] | None = None  # of the last write: offset, size, and a head with a CRC
        self.name = _name_of(self._file)

    def write(self, offset: int, data: bytes) -> None:
        call = offset, len(data), data[:16]
        if call == self._last and not self.is_broken:
            return  # all of it was written before the caller was interrupted
        if self.is_broken or offset != self._done:
            self.is_broken = True
            raise OSError(
                errno.EIO,
                "an earlier write failed, and its data in the file object cannot be removed: write to a new file",
                self.name or None,
            )
        self.is_broken = True
        write_all(self._file, data)
        self._last, self._done = call, offset + len(data)
        self.is_broken = False

    def flush(self) -> None:
        if hasattr(self._file, "flush"):
            self._file.flush()

    def sync(self) -> None:
        self.flush()
        if hasattr(self._file, "fileno"):
            try:
                descriptor = self._file.fileno()
            except OSError as exc:  # a file in memory has no descriptor
                raise_if_from_handler(exc)
            else:
                os.fsync(descriptor)

    def close(self) -> None:
        if self._is_owned:
            self._file.close()

    def discard(self) -> None:
        if self._is_owned:
            self._file.discard()


def _name_of(file: object) -> str:
    name = getattr(file, "name", "")
    return name if isinstance(name, str) else ""


def _cannot_seek(name: str) -> io.UnsupportedOperation:
    return io.UnsupportedOperation(about(name, "cannot seek in this stream: copy it to a file first"))


def _open_locked(path: Name, mode: str, name: str) -> Descriptor:
    flags = os.O_RDWR | system.OPEN_FLAGS
    flags |= {"rb": 0, "ab": os.O_CREAT, "wb": os.O_CREAT, "xb": os.O_CREAT | os.O_EXCL}[mode]
    while True:
        descriptor = Descriptor(path, flags, 0o666, by=os.open)
        try:
            status = os.fstat(descriptor.number)
            if not stat.S_ISREG(status.st_mode):
                raise io.UnsupportedOperation(
                    f"{name}: is not a regular file; open it yourself and pass the file object with mode 'wb'"
                )
            system.lock(descriptor.number, name)
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(status, os.stat(path)):
                    return descriptor
        except BaseException:
            descriptor.close()
            raise
        descriptor.close()  # the file was replaced or removed before it was locked: open the current one
