# SPDX-License-Identifier: Apache-2.0
"""Walk over trees as GNU tar does, relative to handles of directories, and make an entry of each thing found."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Generator, Iterable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from cpkg.archive._result import Problem, Problems
from cpkg.archive._settings import CreateSettings, chosen
from purepy.tar.acl import ACL_KEYS
from purepy.tar.entry import (
    BLOCK_DEVICE,
    CHARACTER,
    DIRECTORY,
    FIFO,
    FILE,
    HARDLINK,
    SYMLINK,
    Entry,
)

_TYPES = {
    stat.S_IFREG: FILE,
    stat.S_IFDIR: DIRECTORY,
    stat.S_IFLNK: SYMLINK,
    stat.S_IFIFO: FIFO,
    stat.S_IFCHR: CHARACTER,
    stat.S_IFBLK: BLOCK_DEVICE,
}
DIRECTORY_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | getattr(os, "O_CLOEXEC", 0)


class Member(NamedTuple):
    """An entry, and where its file is: a name in an open directory, with its status."""

    entry: Entry
    directory: int
    base: str
    status: os.stat_result


@lru_cache(maxsize=1024)
def user_name(number: int) -> str:
    """Return a user's name, or "" if the number has none."""
    import pwd

    return _found(pwd.getpwuid, number)


@lru_cache(maxsize=1024)
def group_name(number: int) -> str:
    """Return a group's name, or "" if the number has none."""
    import grp

    return _found(grp.getgrgid, number)


def _found(find: Callable[[int], Any], number: int) -> str:
    try:
        return str(find(number)[0])
    except (KeyError, OverflowError):
        return ""


def member_name(path: str) -> str:
    """Return the name that a path gets in an archive: without leading slashes, and without all up to a last `..`."""
    parts = path.split("/")
    if ".." in parts:
        del parts[: len(parts) - parts[::-1].index("..")]
    name = "/".join(parts).strip("/") if parts != [""] else ""
    return name or "."


class Walker:
    """Yields the members of trees, each directory before what is in it."""

    def __init__(self, settings: CreateSettings, problems: Problems, own_file: tuple[int, int] | None) -> None:
        self._settings = settings
        self._problems = problems
        self._own_file = own_file
        self._links: dict[tuple[int, int], str] = {}
        self._root: int | None = None

    def close(self) -> None:
        """Close the root."""
        if self._root is not None:
            os.close(self._root)
            self._root = None

    def walk(self, base: str, paths: Iterable[str]) -> Generator[Member, None, None]:
        """Yield the members of `paths`, relative to `base`. The directory of one is open until the next one."""
        self._root = os.open(base, os.O_RDONLY | os.O_DIRECTORY | getattr(os, "O_CLOEXEC", 0))
        for path in paths:
            yield from self._tree(self._root, path)

    def _tree(self, root: int, path: str) -> Iterator[Member]:
        levels = [(root, self._members(root, [(path, member_name(path))], is_top=True))]
        try:
            while True:
                member = next(levels[-1][1], None)
                if member is None:
                    if len(levels) == 1:
                        return
                    os.close(levels.pop()[0])
                    continue
                self._link(member)
                yield member
                if member.entry.type == DIRECTORY and self._settings.recursive:
                    directory = self._open(member)
                    if directory is not None:
                        levels.append((directory, self._children(directory, member.entry.name)))
        finally:
            for directory, _ in levels[1:]:
                os.close(directory)

    def _link(self, member: Member) -> None:
        """Make a hard link of a file that is in the archive under another name already."""
        entry, status = member.entry, member.status
        if status.st_nlink > 1 and entry.type not in (DIRECTORY, SYMLINK):
            first = self._links.setdefault((status.st_dev, status.st_ino), entry.name)
            if first != entry.name:
                entry.type, entry.linkname, entry.size, entry.sparse, entry.xattrs = HARDLINK, first, 0, None, None

    def _open(self, member: Member) -> int | None:
        try:
            return os.open(member.base, DIRECTORY_FLAGS, dir_fd=member.directory)
        except OSError as exc:
            self._failed(member.entry.name, "cannot be opened", exc)
            return None

    def _children(self, directory: int, above: str) -> Iterator[Member]:
        try:
            names = os.listdir(directory)
        except OSError as exc:
            self._failed(above, "cannot be read", exc)
            return iter(())
        if self._settings.sort:
            names.sort(key=os.fsencode)
        return self._members(directory, [(name, f"{above}/{name}") for name in names])

    def _members(self, directory: int, names: list[tuple[str, str]], is_top: bool = False) -> Iterator[Member]:
        found = self._found(directory, names, is_top)
        select = self._settings.select
        if select is None:
            return found
        members = list(found)
        entries = [member.entry for member in members]
        return iter([members[index]._replace(entry=entry) for index, entry in chosen(select, entries)])

    def _found(self, directory: int, names: list[tuple[str, str]], is_top: bool) -> Iterator[Member]:
        for base, name in names:
            if self._settings.is_excluded is not None and self._settings.is_excluded(name):
                continue
            try:
                status = os.stat(base, dir_fd=directory, follow_symlinks=False)
            except FileNotFoundError as exc:
                if is_top:
                    self._failed(name, "cannot be read", exc)
                else:
                    self._problems.add(Problem(name, "file removed before we read it"))
                continue
            except OSError as exc:
                self._failed(name, "cannot be read", exc)
                continue
            member = self._member(directory, base, name, status)
            if member is not None:
                yield member

    def _failed(self, name: str, what: str, exc: OSError) -> None:
        exc.filename = name
        self._problems.add(Problem(name, f"{what}: {exc.strerror}", exc))

    def _member(self, directory: int, base: str, name: str, status: os.stat_result) -> Member | None:
        settings = self._settings
        kind = _TYPES.get(stat.S_IFMT(status.st_mode))
        if kind is None:
            what = "socket" if stat.S_ISSOCK(status.st_mode) else "file of an unknown type"
            self._problems.add(Problem(name, f"{what} ignored"))
            return None
        if (status.st_dev, status.st_ino) == self._own_file:
            self._problems.add(Problem(name, "file is the archive; not dumped"))
            return None
        if kind != DIRECTORY and settings.is_included is not None and not settings.is_included(name):
            return None
        entry = Entry(name, kind, mode=stat.S_IMODE(status.st_mode), mtime_ns=status.st_mtime_ns)
        settings.own(entry, status, user_name, group_name)
        try:
            if kind == FILE:
                entry.size = status.st_size
                if settings.sparse and status.st_blocks * 512 < status.st_size:
                    entry.sparse = _map_of(directory, base, status.st_size)
            elif kind == SYMLINK:
                entry.linkname = os.readlink(base, dir_fd=directory)
            elif kind in (CHARACTER, BLOCK_DEVICE):
                entry.device = os.major(status.st_rdev), os.minor(status.st_rdev)
            if settings.xattrs or settings.acls:
                entry.xattrs = _attributes(directory, base, settings) or None
        except OSError as exc:
            self._failed(name, "cannot be read", exc)
            return None
        return Member(entry, directory, base, status)


def _map_of(directory: int, base: str, size: int) -> list[tuple[int, int]] | None:
    """Return the pieces of a file that hold data, or None if it has no holes."""
    fd = os.open(base, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=directory)
    pieces = []
    at = 0
    # PyPy has no names for them
    seek_data, seek_hole = getattr(os, "SEEK_DATA", 3), getattr(os, "SEEK_HOLE", 4)
    try:
        while at < size:
            try:
                start = os.lseek(fd, at, seek_data)
            except OSError:  # ENXIO: a hole up to the end
                break
            end = min(os.lseek(fd, start, seek_hole), size)
            if start >= end:
                break
            pieces.append((start, end - start))
            at = end
    finally:
        os.close(fd)
    return None if pieces == [(0, size)] else pieces


def _attributes(directory: int, base: str, settings: CreateSettings) -> dict[str, bytes]:
    path = f"/proc/self/fd/{directory}/{base}"
    found: dict[str, bytes] = {}
    with contextlib.suppress(OSError):  # a file system without them
        for name in os.listxattr(path, follow_symlinks=False):
            if settings.acls if name in ACL_KEYS else settings.xattrs and not name.startswith("system."):
                with contextlib.suppress(OSError):
                    found[name] = os.getxattr(path, name, follow_symlinks=False)
    return found
