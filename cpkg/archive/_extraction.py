# SPDX-License-Identifier: Apache-2.0
"""Extract the entries of an archive; all decisions about entries are made here, C only writes ordinary files."""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

from cpkg.archive._disk import Data, Tree
from cpkg.archive._inflate import Inflater
from cpkg.archive._result import Problem, Problems
from cpkg.archive._settings import ExtractSettings, native_frames, selected
from purepy.base import system
from purepy.base.crew import Crew
from purepy.base.errors import (
    ArchiveError,
    CodecError,
    LimitError,
    Suppressed,
    UnsafeEntryError,
    ZstdError,
    exception_text,
    raise_if_from_handler,
)
from purepy.tar import names
from purepy.tar.decode import NUL_BLOCK, is_checksum_right, text
from purepy.tar.encode import encoded
from purepy.tar.entry import BLOCK, DIRECTORY, HARDLINK, Entry
from purepy.tar.reader import Content, TarReader

if TYPE_CHECKING:
    from cpkg.archive._write_run import Run, RunFinder

_DEPTH: Final = 256
_RUNS_PER_THREAD: Final = 8
_MISSED_MAX: Final = 8
"""After this many entries without a run, several entries are read before the next search for a run."""


class Extraction:
    """
    Extracts entries one by one, then the hard links whose files came later, then sets attributes of directories.

    A hard link is created at once if its file was extracted before. Otherwise the link waits until the end, because its
    file may come later. It then refers to the last file with that name.

    If C can write files, the threads of the crew write runs (consecutive ordinary files) in the background. Other
    entries wait for these runs; a directory waits only if a run has a file at its path or at one of its parents, or if
    there is an `on_entry`. Entries and problems are reported in the order of the archive.
    """

    def __init__(
        self,
        settings: ExtractSettings,
        problems: Problems,
        directory: str,
        progress: Callable[[int, int], object] | None,
        threads: int,
    ) -> None:
        self._settings = settings
        self._problems = problems
        self._progress = progress
        part = max(spare_descriptors() // 8, 2)
        self._runs_max = min(_RUNS_PER_THREAD * threads, part)
        self._tree = Tree(directory, settings, min(max(part // 2, 2), _DEPTH))
        self._links: dict[tuple[str, ...], tuple[Entry, Entry]] = {}
        """Hard links that wait until the end: path -> the stored entry and the entry to create."""
        self._lost: set[tuple[str, ...]] = set()
        """Paths of entries that could not be extracted; no link is created to older files with those paths."""
        self._made: set[tuple[str, ...]] | None = None
        """Paths that were extracted; None if the directory was empty, so that every file in it is from the archive."""
        self._last = ""
        """The name of the last entry that was read, wanted or not; "" before the first."""
        self._finder: RunFinder | None = None
        self._crew: Crew
        self._waiting: deque[Run] = deque()
        """Runs that were passed to the crew and whose files are not recorded yet, in the order of the archive."""
        self._pending: dict[tuple[str, ...], set[bytes]] = {}
        """By directory, the names of the files in all runs passed to the crew since `_waiting` was last empty."""
        self._run_count = 0
        self.entries = 0
        """The number of extracted entries."""

    def run(self, archive: Inflater, crew: Crew) -> None:
        """Extract the wanted entries of `archive`; `crew` writes the runs of files. Called only once per instance."""
        self._crew = crew
        settings = self._settings
        try:
            self._tree.open()
            if system.listdir(self._tree.root):
                self._made = set()
            if settings.select is None and settings.spellings is None and native_frames() is not None:
                from cpkg.archive._write_run import RunFinder

                self._finder = RunFinder(self._tree, settings)
            content: Content | None = self._content(archive, archive)
            while content is not None:
                content = self._extract_all(archive, content)
            self._make_links()
            self._tree.finish(self._report)
        except BaseException as exc:
            with Suppressed(Exception):  # the caller must see the first error
                self._end(is_wanted=isinstance(exc, Exception))
                self._tree.remove_empty()
            raise
        finally:
            self._tree.close()

    def _end(self, is_wanted: bool) -> None:
        """Clean up after an error; complete the earlier entries if `is_wanted`, which is false for an interrupt."""
        if not is_wanted:
            self._crew.stop()
        try:
            while self._waiting:
                run = self._waiting.popleft()
                if is_wanted:
                    run.wait()
                run.close()
            if is_wanted:
                self._make_links()
        finally:
            self._tree.finish(lambda path, exc: None)

    def _content(self, archive: Inflater, chunks: Iterator[Any]) -> Content:
        """Return `chunks` as a Content for TarReader; each chunk stays valid until the runs in it are written."""

        def views() -> Iterator[Any]:
            for chunk in chunks:
                yield archive.view(chunk)
                self._drain()
                archive.give_back(chunk)

        return archive.content(views())

    def _report(self, name: str, exc: Exception) -> None:
        """Report that an entry cannot be extracted; raises `exc` if the caller has no `on_problem`."""
        self._drain()
        message = exc.strerror if isinstance(exc, OSError) and exc.strerror else exception_text(exc)
        self._problems.add(Problem(name.rstrip("/") or name[:1], f"cannot be extracted: {message}", exc))

    def _extract(self, stored: Entry, entry: Entry, data: Data, *, is_last: bool = False) -> None:
        """
        Extract an entry, or report why that is impossible.

        `stored` is the entry in the archive, `entry` the entry to create, which `select` may have changed. An entry
        whose whole name is stripped is ignored. A hard link to a file that has not been extracted yet waits until the
        end, when this is called again with `is_last`.
        """
        settings = self._settings
        try:
            parts = names.target_path(entry, settings.strip)
        except UnsafeEntryError as exc:
            self._report(stored.name, exc)
            return
        if parts is None:
            return
        # a directory waits only if its path depends on a file being written, or if on_entry must be called in order
        if self._pending and (entry.type != DIRECTORY or settings.on_entry is not None or self._depends(parts)):
            self._drain()
        try:
            names.check_type(entry, settings.filter)
            if settings.spellings is not None:
                settings.spellings.check(entry, parts, settings.filter, settings.strip)
            target = tuple(names.link_target(entry, settings.strip)) if entry.type == HARDLINK else None
            if self._links:
                self._links.pop(tuple(parts), None)
            if is_last and target in self._lost:
                raise FileNotFoundError(errno.ENOENT, "the file to which the hard link refers could not be extracted")
            if target is not None and not is_last and (target in self._links or not self._has_made(target)):
                with contextlib.suppress(FileNotFoundError):  # other OSErrors: the target's path is impossible
                    self._tree.directory(list(target[:-1]), make=False)
                self._links[tuple(parts)] = stored, entry
                return
            self._tree.make(entry, parts, data)
        except LimitError:
            raise
        except (OSError, UnsafeEntryError, ValueError) as exc:
            raise_if_from_handler(exc)
            self._lost.add(tuple(parts))
            self._report(stored.name, exc)
        else:
            self._extracted(entry, parts)

    def _has_made(self, target: tuple[str, ...]) -> bool:
        if target in self._lost:
            return False
        return self._tree.has(target) if self._made is None else target in self._made

    def _extracted(self, entry: Entry, parts: list[str]) -> None:
        """Count an extracted entry, report its unreadable attributes, and call `on_entry`."""
        self.entries += 1
        if self._made is not None:
            self._made.add(tuple(parts))
        if self._lost:
            self._lost.discard(tuple(parts))
        if entry.unreadable:
            for name, why in entry.unreadable.items():
                if self._settings.sets_attribute(name):
                    error = ArchiveError(f"its attribute {name} cannot be read: {why}")
                    self._problems.add(Problem(entry.name, str(error), error))
        if self._settings.on_entry is not None:
            self._settings.on_entry(entry)

    def _make_links(self) -> None:
        """Create the hard links that wait; a link to another link comes after that link."""
        while self._links:
            chain: dict[tuple[str, ...], None] = {}
            path = next(iter(self._links))
            while path in self._links and path not in chain:
                chain[path] = None
                path = tuple(names.link_target(self._links[path][1], self._settings.strip))
            for path in reversed(chain):
                self._extract(*self._links.pop(path), (), is_last=True)

    # runs

    def _take_runs(self, chunk: Any, at: int, end: int, start: int) -> int:
        """Pass the consecutive runs from position `at` of a chunk to the crew; return the position after them."""
        assert self._finder is not None
        while True:
            run, run_end = self._finder.find(chunk, at, end, start)
            if run is None or not self._begin(run):
                return at
            at = run_end

    def _begin(self, run: Run) -> bool:
        """Pass the wanted files of a run to the crew; return False if they must be extracted one by one instead."""
        settings = self._settings
        path, last = text(run.path()), text(run.names[-1])
        try:
            parts = names.target_path(Entry(path + last), settings.strip)
        except UnsafeEntryError:
            return False
        wanted = settings.wanted
        if wanted.include or wanted.exclude:
            run.keep([at for at, name in enumerate(run.names) if wanted.takes(path + text(name))])
        if parts is not None:
            run.directory = directory = parts[:-1]
            if run.names:
                found = self._pending.get(tuple(directory), set())
                if self._depends(directory) or not found.isdisjoint(run.names):
                    self._drain()
                try:
                    run.open(self._tree, f"{self._tree.token}-{self._run_count:x}.tmp")
                except OSError as exc:
                    raise_if_from_handler(exc)
                    return False
                self._run_count += 1
                self._pending.setdefault(tuple(directory), set()).update(run.names)
                run.begin(self._crew)
                self._waiting.append(run)
        self._last = path + last
        self._drain(leave=self._runs_max)
        return True

    def _depends(self, parts: list[str]) -> bool:
        """Return whether a path or one of its parents is a file in `_pending`, which may still be incomplete."""
        for depth, part in enumerate(parts):
            found = self._pending.get(tuple(parts[:depth]))
            if found is not None and encoded(part) in found:
                return True
        return False

    def _drain(self, leave: int = 0) -> None:
        """Wait for the oldest runs in `_waiting`, until `leave` runs are left, and record their files in order."""
        waiting, self._waiting = self._waiting, deque()
        try:
            while len(waiting) > leave:
                run = waiting.popleft()
                run.wait()
                if run.error:  # try the file again when no other run is being written
                    for other in waiting:
                        other.wait()
                self._complete(run)
        finally:
            self._waiting = waiting
        if not waiting:
            self._pending.clear()

    def _complete(self, run: Run) -> None:
        """Record the files of a run; files that C could not write are extracted like any other entry."""
        begin = 0
        try:
            while True:
                self._account(run, begin, run.done)
                begin = run.done
                if not run.error:
                    break
                entry, data = run.entry(begin), run.data(begin)
                run.pass_over()
                self._extract(entry, entry, data)
                begin += 1
                run.write(self._crew)
        finally:
            run.close()

    def _account(self, run: Run, begin: int, end: int) -> None:
        if self._made is None and not (self._lost or self._links or self._settings.on_entry):
            self.entries += end - begin
            return
        for at in range(begin, end):
            parts = [*run.directory, text(run.names[at])]
            self._links.pop(tuple(parts), None)
            self._extracted(run.entry(at), parts)

    def _extract_all(self, archive: Inflater, content: Content) -> Content | None:
        """
        Extract all entries and return None; with `recover`, stop at damage and return the content that follows it.

        That content begins with the next undamaged frame that begins with an entry; None if there is no such frame.
        """
        batches = self._batches(TarReader(content), archive)
        select = self._settings.select
        try:
            try:
                for stored, data in itertools.chain.from_iterable(batches):
                    self._last = stored.name
                    if self._settings.wanted.takes(stored.name):
                        entry = stored if select is None else selected(select, stored)
                        if entry is not None:
                            self._extract(stored, entry, data)
                self._drain()
                for _ in archive.views():  # check the checksums of any content after the end
                    pass
            except CodecError:
                self._drain()  # report earlier entries first
                raise
        except (ArchiveError, ZstdError) as exc:
            if not self._settings.recover or isinstance(exc, LimitError) or exc in self._settings.raised:
                raise
            where = "inside or after this entry" if self._last else "at its beginning"
            self._problems.add(Problem(self._last, f"the archive is damaged {where}: {exc}", exc))
            chunks = _next_whole(archive)
            return None if chunks is None else self._content(archive, chunks)
        return None

    def _batches(self, reader: TarReader, archive: Inflater) -> Iterator[list[tuple[Entry, Data]]]:
        progress = self._progress
        size = missed = 0
        while True:
            if self._finder is not None:
                missed = 0 if reader.take(self._take_runs) else missed + 1
            batch = reader.batch() if self._finder is None or missed > _MISSED_MAX else reader.batch(1)
            if progress is not None and (archive.size != size or not batch):
                size = archive.size
                progress(size, archive.consumed)
            if not batch:
                return
            yield batch


def spare_descriptors() -> int:
    """Return how many more files this process may open; 2**20 if that is unknown or unlimited."""
    with Suppressed(ImportError, OSError):
        import resource

        limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        if limit != resource.RLIM_INFINITY:
            return limit - len(os.listdir("/dev/fd"))
    return 1 << 20


def _next_whole(archive: Inflater) -> Iterator[Any] | None:
    """Return the chunks from the next one that begins with an entry; None if none follows. Skips damaged frames."""
    while True:
        try:
            for chunk in archive:
                block = bytes(archive.view(chunk)[:BLOCK])
                if not archive.is_continued and (block == NUL_BLOCK or is_checksum_right(block)):
                    return itertools.chain([chunk], archive)
                archive.give_back(chunk)
            return None
        except ZstdError as exc:
            if isinstance(exc, LimitError):
                raise
