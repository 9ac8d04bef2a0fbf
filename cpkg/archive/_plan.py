# SPDX-License-Identifier: Apache-2.0
"""Lay out members in frames: their headers and their files' data, read in order."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from typing import Final

from cpkg.archive._result import Problem, Problems
from cpkg.archive._walk import Member
from purepy.errors import ArchiveError
from purepy.tar.encode import encode, sparse_map
from purepy.tar.entry import BLOCK, FILE, padding
from purepy.tar.members import Collector

_OPEN_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | getattr(os, "O_CLOEXEC", 0)
_ZEROS: Final = bytes(BLOCK)

# what may happen to a file while it is read
VANISHED, OPEN_FAILED, READ_FAILED, SHRANK, CHANGED, REPLACED = range(1, 7)
# or before it is read
STAT_FAILED, IS_SOCKET, UNKNOWN_TYPE, IS_ARCHIVE, DIRECTORY_FAILED = range(7, 12)


class Plan:
    """The content of one frame, and what went wrong while it was read; `size` is what was to be in it."""

    __slots__ = ("members", "pieces", "problems", "size")

    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self.size = 0
        self.problems: list[Problem] = []
        self.members = Collector()

    def take(self) -> bytes:
        """Return the content, which is not kept."""
        content = b"".join(self.pieces)
        self.pieces = []
        return content

    def close(self) -> None:
        """Free the content."""
        self.pieces = []


class Planner:
    """Yields the plans of an archive's frames, in order; reads the files of members as they come."""

    def __init__(self, frame_size: int, problems: Problems) -> None:
        self._frame_size = frame_size
        self._problems = problems
        self._plan = Plan()

    def plans(self, members: Iterable[Member]) -> Iterator[Plan]:
        """Yield a plan whenever one is full, and the last."""
        frame_size = self._frame_size
        plan = self._plan
        for member in members:
            entry = member.entry
            header = self._header(member)
            if not header:
                continue
            data = entry.stored_size
            size = len(header) + data + padding(data)
            if plan.size and plan.size + size > frame_size:
                yield self._take()
                plan = self._plan
            plan.members.add(entry.name)
            if entry.type != FILE or not data:
                plan.pieces.append(header)
            elif entry.sparse is None and size <= frame_size:
                self._add_file(member, header)
            else:
                yield from self._add_pieces(member, header, entry.sparse or [(0, data)], padding(data))
                plan = self._plan
                continue
            plan.size += size
        if plan.size or plan.problems:
            yield self._take()

    def _take(self) -> Plan:
        plan, self._plan = self._plan, Plan()
        return plan

    def _header(self, member: Member) -> bytes:
        """Return what is in front of an entry's data; b"" and a problem if no header can hold it."""
        entry = member.entry
        try:
            header = encode(entry)
        except ValueError as exc:
            error = ArchiveError(f"{entry.name!r}: {exc}")
            error.entry = entry.name
            self._problems.add(Problem(entry.name, str(exc), error))
            return b""
        return header if entry.sparse is None else header + sparse_map(entry)

    def _add_file(self, member: Member, header: bytes) -> None:
        """Add a file that lies in one frame."""
        plan, seen = self._plan, member.status
        size = seen.st_size
        try:
            fd = os.open(member.base, _OPEN_FLAGS, dir_fd=member.directory)
        except OSError as exc:
            plan.problems.append(open_problem(member.entry.name, exc))
            return
        try:
            data, error = _read(fd, 0, size)
            status = os.fstat(fd)
        finally:
            os.close(fd)
        if _is_another(status, seen):
            plan.problems.append(problem(member.entry.name, REPLACED, 0, 0))
            return
        self._tell(member, status, size - len(data), error)
        plan.pieces += (header, data, _ZEROS[: -size % BLOCK])
        if len(data) < size:
            plan.pieces.insert(-1, bytes(size - len(data)))

    def _add_pieces(self, member: Member, header: bytes, pieces: list[tuple[int, int]], fill: int) -> Iterator[Plan]:
        """Add a file that fills several frames, or has several pieces; it ends a frame."""
        try:
            fd = os.open(member.base, _OPEN_FLAGS, dir_fd=member.directory)
        except OSError as exc:
            self._plan.problems.append(open_problem(member.entry.name, exc))
            return
        try:
            if _is_another(os.fstat(fd), member.status):
                self._plan.problems.append(problem(member.entry.name, REPLACED, 0, 0))
                return
            self._plan.pieces.append(header)
            self._plan.size += len(header)
            missing, error = 0, None
            for offset, size in pieces:
                while size:
                    here = min(size, self._frame_size - self._plan.size)
                    if here <= 0:
                        yield self._take()
                        self._plan.members.is_continued = True
                        continue
                    data, failed = _read(fd, offset, here)
                    self._plan.pieces += (data, bytes(here - len(data)))
                    self._plan.size += here
                    missing += here - len(data)
                    error = error or failed
                    offset += here
                    size -= here
            self._tell(member, os.fstat(fd), missing, error)
        finally:
            os.close(fd)
        self._plan.pieces.append(_ZEROS[:fill])
        self._plan.size += fill
        if self._plan.size >= self._frame_size // 2 or len(pieces) == 1:
            yield self._take()

    def _tell(self, member: Member, status: os.stat_result, missing: int, error: OSError | None) -> None:
        """Tell of a file that could not be read, became shorter, or changed since it was seen first."""
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


def _is_another(status: os.stat_result, seen: os.stat_result) -> bool:
    """Say whether a file that was opened is not the one that was seen under its name."""
    return status.st_ino != seen.st_ino or not stat.S_ISREG(status.st_mode)


def _read(fd: int, offset: int, size: int) -> tuple[bytes, OSError | None]:
    """Return bytes of a file, fewer at its end or before an error, and that."""
    pieces: list[bytes] = []
    try:
        while size:
            piece = os.pread(fd, size, offset)
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
