# SPDX-License-Identifier: Apache-2.0
"""
Make files, directories and links below one directory, without ever following a link on the way.

Everything is done relative to handles of directories, so that links which are swapped in meanwhile change nothing, and
with names as bytes, as which the archive has them (of a str PyPy makes them in microseconds).
A file is written under a temporary name and renamed when it is whole. Modes and times of directories are set at the
end, from the innermost outwards.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, NamedTuple

from cpkg.archive._settings import ExtractSettings
from cpkg.archive._walk import DIRECTORY_FLAGS
from purepy.tar import names
from purepy.tar.acl import ACL_KEYS
from purepy.tar.encode import encoded
from purepy.tar.entry import CHARACTER, DIRECTORY, FIFO, FILE, HARDLINK, SYMLINK, Entry
from purepy.zstd.common.file_places import write_next

_CREATE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | getattr(os, "O_CLOEXEC", 0)


def _path(directory: int, name: bytes) -> bytes:
    """Return a path by which a name in an open directory is found, for calls that take no directory."""
    return b"/proc/self/fd/%d/%s" % (directory, name)


def _link(source: int, name: bytes, parent: int, new_name: bytes) -> None:
    """Make a hard link, of a symbolic link as of any file."""
    if sys.implementation.name == "pypy":  # it hands linkat the wrong flag for follow_symlinks=False
        os.link(_path(source, name), _path(parent, new_name))
    else:
        os.link(name, new_name, src_dir_fd=source, dst_dir_fd=parent, follow_symlinks=False)


def _umask() -> int:
    """Return the process's umask, 0o7777 if it is not to be had: the system call that tells it changes it, too."""
    with (
        contextlib.suppress(OSError, ValueError),
        open("/proc/self/status", encoding="ascii", errors="replace") as file,
    ):
        for line in file:
            if line.startswith("Umask:"):
                return int(line.split()[1], 8)
    return 0o7777


class _Finished(NamedTuple):
    """The attributes that a directory gets when all that is in it is there."""

    parts: list[str]
    entry: Entry


@lru_cache(maxsize=1024)
def user_number(name: str, number: int) -> int:
    """Return the number of a user's name here, or the number stored if the name is unknown."""
    import pwd

    return _found(pwd.getpwnam, name, number)


@lru_cache(maxsize=1024)
def group_number(name: str, number: int) -> int:
    """Return the number of a group's name here, or the number stored if the name is unknown."""
    import grp

    return _found(grp.getgrnam, name, number)


def _found(find: Callable[[str], Any], name: str, number: int) -> int:
    try:
        return int(find(name)[2]) if name else number
    except KeyError:
        return number


class Tree:
    """The directory that entries are extracted to."""

    def __init__(self, directory: str, settings: ExtractSettings) -> None:
        os.makedirs(directory, exist_ok=True)
        self._settings = settings
        self._directory = directory
        self.root = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | getattr(os, "O_CLOEXEC", 0))
        self._names: list[str] = []  # of the directory opened last, and those above it
        self._fds = [self.root]
        self._with_list: dict[int, bool] = {}  # by handle, whether new files get an access control list
        self.umask = _umask()
        self._finished: list[_Finished] = []
        self.token = f".cpkg-{os.getpid()}-{os.urandom(4).hex()}"
        self._temporary = encoded(f"{self.token}.tmp")
        """The name of a file that is not whole yet, and of a link whose name is taken: one at a time."""

    def close(self) -> None:
        """Close all handles."""
        self._shorten(0)
        os.close(self.root)

    def _shorten(self, depth: int) -> None:
        del self._names[depth:]
        while len(self._fds) > depth + 1:
            fd = self._fds.pop()
            self._with_list.pop(fd, None)
            os.close(fd)

    def directory(self, parts: list[str], make: bool = True) -> int:
        """Return the handle of a directory below the root, valid until the next call; make what is missing."""
        if parts == self._names:
            return self._fds[-1]
        depth = 0
        for name, part in zip(self._names, parts):
            if name != part:
                break
            depth += 1
        self._shorten(depth)
        for at in range(depth, len(parts)):
            self._fds.append(self._enter(self._fds[-1], parts, at, make))
            self._names.append(parts[at])
        return self._fds[-1]

    def _enter(self, fd: int, parts: list[str], at: int, make: bool) -> int:
        name = encoded(parts[at])
        while True:
            try:
                return os.open(name, DIRECTORY_FLAGS, dir_fd=fd)
            except OSError as exc:
                if exc.errno == errno.ENOENT and make:
                    with contextlib.suppress(FileExistsError):
                        os.mkdir(name, 0o777, dir_fd=fd)
                    continue
                shown = self._shown(parts[: at + 1])
                if exc.errno in (errno.ELOOP, errno.ENOTDIR):
                    what = "a link or file is where a directory belongs"
                    raise NotADirectoryError(errno.ENOTDIR, what, shown) from None
                exc.filename = shown
                raise

    def _shown(self, parts: Iterable[str]) -> str:
        return os.path.join(self._directory, *parts)

    def make(self, entry: Entry, parts: list[str], data: Iterable[Any]) -> None:
        """Make what an entry describes at `parts`; OSError names the path."""
        if entry.type == DIRECTORY:
            self.make_directory(entry, parts)
            return
        if not parts:
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), self._directory)
        try:
            if entry.type == FILE:
                self._make_file(entry, parts, data)
            elif entry.type == HARDLINK:
                self._make_hard_link(entry, parts)
            else:
                self._make_other(entry, parts)
        except OSError as exc:
            if exc.filename is None or not str(exc.filename).startswith(self._directory):
                exc.filename = self._shown(parts)
            exc.filename2 = None
            raise

    def make_directory(self, entry: Entry, parts: list[str]) -> None:
        """Make a directory, in place of what else may be there, and note what it gets in the end."""
        parent = self.directory(parts[:-1])
        if parts:
            name = encoded(parts[-1])
            try:
                os.mkdir(name, 0o700, dir_fd=parent)
            except FileExistsError:
                status = os.stat(name, dir_fd=parent, follow_symlinks=False)
                if not stat.S_ISDIR(status.st_mode):
                    os.unlink(name, dir_fd=parent)
                    os.mkdir(name, 0o700, dir_fd=parent)
                elif status.st_mode & 0o700 != 0o700 and os.geteuid() != 0:
                    # rights are missing to write into it: they come back in the end
                    os.chmod(_path(parent, name), stat.S_IMODE(status.st_mode) | 0o700)
        self._finished.append(_Finished(parts, entry))

    def _make_file(self, entry: Entry, parts: list[str], data: Iterable[Any]) -> None:
        parent = self.directory(parts[:-1])
        temporary = self._temporary
        mode = names.target_mode(entry.mode, entry.type, self._settings.filter)
        gets_mode = not self._settings.owns and not mode & (self.umask | ~0o777) and not self._has_list(parent)
        try:  # from here on: an interrupt may come when the file is there and `open` has not returned
            fd = os.open(temporary, _CREATE_FLAGS, mode if gets_mode else 0o600, dir_fd=parent)
            try:
                self._write(fd, entry, data)
                self._set_attributes(fd, entry, gets_mode)
            finally:
                os.close(fd)
            os.rename(temporary, encoded(parts[-1]), src_dir_fd=parent, dst_dir_fd=parent)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary, dir_fd=parent)
            raise

    def _has_list(self, parent: int) -> bool:
        found = self._with_list.get(parent)
        if found is None:
            try:
                found = bool(os.getxattr(parent, "system.posix_acl_default"))
            except (AttributeError, OSError):
                found = False
            self._with_list[parent] = found
        return found

    def _write(self, fd: int, entry: Entry, data: Iterable[Any]) -> None:
        if entry.sparse is None:
            for piece in data:
                write_next(fd, piece)
            return
        os.ftruncate(fd, entry.size)
        holes = iter(entry.sparse)
        offset = left = 0
        for piece in data:
            while len(piece):
                if not left:
                    offset, left = next(holes)
                written = os.pwrite(fd, piece[:left], offset)
                piece = piece[written:]
                offset += written
                left -= written

    def _set_attributes(self, fd: int, entry: Entry, has_mode: bool = False) -> None:
        """Set owner, mode, extended attributes and times, in the order in which none undoes another."""
        settings = self._settings
        if settings.owns:
            os.fchown(fd, *self._owner(entry))
        if not has_mode:
            os.fchmod(fd, names.target_mode(entry.mode, entry.type, settings.filter))
        if entry.xattrs:
            for name, value in entry.xattrs.items():
                if settings.acls if name in ACL_KEYS else settings.xattrs:
                    os.setxattr(fd, name, value)
        os.utime(fd, ns=(entry.mtime_ns, entry.mtime_ns))

    def _owner(self, entry: Entry) -> tuple[int, int]:
        if self._settings.numeric_owner:
            return entry.uid, entry.gid
        return user_number(entry.uname, entry.uid), group_number(entry.gname, entry.gid)

    def _make_hard_link(self, entry: Entry, parts: list[str]) -> None:
        target = names.link_target(entry, self._settings.strip)
        first = encoded(target[-1])
        source = os.dup(self.directory(target[:-1], make=False))
        try:
            status = os.stat(first, dir_fd=source, follow_symlinks=False)
            if stat.S_ISLNK(status.st_mode) and self._settings.filter != names.TRUSTED:
                # a symbolic link that is safe where it lies may lead out from another place
                raise names.refused(entry, f"is a hard link to the symbolic link {entry.linkname!r}")
            parent = self.directory(parts[:-1])
            self._place(lambda name: _link(source, first, parent, name), parent, encoded(parts[-1]))
        finally:
            os.close(source)

    def _make_other(self, entry: Entry, parts: list[str]) -> None:
        settings = self._settings
        parent = self.directory(parts[:-1])
        mode = names.target_mode(entry.mode, entry.type, settings.filter)
        base = encoded(parts[-1])
        if entry.type == SYMLINK:
            text = encoded(names.symlink_text(entry, parts, settings.filter))
            self._place(lambda name: os.symlink(text, name, dir_fd=parent), parent, base)
        elif entry.type == FIFO:
            self._place(lambda name: os.mkfifo(name, mode, dir_fd=parent), parent, base)
        else:
            kind = stat.S_IFCHR if entry.type == CHARACTER else stat.S_IFBLK
            number = os.makedev(*entry.device)
            self._place(lambda name: os.mknod(name, mode | kind, number, dir_fd=parent), parent, base)
        if settings.owns:
            uid, gid = self._owner(entry)
            os.chown(base, uid, gid, dir_fd=parent, follow_symlinks=False)
        if entry.type != SYMLINK:
            os.chmod(_path(parent, base), mode)
        os.utime(base, ns=(entry.mtime_ns, entry.mtime_ns), dir_fd=parent, follow_symlinks=False)

    def _place(self, make: Any, parent: int, name: bytes) -> None:
        """Make something under its name or, if that is taken, under a temporary name that takes its place."""
        try:
            make(name)
            return
        except FileExistsError:
            temporary = self._temporary
        make(temporary)
        try:
            os.rename(temporary, name, src_dir_fd=parent, dst_dir_fd=parent)
        finally:
            # renaming one link of a file to another one does nothing
            with contextlib.suppress(OSError):
                os.unlink(temporary, dir_fd=parent)

    def finish(self) -> None:
        """Give directories their attributes: each once, as its last entry says, and what is deep inside first."""
        last = {tuple(item.parts): item for item in self._finished}
        self._finished = []
        for item in sorted(last.values(), key=lambda item: item.parts, reverse=True):
            try:
                self._set_attributes(self.directory(item.parts, make=False), item.entry)
            except FileNotFoundError:
                continue  # something else has taken its place
            except NotADirectoryError:
                continue
