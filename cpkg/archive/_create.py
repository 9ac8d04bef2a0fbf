# SPDX-License-Identifier: Apache-2.0
"""
Make an archive: the calling thread walks and writes, others read files and compress, a frame each.

The content is cut into frames before any file is opened, so that a frame can be made by whichever thread is free. The
last bytes of a frame are held back until the next is ready, and the end-of-archive marker comes in a frame of its own:
an archive that is cut anywhere reads as cut.
"""

from __future__ import annotations

import os
from array import array
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Executor, Future
from contextlib import closing
from typing import Any

from cpkg.archive import _engine
from cpkg.archive._files import opened_target
from cpkg.archive._result import Problem, Problems, Summary
from cpkg.archive._settings import FRAME_SIZE, LEVEL, CreateSettings, Patterns, Select
from cpkg.archive._threads import frames_ahead, pool_of
from purepy._cores import thread_count
from purepy._writing import write_all
from purepy.tar.encode import END
from purepy.tar.entry import Entry
from purepy.tar.members import Members
from purepy.zstd_seek_table import SeekTable

_HELD_BACK = 4


def create(
    target: Any,
    *paths: str | os.PathLike[str],
    base: str | os.PathLike[str] | None = None,
    files_from: Iterable[str | os.PathLike[str]] = (),
    level: int = LEVEL,
    threads: int | None = None,
    frame_size: int = FRAME_SIZE,
    exclude: Patterns = (),
    include: Patterns = (),
    recursive: bool = True,
    sort: bool = True,
    mtime: float | None = None,
    owner: tuple[int, int] | None = None,
    numeric_owner: bool = False,
    reproducible: bool = False,
    xattrs: bool = False,
    acls: bool = False,
    sparse: bool = False,
    select: Select | None = None,
    on_entry: Callable[[Entry], object] | None = None,
    on_problem: Callable[[Problem], object] | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> Summary:
    """
    Write files and trees to a .tar.zst archive, as `tar -cf - PATHS | zstd` would; return a Summary.

    `target` is a path (the file appears whole or not at all), a binary file that is written from where it stands, or
    a URL of fsspec. `paths` and `files_from` are relative to `base`, by default the working directory, and become the
    names in the archive; without any of them all of `base` is archived as `.`. Links are kept, not followed.

    `level` is Zstandard's; `threads` is how many threads read and compress, None or 0 for one per processor;
    `frame_size` the bytes of content per frame. `exclude` and `include` are patterns as of `tar --exclude`; `include`
    chooses among what is no directory. `recursive=False` archives directories without what is in them, `sort=False`
    takes names in the order of the file system. `mtime` (seconds since 1970) and `owner` (user and group number) stand
    for those of all entries; `numeric_owner` leaves out the owners' names; `reproducible` makes equal trees equal
    archives: sorted, mtime 0 or SOURCE_DATE_EPOCH, owner 0:0, nothing writable for group and others.
    `xattrs`, `acls` and `sparse` store extended attributes, access control lists, and the holes of files as holes.

    `select` is called with the entries of each directory and returns those to archive, changed if it likes;
    `on_entry` with each entry that is archived, `progress` with the bytes of content and of output so far.
    `on_problem` is called with each Problem, and the work continues; without it a file that cannot be read is an
    OSError, and one that changes, shrinks or vanishes an ArchiveWarning.

    Raises OSError, ValueError for wrong arguments, and what `target`'s methods raise.
    """
    settings = CreateSettings(
        level=level,
        frame_size=frame_size,
        exclude=exclude,
        include=include,
        recursive=recursive,
        sort=sort,
        mtime=mtime,
        owner=owner,
        numeric_owner=numeric_owner,
        reproducible=reproducible,
        xattrs=xattrs,
        acls=acls,
        sparse=sparse,
        select=select,
    )
    names = [os.fsdecode(path) for path in (*paths, *files_from)]
    if not names and not paths:
        names = ["."]
    workers = thread_count(threads or 0)
    problems = Problems(on_problem)
    root = os.fsdecode(base) if base is not None else "."
    with opened_target(target) as file:
        engine = _engine.for_create(settings, problems, on_entry)
        output = _Output(file, progress)
        with (
            closing(engine),
            closing(engine.plans(root, names, _identity(file))) as plans,
            pool_of(workers) as pool,
            closing(_made(plans, engine, pool, frames_ahead(workers))) as frames,
        ):
            for frame in frames:
                for problem in frame.problems:
                    problems.add(problem)
                output.write(frame.data, frame.size, frame.members, frame.is_continued)
                engine.give_back(frame)
        output.end(engine.deflate(END))
    return Summary(engine.entries, output.table.decompressed_size, output.written, problems.found)


def _identity(file: Any) -> tuple[int, int] | None:
    """Return device and number of the file that is written, which is not to be archived itself."""
    try:
        status = os.fstat(file.fileno())
    except (AttributeError, OSError, ValueError):
        return None
    return status.st_dev, status.st_ino


def _made(plans: Iterator[Any], engine: Any, pool: Executor, ahead: int) -> Generator[Any, None, None]:
    """Have plans carried out in threads, and yield the frames in order; release the plans that are left at the end."""
    waiting: deque[tuple[Any, Future[Any]]] = deque()
    try:
        while True:
            while len(waiting) < ahead:
                plan = next(plans, None)
                if plan is None:
                    break
                waiting.append((plan, pool.submit(engine.carry_out, engine.prepare(plan))))
            if not waiting:
                return
            frame = waiting[0][1].result()
            waiting.popleft()[0].close()
            yield frame
    finally:
        for plan, future in waiting:
            if not future.cancel():
                future.exception()  # waits: its files are in use
            plan.close()


class _Output:
    """Writes frames, holding back the end of each until the next one, then the list of members and the seek table."""

    def __init__(self, file: Any, progress: Callable[[int, int], object] | None) -> None:
        self._file = file
        self._progress = progress
        self._held = b""
        self.table = SeekTable(checksums=False)
        self._members = Members()
        self.written = 0

    def write(self, frame: Any, size: int, members: array[int], is_continued: bool) -> None:
        if not size:
            return
        self._members.append(members, is_continued)
        self.table.append(len(frame), size)
        view = memoryview(frame)
        self._write(self._held)
        self._write(view[:-_HELD_BACK])
        self._held = bytes(view[-_HELD_BACK:])
        if self._progress is not None:
            self._progress(self.table.decompressed_size, self.written)

    def end(self, frame: bytes) -> None:
        self.write(frame, len(END), array("H"), False)
        listed = self._members.to_bytes()
        if listed:
            self.table.append(len(listed), 0)
        self._write(self._held + listed + self.table.to_bytes())

    def _write(self, data: Any) -> None:
        if len(data):
            write_all(self._file, data)
            self.written += len(data)
