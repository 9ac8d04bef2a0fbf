# SPDX-License-Identifier: Apache-2.0
"""Extract entry by entry, in Python."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, Union

from cpkg.archive._disk import Tree
from cpkg.archive._result import Problem, Problems
from cpkg.archive._settings import ExtractSettings, chosen
from purepy.errors import ArchiveError, LimitError, UnsafeEntryError, ZstdError
from purepy.tar import names
from purepy.tar.decode import NUL_BLOCK, is_checksum_right
from purepy.tar.entry import BLOCK, HARDLINK, Entry
from purepy.tar.reader import Content, TarReader

Data = Iterable[Union[bytes, memoryview]]
_HELD_DATA: Final = 8 << 20
_HELD_ENTRIES: Final = 10_000
_LARGE: Final = 1 << 20
"""Entries of more data end a batch for `select`, and so do those that make it hold more than that."""


def tell_of(name: str, exc: Exception) -> Problem:
    """Return the problem that an entry cannot be extracted."""
    text = exc.strerror if isinstance(exc, OSError) and exc.strerror else str(exc)
    return Problem(name.rstrip("/") or name[:1], f"cannot be extracted: {text}", exc)


class Extract:
    """Base of both engines."""

    def __init__(
        self,
        settings: ExtractSettings,
        problems: Problems,
        directory: str,
        progress: Callable[[int, int], object] | None,
    ) -> None:
        self._settings = settings
        self._problems = problems
        self._directory = directory
        self._progress = progress


class PureExtract(Extract):
    """Reads headers and makes files in the calling thread, while others decompress."""

    _last = ""
    _links: list[tuple[Entry, Entry]]
    """Hard links to files that are not there yet, as stored and as they are to be made."""
    entries = 0
    """How many entries were extracted."""

    def run(self, archive: Any, pool: Any) -> None:
        """Extract an archive."""
        self._tree = Tree(self._directory, self._settings)
        self._links = []
        try:
            try:
                content = archive.content()
                while content is not None:
                    content = self._extract_all(archive, content)
                self._make_links()
            except Exception:
                with contextlib.suppress(Exception):  # the error that led here is what the caller has to see
                    self._make_links()
                raise
            finally:
                self._tree.finish()
        finally:
            self._tree.close()

    def _extract_all(self, archive: Any, content: Content) -> Content | None:
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
            for _ in archive.views():  # what is behind the end has its checksums, too
                pass
        except (ArchiveError, ZstdError) as exc:
            if not self._settings.recover or isinstance(exc, LimitError):
                raise
            where = "within or behind it" if self._last else "at its begin"
            self._problems.add(Problem(self._last, f"the archive is damaged {where}: {exc}", exc))
            return _next_whole(archive)
        return None

    def _batches(self, reader: TarReader, archive: Any) -> Iterator[list[tuple[Entry, Data]]]:
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

    def _make_links(self) -> None:
        """Make the hard links whose files were missing when their entries came."""
        while self._links:
            stored, entry = self._links.pop(0)
            self._extract(stored, entry, (), at_end=True)

    def _extract(self, stored: Entry, entry: Entry, data: Data, *, at_end: bool = False) -> None:
        settings = self._settings
        try:
            parts = names.target_path(entry, settings.strip)
            if parts is None:
                return
            names.check_type(entry, settings.filter)
            self._tree.make(entry, parts, data)
        except LimitError:
            raise
        except (OSError, UnsafeEntryError, ValueError) as exc:
            if isinstance(exc, FileNotFoundError) and entry.type == HARDLINK and not at_end:
                self._links.append((stored, entry))
            else:
                self._problems.add(tell_of(stored.name, exc))
            return
        self.entries += 1
        if settings.on_entry is not None:
            settings.on_entry(entry)


def _next_whole(archive: Any) -> Content | None:
    """Return the content from the next chunk on that begins with an entry, or None if there is none."""
    while True:
        try:
            views = archive.views()
            for view in views:
                block = bytes(view[:BLOCK])
                if not archive.is_continued and (block == NUL_BLOCK or is_checksum_right(block)):
                    content: Content = archive.content(itertools.chain([view], views))
                    return content
            return None
        except ZstdError as exc:
            if isinstance(exc, LimitError):
                raise
