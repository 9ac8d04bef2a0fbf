# SPDX-License-Identifier: Apache-2.0
"""Lay out members in frames: their headers and their files' data, read in order."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from typing import Final

from cpkg.archive._result import Problem
from cpkg.archive.in_python.walk import CANNOT_READ, GONE, Member, Walker, failed
from purepy.base import system
from purepy.base.errors import ArchiveError
from purepy.tar.encode import encode, sparse_map
from purepy.tar.entry import BLOCK, FILE, Entry, padding
from purepy.tar.members import Collector

# what may happen to a file while it is read
VANISHED, OPEN_FAILED, READ_FAILED, SHRANK, CHANGED, REPLACED = range(1, 7)
# or before it is read
STAT_FAILED, IS_SOCKET, UNKNOWN_TYPE, DIRECTORY_FAILED = range(7, 11)
_TEXTS: Final = {
    VANISHED: GONE,
    SHRANK: "file shrank by {:,} bytes; padding with zeros",
    CHANGED: "file changed as we read it",
    REPLACED: "file was replaced before we read it",
    IS_SOCKET: "socket ignored",
    UNKNOWN_TYPE: "file of an unknown type ignored",
}


class Plan:
    """
    The content of one frame, how many entries begin in it, and what went wrong; `size` is what was to be in it.

    `entries` are those, if they are asked for.
    """

    __slots__ = ("entries", "entry_count", "members", "pieces", "problems", "size")

    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self.size = 0
        self.problems: list[Problem] = []
        self.entry_count = 0
        self.entries: list[Entry] = []
        self.members = Collector()


class Planner:
    """Yields the plans of an archive's frames, in order; reads the files of members as they come."""

    def __init__(self, frame_size: int, walker: Walker, has_entries: bool) -> None:
        self._frame_size = frame_size
        self._has_entries = has_entries
        self._walker = walker
        self._plan = Plan()

    def plans(self, found: Iterable[Member | Problem]) -> Iterator[Plan]:
        """Yield a plan whenever one is full, and the last."""
        for item in found:
            if isinstance(item, Problem):
                self._plan.problems.append(item)
                continue
            member = item if item.status.st_nlink == 1 else self._walker.linked(item)
            entry = member.entry
            header = self._header(entry)
            if not header:
                continue
            data = entry.stored_size
            size = len(header) + data + padding(data)
            if self._plan.size and self._plan.size + size > self._frame_size:
                yield self._take()
            if entry.type != FILE or not data:
                self._begin(member, header)
            elif entry.sparse is None and size <= self._frame_size:
                self._add_file(member, header)
            else:
                yield from self._add_pieces(member, header, entry.sparse or [(0, data)], padding(data))
        if self._plan.size or self._plan.problems:
            yield self._take()

    def _take(self) -> Plan:
        plan, self._plan = self._plan, Plan()
        return plan

    def _begin(self, member: Member, header: bytes) -> None:
        """Put a header into the content: what it announces follows without fail."""
        plan = self._plan
        plan.pieces.append(header)
        plan.size += len(header)
        plan.members.add(member.entry.name)
        plan.entry_count += 1
        if self._has_entries:
            plan.entries.append(member.entry)
        if member.status.st_nlink > 1:
            self._walker.stored(member)

    def _header(self, entry: Entry) -> bytes:
        """Return an entry's headers; if no header can hold it, note a problem and return b""."""
        try:
            header = encode(entry)
        except ValueError as exc:
            error = ArchiveError(f"{entry.name!r}: {exc}")
            error.entry = entry.name
            self._plan.problems.append(Problem(entry.name, str(exc), error))
            return b""
        return header if entry.sparse is None else header + sparse_map(entry)

    def _file(self, member: Member) -> int | None:
        """Open a member's file; None if that cannot be, which is noted."""
        try:
            return self._walker.open_file(member.base)
        except OSError as exc:
            self._plan.problems.append(open_problem(member.entry.name, exc))
            return None

    def _is_another(self, status: os.stat_result, member: Member) -> bool:
        """Say whether a file that was opened is not the one that was seen under its name, which is noted."""
        if status.st_ino == member.status.st_ino and stat.S_ISREG(status.st_mode):
            return False
        self._plan.problems.append(problem(member.entry.name, REPLACED, 0, 0))
        return True

    def _add_file(self, member: Member, header: bytes) -> None:
        """Add a file that lies in one frame."""
        size = member.status.st_size
        file = self._file(member)
        if file is None:
            return
        try:
            data, error = _read(file, 0, size)
            status = os.fstat(file)
        finally:
            self._walker.close_file()
        if self._is_another(status, member):
            return
        self._begin(member, header)
        self._check(member, status, size - len(data), error)
        self._plan.pieces += (data, bytes(-size % BLOCK + size - len(data)))
        self._plan.size += size + -size % BLOCK

    def _add_pieces(self, member: Member, header: bytes, pieces: list[tuple[int, int]], fill: int) -> Iterator[Plan]:
        """Add a file that fills several frames, or has several pieces; it ends a frame."""
        fd = self._file(member)
        if fd is None:
            return
        try:
            if self._is_another(os.fstat(fd), member):
                return
            self._begin(member, header)
            missing, error = 0, None
            for offset, size in pieces:
                while size:
                    here = min(size, self._frame_size - self._plan.size)
                    if here <= 0:
                        yield self._take()
                        self._plan.members.is_continued = True
                        continue
                    data, exc = _read(fd, offset, here)
                    self._plan.pieces += filter(None, (data, bytes(here - len(data))))
                    self._plan.size += here
                    missing += here - len(data)
                    error = error or exc
                    offset += here
                    size -= here
            self._check(member, os.fstat(fd), missing, error)
        finally:
            self._walker.close_file()
        self._plan.pieces.append(bytes(fill))
        self._plan.size += fill
        if self._plan.size >= self._frame_size // 2 or len(pieces) == 1:
            yield self._take()

    def _check(self, member: Member, status: os.stat_result, missing: int, error: OSError | None) -> None:
        """Note that a file could not be read, became shorter, or changed since it was seen first."""
        seen = member.status
        if error is not None:
            what, amount, code = READ_FAILED, 0, error.errno or 0
        elif missing:
            what, amount, code = SHRANK, missing, 0
        elif status.st_size != seen.st_size or status.st_mtime_ns != seen.st_mtime_ns:
            what, amount, code = CHANGED, 0, 0
        else:
            return
        self._plan.problems.append(problem(member.entry.name, what, amount, code))


def _read(fd: int, offset: int, size: int) -> tuple[bytes, OSError | None]:
    """Return bytes of a file, fewer at its end or before an error, and that."""
    pieces: list[bytes] = []
    try:
        while size:
            piece = system.pread(fd, size, offset)
            if len(piece) == size and not pieces:
                return piece, None
            if not piece:
                break
            pieces.append(piece)
            offset += len(piece)
            size -= len(piece)
    except OSError as exc:
        return b"".join(pieces), exc
    return b"".join(pieces), None


def open_problem(name: str, exc: OSError) -> Problem:
    """Return the problem of a file that cannot be opened, in tar's words."""
    if isinstance(exc, FileNotFoundError):
        return problem(name, VANISHED, 0, 0)
    return failed(name, "cannot be opened", exc)


def problem(name: str, what: int, amount: int, code: int) -> Problem:
    """Return what happened to a file while it was read: `amount` bytes are missing, or `code` is an error's number."""
    if what in _TEXTS:
        return Problem(name, _TEXTS[what].format(amount))
    error = OSError(code, os.strerror(code), name)
    if what == READ_FAILED:
        return Problem(name, f"read error: {error.strerror}; padding with zeros", error)
    if what == OPEN_FAILED:
        return open_problem(name, error)
    return failed(name, "cannot be opened" if what == DIRECTORY_FAILED else CANNOT_READ, error)
