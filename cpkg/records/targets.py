# SPDX-License-Identifier: Apache-2.0
"""Where a writer puts its frames: a local file that it has for itself, or any object with `write`."""

from __future__ import annotations

import os
import stat
from typing import Any, Callable, Final

from cpkg._files import sync_directory
from cpkg.records.errors import LockedError, RecordsError
from purepy._writing import write_all
from purepy.zstd.common.file_places import write_at

try:
    import fcntl
except ImportError:  # not on this system: nothing keeps a second writer out
    fcntl = None  # type: ignore[assignment]

FSYNC: Final = ("never", "close", "flush")


class Target:
    """Bytes at growing offsets."""

    name = ""
    write: Callable[[int, bytes], None]
    """Put all of some bytes at an offset, the end of what was written before; if it raises, nothing changed."""

    def cut(self, offset: int) -> None:
        """Drop what stands behind `offset`."""

    def sync(self) -> None:
        """Make what was written outlast the system."""

    def close(self) -> None:
        """Let go of the file, and let others write to it."""


class PathTarget(Target):
    """
    A local file, locked against other writers until it is closed.

    `mode` is "wb", "ab" or "xb", as for the builtin `open`; "rb" is for a file that has to be there. A file that
    another writer has is left as it is: LockedError.
    """

    def __init__(self, path: str | os.PathLike[str], mode: str) -> None:
        self.name = os.fsdecode(path)
        self._new = not os.path.lexists(path)
        self._descriptor = _open_locked(path, mode, self.name)
        try:
            if mode == "wb":
                os.ftruncate(self._descriptor, 0)  # of a large file this takes long
        except BaseException:
            self.close()
            raise

    def write(self, offset: int, data: bytes) -> None:
        try:
            write_at(self._descriptor, data, offset)
        except OSError as exc:
            try:
                self.cut(offset)  # no part of a frame stays behind
            except OSError:
                pass  # it is a torn tail then, and the next try writes over it
            raise OSError(exc.errno, exc.strerror, self.name) from None

    def cut(self, offset: int) -> None:
        if os.fstat(self._descriptor).st_size > offset:
            os.ftruncate(self._descriptor, offset)

    def sync(self) -> None:
        os.fsync(self._descriptor)
        if self._new:
            self._new = False
            sync_directory(os.path.dirname(self.name) or os.curdir)

    def close(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)


class FileTarget(Target):
    """A file object of the caller's, who also closes it. After an error nothing tells how much it took."""

    def __init__(self, file: Any, *, owned: bool = False) -> None:
        name = getattr(file, "name", "")
        self.name = name if isinstance(name, str) else ""
        self._file = file
        self._owned = owned
        self._broken = False

    def write(self, offset: int, data: bytes) -> None:
        if self._broken:
            raise RecordsError("writing failed before, and a file object cannot take back what it got")
        self._broken = True
        write_all(self._file, data)
        self._broken = False

    def cut(self, offset: int) -> None:
        pass

    def sync(self) -> None:
        flush = getattr(self._file, "flush", None)
        if flush is not None:
            flush()
        if hasattr(self._file, "fileno"):
            try:
                descriptor = self._file.fileno()
            except OSError:
                return  # in memory
            os.fsync(descriptor)

    def close(self) -> None:
        if self._owned:
            self._file.close()


def _open_locked(path: str | os.PathLike[str], mode: str, name: str) -> int:
    flags = os.O_RDWR | getattr(os, "O_CLOEXEC", 0)
    flags |= {"rb": 0, "ab": os.O_CREAT, "wb": os.O_CREAT, "xb": os.O_CREAT | os.O_EXCL}[mode]
    while True:
        descriptor = os.open(path, flags, 0o666)
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise RecordsError(f"{name}: is no regular file; open it yourself and pass the file object")
            lock(descriptor, name)
            try:
                if os.path.samestat(status, os.stat(path)):
                    return descriptor
            except FileNotFoundError:
                pass
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)  # replaced or removed before it was locked: the one that is there now is meant


def lock(descriptor: int, name: str) -> None:
    """Lock an open file for writing until it is closed; LockedError if another writer has it."""
    if fcntl is None:
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise LockedError(f"{name}: another writer has it open; close that one, or write to another file") from None
