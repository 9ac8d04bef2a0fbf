# SPDX-License-Identifier: Apache-2.0
"""Extract entry by entry, in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cpkg.archive._disk import Tree
from cpkg.archive._result import Problem, Problems
from cpkg.archive._settings import ExtractSettings
from purepy.errors import UnsafeEntryError
from purepy.tar import names
from purepy.tar.entry import Entry
from purepy.tar.reader import Content, TarReader


def tell_of(entry: Entry, exc: Exception) -> Problem:
    """Return the problem that an entry cannot be extracted."""
    text = exc.strerror if isinstance(exc, OSError) and exc.strerror else str(exc)
    return Problem(entry.name, f"cannot be extracted: {text}", exc)


class PureExtract:
    """Reads headers and makes files in the calling thread, while others decompress."""

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
        self.entries = 0

    def run(self, archive: Any, pool: Any) -> None:
        """Extract an archive."""
        tree = Tree(self._directory, self._settings)
        try:
            try:
                reader = TarReader(Content(self._counted(archive), archive.skip))
                for entry in reader:
                    if self._settings.is_wanted(entry.name):
                        self._extract(tree, entry, reader)
                for _ in archive:  # what is behind the end has its checksums, too
                    pass
            finally:
                tree.finish()
        finally:
            tree.close()

    def _counted(self, archive: Any) -> Any:
        for chunk in archive:
            yield chunk
            if self._progress is not None:
                self._progress(archive.size, archive.splitter.consumed)

    def _extract(self, tree: Tree, entry: Entry, reader: TarReader) -> None:
        settings = self._settings
        chosen = entry
        if settings.select is not None:
            found = list(settings.select([entry]))
            if not found:
                return
            chosen = found[0]
        try:
            parts = names.target_path(chosen, settings.strip)
            if parts is None:
                return
            names.check_type(chosen, settings.filter)
            tree.make(chosen, parts, reader.data())
        except (OSError, UnsafeEntryError, ValueError) as exc:
            self._problems.add(tell_of(entry, exc))
            return
        self.entries += 1
        if settings.on_entry is not None:
            settings.on_entry(chosen)
