# SPDX-License-Identifier: Apache-2.0
"""
The engine of `extract` whose work is done in C: reading headers in order, writing files in threads.

C stops at an entry that is not ordinary. Then the reader of purepy/tar and the Tree in Python take it, with the same
content, and C goes on behind it. A call of C ends after some milliseconds, done or not, so that signals are seen.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from cpkg._native.archive import ffi, lib
from cpkg.archive._inflate import Inflater
from cpkg.archive._settings import ExtractSettings
from cpkg.archive.in_c.codec import Chunk, NativeCodec
from cpkg.archive.in_c.entries import entries_of
from cpkg.archive.in_python.extract import Extract
from purepy.base.crew import Call, Crew, Stopped
from purepy.base.errors import ArchiveError, CodecError
from purepy.tar import names
from purepy.tar.decode import text
from purepy.tar.encode import encoded
from purepy.tar.entry import DIRECTORY, Entry
from purepy.tar.reader import Content, TarReader, left_out_within

if TYPE_CHECKING:
    from cpkg._native.cffi_types import CData

_NO_MEMORY, _MORE, _FULL, _ODD, _AGAIN = range(-1, 4)
_WRITTEN, _IS_WRITING, _NO_DESCRIPTOR = range(3)
_FINISHED, _IS_FINISHING, _FAILED, _IN_PYTHON = range(4)
_NO_DESCRIPTOR_WAIT: Final = 0.01
_NO_DESCRIPTOR_WAITS: Final = 200


def can_do(settings: ExtractSettings) -> bool:
    """Return whether C can serve these settings; `select` and `recover` are left to Python."""
    return not (settings.recover or settings.select is not None)


class _Ended(Exception):
    """The end of the archive has come."""


class _Batch:
    """Files that are written out of one chunk. It holds the tree and the chunk, which a thread may still need."""

    __slots__ = ("call", "chunk", "pointer", "tree")

    def __init__(self, tree: CData) -> None:
        self.tree = tree
        self.pointer = ffi.gc(lib.cpkg_batch_new(tree), lib.cpkg_batch_free)
        if not self.pointer:
            raise MemoryError("no memory for extracting")
        self.chunk: Chunk
        self.call: Call

    def records(self) -> tuple[CData, int]:
        """Return the records of the batch's entries, and their size."""
        size = ffi.new("size_t *")
        return lib.cpkg_batch_records(self.pointer, size), size[0]

    def write(self, crew: Crew) -> None:
        """Write the files; called in threads."""
        waits = 0
        while True:
            state = lib.cpkg_batch_write(self.pointer, waits < _NO_DESCRIPTOR_WAITS)
            if state == _WRITTEN:
                return
            if crew.is_stopped:
                raise Stopped
            if state == _NO_DESCRIPTOR:  # other batches give theirs back
                waits += 1
                time.sleep(_NO_DESCRIPTOR_WAIT)


class NativeExtract(Extract):
    """Reads headers in the calling thread, and writes files in those of the crew."""

    def __init__(self, *given: Any, codec: NativeCodec, threads: int) -> None:
        super().__init__(*given)
        self._codec = codec
        self._threads = threads
        self._failed = 0
        self._ready: list[tuple[Entry, Entry]] = []
        """Hard links whose files came before them, in batches that may not be written yet."""
        self._waiting: deque[_Batch] = deque()
        self._at = ffi.new("size_t *")
        self._c_tree: CData | None = None
        self._is_first = True
        self._behind = 0

    def _read(self, archive: Inflater, crew: Crew) -> None:
        self._archive, self._crew = archive, crew
        self._chunks = iter(archive)
        self._c_tree = self._new_tree()
        try:
            while True:
                expected = archive.position_behind()
                chunk = next(self._chunks, None)
                if chunk is None:
                    break
                if archive.position_behind() - len(chunk) != expected and self._is_within():
                    raise left_out_within(expected)
                self._take(chunk, chunk.memory, len(chunk))
                self._report_progress()
            self._at_cut()
        except _Ended:
            self._drain()
            self._make_ready()
            for chunk in self._chunks:  # content behind the end has checksums, too
                self._codec.give_back(chunk)
        except CodecError:
            self._drain()  # what was extracted before is reported
            self._make_ready()
            raise

    def _end(self, crew: Crew, is_wanted: bool) -> None:
        if not is_wanted:
            crew.stop()
        while self._waiting:
            batch = self._waiting.popleft()
            if is_wanted:
                crew.wait_for(batch.call)
            ffi.release(batch.pointer)
        super()._end(crew, is_wanted)

    def _new_tree(self) -> CData:
        settings = self._settings
        options = ffi.new("cpkg_tree_options *")
        options.is_data = settings.filter == names.DATA
        options.is_trusted = settings.filter == names.TRUSTED
        options.strip = min(settings.strip, 1 << 30)
        options.is_owning, options.is_numeric = settings.owns, settings.numeric_owner
        options.has_records = settings.on_entry is not None
        # an entry with attributes is reported with them
        options.with_attributes = settings.xattrs or settings.acls or settings.on_entry is not None
        options.umask = self._tree.umask
        options.depth_max, options.held_max = self._descriptors.depth_max, self._descriptors.held_max
        patterns = b"".join(os.fsencode(pattern) + b"\0" for pattern in (*settings.include, *settings.exclude))
        token = os.fsencode(self._tree.token)
        included, excluded = len(settings.include), len(settings.exclude)
        arguments = options, self._tree.root, token, patterns, included, excluded
        # in C: no signal handler runs in between, and loses the descriptor that the tree holds
        tree = next(map(ffi.gc, map(lib.cpkg_tree_new, *zip(arguments)), (lib.cpkg_tree_free,)))
        if not tree:
            raise MemoryError("no memory for extracting")
        return tree

    # the content, chunk by chunk

    def _report_progress(self) -> None:
        if self._progress is not None:
            self._progress(self._archive.size, self._archive.consumed)

    def _take(self, chunk: Chunk, memory: CData, size: int) -> None:
        """Read a chunk, or the rest of one, and give it back."""
        self._at[0] = 0
        begin = self._archive.position_behind() - size
        tree = self._c_tree
        assert tree is not None
        batch = _Batch(tree)
        try:
            while True:
                result = lib.cpkg_tree_parse(self._c_tree, memory, size, begin, self._at, batch.pointer)
                if result == _NO_MEMORY:
                    raise MemoryError("no memory for extracting")
                if result == _MORE:
                    break
                batch, full = _Batch(tree), batch
                self._submit(full, chunk)
                if result == _AGAIN:
                    length = ffi.new("size_t *")
                    path = lib.cpkg_tree_path(self._c_tree, length)
                    parts = tuple(map(text, ffi.buffer(path, length[0])[:].split(b"\0")[:-1]))
                    self._come_again(parts)
                    self._lost.discard(parts)  # it is again if C cannot extract it now
                    lib.cpkg_tree_go_on(self._c_tree)
                elif result == _ODD:
                    chunk, memory, size = self._odd(chunk, memory, size)
                    begin, self._at[0] = self._archive.position_behind() - size, 0
        finally:
            self._submit(batch, chunk)
        self._codec.give_back(chunk)
        skipped = ffi.new("uint64_t *")
        if not lib.cpkg_tree_missing(self._c_tree, skipped) and skipped[0]:
            lib.cpkg_tree_pass(self._c_tree, self._archive.skip(skipped[0]))

    # batches

    def _submit(self, batch: _Batch, chunk: Chunk) -> None:
        if not lib.cpkg_batch_count(batch.pointer) and not batch.records()[1]:
            return
        chunk.users += 1
        batch.chunk = chunk
        batch.call = self._crew.submit(batch.write, self._crew)
        self._waiting.append(batch)
        while len(self._waiting) > self._descriptors.batches_max or self._chunks_held() > self._threads:
            self._await()

    def _chunks_held(self) -> int:
        """Return how many chunks wait to be written, which is what waiting batches keep of memory."""
        return len({id(batch.chunk) for batch in self._waiting})

    def _await(self) -> None:
        """Wait for the oldest batch and report its entries, and what failed in it."""
        batch = self._waiting[0]
        batch.call.result()
        self._waiting.popleft()
        try:
            self._report_failures(batch)
        finally:
            self._codec.give_back(batch.chunk)
            ffi.release(batch.pointer)

    def _report_failures(self, batch: _Batch) -> None:
        if self._settings.on_entry is not None:
            for entry in entries_of(*batch.records()):
                self._settings.on_entry(entry)
        index, name, error = ffi.new("size_t *"), ffi.new("const char **"), ffi.new("int *")
        while True:
            path = lib.cpkg_batch_failed(batch.pointer, index, name, error)
            if not path:
                return
            self._failed += 1
            relative = text(ffi.string(path))
            self._lost.add(tuple(relative.split("/")))
            exc = OSError(error[0], os.strerror(error[0]), os.path.join(self._directory, relative))
            self._report(text(ffi.string(name[0])), exc)

    def _drain(self) -> None:
        while self._waiting:
            self._await()

    # what C leaves to Python

    def _carried(self) -> bytes:
        """Return the begin of an entry that the end of a chunk has cut."""
        size = ffi.new("size_t *")
        carry = lib.cpkg_tree_carry(self._c_tree, size)
        return ffi.buffer(carry, size[0])[:] if size[0] else b""

    def _is_within(self) -> bool:
        """Say whether the last chunk has ended within an entry."""
        skipped = ffi.new("uint64_t *")
        return bool(lib.cpkg_tree_missing(self._c_tree, skipped) or skipped[0] or self._carried())

    def _odd(self, chunk: Chunk, memory: CData, size: int) -> tuple[Chunk, CData, int]:
        """Have Python extract one entry, or all that is left; return the rest of the chunk behind it."""
        held = self._carried()
        at = self._at[0]
        position = self._archive.position_behind() - (size - at) - len(held)
        views = self._views(held, chunk, memory, at, size)
        content = Content(views, self._skip, self._archive_position, position)
        reader = TarReader(content, is_begun=not self._is_first or content.position > 0)
        self._is_first = False
        self._current = chunk
        entry = reader.next()
        lib.cpkg_tree_taken(self._c_tree)
        if entry is None:
            raise _Ended
        self._extract_if_wanted(entry, reader)
        reader.finish()
        left = len(content.rest())
        if reader.has_global or (left and not self._is_in_chunk):  # a global header holds for all later entries
            for entry in reader:
                self._extract_if_wanted(entry, reader)
            raise _Ended
        if not self._is_in_chunk:  # all of the entry was in the carry
            return chunk, memory + at, size - at
        chunk = self._current
        # not from_buffer(rest): before CPython 3.12 a collection that clears a memoryview which is exported crashes
        return chunk, chunk.memory + (len(chunk) - left), left

    def _views(self, held: bytes, chunk: Chunk, memory: CData, at: int, size: int) -> Iterator[memoryview]:
        """Give the content from an entry on, and give chunks back when they are passed over."""
        self._is_in_chunk = False
        self._behind = self._archive.position_behind() - (size - at)
        yield memoryview(held)
        self._is_in_chunk = True
        self._behind += size - at
        yield memoryview(ffi.buffer(memory, size))[at:] if size > at else memoryview(b"")
        for following in self._chunks:
            self._codec.give_back(self._current)
            self._current = following
            self._behind = self._archive.position_behind()
            self._report_progress()
            yield memoryview(ffi.buffer(following.memory, len(following)))

    def _archive_position(self) -> int:
        """Return where the view that came last ends in the content."""
        return self._behind

    def _skip(self, size: int) -> int:
        """Pass over content behind the chunk at hand, once that was taken."""
        return self._archive.skip(size) if self._is_in_chunk else 0

    def _extract_if_wanted(self, entry: Entry, reader: TarReader) -> None:
        if self._settings.is_wanted(entry.name):
            self._extract(entry, entry, reader.data())

    def _noted(self, parts: list[str]) -> bool:
        """Note a path for C; return whether it came before."""
        path = _joined(parts)
        came_before = lib.cpkg_tree_note(self._c_tree, path, len(path)) if path else 0
        if came_before < 0:
            raise MemoryError("no memory for extracting")
        return bool(came_before)

    def _is_ready(self, stored: Entry, entry: Entry, parts: list[str], target: tuple[str, ...] | None) -> bool:
        waits = False
        if target is not None:
            path = _joined(target)
            waits = target in self._links or not lib.cpkg_tree_has(self._c_tree, path, len(path))
        if self._noted(parts):
            self._come_again(tuple(parts))
        if target is None:
            self._drain()  # a file that is not written yet may be where this needs a directory
            return True
        if waits:
            self._wait(stored, entry, parts, target)
        else:
            self._ready.append((stored, entry))
        return False

    def _come_again(self, path: tuple[str, ...]) -> None:
        """Prepare for another entry of the same path: what came before has to be there."""
        self._drain()
        self._make_ready()
        self._links.pop(path, None)

    def _make_ready(self) -> None:
        """Make the hard links whose files are written by now; those of what failed, or waits itself, wait."""
        links, self._ready = self._ready, []
        for stored, entry in links:
            target = tuple(names.link_target(entry, self._settings.strip))
            if target in self._lost or target in self._links:
                self._links[tuple(names.target_path(entry, self._settings.strip) or ())] = stored, entry
            else:
                self._make_link(stored, entry)

    def _make_links(self) -> None:
        self._make_ready()
        super()._make_links()

    def _lose(self, parts: list[str]) -> None:
        if self._noted(parts):  # links that wait for this path get the file that it named before
            self._drain()
            self._make_ready()
        super()._lose(parts)

    def _extracted(self, entry: Entry, parts: list[str]) -> None:
        if entry.type == DIRECTORY:
            path = _joined(parts)
            if not lib.cpkg_tree_finish_later(self._c_tree, path, len(path), len(self._tree.finished)):
                raise MemoryError("no memory for extracting")
        super()._extracted(entry, parts)

    def _at_cut(self) -> None:
        """Raise the error of an archive that has no end."""
        skipped = ffi.new("uint64_t *")
        left = lib.cpkg_tree_missing(self._c_tree, skipped)
        held = self._carried()
        content = Content([held], position=self._archive.position_behind() - len(held))
        if left or skipped[0]:
            raise content.cut()
        for _entry in TarReader(content, is_begun=self._archive.size > len(held) or not self._is_first):
            raise ArchiveError("the archive is cut")

    def _finish(self, fails: Callable[[str, OSError], None]) -> None:
        tree = self._c_tree
        if tree is None:
            return
        self.entries += lib.cpkg_tree_entries(tree) - self._failed
        for index, pattern in enumerate(self._settings.include):
            if lib.cpkg_tree_has_matched(tree, index):
                self._settings.has_matched(pattern)
        error, number, path = ffi.new("int *"), ffi.new("size_t *"), ffi.new("const char **")
        while True:
            state = lib.cpkg_tree_finish(tree, path, error, number)
            if state == _FINISHED:
                return
            if state == _IN_PYTHON:
                parts, entry = self._tree.finished[number[0] - 1]
                self._tree.finish_one(parts, entry, fails)
            elif state == _FAILED:
                name = text(ffi.string(path[0]))
                fails(name, OSError(error[0], os.strerror(error[0]), os.path.join(self._directory, name)))

    def _close(self) -> None:
        if self._c_tree is not None and not self._waiting:  # else a thread may still need it
            ffi.release(self._c_tree)
        super()._close()


def _joined(parts: Iterable[str]) -> bytes:
    """Return a path as C has it: its components, each ended by NUL."""
    return b"".join(encoded(part) + b"\0" for part in parts)
