# SPDX-License-Identifier: Apache-2.0
"""
Create files, directories and links below one directory, without ever following a link on the way.

All calls are relative to descriptors of directories, so that a link that another program creates meanwhile has no
effect. Names are bytes, as stored in the archive; on PyPy, encoding a str takes microseconds. Owner and mode are set by
the descriptor of the new file, never by its name, which may belong to another file by then. Without /proc, they are set
by name in a private directory, where no other user can create files.

A file is written under a temporary name and renamed when it is complete. Modes and times of directories are set at the
end, innermost directories first.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Union

from cpkg.archive._settings import ExtractSettings
from cpkg.archive._walk import DIRECTORY_FLAGS, opened
from purepy.base import system
from purepy.base.descriptors import Descriptor, write_next
from purepy.base.errors import Suppressed, raise_if_from_handler
from purepy.base.uninterrupted import call_and_keep, pop_and_call
from purepy.tar import names
from purepy.tar.encode import encoded
from purepy.tar.entry import CHARACTER, DIRECTORY, FIFO, FILE, HARDLINK, SYMLINK, Entry
from purepy.tar.owners import owner_number

Data = Iterable[Union[bytes, memoryview]]
_CREATE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | system.O_NOFOLLOW | system.OPEN_FLAGS
_REPLACED = "another file replaced the one that was just created"
_PATH_FLAGS = system.O_NOFOLLOW | getattr(os, "O_PATH", 0o10000000) | system.OPEN_FLAGS  # PyPy has no O_PATH


def _path(descriptor: int, *name: bytes) -> bytes:
    """Return the path of a descriptor, or of a name in an open directory, for calls that do not accept descriptors."""
    return b"/".join((b"/proc/self/fd/%d" % descriptor, *name))


def _link(source: int, name: bytes, parent: int, new_name: bytes) -> None:
    """Create a hard link; for a symbolic link, the new name refers to the link itself, not to its target."""
    if sys.implementation.name != "pypy":
        system.link(name, new_name, src_dir_fd=source, dst_dir_fd=parent, follow_symlinks=False)
        return
    try:  # PyPy passes linkat the wrong flag for follow_symlinks=False
        os.link(_path(source, name), _path(parent, new_name))
    except FileNotFoundError:
        if os.path.exists(_path(source)):
            raise
        wanted = system.stat(name, dir_fd=source, follow_symlinks=False)  # there is no /proc
        os.link(name, new_name, src_dir_fd=source, dst_dir_fd=parent)
        if not os.path.samestat(wanted, system.stat(new_name, dir_fd=parent, follow_symlinks=False)):
            system.unlink(new_name, dir_fd=parent)
            raise


def _device(numbers: tuple[int, int]) -> int:
    """Return a device number for mknod; raises OSError for a major or minor number that this system cannot have."""
    with Suppressed(AttributeError, OverflowError, ValueError):  # Windows has no makedev
        device = os.makedev(*numbers)
        if (os.major(device), os.minor(device)) == tuple(numbers):  # PyPy may drop bits
            return device
    raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))


def _umask() -> int:
    """Return the umask of the process, 0o7777 if unknown; os.umask is not used, because it also changes the umask."""
    with (
        Suppressed(OSError, ValueError),
        open("/proc/self/status", encoding="ascii", errors="replace") as file,
    ):
        for line in file:
            if line.startswith("Umask:"):
                return int(line.split()[1], 8)
    return 0o7777


class Tree:
    """
    Creates files below the directory that entries are extracted to.

    At most `open_max` nested directories, with the root, stay open.
    """

    def __init__(self, directory: str, settings: ExtractSettings, open_max: int) -> None:
        self._settings = settings
        self._directory = directory
        self._open_max = open_max
        self._names: list[str] = []  # path components of the directory opened last
        self._fds: list[Descriptor] = []  # its descriptors, the root first; some may be closed to stay below open_max
        self._held: list[Descriptor] = []  # open for the current entry
        self._created: list[int] = []  # descriptor of the file being written; an int costs half as much as a Descriptor
        self._new: list[str] = []  # the directory and the parents that `open` created, the innermost first
        self._with_list: dict[int, bool] = {}  # descriptor -> whether new files get an access control list
        self._has_proc = os.path.exists("/proc/self/fd")
        self.umask = _umask()
        self.finished: list[tuple[list[str], Entry]] = []
        """Directories, and the entries whose attributes they get at the end."""
        self.token = f".cpkg-{os.getpid()}-{os.urandom(4).hex()}"
        self._temporary = encoded(f"{self.token}.tmp")
        """The name of a file, link or private directory until it is complete. They are created one at a time."""

    def open(self) -> None:
        """Create the directory if it is missing, with its parents, and open it."""
        missing = os.path.abspath(self._directory)
        while not os.path.lexists(missing):
            self._new.append(missing)
            missing = os.path.dirname(missing)
        with contextlib.suppress(FileExistsError):  # the next line reports that a file is not a directory
            os.makedirs(self._directory, exist_ok=True)
        self._fds.append(opened(self._directory, os.O_RDONLY | system.O_DIRECTORY | system.OPEN_FLAGS))

    def remove_empty(self) -> None:
        """Remove the directories that `open` created if they are empty."""
        with contextlib.suppress(OSError):
            for path in self._new:
                os.rmdir(path)

    @property
    def root(self) -> int:
        """The descriptor of the directory."""
        return self._fds[0].number

    def close(self) -> None:
        """Close all descriptors."""
        self._release()
        self._shorten(-1)

    def __del__(self) -> None:
        if hasattr(self, "_with_list"):  # closes the rest if `close` was interrupted
            self.close()

    def _release(self) -> None:
        """Close the descriptors that were opened for one entry."""
        if self._created:
            self._close_created()
        while self._held:
            self._held[-1].close()
            self._held.pop()

    def _close_created(self) -> None:
        pop_and_call(self._created, os.close)

    def _shorten(self, depth: int) -> None:
        del self._names[max(depth, 0) :]
        while len(self._fds) > depth + 1:
            self._fds[-1].close()
            self._fds.pop()

    def directory(self, parts: list[str], make: bool = True) -> int:
        """
        Return the descriptor of the directory at `parts`, valid until the next call.

        With `make`, creates missing directories; otherwise raises FileNotFoundError for them. Raises NotADirectoryError
        if one of `parts` is a file or link.
        """
        if parts == self._names:
            return self._fds[-1].number
        depth = 0
        for name, part in zip(self._names, parts):
            if name != part:
                break
            depth += 1
        self._shorten(depth)
        if self._fds[-1].is_closed:
            self._shorten(0)
        for at in range(len(self._names), len(parts)):
            self._fds.append(self._enter(self._fds[-1].number, parts, at, make))
            self._with_list.pop(self._fds[-1].number, None)  # the number may have belonged to another directory
            self._names.append(parts[at])
            above = len(self._fds) - self._open_max
            if above > 0:
                self._fds[above].close()
        return self._fds[-1].number

    def has(self, parts: Sequence[str]) -> bool:
        """Return whether a path exists, even as a link; raises OSError if it leads through a link or file."""
        try:
            parent = self.directory(list(parts[:-1]), make=False)
            system.stat(encoded(parts[-1]), dir_fd=parent, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return True

    def _enter(self, fd: int, parts: list[str], at: int, make: bool) -> Descriptor:
        name = encoded(parts[at])
        while True:
            try:
                return opened(name, DIRECTORY_FLAGS, fd)
            except OSError as exc:
                if exc.errno == errno.ENOENT and make:
                    with contextlib.suppress(FileExistsError):
                        system.mkdir(name, 0o777, dir_fd=fd)
                    continue
                raise_if_from_handler(exc)
                shown = self._shown(parts[: at + 1])
                if exc.errno in (errno.ELOOP, errno.ENOTDIR):
                    what = "expected a directory, found a file or link"
                    raise NotADirectoryError(errno.ENOTDIR, what, shown) from None
                exc.filename = shown
                raise

    def _shown(self, parts: Iterable[str]) -> str:
        return os.path.join(self._directory, *parts)

    def make(self, entry: Entry, parts: list[str], data: Data) -> None:
        """
        Create what an entry describes at `parts`: a directory, link, device, FIFO, or a file with `data`.

        Raises OSError with the path, and UnsafeEntryError for a link that the filter refuses.
        """
        if not parts and entry.type != DIRECTORY:
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), self._directory)
        try:
            if entry.type == DIRECTORY:
                self._make_directory(entry, parts)
            elif entry.type == FILE:
                self._make_file(entry, parts, data)
            elif entry.type == HARDLINK:
                self._make_hard_link(entry, parts)
            else:
                self._make_other(entry, parts)
        except OSError as exc:
            raise_if_from_handler(exc)
            if exc.filename2 is not None:  # setting filename2 to None would still show " -> None"
                raise OSError(exc.errno, exc.strerror, self._shown(parts)) from None
            if exc.filename is None or not str(exc.filename).startswith(self._directory):
                exc.filename = self._shown(parts)
            raise
        finally:
            if self._held or self._created:
                self._release()

    def _make_directory(self, entry: Entry, parts: list[str]) -> None:
        """Create a directory unless it exists, replacing any other file; it gets its attributes at the end."""
        parent = self.directory(parts[:-1])
        if parts:
            name = encoded(parts[-1])
            try:
                system.mkdir(name, 0o700, dir_fd=parent)
            except FileExistsError:
                status = system.stat(name, dir_fd=parent, follow_symlinks=False)
                if not stat.S_ISDIR(status.st_mode):
                    system.unlink(name, dir_fd=parent)
                    system.mkdir(name, 0o700, dir_fd=parent)
                elif status.st_mode & 0o700 != 0o700 and not system.is_root():
                    # make the directory writable; it gets its old mode back at the end
                    self._held.append(opened(name, _PATH_FLAGS | system.O_DIRECTORY, parent))
                    os.chmod(_path(self._held[-1].number), stat.S_IMODE(status.st_mode) | 0o700)
        self.finished.append((parts, entry))

    def _make_file(self, entry: Entry, parts: list[str], data: Data) -> None:
        parent = self.directory(parts[:-1])
        temporary = self._temporary
        mode, gets_mode = self.file_mode(entry)
        gets_mode = gets_mode and not self.has_list(parent)
        create = partial(system.open, dir_fd=parent)
        try:  # an interrupt may come after the file was created and before the call returns
            call_and_keep(self._created, create, temporary, _CREATE_FLAGS, mode if gets_mode else 0o600)
            fd = self._created[0]
            self._write(fd, entry, data)
            self._set_attributes(fd, entry, gets_mode)
            self._close_created()
            self._replace(parent, encoded(parts[-1]))
        except BaseException:
            self._release()
            with Suppressed(OSError):
                system.unlink(temporary, dir_fd=parent)
            raise

    def _replace(self, parent: int, name: bytes, source: int | None = None) -> None:
        """
        Move the temporary file to `name` in `parent`, replacing any file or empty directory of that name.

        The temporary file is in the directory `source`, by default in `parent`.
        """
        source = parent if source is None else source
        try:
            system.rename(self._temporary, name, src_dir_fd=source, dst_dir_fd=parent)
        except IsADirectoryError:
            try:
                system.rmdir(name, dir_fd=parent)
            except OSError as exc:
                raise_if_from_handler(exc)
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR)) from None
            system.rename(self._temporary, name, src_dir_fd=source, dst_dir_fd=parent)

    def file_mode(self, entry: Entry) -> tuple[int, bool]:
        """
        Return the mode for a new file, and whether open() sets this mode unchanged.

        An access control list of the directory (see `has_list`) may still change the mode.
        """
        mode = names.target_mode(entry.mode, entry.type, self._settings.filter)
        return mode, not self._settings.owns and not mode & (self.umask | ~0o777)

    def has_list(self, parent: int) -> bool:
        """Return whether new files in an open directory inherit an access control list."""
        found = self._with_list.get(parent)
        if found is None:
            found = False
            with Suppressed(AttributeError, OSError):
                found = bool(os.getxattr(parent, "system.posix_acl_default"))
            self._with_list[parent] = found
        return found

    def _write(self, fd: int, entry: Entry, data: Data) -> None:
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
                written = system.pwrite(fd, piece[:left], offset)
                piece = piece[written:]
                offset += written
                left -= written

    def _set_attributes(self, fd: int, entry: Entry, has_mode: bool = False) -> None:
        """Set owner, mode (unless `has_mode`), attributes and times, in an order in which no call undoes another."""
        settings = self._settings
        if settings.owns:
            os.fchown(fd, *self.owner(entry))
        if not has_mode:
            system.fchmod(fd, names.target_mode(entry.mode, entry.type, settings.filter))
        if entry.xattrs:
            for name, value in entry.xattrs.items():
                if settings.sets_attribute(name):
                    os.setxattr(fd, name, value)
        system.utime(fd, ns=(entry.mtime_ns, entry.mtime_ns))

    def owner(self, entry: Entry) -> tuple[int, int]:
        """
        Return the numbers of an entry's user and group.

        These are the numbers that its names have on this system. A missing or unknown name, and `numeric_owner`, mean
        the stored number.
        """
        is_numeric = self._settings.numeric_owner
        uid = None if is_numeric or not entry.uname else owner_number(entry.uname, True)
        gid = None if is_numeric or not entry.gname else owner_number(entry.gname, False)
        return entry.uid if uid is None else uid, entry.gid if gid is None else gid

    def _make_hard_link(self, entry: Entry, parts: list[str]) -> None:
        target = names.link_target(entry, self._settings.strip)
        first = encoded(target[-1])
        self._held.append(Descriptor(self.directory(target[:-1], make=False), by=system.dup))
        source = self._held[-1].number
        status = system.stat(first, dir_fd=source, follow_symlinks=False)
        if stat.S_ISLNK(status.st_mode):
            # a link that is safe in its own directory may lead outside from another directory
            text = os.fsdecode(system.readlink(first, dir_fd=source))
            link = entry.replace(type=SYMLINK, linkname=text)
            if names.symlink_text(link, parts, self._settings.filter) != text:
                raise names.refused(entry, f"is a hard link to the symbolic link {entry.linkname!r}")
        parent = self.directory(parts[:-1])
        self._place(lambda name: _link(source, first, parent, name), parent, encoded(parts[-1]))

    def _make_other(self, entry: Entry, parts: list[str]) -> None:
        settings = self._settings
        parent = self.directory(parts[:-1])
        mode = names.target_mode(entry.mode, entry.type, settings.filter)
        base = encoded(parts[-1])
        make: Callable[..., None]
        if entry.type == SYMLINK:
            kind = stat.S_IFLNK
            make = partial(system.symlink, encoded(names.symlink_text(entry, parts, settings.filter)))
        elif entry.type == FIFO:
            kind = stat.S_IFIFO
            make = partial(system.mkfifo, mode=mode)
        else:
            kind = stat.S_IFCHR if entry.type == CHARACTER else stat.S_IFBLK
            make = partial(system.mknod, mode=mode | kind, device=_device(entry.device))
        is_owned = settings.owns or entry.type != SYMLINK
        if is_owned and not self._has_proc and not system.IS_BY_PATH:
            self._make_privately(make, entry, mode, parent, base)
        else:
            self._place(partial(make, dir_fd=parent), parent, base)
        if is_owned and self._has_proc:
            fd = self._opened(base, parent, kind)
            if settings.owns:
                os.chown(_path(fd), *self.owner(entry))
            if entry.type != SYMLINK and stat.S_IMODE(os.fstat(fd).st_mode) != mode:
                os.chmod(_path(fd), mode)
        system.utime(base, ns=(entry.mtime_ns, entry.mtime_ns), dir_fd=parent, follow_symlinks=False)

    def _make_privately(self, make: Callable[..., None], entry: Entry, mode: int, parent: int, name: bytes) -> None:
        """Create a file in a private directory, where no other user can replace it, and move it into place."""
        temporary = self._temporary
        try:
            system.mkdir(temporary, 0o700, dir_fd=parent)
            self._held.append(opened(temporary, DIRECTORY_FLAGS, parent))
            private = self._held[-1].number
            status = os.fstat(private)
            if status.st_uid != os.geteuid() or status.st_mode & 0o077:
                raise OSError(errno.ESTALE, _REPLACED)
            try:
                make(temporary, dir_fd=private)
                if self._settings.owns:
                    os.chown(temporary, *self.owner(entry), dir_fd=private, follow_symlinks=False)
                if entry.type != SYMLINK:
                    os.chmod(temporary, mode, dir_fd=private)
                self._replace(parent, name, private)
            finally:
                with Suppressed(OSError):
                    system.unlink(temporary, dir_fd=private)
        finally:
            with Suppressed(OSError):
                system.rmdir(temporary, dir_fd=parent)

    def _opened(self, name: bytes, parent: int, kind: int) -> int:
        """Return a descriptor of the new file, to set its owner and mode; raises OSError if the file was replaced."""
        self._held.append(opened(name, _PATH_FLAGS, parent))
        fd = self._held[-1].number
        status = os.fstat(fd)
        if stat.S_IFMT(status.st_mode) != kind or status.st_uid != os.geteuid() or status.st_nlink != 1:
            raise OSError(errno.ESTALE, _REPLACED)
        return fd

    def _place(self, make: Callable[[bytes], None], parent: int, name: bytes) -> None:
        """Call `make` with `name` or, if that exists, with a temporary name, and move the new file to `name`."""
        try:
            make(name)
            return
        except FileExistsError:
            temporary = self._temporary
        make(temporary)
        try:
            self._replace(parent, name)
        finally:
            # rename() does nothing if both names are links to the same file
            with Suppressed(OSError):
                system.unlink(temporary, dir_fd=parent)

    def finish(self, fails: Callable[[str, OSError], None]) -> None:
        """
        Set the attributes of directories, innermost first, each from the last entry for that directory.

        If the attributes of a directory cannot be set, calls `fails` with its path in the archive and the error.
        """
        last = {tuple(parts): entry for parts, entry in self.finished}
        self.finished = []
        for parts in sorted(last, reverse=True):
            self.finish_one(list(parts), last[parts], fails)

    def finish_one(self, parts: list[str], entry: Entry, fails: Callable[[str, OSError], None]) -> None:
        """Set the attributes of a directory unless it was removed or replaced; pass any other error to `fails`."""
        try:
            self._set_attributes(self.directory(parts, make=False), entry)
        except (FileNotFoundError, NotADirectoryError):
            pass
        except OSError as exc:
            raise_if_from_handler(exc)
            exc.filename = self._shown(parts)
            fails("/".join(parts) or ".", exc)
