# SPDX-License-Identifier: Apache-2.0
"""
Let C write runs: consecutive ordinary files of one directory.

Python decides once for each kind of header (mode, owner and form), and C applies this decision to all files with such
headers. Any other entry ends the run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from cpkg._native.archive import ffi, lib
from cpkg.archive._disk import Tree
from cpkg.archive._settings import ExtractSettings
from purepy.base import system
from purepy.base.crew import Call, Crew, Stopped
from purepy.base.descriptors import Descriptor
from purepy.tar.encode import encoded
from purepy.tar.entry import BLOCK, FILE, TYPEFLAGS, Entry
from purepy.tar.ordinary import ordinary

if TYPE_CHECKING:
    from cpkg._native.cffi_types import CData

_MODE_AT, _SIZE_AT, _FLAG_AT = 100, 124, 156
_PAX: Final = b"x"
_KNOWN_MAX: Final = 16
_new_run: Final = ffi.new_allocator(should_clear_after_alloc=False)


class Run:
    """
    Consecutive files of one directory in a chunk of an archive; the chunk must stay valid until they are written.

    `directory` has the components of the directory's path, `names` the names of the files. The first `done` files are
    written, or `pass_over` skipped them. If the next file could not be written, `error` is its errno, otherwise 0.
    """

    __slots__ = ("_call", "_chunk", "_descriptor", "_known", "_memory", "_run", "_start", "directory", "error", "names")

    def __init__(self, run: CData, chunk: Any, memory: CData, known: CData, start: int) -> None:
        self._run, self._chunk, self._memory, self._known, self._start = run, chunk, memory, known, start
        self._descriptor: Descriptor | None = None
        self._call: Call | None = None
        self.names: list[bytes] = ffi.buffer(run.names, run.names_size)[:].split(b"\0")[:-1]
        self.directory: list[str] = []
        self.error = 0

    def entry(self, index: int) -> Entry:
        """Return the entry of the file with this index."""
        at = self._run.files[index].entry_at
        found = ordinary(self._chunk, at, len(self._chunk))
        assert found is not None
        found[0].position = self._start + at
        return found[0]

    def data(self, index: int) -> tuple[bytes]:
        """Return the data of the file with this index, as a tuple of one bytes object."""
        file = self._run.files[index]
        return (bytes(self._chunk[file.data_at : file.data_at + file.size]),)

    def path(self) -> bytes:
        """Return the part of the entries' names that precedes `names`: a directory's path and a slash, or b""."""
        at = self._run.files[0].data_at - BLOCK
        return bytes(self._chunk[at : at + self._run.path_size])

    def keep(self, indexes: list[int]) -> None:
        """Drop all files except those with these indexes, which must be in ascending order."""
        files = self._run.files
        for place, index in enumerate(indexes):
            files[place] = files[index]
        self._run.count = len(indexes)
        self.names = [self.names[index] for index in indexes]

    @property
    def done(self) -> int:
        """The number of files that were written or that `pass_over` skipped."""
        return int(self._run.done)

    def pass_over(self) -> None:
        """Count the file that could not be written as done, so that `write` continues after it."""
        self._run.done += 1

    def open(self, tree: Tree, temporary: str) -> None:
        """
        Let `tree` open the directory of the run's files, and create it if it is missing; raises OSError.

        `temporary` is the name that each file has in the directory until the file is complete.
        """
        descriptor = tree.directory(self.directory)
        self._descriptor = Descriptor(descriptor, by=system.dup)
        run = self._run
        run.directory, run.has_default_list = self._descriptor.number, tree.has_list(descriptor)
        run.temporary, run.is_named = encoded(temporary), False

    def begin(self, crew: Crew) -> None:
        """Start `write` in a thread of the crew, or run it here if the crew has no threads."""
        self._call = crew.submit(self.write, crew)

    def write(self, crew: Crew) -> None:
        """Write the remaining files, up to one that fails, and set `error`; raises Stopped if the crew is stopped."""
        run = self._run
        self.error = 0
        while not self.error and run.done < run.count:
            if crew.is_stopped:
                raise Stopped
            self.error = lib.cpkg_write_run_next(run)

    def wait(self) -> None:
        """Wait until the call of `write` that `begin` started has ended; raises its exception."""
        assert self._call is not None
        self._call.result()

    def close(self) -> None:
        """Close the directory."""
        if self._descriptor is not None:
            self._descriptor.close()


class RunFinder:
    """Finds runs in the content of an archive, and teaches C which headers belong to ordinary files."""

    def __init__(self, tree: Tree, settings: ExtractSettings) -> None:
        self._tree = tree
        self._settings = settings
        self._known = ffi.new("cpkg_write_known *")
        self._seen: set[bytes] = set()
        self._spare: CData | None = None  # memory of a search that found nothing

    def find(self, chunk: Any, at: int, end: int, start: int) -> tuple[Run | None, int]:
        """
        Return the run at position `at` of a chunk and the position of its end; None and `at` if there is none.

        The run ends at position `end` of the chunk at the latest. The chunk begins at position `start` of the content.
        """
        memory = ffi.from_buffer(chunk)
        run = self._spare or _new_run("cpkg_write_run *")
        while True:
            run.known, run.content = self._known, memory
            run_end = lib.cpkg_write_run_find(run, at, end)
            if run_end != at:
                self._spare = None
                return Run(run, chunk, memory, self._known, start), run_end
            if not self._learn(chunk, at, end):
                self._spare = run
                return None, at

    def _learn(self, chunk: Any, at: int, end: int) -> bool:
        """Teach C the kind of header at `at`; return False if the file there is not ordinary, or C knows the kind."""
        flag = at + _FLAG_AT
        if chunk[flag : flag + 1] == _PAX:
            flag += 2 * BLOCK
        found = ordinary(chunk, at, end) if chunk[flag : flag + 1] == TYPEFLAGS[FILE] else None
        if found is None:
            return False
        entry, header_end = found
        header = bytes(chunk[header_end - BLOCK : header_end])
        fields, rest = header[_MODE_AT:_SIZE_AT], header[_FLAG_AT:]
        pax = bytes(chunk[at : at + BLOCK]) if header_end - at > BLOCK else b""
        missing = {key for key in (fields + rest, pax) if key and key not in self._seen}
        if not missing:
            return False
        if max(self._known.kind_count, self._known.pax_count) == _KNOWN_MAX:  # older runs still use the full table
            self._known = ffi.new("cpkg_write_known *")
            self._seen.clear()
        known = self._known
        if fields + rest not in self._seen:
            kind = known.kinds[known.kind_count]
            ffi.memmove(kind.fields, fields, len(fields))
            ffi.memmove(kind.rest, rest, len(rest))
            kind.rest_sum = sum(rest)
            kind.mode, kind.is_created_with_mode = self._tree.file_mode(entry)
            kind.has_owner = self._settings.owns
            if self._settings.owns:
                kind.uid, kind.gid = self._tree.owner(entry)
            known.kind_count += 1
        if pax and pax not in self._seen:
            ffi.memmove(known.pax[known.pax_count].block, pax, BLOCK)
            known.pax_count += 1
        self._seen.update((fields + rest, pax))
        return True
