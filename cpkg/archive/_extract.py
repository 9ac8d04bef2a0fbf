# SPDX-License-Identifier: Apache-2.0
"""Extract an archive: threads decompress frames ahead, the entries are made in order."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

from cpkg.archive import _engine
from cpkg.archive._files import opened_source
from cpkg.archive._inflate import Inflater
from cpkg.archive._result import Problem, Problems, Summary
from cpkg.archive._settings import WINDOW_LOG_MAX, ContentLimit, ExtractSettings, Patterns, Select
from cpkg.archive._threads import pool_of
from purepy._cores import thread_count
from purepy.errors import ArchiveLimitError
from purepy.tar.entry import Entry
from purepy.zstd_frames import FrameSplitter


class Opened:
    """An archive that is read: `inflater` gives its content, in chunks."""

    def __init__(
        self, file: Any, pool: Any, workers: int, codec: Any, limit: ContentLimit, window_log_max: int
    ) -> None:
        self.splitter = FrameSplitter(file.read, window_log_max)
        self.inflater = Inflater(self.splitter, codec, pool, 2 * workers)
        self._limit = limit
        self.size = 0

    def __iter__(self) -> Iterator[Any]:
        for chunk in self.inflater:
            self.count(len(chunk))
            yield chunk

    def count(self, size: int) -> None:
        """Count content; raises ArchiveLimitError if it is more than is allowed."""
        self.size += size
        allowed = self._limit.allowed(self.splitter.consumed)
        if self.size > allowed:
            error = ArchiveLimitError(
                f"the archive holds more than {allowed:,} bytes, from {self.splitter.consumed:,} compressed so far"
            )
            error.advice = "if you trust it, allow more with max_size"
            raise error

    def skip(self, size: int) -> int:
        """Pass over content."""
        skipped = self.inflater.skip(size)
        self.size += skipped
        return skipped


def check_window(window_log_max: int) -> None:
    """Raise ValueError for a limit that Zstandard does not have."""
    if not 10 <= window_log_max <= 31:
        raise ValueError(f"window_log_max is 10 to 31, not {window_log_max}")


@contextmanager
def opened_archive(
    source: Any, threads: int, max_size: int | None, window_log_max: int, codec: Any
) -> Iterator[tuple[Opened, Any]]:
    """Open an archive for reading; yields it and the pool whose threads decompress by `codec`."""
    workers = thread_count(threads or 0)
    limit = ContentLimit(max_size)
    with opened_source(source) as file, pool_of(workers) as pool:
        yield Opened(file, pool, workers, codec, limit, window_log_max), pool


def extract(
    source: Any,
    directory: str | os.PathLike[str] = ".",
    *,
    include: Patterns = (),
    exclude: Patterns = (),
    strip_components: int = 0,
    filter: str = "data",
    numeric_owner: bool = False,
    xattrs: bool = False,
    acls: bool = False,
    threads: int | None = None,
    max_size: int | None = None,
    window_log_max: int = WINDOW_LOG_MAX,
    select: Select | None = None,
    on_entry: Callable[[Entry], object] | None = None,
    on_problem: Callable[[Problem], object] | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> Summary:
    """
    Extract a .tar.zst archive into a directory, which is made if it is missing; return a Summary.

    `source` is a path, a binary file that is read from where it stands, or a URL of fsspec. `include` and `exclude` are
    patterns as GNU tar's, those of `include` for whole names or directories; `strip_components` leaves out leading
    directories. `filter` is one of tarfile's (PEP 706): "data" refuses links that lead out and devices, and keeps
    neither owners nor rights of others to write; "tar" does the last of it alone; "fully_trusted" keeps all. None of
    them writes outside of `directory` or through a link. As root the last two set owners, by name unless
    `numeric_owner`. `xattrs` and `acls` set extended attributes and access control lists.

    `threads` decompress, None or 0 for one per processor. `max_size` bounds the content in bytes: by default 1 GiB or
    250 times the compressed size, -1 for no limit. `window_log_max` bounds the window of frames, as zstd --long does.

    `select` is called with each entry, in a list, and returns a list of those to extract; `on_entry` with each entry
    that was extracted, `progress` with the bytes of content and of input so far. `on_problem` is called with each
    Problem of an entry, and the rest is extracted; without it the first one is raised.

    Files appear whole or not at all, and take the place of others of the same name. Raises ArchiveError and ZstdError
    for what is damaged or cut, UnsafeEntryError for what the filter refuses, ArchiveLimitError, OSError.
    """
    settings = ExtractSettings(
        include=include,
        exclude=exclude,
        strip_components=strip_components,
        filter=filter,
        xattrs=xattrs,
        acls=acls,
        numeric_owner=numeric_owner,
        select=select,
        on_entry=on_entry,
    )
    problems = Problems(on_problem)
    check_window(window_log_max)
    workers = thread_count(threads or 0)
    engine, codec = _engine.for_extract(settings, problems, os.fsdecode(directory), progress, window_log_max, workers)
    with closing(codec), opened_archive(source, workers, max_size, window_log_max, codec) as (archive, pool):
        engine.run(archive, pool)
    return Summary(engine.entries, archive.size, archive.splitter.consumed, problems.found)
