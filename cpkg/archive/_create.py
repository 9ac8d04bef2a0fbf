# SPDX-License-Identifier: Apache-2.0
"""
Create an archive: the calling thread walks, reads and writes; other threads, if there are any, compress frames.

The last bytes of each frame are held back until the next frame is ready, and the end-of-archive marker has its own
frame. So readers recognise an archive that was cut off before the end of the last frame as truncated.
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
_OTHER_SUFFIXES = (".tar", ".tar.gz", ".tgz", ".tar.xz", ".tar.bz2", ".zip")
"""Suffixes of archives that `create` does not write."""


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
    Write files and trees to a .tar.zst archive, like `tar -cf - PATHS | zstd`, and return a Summary.

    `target` is a path (the file is written completely or not at all), a binary file, which is written from its current
    position, or a URL for fsspec. Its name must not end in .tar, .tar.gz, .tgz, .tar.xz, .tar.bz2 or .zip. `paths` and
    `files_from` are relative to `base`, by default the working directory, and become the names in the archive. Without
    `paths` and `files_from`, all of `base`, which is then required, is archived as `.`. Links are stored as links.

    `level` is the Zstandard level. `threads` is the number of threads that compress: None or 0 for one per core, 1 for
    only the calling thread. `frame_size` is the content per frame in bytes. `exclude` and `include` are patterns like
    those of `tar --exclude`; `include` does not apply to directories. `recursive=False` archives directories without
    their content. `sort=False` keeps the order of the file system. `mtime` (seconds since 1970) and `owner` (user and
    group number) replace those of all entries; `numeric_owner` omits the names of owners. `reproducible` creates equal
    archives from equal trees: names are sorted, nothing is writable for group and others, and without `mtime` and
    `owner`, the time is SOURCE_DATE_EPOCH or 0 and the owner 0:0. `xattrs`, `acls` and `sparse` store extended
    attributes, access control lists, and the holes of sparse files.

    `select` is called with each entry and returns the entry to archive, changed or not, or None to leave it out (a
    directory with its content). `on_entry` is called with each archived entry, `progress` with the bytes of content and
    of output so far. `on_problem` is called with each Problem, and the work continues. Without it, a file that cannot
    be read raises OSError, and a file that changes, shrinks or vanishes gives an ArchiveWarning.

    Raises OSError; TypeError and ValueError for wrong arguments; ArchiveError (without `on_problem`) for an entry that
    tar cannot express; and the errors that methods of `target` raise.
    """
    check_name(target)
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
            raise ValueError(f"expected a path, found {name!r}: a path is not empty and has no NUL")
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
                    on_entry(entry)  # type: ignore[misc]  # without on_entry, plans collect no entries
            end = frames.content()
            end.add(END)
            output.end(frames.deflate(end))
    return Summary(count, output.table.decompressed_size, output.written, problems.found)


def check_name(target: Place) -> None:
    """Raise ValueError if `target` is a path or URL with the suffix of another archive format, such as .tar.gz."""
    if isinstance(target, (str, bytes, os.PathLike)):
        name = os.fsdecode(target)
        for suffix in _OTHER_SUFFIXES:
            if name.lower().endswith(suffix):
                stem = name[: -len(suffix)]
                raise ValueError(f"{name}: create writes Zstandard archives: name it {stem}.tar.zst")


def _names(
    paths: Iterable[str | os.PathLike[str]], files_from: Iterable[str | os.PathLike[str]] | None, has_base: bool
) -> list[str]:
    """
    Return the paths to archive, as text; ["."] if there are no `paths` and `files_from` is None.

    In that case, raises ValueError unless `has_base`.
    """
    names = [os.fsdecode(path) for path in (*paths, *(files_from or ()))]
    if names or files_from is not None:
        return names
    if not has_base:
        raise ValueError("no paths given: name what to archive ('.' is the whole working directory)")
    return ["."]


def _own_files(file: IO[bytes], target: Place) -> list[tuple[int, int]]:
    """Return (device, inode) of the new file and of the file it will replace, if they exist: they are not archived."""
    found = []
    with Suppressed(AttributeError, OSError, ValueError):
        found.append(os.fstat(file.fileno()))
    with Suppressed(OSError, TypeError, ValueError):
        found.append(os.stat(target))
    return [(status.st_dev, status.st_ino) for status in found]


class _Output:
    """Writes frames, then the list of members and the seek table; holds back the end of each frame until the next."""

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
