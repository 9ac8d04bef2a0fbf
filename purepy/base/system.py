# SPDX-License-Identifier: Apache-2.0
"""
The differences between systems: Linux and similar systems, macOS, Windows, and the browser.

The functions for files and directories are the functions of `os` themselves or, on systems that find directories by
their paths, those of `purepy.base.by_path`. A function that the module lacks is replaced by a function that raises
OSError. On Windows, `pread`, `pwrite` and `lock` call the system directly.
"""

from __future__ import annotations

import errno
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, NoReturn

    from purepy.base.types import Buffer, Named

IS_WINDOWS = os.name == "nt"
IS_BY_PATH = not os.supports_dir_fd >= {os.open, os.symlink}
"""Whether functions find a directory by its descriptor's path (`purepy.base.by_path`)."""
OPEN_FLAGS = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
"""Flags for opening any file or directory, in addition to those of the mode."""

_calls: Named = os
if IS_BY_PATH:
    from purepy.base import by_path

    _calls = by_path
stat = _calls.stat_in if IS_BY_PATH else os.stat


def _found(name: str) -> Named:
    """
    Return the function `name` of `os` or, if directories are found by path, of `purepy.base.by_path`.

    If the module lacks the function, returns a function that raises OSError.
    """
    found = getattr(_calls, name, None)
    if found is not None:
        return found

    def absent(*_arguments: object, **_options: object) -> NoReturn:
        raise OSError(getattr(errno, "ENOTSUP", errno.EINVAL), f"this system has no {name}()")

    return absent


O_DIRECTORY: int = _calls.O_DIRECTORY
O_NOFOLLOW: int = _calls.O_NOFOLLOW
open: Callable[..., int] = _calls.open
listdir, mkdir, rmdir, unlink = map(_found, ("listdir", "mkdir", "rmdir", "unlink"))
rename, readlink, symlink, link = map(_found, ("rename", "readlink", "symlink", "link"))
mkfifo, mknod, utime, dup = map(_found, ("mkfifo", "mknod", "utime", "dup"))
fchmod, fchown = map(_found, ("fchmod", "fchown"))


def is_root() -> bool:
    """Return whether this process runs as root, which may give files to other users; False on Windows."""
    return hasattr(os, "geteuid") and os.geteuid() == 0


# files at positions

if IS_WINDOWS:  # ReadFile and WriteFile take a position, so that threads do not disturb each other
    _EOF, _PIECE = 38, 1 << 30
    # OVERLAPPED consists of four numbers: two for the system, the offset, an event

    def pread(descriptor: int, size: int, offset: int, /) -> bytes:
        """Return up to `size` bytes from a position in a file, b"" at its end; also moves the file's own position."""
        memory = by_path.of_windows("ctypes").create_string_buffer(min(size, _PIECE))
        done = _at_place("ReadFile", descriptor, memory, min(size, _PIECE), offset)
        return bytes(memoryview(memory)[:done])

    def pwrite(descriptor: int, data: Buffer, offset: int, /) -> int:
        """Write at a position in a file; return how many bytes were written. Also moves the file's own position."""
        with memoryview(data) as view, view[:_PIECE] as piece:
            memory = by_path.of_windows("ctypes").create_string_buffer(bytes(piece), len(piece))
            return _at_place("WriteFile", descriptor, memory, len(piece), offset)

    def _at_place(name: str, descriptor: int, memory: object, size: int, offset: int) -> int:
        ctypes, kernel, handle = by_path.kernel(descriptor)
        done = ctypes.c_uint32(0)
        where = (ctypes.c_uint64 * 4)(0, 0, offset, 0)
        is_done = getattr(kernel, name)(handle, memory, size, ctypes.byref(done), ctypes.byref(where))
        if not is_done and ctypes.get_last_error() != _EOF:
            raise ctypes.WinError(ctypes.get_last_error())
        return int(done.value)
else:
    pread, pwrite = os.pread, os.pwrite


def appends(descriptor: int) -> bool:
    """Return whether each write to a descriptor appends to its file, as far as the system reports it."""
    try:
        import fcntl
    except ImportError:
        return False
    return bool(fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_APPEND)


# locks

_LAST_BYTE = (1 << 63) - 2
"""The byte that is locked on Windows. It is beyond every file's end, because other processes cannot read it."""
_EXCLUSIVE_AT_ONCE = 3
_IS_LOCKED = (32, 33)


def lock(descriptor: int, name: str) -> None:
    """
    Lock an open file for writing until it is closed, where the system has locks.

    Raises BlockingIOError, with the file's `name`, if another writer has locked the file.
    """
    try:
        if IS_WINDOWS:
            _lock_byte(descriptor)
            return
        import fcntl
    except ImportError:  # this system has no locks, so nothing keeps a second writer out
        return
    except BlockingIOError:
        raise _taken(name) from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise _taken(name) from None


def _taken(name: str) -> BlockingIOError:
    return BlockingIOError(
        errno.EAGAIN, "another writer has the file open; close that writer, or write to another file", name
    )


def _lock_byte(descriptor: int) -> None:
    """Lock a byte beyond a file's end, which msvcrt.locking cannot reach; raises BlockingIOError if it is locked."""
    ctypes, kernel, handle = by_path.kernel(descriptor)
    where = (ctypes.c_uint64 * 4)(0, 0, _LAST_BYTE, 0)
    if not kernel.LockFileEx(handle, _EXCLUSIVE_AT_ONCE, 0, 1, 0, ctypes.byref(where)):
        error = ctypes.WinError(ctypes.get_last_error())
        if error.winerror in _IS_LOCKED:
            raise BlockingIOError
        raise error
