# SPDX-License-Identifier: Apache-2.0
"""Extract, list and verify archives; threads decompress frames in advance."""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Callable, Iterator
from typing import Any, Literal

from cpkg._places import Place, reading
from cpkg._urls import is_url
from cpkg.archive._extraction import Extraction
from cpkg.archive._indexed_frames import IndexedFrames, indexed_frames
from cpkg.archive._inflate import Codec, Inflater
from cpkg.archive._result import Problem, Problems, Summary
from cpkg.archive._settings import (
    WINDOW_LOG_MAX,
    ContentLimit,
    ExtractSettings,
    Patterns,
    Select,
    Wanted,
    frames_ahead,
    native_frames,
    threads_of,
)
from purepy.base.crew import Crew, Stopped
from purepy.base.descriptors import Descriptor
from purepy.base.reading import read_some
from purepy.tar.entry import Entry
from purepy.tar.reader import TarReader
from purepy.zstd.format.splitter import FrameSplitter


@contextlib.contextmanager
def opened_archive(
    source: Place,
    threads: int,
    limit: ContentLimit,
    *,
    by_table: bool = False,
    include: list[str] | None = None,
    recover: bool = False,
    read_some: Callable[[Any, int], bytes] = read_some,
) -> Iterator[tuple[Inflater, Crew]]:
    """
    Open an archive for reading; yields an Inflater of its content and its Crew of `threads` threads (no threads if 1).

    With `by_table`, the seek table of a path or URL is used, if it has a usable one, and frames that `include` does not
    need are left out. With `recover`, the table is not compared with the frames first. Without a table, the archive is
    read from beginning to end by calls of `read_some(file, size)`.
    """
    window_log_max = limit.window_log_max
    native = native_frames()
    codec = Codec(window_log_max) if native is None else native.NativeCodec(window_log_max)
    crew = Crew(threads if threads > 1 else 0)
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.closing(codec))
        file = stack.enter_context(reading(source, seeks=by_table))
        own = file
        try:
            if type(file) is io.FileIO:  # threads read from a duplicate, which the caller cannot close
                own = Descriptor(file.fileno()).file("rb", 0)
            frames: FrameSplitter | IndexedFrames | None = None
            if by_table and isinstance(source, (str, bytes, os.PathLike)):
                frames = indexed_frames(own, include or [], recover)
                if frames is None and is_url(source):
                    file = own = stack.enter_context(reading(source))
            if frames is None:

                def read(size: int) -> bytes:
                    if crew.is_stopped:
                        raise Stopped
                    return read_some(own, size)

                frames = FrameSplitter(read, window_log_max)
            yield Inflater(frames, codec, crew, frames_ahead(threads), limit), crew
        finally:
            if crew.stop() and own is not file:
                own.close()


def extract(
    source: Place,
    directory: str | os.PathLike[str] = ".",
    *,
    include: Patterns = (),
    exclude: Patterns = (),
    strip_components: int = 0,
    filter: Literal["data", "tar", "fully_trusted"] = "data",
    recover: bool = False,
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
    Extract a .tar.zst archive into a directory, which is created if it is missing, and return a Summary.

    `source` is a path, a binary file, which is read from its current position, or a URL for fsspec. `include` and
    `exclude` are patterns like those of GNU tar; a pattern of `include` matches a whole name or directory. If the
    archive at a path or URL has a list of its members, only the frames that may have entries of `include`, and the last
    one, are decompressed. `strip_components` removes that many leading directories from names.

    `filter` is one of the filters of tarfile (PEP 706). "data" refuses devices, FIFOs and links that lead outside, and
    keeps neither owners nor write permission for group and others nor the set-ID and sticky bits. "tar" only removes
    these permissions and bits, and "fully_trusted" keeps everything. No filter writes outside `directory` or through a
    link. "tar" and "fully_trusted" set owners if run as root, by name unless `numeric_owner`. `xattrs` and `acls` set
    extended attributes and access control lists.

    `threads` is the number of threads that decompress and write: None or 0 for one per core, 1 for only the calling
    thread. `max_size` limits the content in bytes: by default 1 GiB or 250 times the compressed bytes read so far,
    whichever is larger; -1 for no limit. `window_log_max` limits the window of frames to 2**N bytes, like
    `zstd --long`.

    `recover` continues after damage, at the next undamaged frame that begins with an entry; each loss is a Problem.
    `select` is called with each entry and returns the entry to extract, changed or not, or None to leave it out.
    `on_entry` is called with each extracted entry, `progress` with the bytes of content and of input so far.
    `on_problem` is called with each Problem, and the rest is extracted. Without it, the first problem with an error
    raises the error, and any other gives an ArchiveWarning.

    Files appear complete or not at all, and replace files of the same name. Raises ArchiveError and ZstdError if the
    archive is damaged or truncated, UnsafeEntryError for entries that the filter refuses, ArchiveLimitError beyond
    `max_size`, OSError, and TypeError and ValueError for wrong arguments.
    """
    wanted = Wanted(include, exclude)
    settings = ExtractSettings(wanted, strip_components, filter, recover, xattrs, acls, numeric_owner, select, on_entry)
    problems = Problems(settings.noting(on_problem))
    workers = threads_of(threads)
    extraction = Extraction(settings, problems, os.fsdecode(directory), settings.noting(progress), workers)
    by_table = recover or bool(wanted.include) or not is_url(source)
    opened = opened_archive(
        source,
        workers,
        ContentLimit(max_size, window_log_max),
        by_table=by_table,
        include=wanted.include,
        recover=recover,
        read_some=settings.noting(read_some),
    )
    with opened as (archive, crew):
        extraction.run(archive, crew)
    wanted.report_unmatched(problems)
    return Summary(extraction.entries, archive.size, archive.consumed, problems.found)


def entries(
    source: Place,
    *,
    include: Patterns = (),
    exclude: Patterns = (),
    threads: int | None = None,
    max_size: int | None = None,
    window_log_max: int = WINDOW_LOG_MAX,
    on_problem: Callable[[Problem], object] | None = None,
) -> Iterator[Entry]:
    """
    Yield the entries of the archive `source`, in order.

    `include`, `exclude`, `threads`, `max_size` and `window_log_max` are the same as in `extract`. `on_problem` is
    called with a Problem for each pattern of `include` that matches nothing. Frames that contain only data of one file
    are not decompressed. If the archive at a path or URL has a seek table, only the headers of these frames, and of
    frames that `include` does not need, are read.

    Raises ArchiveError and ZstdError if the archive is damaged or truncated, ArchiveLimitError beyond `max_size`,
    OSError, and TypeError and ValueError for wrong arguments.
    """
    wanted = Wanted(include, exclude)
    limit = ContentLimit(max_size, window_log_max)
    opened = opened_archive(source, threads_of(threads), limit, by_table=True, include=wanted.include)

    def found() -> Iterator[Entry]:
        with opened as (archive, _):
            yield from (entry for entry in TarReader(archive.content()) if wanted.takes(entry.name))
        if on_problem is not None:
            wanted.report_unmatched(Problems(on_problem))

    return found()


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

    `threads`, `max_size`, `window_log_max` and `progress` are the same as in `extract`.

    The seek table is neither needed nor checked; `cpkg.zstd.verify` compares it with the frames of a file.

    Raises ArchiveError and ZstdError if the archive is damaged or truncated, ArchiveLimitError beyond `max_size`,
    OSError, and TypeError and ValueError for wrong arguments.
    """
    count = 0
    with opened_archive(source, threads_of(threads), ContentLimit(max_size, window_log_max)) as (archive, _):
        for _entry in TarReader(archive.content()):
            count += 1
            if progress is not None:
                progress(archive.size, archive.consumed)
        for _view in archive.views():
            pass
        return Summary(count, archive.size, archive.consumed, [])
