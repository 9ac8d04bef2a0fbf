# SPDX-License-Identifier: Apache-2.0
"""
Replacements for functions of `os` on systems where these functions take no `dir_fd`.

For a directory's descriptor they use the path with which the directory was opened. On Windows, a directory is opened
without FILE_SHARE_DELETE. Other processes cannot rename or remove the directory or
its parents, so its path stays valid while the descriptor is open. Only `open` creates such descriptors; os.close closes
them.
"""

from __future__ import annotations

import errno
import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Union

    from purepy.base.types import Named

    Name = Union[str, bytes]

IS_WINDOWS = os.name == "nt"
# Windows has no such flags. There these values are our own, and no call passes them to the system.
O_DIRECTORY = getattr(os, "O_DIRECTORY", 1 << 28)
O_NOFOLLOW = getattr(os, "O_NOFOLLOW", 1 << 29)

_LIST, _SHARE_READ_WRITE, _EXISTING = 1, 3, 3  # FILE_LIST_DIRECTORY, without FILE_SHARE_DELETE
_BACKUP_SEMANTICS, _OPEN_REPARSE_POINT, _NAME_SURROGATE = 0x02000000, 0x00200000, 0x20000000
_LONG = 240
"""Paths with more characters than this get a prefix that lifts Windows' limit."""
_NONE = -1
"""Neither a descriptor nor a handle."""
_TICKS_1970 = 116_444_736_000_000_000
"""The time 1970-01-01 on Windows, which counts units of 100 nanoseconds from 1601 on."""

_paths: dict[int, str] = {}
"""The path of each open directory, by descriptor; an entry remains, unused, after its descriptor is closed."""


def of_windows(module: str) -> Named:
    """Import and return a module that exists, or has some of its parts, only on Windows."""
    return __import__(module)


def _at(name: Name, directory: int | None) -> str:
    path = os.path.abspath(os.path.join("" if directory is None else _paths[directory], os.fsdecode(name)))
    if IS_WINDOWS and len(path) > _LONG and not path.startswith("\\\\?\\"):
        return "\\\\?\\UNC" + path[1:] if path.startswith("\\\\") else "\\\\?\\" + path
    return path


def open(path: Name, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
    """Open a file, or with O_DIRECTORY a directory; return the descriptor, which for a directory can be a `dir_fd`."""
    full = _at(path, dir_fd)
    if flags & O_DIRECTORY:
        return _open_directory(full, flags)
    if IS_WINDOWS and flags & O_NOFOLLOW and os.path.islink(full):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), full)
    descriptor = _NONE
    try:
        descriptor = os.open(full, flags & ~O_NOFOLLOW if IS_WINDOWS else flags, mode)
        _paths.pop(descriptor, None)
        return descriptor
    except BaseException:
        _close(descriptor)
        raise


def _open_directory(path: str, flags: int) -> int:
    descriptor = _NONE
    try:
        descriptor = _opened_by_windows(path, flags) if IS_WINDOWS else os.open(path, flags)
        _paths[descriptor] = path
        return descriptor
    except BaseException:
        _close(descriptor)
        raise


def _opened_by_windows(path: str, flags: int) -> int:
    _winapi, msvcrt = of_windows("_winapi"), of_windows("msvcrt")
    how = _BACKUP_SEMANTICS | (_OPEN_REPARSE_POINT if flags & O_NOFOLLOW else 0)
    handle = descriptor = _NONE
    try:
        handle = _winapi.CreateFile(path, _LIST, _SHARE_READ_WRITE, 0, _EXISTING, how, 0)
        descriptor = int(msvcrt.open_osfhandle(handle, os.O_RDONLY))
        is_link = flags & O_NOFOLLOW and getattr(os.lstat(path), "st_reparse_tag", 0) & _NAME_SURROGATE
        if is_link or not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
        return descriptor
    except BaseException:
        if descriptor == _NONE != handle:
            _winapi.CloseHandle(handle)
        _close(descriptor)
        raise


def _close(descriptor: int) -> None:
    """Close a descriptor that the caller will not receive because of an exception; do nothing for _NONE."""
    if descriptor != _NONE:
        os.close(descriptor)


def dup(directory: int) -> int:
    """Return another descriptor of a directory."""
    descriptor = _NONE
    try:
        descriptor = os.dup(directory)
        _paths[descriptor] = _paths[directory]
        return descriptor
    except BaseException:
        _close(descriptor)
        raise


def listdir(directory: int) -> list[str]:
    """Return the names of the entries of a directory."""
    return os.listdir(_paths[directory])


def stat_in(name: Name, *, dir_fd: int, follow_symlinks: bool = True) -> os.stat_result:
    """Return the status of an entry of a directory."""
    return os.stat(_at(name, dir_fd), follow_symlinks=follow_symlinks)


def mkdir(name: Name, mode: int = 0o777, *, dir_fd: int) -> None:
    """Create a directory; on Windows it inherits the parent's rights, since 0o700 would restrict it to its owner."""
    os.mkdir(_at(name, dir_fd), 0o777 if IS_WINDOWS else mode)


def rmdir(name: Name, *, dir_fd: int) -> None:
    """Remove an empty directory."""
    os.rmdir(_at(name, dir_fd))


def unlink(name: Name, *, dir_fd: int) -> None:
    """Remove a file or link, on Windows even if it is read-only."""
    path = _at(name, dir_fd)
    try:
        os.unlink(path)
    except PermissionError:
        if not _make_writable(path):
            raise
        os.unlink(path)


def rename(name: Name, new_name: Name, *, src_dir_fd: int, dst_dir_fd: int) -> None:
    """Rename a file and replace an old file, even a read-only one; raises IsADirectoryError for an old directory."""
    path, new = _at(name, src_dir_fd), _at(new_name, dst_dir_fd)
    try:
        os.replace(path, new)
    except PermissionError:
        if os.path.isdir(new) and not os.path.islink(new):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), new) from None
        if not _make_writable(new):
            raise
        os.replace(path, new)


def _make_writable(path: str) -> bool:
    """Clear the read-only attribute of a file on Windows; return whether it was set."""
    if not IS_WINDOWS or os.path.islink(path) or not os.path.isfile(path) or os.access(path, os.W_OK):
        return False
    os.chmod(path, stat.S_IREAD | stat.S_IWRITE)
    return True


def readlink(name: Name, *, dir_fd: int) -> Name:
    """Return the target of a symbolic link, with slashes; as bytes if the name is bytes."""
    text = os.readlink(_at(name, dir_fd))
    if IS_WINDOWS:
        text = text.removeprefix("\\\\?\\").replace("\\", "/")
    return os.fsencode(text) if isinstance(name, bytes) else text


def symlink(text: Name, name: Name, *, dir_fd: int) -> None:
    """Create the symbolic link `name` to `text`; on Windows a link to a directory if the target is a directory now."""
    path, target = _at(name, dir_fd), os.fsdecode(text)
    if IS_WINDOWS:
        is_directory = os.path.isdir(os.path.join(os.path.dirname(path), target))
        os.symlink(target.replace("/", "\\"), path, target_is_directory=is_directory)
    else:
        os.symlink(target, path)


def link(name: Name, new_name: Name, *, src_dir_fd: int, dst_dir_fd: int, follow_symlinks: bool = False) -> None:
    """Create a hard link; raises OSError if the system has no hard links."""
    if not hasattr(os, "link"):
        raise _absent("hard links")
    if IS_WINDOWS:
        os.link(_at(name, src_dir_fd), _at(new_name, dst_dir_fd))
    else:
        os.link(_at(name, src_dir_fd), _at(new_name, dst_dir_fd), follow_symlinks=follow_symlinks)


def mkfifo(name: Name, mode: int = 0o666, *, dir_fd: int) -> None:
    """Create a fifo; raises OSError if the system has no fifos."""
    if not hasattr(os, "mkfifo"):
        raise _absent("fifos")
    os.mkfifo(_at(name, dir_fd), mode)


def mknod(name: Name, mode: int, device: int, *, dir_fd: int) -> None:
    """Create a device node; raises OSError if the system has no device nodes."""
    if not hasattr(os, "mknod"):
        raise _absent("devices in directories")
    os.mknod(_at(name, dir_fd), mode, device)


def _absent(what: str) -> OSError:
    return OSError(getattr(errno, "ENOTSUP", errno.EINVAL), f"this system has no {what}")


def utime(name: Name | int, *, ns: tuple[int, int], dir_fd: int | None = None, follow_symlinks: bool = True) -> None:
    """
    Set the times of access and of modification, `ns`, of an open file, an open directory or a name.

    On Windows, a file or link given by name keeps its times, because os.utime would follow a symbolic link. An open
    file gets the time of modification as its time of access as well.
    """
    if isinstance(name, int):
        if name in _paths:
            os.utime(_paths[name], ns=ns)
        elif IS_WINDOWS:
            _set_file_time(name, ns[1])
        else:
            os.utime(name, ns=ns)
    elif os.utime in os.supports_follow_symlinks:
        os.utime(_at(name, dir_fd), ns=ns, follow_symlinks=follow_symlinks)


def kernel(descriptor: int) -> tuple[Named, Named, Named]:
    """Return ctypes, the library kernel32, and the Windows handle of an open file."""
    ctypes, handle = of_windows("ctypes"), of_windows("msvcrt").get_osfhandle(descriptor)
    return ctypes, ctypes.WinDLL("kernel32", use_last_error=True), ctypes.c_void_p(handle)


def _set_file_time(descriptor: int, ns: int) -> None:
    ctypes, functions, handle = kernel(descriptor)
    ticks = ns // 100 + _TICKS_1970
    if not 0 < ticks < 1 << 63:
        raise OSError(errno.EINVAL, f"Windows cannot store the time {ns} ns after 1970")
    time = ctypes.c_uint64(ticks)
    if not functions.SetFileTime(handle, None, ctypes.byref(time), ctypes.byref(time)):
        raise ctypes.WinError(ctypes.get_last_error())


def fchmod(descriptor: int, mode: int) -> None:
    """Set permissions; on Windows only the read-only attribute of files, and before Python 3.13 nothing."""
    if not IS_WINDOWS or (descriptor not in _paths and hasattr(os, "fchmod")):
        os.fchmod(descriptor, mode)
