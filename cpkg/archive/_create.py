# SPDX-License-Identifier: Apache-2.0
"""
Make an archive: the calling thread walks, reads and writes, others compress, a frame each.

The last bytes of a frame are held back until the next is ready, and the end-of-archive marker comes in a frame of its
own: an archive that is cut anywhere reads as cut.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Iterable
from contextlib import closing
from typing import IO, TYPE_CHECKING

from cpkg._places import Place, writing
from cpkg.archive._frame_plan import Planner
from cpkg.archive._frames import Frame, Frames
from cpkg.archive._result import Problem, Problems, Summary
from cpkg.archive._settings import (
    FRAME_SIZE,
    LEVEL,
    CreateSettings,
    Patterns,
    Select,
    frames_ahead,
    native_frames,
    threads_of,
)
from cpkg.archive._walk import Walker
from purepy.base.crew import mapped
from purepy.base.errors import Suppressed
from purepy.base.writing import write_all
from purepy.tar.encode import END
from purepy.tar.entry import Entry
from purepy.tar.members import Members
from purepy.zstd.seekable.table import SeekTable

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from purepy.base.types import Bytes

_HELD_BACK = 4


def create(
    target: Place,
    *paths: str | os.PathLike[str],
    base: str | os.PathLike[str] | None = None,
    files_from: Iterable[str | os.PathLike[str]] | None = None,
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

    `level` is Zstandard's; `threads` is how many threads compress: None and 0 for one per core, 1 for the calling
    thread alone. `frame_size` is the bytes of content per frame. `exclude` and `include` are patterns as of
    `tar --exclude`; `include` chooses among what is no directory. `recursive=False` archives directories without what
    is in them, `sort=False` takes names in the order of the file system. `mtime` (seconds since 1970) and `owner`
    (user and group number) stand for those of all entries; `numeric_owner` leaves out the owners' names;
    `reproducible` makes equal trees equal archives: sorted, mtime 0 or SOURCE_DATE_EPOCH, owner 0:0, nothing writable
    for group and others. `xattrs`, `acls` and `sparse` store extended attributes, access control lists, and the holes
    of files as holes.

    `select` is called with each entry, and returns the entry to archive, changed or not, or None to leave it out;
    `on_entry` is called with each entry that is archived, `progress` with the bytes of content and of output so far.
    `on_problem` is called with each Problem, and the work continues; without it a file that cannot be read is an
    OSError, and one that changes, shrinks or vanishes an ArchiveWarning.

    Raises OSError, ValueError for wrong arguments, and what `target`'s methods raise.
    """
    settings = CreateSettings(
        level,
        frame_size,
        exclude,
        include,
        recursive,
        sort,
        mtime,
        owner,
        numeric_owner,
        reproducible,
        xattrs,
        acls,
        sparse,
        select,
    ).checked()
    root = os.fsdecode(base) if base is not None else "."
    names = _names(paths, files_from, has_base=base is not None)
    for name in (root, *names):
        if not name or "\0" in name:
            raise ValueError(f"no file has the path {name!r}")
    workers = threads_of(threads)
    problems = Problems(on_problem)
    count = 0
    with writing(target) as file:
        output = _Output(file, progress)
        own = _own_files(file, target)
        has_entries = on_entry is not None
        native = native_frames()
        frames = Frames(settings.level) if native is None else native.NativeFrames(settings, own, has_entries)
        walker = Walker(settings, own, frames)
        planner = Planner(settings.frame_size, walker, frames, has_entries)
        with (
            closing(frames),
            closing(walker),
            closing(planner.plans(walker.walk(root, names))) as plans,
            closing(mapped(frames.compressed, plans, workers, frames_ahead(workers))) as compressed,
        ):
            for frame in compressed:
                plan = frame.plan
                for problem in plan.problems:
                    problems.add(problem)
                output.write(frame)
                frames.give_back(plan.content)
                count += plan.entry_count
                for entry in plan.entries:
                    on_entry(entry)  # type: ignore[misc]  # there are none without it
            end = frames.content()
            end.add(END)
            output.end(frames.deflate(end))
    return Summary(count, output.table.decompressed_size, output.written, problems.found)


def _names(
    paths: Iterable[str | os.PathLike[str]], files_from: Iterable[str | os.PathLike[str]] | None, has_base: bool
) -> list[str]:
    """Return the paths to archive, as text."""
    names = [os.fsdecode(path) for path in (*paths, *(files_from or ()))]
    if names or files_from is not None:
        return names
    if not has_base:
        raise ValueError("no paths: name what to archive, '.' for all of the working directory")
    return ["."]


def _own_files(file: IO[bytes], target: Place) -> list[tuple[int, int]]:
    """Return device and number of the file that is written and of the one that it will replace: neither is archived."""
    found = []
    with Suppressed(AttributeError, OSError, ValueError):
        found.append(os.fstat(file.fileno()))
    with Suppressed(OSError, TypeError, ValueError):
        found.append(os.stat(target))
    return [(status.st_dev, status.st_ino) for status in found]


class _Output:
    """Writes frames, holding back the end of each until the next one, then the list of members and the seek table."""

    def __init__(self, file: IO[bytes], progress: Callable[[int, int], object] | None) -> None:
        self._file = file
        self._progress = progress
        self._held = b""
        self.table = SeekTable(checksums=False)
        self._members = Members()
        self.written = 0

    def write(self, frame: Frame) -> None:
        if not frame.size:
            return
        members = frame.plan.members
        self._members.append(members.numbers(), members.is_continued)
        self._put(frame.data, frame.size)

    def _put(self, data: Buffer, size: int) -> None:
        view = memoryview(data)
        self.table.append(len(view), size)
        self._write(self._held)
        self._write(view[:-_HELD_BACK])
        self._held = bytes(view[-_HELD_BACK:])
        if self._progress is not None:
            self._progress(self.table.decompressed_size, self.written)

    def end(self, frame: Buffer) -> None:
        self._members.append(array("H"), False)
        self._put(frame, len(END))
        listed = self._members.to_bytes()
        if listed:
            self.table.append(len(listed), 0)
        self._write(self._held + listed + self.table.to_bytes())

    def _write(self, data: Bytes) -> None:
        if len(data):
            write_all(self._file, data)
            self.written += len(data)
