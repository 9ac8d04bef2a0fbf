# SPDX-License-Identifier: Apache-2.0
"""Lay out members in frames: which headers and which pieces of which files make up the content of each."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Iterable, Iterator
from typing import Final

from cpkg.archive._result import Problem, Problems
from cpkg.archive._walk import Handle, Member
from purepy.errors import ArchiveError
from purepy.tar.encode import encode, sparse_map
from purepy.tar.entry import FILE, padding
from purepy.tar.members import Collector

OPEN_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | getattr(os, "O_CLOEXEC", 0)
HANDLES_MAX: Final = 64
"""So many directories are kept open for a frame; further ones are opened again when it is made."""

# what may happen to a file while it is read
VANISHED, OPEN_FAILED, READ_FAILED, SHRANK, CHANGED, REPLACED = range(1, 7)
# or before it is read
STAT_FAILED, IS_SOCKET, UNKNOWN_TYPE, IS_ARCHIVE, DIRECTORY_FAILED = range(7, 12)


class Source:
    """A file whose data goes into one frame or several; `fd` is open from the plan on if it is several."""

    __slots__ = ("_count", "_lock", "base", "fd", "handle", "ino", "mtime_ns", "name", "size")

    def __init__(self, member: Member, fd: int = -1) -> None:
        self.name = member.entry.name
        self.handle = member.parent
        self.base = member.base
        self.size = member.status.st_size
        self.mtime_ns = member.status.st_mtime_ns
        self.ino = member.status.st_ino
        self.fd = fd
        self._count = 0
        self._lock = threading.Lock()

    def retain(self) -> None:
        """Count one more piece."""
        with self._lock:
            self._count += 1

    def release(self) -> None:
        """Count one piece less; close the file behind the last one."""
        with self._lock:
            self._count -= 1
            is_last = self._count == 0
        if is_last and self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


class Item:
    """A part of a frame: a header, then `size` bytes of a file from `offset` on, then `fill` bytes of zeros."""

    __slots__ = ("fill", "header", "is_held", "offset", "size", "source")

    def __init__(self, header: bytes, source: Source | None = None, offset: int = 0, size: int = 0) -> None:
        self.header = header
        self.source = source
        self.offset = offset
        self.size = size
        self.fill = 0
        self.is_held = True
        """Whether the directory of a file that has to be opened is open."""


class Plan:
    """The items of one frame; `close` releases what they hold."""

    def __init__(self) -> None:
        self.items: list[Item] = []
        self.size = 0
        self.entries = 0
        self.members = Collector()
        self._handles: list[Handle] = []

    def hold(self, handle: Handle) -> bool:
        """Keep a directory open for this frame; false if it keeps enough of them."""
        if not self._handles or self._handles[-1] is not handle:
            if len(self._handles) >= HANDLES_MAX:
                return False
            self._handles.append(handle.retain())
        return True

    def add(self, item: Item) -> None:
        """Add an item at the end."""
        self.items.append(item)
        self.size += len(item.header) + item.size + item.fill
        if item.source is not None and item.source.fd >= 0:
            item.source.retain()

    def close(self) -> None:
        """Release directories and files; the plan cannot be carried out any more."""
        for item in self.items:
            if item.source is not None and item.source.fd >= 0:
                item.source.release()
        for handle in self._handles:
            handle.release()
        self.items = []
        self._handles = []


class Planner:
    """Yields the plans of an archive's frames, in order."""

    def __init__(self, frame_size: int, problems: Problems) -> None:
        self._frame_size = frame_size
        self._problems = problems
        self._plan = Plan()

    def plans(self, members: Iterable[Member]) -> Iterator[Plan]:
        """Yield a plan whenever one is full, and the last."""
        try:
            for member in members:
                yield from self._add(member)
            if self._plan.items:
                yield self._take()
        finally:
            self._plan.close()

    def _take(self) -> Plan:
        plan, self._plan = self._plan, Plan()
        return plan

    def _add(self, member: Member) -> Iterator[Plan]:
        entry = member.entry
        try:
            header = encode(entry)
        except ValueError as exc:
            error = ArchiveError(f"{entry.name!r}: {exc}")
            error.entry = entry.name
            self._problems.add(Problem(entry.name, str(exc), error))
            return
        if entry.sparse is not None:
            header += sparse_map(entry)
        data = entry.stored_size
        if self._plan.items and self._plan.size + len(header) + data + padding(data) > self._frame_size:
            yield self._take()
        self._plan.members.add(entry.name)
        if entry.type != FILE or not data:
            self._plan.entries += 1
            self._plan.add(Item(header))
            return
        if entry.sparse is None and len(header) + data + padding(data) <= self._frame_size:
            item = Item(header, Source(member), 0, data)
            item.is_held = self._plan.hold(member.parent)
            item.fill = padding(data)
            self._plan.entries += 1
            self._plan.add(item)
            return
        yield from self._add_pieces(member, header, entry.sparse or [(0, data)], padding(data))

    def _add_pieces(self, member: Member, header: bytes, pieces: list[tuple[int, int]], fill: int) -> Iterator[Plan]:
        """Add a file that fills several frames, or has several pieces; it ends a frame."""
        try:
            fd = os.open(member.base, OPEN_FLAGS, dir_fd=member.parent.fd)
        except OSError as exc:
            self._problems.add(open_problem(member.entry.name, exc))
            return
        source = Source(member, fd)
        source.retain()
        try:
            self._plan.entries += 1
            item = Item(header)
            self._plan.add(item)
            for offset, size in pieces:
                while size:
                    here = min(size, self._frame_size - self._plan.size)
                    if here <= 0:
                        yield self._take()
                        continue
                    item = Item(b"", source, offset, here)
                    self._plan.members.is_continued |= not self._plan.items
                    self._plan.add(item)
                    offset += here
                    size -= here
            item.fill = fill
            self._plan.size += fill
            if self._plan.size >= self._frame_size // 2 or len(pieces) == 1:
                yield self._take()
        finally:
            source.release()


def open_problem(name: str, exc: OSError) -> Problem:
    """Tell of a file that cannot be opened as tar does."""
    if isinstance(exc, FileNotFoundError):
        return Problem(name, "file removed before we read it")
    exc.filename = name
    return Problem(name, f"cannot be opened: {exc.strerror}", exc)


def problem(name: str, what: int, amount: int, code: int) -> Problem:
    """Tell what happened to a file while it was read: bytes that are missing, or an error's number."""
    if what == SHRANK:
        return Problem(name, f"file shrank by {amount:,} bytes; padding with zeros")
    if what == CHANGED:
        return Problem(name, "file changed as we read it")
    if what == REPLACED:
        return Problem(name, "file was replaced before we read it")
    if what == READ_FAILED:
        return Problem(
            name, f"read error: {os.strerror(code)}; padding with zeros", OSError(code, os.strerror(code), name)
        )
    if what == VANISHED:
        return Problem(name, "file removed before we read it")
    if what == IS_SOCKET:
        return Problem(name, "socket ignored")
    if what == UNKNOWN_TYPE:
        return Problem(name, "file of an unknown type ignored")
    if what == IS_ARCHIVE:
        return Problem(name, "file is the archive; not dumped")
    error = OSError(code, os.strerror(code), name)
    if what == OPEN_FAILED:
        return open_problem(name, error)
    return Problem(name, f"cannot be {'opened' if what == DIRECTORY_FAILED else 'read'}: {error.strerror}", error)


def assemble(plan: Plan) -> tuple[bytearray, list[Problem]]:
    """Read what a plan says; return the content of its frame, and what went wrong."""
    content = bytearray()
    problems: list[Problem] = []
    for item in plan.items:
        source = item.source
        if source is None:
            content += item.header
        elif source.fd >= 0:
            content += item.header
            content += _data(source.fd, source, item, problems)
        else:
            try:
                fd = _open(source, item.is_held)
            except OSError as exc:
                problems.append(open_problem(source.name, exc))
                continue
            try:
                status = os.fstat(fd)
                if status.st_ino != source.ino or not stat.S_ISREG(status.st_mode):
                    problems.append(problem(source.name, REPLACED, 0, 0))
                    continue
                content += item.header
                content += _data(fd, source, item, problems)
            finally:
                os.close(fd)
        if item.fill:
            content += bytes(item.fill)
    return content, problems


def _open(source: Source, is_held: bool) -> int:
    directory = source.handle.fd if is_held else source.handle.open_again()
    try:
        return os.open(source.base, OPEN_FLAGS, dir_fd=directory)
    finally:
        if not is_held:
            os.close(directory)


def _data(fd: int, source: Source, item: Item, problems: list[Problem]) -> bytes:
    """Return a piece of a file, filled up with zeros if the file has become shorter or cannot be read."""
    pieces = []
    left = item.size
    try:
        while left:
            piece = os.pread(fd, left, item.offset + item.size - left)
            if not piece:
                break
            pieces.append(piece)
            left -= len(piece)
    except OSError as exc:
        problems.append(problem(source.name, READ_FAILED, 0, exc.errno or 0))
        return b"".join(pieces) + bytes(left)
    if left:
        problems.append(problem(source.name, SHRANK, left, 0))
    elif item.fill or item.offset + item.size >= source.size:
        status = os.fstat(fd)
        if status.st_size != source.size or status.st_mtime_ns != source.mtime_ns:
            problems.append(problem(source.name, CHANGED, 0, 0))
    if len(pieces) == 1 and not left:
        return pieces[0]
    return b"".join(pieces) + bytes(left)
