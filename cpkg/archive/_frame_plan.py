# SPDX-License-Identifier: Apache-2.0
"""Lay out members in frames: headers and file data, in order."""

from __future__ import annotations

import os
import stat
from collections.abc import Generator, Iterable, Iterator

from cpkg.archive._frames import Frames, Plan
from cpkg.archive._result import Problem
from cpkg.archive._walk import GONE, Found, Member, Walker
from purepy.base.errors import ArchiveError
from purepy.tar.encode import encode, sparse_map
from purepy.tar.entry import FILE, Entry, padding


class Planner:
    """Yields the plans of an archive's frames in order, and reads the files of members into them."""

    def __init__(self, frame_size: int, walker: Walker, frames: Frames, has_entries: bool) -> None:
        self._frame_size = frame_size
        self._has_entries = has_entries
        self._walker = walker
        self._frames = frames
        self._plan = Plan(frames.content())

    def plans(self, found: Iterable[Found]) -> Generator[Plan, None, None]:
        """Put the items of `found` into plans; yield each plan when it is full, and the last one unless it is empty."""
        for item in found:
            if isinstance(item, Member):
                yield from self._add(item if item.status.st_nlink == 1 else self._walker.linked(item))
            elif isinstance(item, Problem):
                self._plan.problems.append(item)
            else:
                item.read(self._plan)
        if self._plan.content.size or self._plan.problems:
            yield self._plan

    def _add(self, member: Member) -> Iterator[Plan]:
        """Add a member, or a problem if it cannot be archived; yield each plan that is full."""
        entry = member.entry
        header = self._header(entry)
        if not header:
            return
        data = entry.stored_size
        size = len(header) + data + padding(data)
        if self._plan.content.size and self._plan.content.size + size > self._frame_size:
            yield self._take()
        if entry.type != FILE or not data:
            self._begin(member, header)
            return
        file = self._file(member)
        if file is None:
            return
        try:
            if self._is_another(os.fstat(file), member):
                return
            self._begin(member, header)
            pieces = entry.sparse or [(0, data)]
            yield from self._add_data(member, file, pieces)
        finally:
            self._walker.close_file()
        self._plan.content.add(bytes(padding(data)))
        is_whole = entry.sparse is None and size <= self._frame_size
        if not is_whole and (len(pieces) == 1 or self._plan.content.size >= self._frame_size // 2):
            yield self._take()

    def _take(self) -> Plan:
        plan, self._plan = self._plan, Plan(self._frames.content())
        return plan

    def _begin(self, member: Member, header: bytes) -> None:
        """Put a header into the content and record its entry; the data that the header announces must follow."""
        plan = self._plan
        plan.content.add(header)
        plan.members.add(member.entry.name)
        plan.entry_count += 1
        if self._has_entries:
            plan.entries.append(member.entry)
        if member.status.st_nlink > 1:
            self._walker.stored(member)
        self._frames.learn(member.entry, member.status)

    def _header(self, entry: Entry) -> bytes:
        """Return the headers of an entry; if the format cannot express it, add a problem and return b""."""
        try:
            header = encode(entry)
        except ValueError as exc:
            error = ArchiveError(f"{entry.name!r}: {exc}")
            error.entry = entry.name
            self._plan.problems.append(Problem(entry.name, str(exc), error))
            return b""
        return header if entry.sparse is None else header + sparse_map(entry)

    def _file(self, member: Member) -> int | None:
        """Open the file of a member and return the descriptor; return None and add a problem if it cannot be opened."""
        try:
            return self._walker.open_file(member.base)
        except OSError as exc:
            name = member.entry.name
            is_gone = isinstance(exc, FileNotFoundError)
            problem = self._walker.failed(name, "cannot be opened", exc, member.base)
            self._plan.problems.append(Problem(name, GONE) if is_gone else problem)
            return None

    def _is_another(self, status: os.stat_result, member: Member) -> bool:
        """Return whether the opened file is not the one that was found before; add a problem if so."""
        if status.st_ino == member.status.st_ino and stat.S_ISREG(status.st_mode):
            return False
        self._plan.problems.append(Problem(member.entry.name, "file was replaced before we read it"))
        return True

    def _add_data(self, member: Member, file: int, pieces: list[tuple[int, int]]) -> Iterator[Plan]:
        """
        Add pieces of a file, given as `(offset in the file, size)`, to the plan; yield each plan that is full.

        Adds a problem if the file cannot be read or has changed.
        """
        missing, error = 0, None
        for offset, size in pieces:
            while size:
                here = min(size, self._frame_size - self._plan.content.size)
                if here <= 0:
                    yield self._take()
                    self._plan.members.is_continued = True
                    continue
                lost, exc = self._plan.content.read(file, offset, here)
                missing += lost
                error = error or exc
                offset += here
                size -= here
        self._check(member, os.fstat(file), missing, error)

    def _check(self, member: Member, status: os.stat_result, missing: int, error: OSError | None) -> None:
        """Add a problem if a file could not be read, became shorter, or changed since it was found."""
        seen, name = member.status, member.entry.name
        if error is not None:
            error.filename = self._walker.path(member.base)
            self._plan.problems.append(Problem(name, f"read error: {error.strerror}; padding with zeros", error))
        elif missing:
            self._plan.problems.append(Problem(name, f"file shrank by {missing:,} bytes; padding with zeros"))
        elif status.st_size != seen.st_size or status.st_mtime_ns != seen.st_mtime_ns:
            self._plan.problems.append(Problem(name, "file changed as we read it"))
