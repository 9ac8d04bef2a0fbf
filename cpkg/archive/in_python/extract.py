# SPDX-License-Identifier: Apache-2.0
"""Extract entry by entry, in Python."""

from __future__ import annotations

import contextlib
import errno
import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from cpkg.archive._descriptors import Descriptors
from cpkg.archive._inflate import Inflater
from cpkg.archive._result import Problem, Problems
from cpkg.archive._settings import ExtractSettings, chosen
from cpkg.archive.in_python.disk import Data, Tree
from purepy.base import system
from purepy.base.crew import Crew
from purepy.base.errors import ArchiveError, LimitError, UnsafeEntryError, ZstdError
from purepy.tar import names
from purepy.tar.decode import NUL_BLOCK, is_checksum_right
from purepy.tar.entry import BLOCK, HARDLINK, Entry
from purepy.tar.reader import Content, TarReader

_HELD_DATA: Final = 8 << 20
_HELD_ENTRIES: Final = 10_000
_LARGE: Final = 1 << 20
"""Entries of more data end a batch for `select`, and so do those that make it hold more than that."""


class Extract:
    """
    Base of extraction in C and in Python: entries one by one, hard links at the end, and attributes of directories.

    A hard link is created at once if its file was extracted before. Else it waits for the end, since its file may come
    later: then it links to the file that has the name at the end.
    """

    def __init__(
        self,
        settings: ExtractSettings,
        problems: Problems,
        directory: str,
        progress: Callable[[int, int], object] | None,
        descriptors: Descriptors,
    ) -> None:
        self._settings = settings
        self._problems = problems
        self._directory = directory
        self._progress = progress
        self._descriptors = descriptors
        self._tree = Tree(directory, settings, descriptors.tree_max)
        self._links: dict[tuple[str, ...], tuple[Entry, Entry]] = {}
        """Hard links that wait for the end, by their paths: as stored, and as they will be created."""
        self._lost: set[tuple[str, ...]] = set()
        """Paths of entries that could not be extracted: no link is created to older files of those names."""
        self._made: set[tuple[str, ...]] | None = None
        """Paths of what was extracted, where there was something before that could be taken for it, and Python asks."""
        self.entries = 0
        """How many entries were extracted."""

    def run(self, archive: Inflater, crew: Crew) -> None:
        """Extract an archive."""
        try:
            self._tree.open()
            self._read(archive, crew)
            self._make_links()
            self._finish(self._report)
        except BaseException as exc:
            with contextlib.suppress(Exception):  # the error that led here is what the caller has to see
                self._end(crew, is_wanted=isinstance(exc, Exception))
            raise
        finally:
            self._close()

    def _close(self) -> None:
        """Close all descriptors."""
        self._tree.close()

    _read: Callable[[Inflater, Crew], None]
    """Extract all entries."""

    def _end(self, crew: Crew, is_wanted: bool) -> None:
        """End after an error; what came before it `is_wanted`, or not if the caller was interrupted."""
        try:
            if is_wanted:
                self._make_links()
        finally:
            self._finish(lambda path, exc: None)

    def _finish(self, fails: Callable[[str, OSError], None]) -> None:
        """Give directories their attributes."""
        self._tree.finish(fails)

    def _report(self, name: str, exc: Exception) -> None:
        """Report that an entry cannot be extracted; raises `exc` if the caller does not want to be called."""
        message = exc.strerror if isinstance(exc, OSError) and exc.strerror else str(exc)
        self._problems.add(Problem(name.rstrip("/") or name[:1], f"cannot be extracted: {message}", exc))

    def _extract(self, stored: Entry, entry: Entry, data: Data) -> None:
        """Extract an entry or queue it: `stored` is the archive's entry, `entry` what to create."""
        settings = self._settings
        parts: list[str] | None = None
        try:
            parts = names.target_path(entry, settings.strip)
            if parts is None:
                return
            names.check_type(entry, settings.filter)
            if settings.spellings is not None:
                settings.spellings.check(entry, parts, settings.filter, settings.strip)
            target = tuple(names.link_target(entry, settings.strip)) if entry.type == HARDLINK else None
            if not self._is_ready(stored, entry, parts, target):
                return
            self._tree.make(entry, parts, data)
        except LimitError:
            raise
        except (OSError, UnsafeEntryError, ValueError) as exc:
            if parts is not None:
                self._lose(parts)
            self._report(stored.name, exc)
        else:
            self._extracted(entry, parts)

    def _lose(self, parts: list[str]) -> None:
        """Note that an entry could not be extracted."""
        self._lost.add(tuple(parts))

    def _wait(self, stored: Entry, entry: Entry, parts: list[str], target: tuple[str, ...]) -> None:
        """Have a hard link wait for the end; raises OSError if no file can have the path of its target."""
        with contextlib.suppress(FileNotFoundError):
            self._tree.directory(list(target[:-1]), make=False)
        self._links[tuple(parts)] = stored, entry

    def _is_ready(self, stored: Entry, entry: Entry, parts: list[str], target: tuple[str, ...] | None) -> bool:
        """Return whether an entry can be created now; keep it if not. `target` is the path of a hard link's file."""
        raise NotImplementedError

    def _extracted(self, entry: Entry, parts: list[str]) -> None:
        """Count an entry that was extracted, and call the caller with it; with what it lacks, too."""
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

    def _make_link(self, stored: Entry, entry: Entry) -> None:
        """Make a hard link that has waited."""
        parts = names.target_path(entry, self._settings.strip) or []
        try:
            target = tuple(names.link_target(entry, self._settings.strip))
            if target in self._lost:
                raise FileNotFoundError(errno.ENOENT, "its file could not be extracted")
            self._tree.make(entry, parts, ())
        except (OSError, UnsafeEntryError, ValueError) as exc:
            self._lose(parts)
            self._report(stored.name, exc)
        else:
            self._extracted(entry, parts)

    def _make_links(self) -> None:
        """Make the hard links that wait, each behind the one that it is a link to."""
        while self._links:
            chain: dict[tuple[str, ...], None] = {}
            path = next(iter(self._links))
            while path in self._links and path not in chain:
                chain[path] = None
                path = tuple(names.link_target(self._links[path][1], self._settings.strip))
            for path in reversed(chain):
                self._make_link(*self._links.pop(path))


class PureExtract(Extract):
    """Reads headers and makes files in the calling thread, while others decompress."""

    _last = ""

    def _read(self, archive: Inflater, crew: Crew) -> None:
        if system.listdir(self._tree.root):
            self._made = set()
        content: Content | None = archive.content()
        while content is not None:
            content = self._extract_all(archive, content)

    def _is_ready(self, stored: Entry, entry: Entry, parts: list[str], target: tuple[str, ...] | None) -> bool:
        if self._links:
            self._links.pop(tuple(parts), None)
        if target is None or (target not in self._links and self._has_made(target)):
            return True
        self._wait(stored, entry, parts, target)
        return False

    def _has_made(self, target: tuple[str, ...]) -> bool:
        if target in self._lost:
            return False
        return self._tree.has(target) if self._made is None else target in self._made

    def _extract_all(self, archive: Inflater, content: Content) -> Content | None:
        """Extract what follows; return None, or behind damage the content from the next entry on that is whole."""
        reader = TarReader(content)
        batches = self._batches(reader, archive)
        try:
            if self._settings.select is None:
                for batch in batches:
                    for entry, data in batch:
                        self._last = entry.name
                        if self._settings.is_wanted(entry.name):
                            self._extract(entry, entry, data)
            else:
                self._select(batches)
            for _ in archive.views():  # content behind the end has checksums, too
                pass
        except (ArchiveError, ZstdError) as exc:
            if not self._settings.recover or isinstance(exc, LimitError):
                raise
            where = "within or behind it" if self._last else "at its beginning"
            self._problems.add(Problem(self._last, f"the archive is damaged {where}: {exc}", exc))
            return _next_whole(archive)
        return None

    def _batches(self, reader: TarReader, archive: Inflater) -> Iterator[list[tuple[Entry, Data]]]:
        progress = self._progress
        size = 0
        while True:
            batch = reader.batch()
            if progress is not None and (archive.size != size or not batch):
                size = archive.size
                progress(size, archive.consumed)
            if not batch:
                return
            yield batch

    def _select(self, batches: Iterable[list[tuple[Entry, Data]]]) -> None:
        """Have the caller choose among entries that follow each other in one directory, and extract those."""
        held: list[tuple[Entry, Data]] = []
        total = 0
        above = None
        try:
            for entry, data in itertools.chain.from_iterable(batches):
                self._last = entry.name
                if not self._settings.is_wanted(entry.name):
                    continue
                directory = entry.name.rpartition("/")[0]
                size = entry.stored_size
                if held and (directory != above or total + size > _HELD_DATA or len(held) == _HELD_ENTRIES):
                    total = 0
                    self._choose(held)
                above = directory
                if size <= _LARGE:
                    total += size
                    held.append((entry, [bytes(piece) for piece in data]))  # for longer than chunks last
                else:
                    held.append((entry, data))
                    self._choose(held)
                    total = 0
        finally:
            self._choose(held)

    def _choose(self, batch: list[tuple[Entry, Data]]) -> None:
        found = batch[:]
        batch.clear()
        assert self._settings.select is not None
        if found:
            for index, entry in chosen(self._settings.select, [entry for entry, _ in found]):
                self._extract(found[index][0], entry, found[index][1])


def _next_whole(archive: Inflater) -> Content | None:
    """Return the content from the next chunk on that begins with an entry, or None if there is none."""
    while True:
        try:
            views = archive.views()
            for view in views:
                block = bytes(view[:BLOCK])
                if not archive.is_continued and (block == NUL_BLOCK or is_checksum_right(block)):
                    return archive.content(itertools.chain([view], views))
            return None
        except ZstdError as exc:
            if isinstance(exc, LimitError):
                raise
