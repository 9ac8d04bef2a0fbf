# SPDX-License-Identifier: Apache-2.0
"""Walk trees like GNU tar, relative to descriptors of directories, and create an entry for each file found."""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Union, cast

from cpkg.archive._frames import Frames
from cpkg.archive._result import Problem
from cpkg.archive._settings import CreateSettings, selected
from purepy.base import system
from purepy.base.descriptors import Descriptor
from purepy.base.errors import Suppressed, raise_if_from_handler
from purepy.base.uninterrupted import call_and_keep, pop_and_call
from purepy.tar.acl import ACL_KEYS
from purepy.tar.entry import BLOCK_DEVICE, CHARACTER, DIRECTORY, FIFO, FILE, HARDLINK, SYMLINK, Entry
from purepy.tar.owners import owner_name
from purepy.tar.patterns import matcher

if TYPE_CHECKING:
    from cpkg.archive._native_frames import NativeFrames, RunOfFiles

_TYPES = {
    stat.S_IFREG: FILE,
    stat.S_IFDIR: DIRECTORY,
    stat.S_IFLNK: SYMLINK,
    stat.S_IFIFO: FIFO,
    stat.S_IFCHR: CHARACTER,
    stat.S_IFBLK: BLOCK_DEVICE,
}
CANNOT_READ = "cannot be read"
GONE = "file removed before we read it"
DIRECTORY_FLAGS = os.O_RDONLY | system.O_DIRECTORY | system.O_NOFOLLOW | system.OPEN_FLAGS


_OPEN_MAX = 6
FILE_FLAGS = os.O_RDONLY | system.O_NOFOLLOW | getattr(os, "O_NONBLOCK", 0) | system.OPEN_FLAGS


class Member(NamedTuple):
    """An entry and its file: `base` is its name in its directory, or a path passed to `walk`; `status` is from stat."""

    entry: Entry
    base: str
    status: os.stat_result


Found = Union[Member, Problem, "RunOfFiles"]


def member_name(path: str) -> str:
    """
    Return the name of a path in an archive: the part after the last `..`, without slashes around it, or "." if empty.

    On Windows, the drive is removed and backslashes become slashes.
    """
    if system.IS_WINDOWS:
        path = os.path.splitdrive(path)[1].replace("\\", "/")
    parts = path.split("/")
    if ".." in parts:
        del parts[: len(parts) - parts[::-1].index("..")]
    name = "/".join(parts).strip("/") if parts != [""] else ""
    return name or "."


class _Folder(NamedTuple):
    """The current directory or one above it: its name, its identity (device and inode), and its parent's path."""

    base: str
    identity: tuple[int, int]
    above: str | int
    """The path of the parent in the archive, or its length if the path of this directory begins with it."""


class Walker:
    """
    Yields the members of trees, each directory before its contents.

    The directories from the root to the current one stay open; on a deep path, only the root and the innermost ones.
    The others are opened again by name when the walk returns to them.
    """

    def __init__(self, settings: CreateSettings, own: list[tuple[int, int]], frames: Frames) -> None:
        self._settings = settings
        self._mtime_ns = settings.mtime_ns
        self._mode_mask = 0o7755 if settings.reproducible else 0o7777
        self._is_excluded = matcher(settings.exclude, anchored=False)
        self._is_included = matcher(settings.include, anchored=False)
        is_ordinary = settings.select is None and not settings.xattrs and not settings.acls
        self._frames = cast("NativeFrames", frames) if frames.reads_runs and is_ordinary else None
        self._own = own
        self._links: dict[tuple[int, int], str] = {}
        self._way: list[_Folder] = []
        self._path = ""
        self._open: list[Descriptor] = []
        """The root, then the directories on the way; some may be closed."""
        self._files: list[int] = []
        self._opener = -1, system.open

    def close(self) -> None:
        """Close all descriptors."""
        while self._files:
            self.close_file()
        while self._open:
            self._open.pop().close()

    def directory(self) -> int:
        """Return the descriptor of the current directory, reopened if closed; raises OSError if it was replaced."""
        if self._open[-1].is_closed:
            start = max(depth for depth, directory in enumerate(self._open) if not directory.is_closed)
            for depth, folder in enumerate(self._way[start:], start + 1):
                self._open[depth] = opened(folder.base, DIRECTORY_FLAGS, self._open[depth - 1].number)
                if _identity(os.fstat(self._open[depth].number)) != folder.identity:
                    self._open[depth].close()
                    raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))
                self._close_above(depth)
        return self._open[-1].number

    def _close_above(self, depth: int) -> None:
        if depth >= _OPEN_MAX:
            self._open[depth - _OPEN_MAX + 1].close()

    def open_file(self, base: str) -> int:
        """
        Open a file in the current directory, where the last member is, and return the descriptor; raises OSError.

        `close_file` closes it.
        """
        directory = self.directory()
        if self._opener[0] != directory:
            self._opener = directory, partial(system.open, flags=FILE_FLAGS, dir_fd=directory)
        call_and_keep(self._files, self._opener[1], base)
        return self._files[-1]

    def close_file(self) -> None:
        """Close the file that was opened last."""
        pop_and_call(self._files, os.close)

    def walk(self, base: str, paths: Iterable[str]) -> Generator[Found, None, None]:
        """
        Yield a Member for each file and directory at or below `paths`, or a Problem if it cannot be archived.

        `paths` are relative to the directory `base`. If C reads files, also yields RunOfFiles objects: the consumer may
        read any number of files from the beginning of a run, and the walk continues with the first file not read.
        """
        self._open.append(opened(base, DIRECTORY_FLAGS & ~system.O_NOFOLLOW))
        for path in paths:
            levels = [self._found([path])]
            while levels:
                for found in levels[-1]:
                    yield found
                    if isinstance(found, Member) and found.entry.type == DIRECTORY and self._settings.recursive:
                        try:
                            levels.append(self._enter(found))
                        except OSError as exc:
                            yield self.failed(found.entry.name, "cannot be opened", exc, found.base)
                            continue
                        break
                else:
                    levels.pop()
                    if levels:
                        self._open.pop().close()
                        above = self._way.pop().above
                        self._path = self._path[:above] if isinstance(above, int) else above

    def _enter(self, member: Member) -> Iterator[Found]:
        """Make a member the current directory; return an iterator over what is found in it. Raises OSError."""
        name, path = member.entry.name, self._path
        self._open.append(opened(member.base, DIRECTORY_FLAGS, self.directory()))
        above = len(path) if name.startswith(path) else path
        self._way.append(_Folder(member.base, _identity(member.status), above))
        self._path = name
        self._close_above(len(self._way))
        try:
            names = system.listdir(self._open[-1].number)
        except OSError as exc:
            return iter([self.failed(name, CANNOT_READ, exc)])
        if self._settings.sort:
            try:
                "".join(names).encode()
                names.sort()  # code points have the same order as their UTF-8 bytes
            except UnicodeEncodeError:
                names.sort(key=os.fsencode)
        return self._found(names)

    def _found(self, names: list[str]) -> Iterator[Found]:
        is_inside = bool(self._way)
        is_excluded = self._is_excluded
        select = self._settings.select
        if is_excluded is not None:
            names = [base for base in names if not is_excluded(self._name(base))]
        run = self._run(names) if is_inside and names and self._frames is not None else None
        at = 0
        while at < len(names):
            try:
                directory = self.directory()
                if run is not None:
                    run.directory = directory
                    yield run
                    at = run.index
                    if at == len(names):
                        break
                base = names[at]
                found = self._member(directory, base, self._name(base))
            except OSError as exc:
                name = self._name(names[at])
                is_gone = isinstance(exc, FileNotFoundError) and is_inside
                found = Problem(name, GONE) if is_gone else self.failed(name, CANNOT_READ, exc, names[at])
            at += 1
            if run is not None:
                run.skip()
            if select is not None and isinstance(found, Member):
                # outside the `try`: an OSError of the callback is not about the file
                entry = selected(select, found.entry)
                found = None if entry is None else found._replace(entry=entry)
            if found is not None:
                yield found

    def _name(self, base: str) -> str:
        return f"{self._path}/{base}" if self._way else member_name(base)

    def _run(self, names: list[str]) -> RunOfFiles:
        """
        Return a RunOfFiles of `names`, in which "" replaces each name that the patterns of `include` do not match.

        C skips an empty name. Python then handles the entry, which may be a directory: `include` applies only to files.
        """
        assert self._frames is not None
        is_included = self._is_included
        if is_included is not None:
            names = [base if is_included(self._name(base)) else "" for base in names]
        return self._frames.files(self._path, names)

    def _member(self, directory: int, base: str, name: str) -> Member | Problem | None:
        settings = self._settings
        status = system.stat(base, dir_fd=directory, follow_symlinks=False)
        if (status.st_dev, status.st_ino) in self._own:
            return None
        kind = _TYPES.get(stat.S_IFMT(status.st_mode))
        if kind is None:
            what = "socket" if stat.S_ISSOCK(status.st_mode) else "file of an unknown type"
            return Problem(name, f"{what} ignored")
        if kind != DIRECTORY and self._is_included is not None and not self._is_included(name):
            return None
        entry = Entry(name, kind, mode=stat.S_IMODE(status.st_mode) & self._mode_mask)
        entry.mtime_ns = status.st_mtime_ns if self._mtime_ns is None else self._mtime_ns
        entry.uid, entry.gid = settings.owner or (status.st_uid, status.st_gid)
        if settings.owner is None and not settings.numeric_owner:
            entry.uname, entry.gname = owner_name(entry.uid, True), owner_name(entry.gid, False)
        if kind == FILE:
            entry.size = status.st_size
            if settings.sparse and hasattr(status, "st_blocks") and status.st_blocks * 512 < status.st_size:
                entry.sparse = _map_of(directory, base, status.st_size)
        elif kind == SYMLINK:
            entry.linkname = system.readlink(base, dir_fd=directory)
        elif kind in (CHARACTER, BLOCK_DEVICE):
            entry.device = os.major(status.st_rdev), os.minor(status.st_rdev)
        if settings.xattrs or settings.acls:
            entry.xattrs = _attributes(directory, base, settings) or None
        return Member(entry, base, status)

    def failed(self, name: str, what: str, exc: OSError, *base: str) -> Problem:
        """
        Return the problem of an entry that cannot be read; an error from a signal handler is raised instead.

        `base` is the name in the current directory; without it, the directory itself failed. The error gets the path
        that `path` returns.
        """
        raise_if_from_handler(exc)
        exc.filename = self.path(*base)
        return Problem(name, f"{what}: {exc.strerror}", exc)

    def path(self, *base: str) -> str:
        """Return the path of the current directory, or of a name in it; it begins with the path passed to `walk`."""
        return os.path.join(*(folder.base for folder in self._way), *base)

    def linked(self, member: Member) -> Member:
        """Return a member whose file has several names; as a hard link if the file is archived under another name."""
        entry, status = member.entry, member.status
        first = self._links.get(_identity(status)) if entry.type != DIRECTORY else None
        if first is None or first == entry.name:
            return member
        link = entry.replace(type=HARDLINK, linkname=first, size=0, sparse=None, xattrs=None, device=(0, 0))
        return member._replace(entry=link)

    def stored(self, member: Member) -> None:
        """Record that a file with several names is archived: its other names become links. Ignores directories."""
        if member.entry.type != DIRECTORY:
            self._links.setdefault(_identity(member.status), member.entry.name)


def opened(base: str | bytes, flags: int, directory: int | None = None, mode: int = 0o777) -> Descriptor:
    """Open the path `base`, relative to `directory` (a descriptor) unless that is None, and return the Descriptor."""
    # On PyPy, partial() is Python code, where an interrupt may lose the new descriptor: use it only with a directory.
    by = system.open if directory is None else partial(system.open, dir_fd=directory)
    return Descriptor(base, flags, mode, by=by)


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def _map_of(directory: int, base: str, size: int) -> list[tuple[int, int]] | None:
    """Return a list of (offset, size) for the pieces of a file that hold data, None if the system reports no holes."""
    pieces = []
    at = 0
    seek_data, seek_hole = getattr(os, "SEEK_DATA", None), getattr(os, "SEEK_HOLE", None)
    if sys.platform == "linux":  # PyPy lacks the names
        seek_data, seek_hole = 3, 4
    if seek_data is None or seek_hole is None:
        return None
    with closing(opened(base, FILE_FLAGS, directory)) as file:
        while at < size:
            try:
                start = os.lseek(file.number, at, seek_data)
            except OSError as exc:
                raise_if_from_handler(exc)
                if exc.errno != errno.ENXIO:  # the file system does not report holes
                    return None
                break  # the rest is a hole
            end = min(os.lseek(file.number, start, seek_hole), size)
            if start >= end:
                break
            pieces.append((start, end - start))
            at = end
    return None if pieces == [(0, size)] else pieces


def _attributes(directory: int, base: str, settings: CreateSettings) -> dict[str, bytes]:
    path = f"/proc/self/fd/{directory}/{base}"
    found: dict[str, bytes] = {}
    with Suppressed(OSError):  # the file system may not support attributes
        for name in os.listxattr(path, follow_symlinks=False):
            if settings.acls if name in ACL_KEYS else settings.xattrs and not name.startswith("system."):
                with Suppressed(OSError):
                    found[name] = os.getxattr(path, name, follow_symlinks=False)
    return found
