# SPDX-License-Identifier: Apache-2.0
"""List an archive, and verify one, without writing anything."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from cpkg._places import Place
from cpkg.archive._extract import opened_archive
from cpkg.archive._result import Summary
from cpkg.archive._settings import WINDOW_LOG_MAX, Patterns, member_patterns, pattern_list, threads_of
from purepy.tar import patterns
from purepy.tar.entry import Entry
from purepy.tar.reader import TarReader


def entries(
    source: Place,
    *,
    include: Patterns = (),
    exclude: Patterns = (),
    threads: int | None = None,
    max_size: int | None = None,
    window_log_max: int = WINDOW_LOG_MAX,
) -> Iterator[Entry]:
    """
    Yield the entries of the archive `source`, in order.

    `include`, `exclude`, `threads`, `max_size` and `window_log_max` are those of `extract`. Frames that lie within the
    data of one file are not decompressed, and of a path or URL not read, nor are those that hold nothing of `include`.
    Raises ArchiveError and ZstdError where the archive is damaged or cut, ArchiveLimitError, OSError.
    """
    wanted = member_patterns(include)
    is_included = patterns.matcher(wanted, anchored=True)
    is_excluded = patterns.matcher(pattern_list(exclude), anchored=False)
    opened = opened_archive(source, threads_of(threads), max_size, window_log_max, by_table=True, include=wanted)
    with opened as (archive, _):
        for entry in TarReader(archive.content()):
            if is_included is not None and not is_included(entry.name):
                continue
            if is_excluded is None or not is_excluded(entry.name):
                yield entry


def verify(
    source: Place,
    *,
    threads: int | None = None,
    max_size: int | None = None,
    window_log_max: int = WINDOW_LOG_MAX,
    progress: Callable[[int, int], object] | None = None,
) -> Summary:
    """
    Decompress all of the archive `source`, check its checksums and headers, and return a Summary.

    `threads`, `max_size`, `window_log_max` and `progress` are those of `extract`.

    The seek table is not needed and not looked at; `cpkg.zstd.verify` holds the frames of a file against it.

    Raises ArchiveError and ZstdError where it is damaged or cut, as `extract` would.
    """
    count = 0
    with opened_archive(source, threads_of(threads), max_size, window_log_max) as (archive, _):
        for _entry in TarReader(archive.content()):
            count += 1
            if progress is not None:
                progress(archive.size, archive.consumed)
        for _view in archive.views():
            pass
        return Summary(count, archive.size, archive.consumed, [])
