# SPDX-License-Identifier: Apache-2.0
"""
The engine of `extract` whose work is done in C: reading headers in order, writing files in threads.

C stops at an entry that is not ordinary. Then the reader of purepy/tar and the Tree in Python take it, with the same
content, and C goes on behind it.
"""

from __future__ import annotations

import contextlib
import os
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Executor, Future
from typing import Any, Final

from cpkg._native.archive import ffi, lib
from cpkg.archive._disk import Tree
from cpkg.archive._native_codec import Chunk, NativeCodec
from cpkg.archive._pure_extract import Extract, tell_of
from cpkg.archive._settings import ExtractSettings
from cpkg.archive._told import told
from purepy.errors import ArchiveError, CodecError, LimitError, UnsafeEntryError
from purepy.tar import names
from purepy.tar.decode import text
from purepy.tar.entry import HARDLINK, Entry
from purepy.tar.reader import Content, TarReader

_NO_MEMORY, _MORE, _FULL, _ODD, _AGAIN = range(-1, 4)
_WAITING_MAX: Final = 2
"""Batches that wait to be written, per thread."""


def can_do(settings: ExtractSettings) -> bool:
    """Say whether C can do what is asked for; `select` and `recover` are left to Python."""
    return not (settings.recover or settings.select is not None)


class _Ended(Exception):
    """The end of the archive has come."""


class NativeExtract(Extract):
    """Reads headers in the calling thread, and writes files in those of the pool."""

    def __init__(self, *given: Any, codec: NativeCodec, threads: int) -> None:
        super().__init__(*given)
        self._codec = codec
        self._threads = threads
        self._python_entries = 0
        self._failed = 0
        self._c_entries = 0
        self._links: list[tuple[Entry, list[str]]] = []
        self._waiting: deque[tuple[Future[int], Any, Chunk]] = deque()
        self._at = ffi.new("size_t *")

    @property
    def entries(self) -> int:
        """How many entries were extracted."""
        return self._python_entries + self._c_entries - self._failed

    def run(self, archive: Any, pool: Executor) -> None:
        """Extract an archive."""
        self._archive, self._pool = archive, pool
        self._chunks = iter(archive)
        self._is_first = True
        self._tree = Tree(self._directory, self._settings)
        try:
            self._c_tree = self._new_tree()
            try:
                self._run()
            except Exception:
                self._abandon()
                with contextlib.suppress(Exception):  # the error that led here is what the caller has to see
                    self._make_links(at_end=True)
                raise
            finally:
                try:
                    self._abandon()
                    self._tree.finish()
                    self._finish()
                finally:
                    self._c_entries = lib.cpkg_tree_entries(self._c_tree)
                    for index, pattern in enumerate(self._settings.include):
                        if lib.cpkg_tree_has_matched(self._c_tree, index):
                            self._settings.has_matched(pattern)
                    lib.cpkg_tree_free(self._c_tree)
        finally:
            self._tree.close()

    def _new_tree(self) -> Any:
        settings = self._settings
        options = ffi.new("cpkg_tree_options *")
        options.is_data = settings.filter == names.DATA
        options.is_trusted = settings.filter == names.TRUSTED
        options.strip = min(settings.strip, 1 << 30)
        options.is_owning, options.is_numeric = settings.owns, settings.numeric_owner
        options.is_told = settings.on_entry is not None
        # what has some is told with them
        options.with_attributes = settings.xattrs or settings.acls or settings.on_entry is not None
        options.umask = self._tree.umask
        patterns = b"".join(os.fsencode(pattern) + b"\0" for pattern in (*settings.include, *settings.exclude))
        token = os.fsencode(self._tree.token)
        tree = lib.cpkg_tree_new(
            options, self._tree.root, token, patterns, len(settings.include), len(settings.exclude)
        )
        if not tree:
            raise MemoryError("no memory for extracting")
        return tree

    # the content, chunk by chunk

    def _run(self) -> None:
        try:
            for chunk in self._chunks:
                if len(chunk):
                    self._take(chunk, chunk.memory, len(chunk))
                self._report()
            self._at_cut()
        except _Ended:
            self._drain()
            self._make_links(at_end=True)
            for chunk in self._chunks:  # what is behind the end has its checksums, too
                self._codec.give_back(chunk)
        except CodecError:
            self._drain()  # what was extracted before is told of
            raise

    def _report(self) -> None:
        if self._progress is not None:
            self._progress(self._archive.size, self._archive.consumed)

    def _take(self, chunk: Chunk, memory: Any, size: int) -> None:
        """Read a chunk, or the rest of one, and give it back."""
        self._at[0] = 0
        begin = self._archive.position_behind() - size
        batch = self._new_batch()
        try:
            while True:
                result = lib.cpkg_tree_parse(self._c_tree, memory, size, begin, self._at, batch)
                if result == _NO_MEMORY:
                    raise MemoryError("no memory for extracting")
                if result == _MORE:
                    break
                batch, full = self._new_batch(), batch
                self._submit(full, chunk)
                if result == _AGAIN:
                    self._drain()
                    self._make_links()
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

    def _new_batch(self) -> Any:
        batch = lib.cpkg_batch_new(self._c_tree)
        if not batch:
            raise MemoryError("no memory for extracting")
        return batch

    def _submit(self, batch: Any, chunk: Chunk) -> None:
        if not lib.cpkg_batch_count(batch) and not self._told_of(batch)[1]:
            lib.cpkg_batch_free(batch)
            return
        with chunk.lock:
            chunk.users += 1
        self._waiting.append((self._pool.submit(lib.cpkg_batch_write, batch), batch, chunk))
        while len(self._waiting) > _WAITING_MAX * self._threads or self._chunks_held() > self._threads:
            self._await()

    def _chunks_held(self) -> int:
        """Return how many chunks wait to be written, which is what waiting batches keep of memory."""
        return len({id(chunk) for _, _, chunk in self._waiting})

    def _await(self) -> None:
        """Wait for the oldest batch and tell of what failed in it."""
        future, batch, chunk = self._waiting[0]
        failed = future.result()
        self._waiting.popleft()
        try:
            if self._settings.on_entry is not None:
                for entry in told(*self._told_of(batch)):
                    self._settings.on_entry(entry)
            if failed:
                self._tell(batch)
        finally:
            lib.cpkg_batch_free(batch)
            self._codec.give_back(chunk)

    def _told_of(self, batch: Any) -> tuple[Any, int]:
        """Return the records of a batch's entries, and their size."""
        size = ffi.new("size_t *")
        return lib.cpkg_batch_told(batch, size), size[0]

    def _count(self, entry: Entry) -> None:
        """Count an entry that Python has extracted, and tell of it."""
        self._python_entries += 1
        if self._settings.on_entry is not None:
            self._settings.on_entry(entry)

    def _tell(self, batch: Any) -> None:
        index, name, error = ffi.new("size_t *"), ffi.new("const char **"), ffi.new("int *")
        while True:
            path = lib.cpkg_batch_failed(batch, index, name, error)
            if not path:
                return
            self._failed += 1
            shown = os.path.join(self._directory, text(ffi.string(path)))
            exc = OSError(error[0], os.strerror(error[0]), shown)
            self._problems.add(tell_of(text(ffi.string(name[0])), exc))

    def _drain(self) -> None:
        while self._waiting:
            self._await()

    def _abandon(self) -> None:
        """Wait for the batches before an error, which are written; nobody asks how that went."""
        while self._waiting:
            future, batch, _ = self._waiting.popleft()
            future.exception()
            lib.cpkg_batch_free(batch)

    # what C leaves to Python

    def _odd(self, chunk: Chunk, memory: Any, size: int) -> tuple[Chunk, Any, int]:
        """Have Python extract one entry, or all that is left; return the rest of the chunk behind it."""
        carry_size = ffi.new("size_t *")
        carry = lib.cpkg_tree_carry(self._c_tree, carry_size)
        held = ffi.buffer(carry, carry_size[0])[:] if carry_size[0] else b""
        at = self._at[0]
        position = self._archive.position_behind() - (size - at) - len(held)
        content = Content(self._views(held, chunk, memory, at, size), self._archive.skip, position=position)
        reader = TarReader(content, is_begun=not self._is_first or content.position > 0)
        self._is_first = False
        self._current = chunk
        entry = reader.next()
        lib.cpkg_tree_taken(self._c_tree)
        if entry is None:
            raise _Ended
        self._extract(entry, reader)
        reader.finish()
        left = len(content.rest())
        if reader.has_global or (left and not self._is_in_chunk):  # what is global holds for all that follows
            for entry in reader:
                self._extract(entry, reader)
            raise _Ended
        if not self._is_in_chunk:  # all of the entry was in the carry
            return chunk, memory + at, size - at
        chunk = self._current
        # not from_buffer(rest): before CPython 3.12 a collection that clears a memoryview which is exported crashes
        return chunk, chunk.memory + (len(chunk) - left), left

    def _views(self, held: bytes, chunk: Chunk, memory: Any, at: int, size: int) -> Iterator[memoryview]:
        """Give the content from an entry on, and give chunks back when they are passed over."""
        self._is_in_chunk = False
        yield memoryview(held)
        self._is_in_chunk = True
        yield memoryview(ffi.buffer(memory, size))[at:] if size > at else memoryview(b"")
        for following in self._chunks:
            self._codec.give_back(self._current)
            self._current = following
            self._report()
            yield memoryview(ffi.buffer(following.memory, len(following)))

    def _extract(self, entry: Entry, reader: TarReader) -> None:
        settings = self._settings
        if not settings.is_wanted(entry.name):
            return
        try:
            parts = names.target_path(entry, settings.strip)
            if parts is None:
                return
            names.check_type(entry, settings.filter)
            path = b"".join(os.fsencode(part) + b"\0" for part in parts)
            if path and lib.cpkg_tree_note(self._c_tree, path, len(path)):
                self._drain()
                self._make_links()
            if entry.type == HARDLINK and parts:
                names.link_target(entry, settings.strip)
                self._links.append((entry, parts))  # when all files are there
                return
            self._drain()  # a file that is not written yet may be where this needs a directory
            self._tree.make(entry, parts, reader.data())
        except LimitError:
            raise
        except (OSError, UnsafeEntryError, ValueError) as exc:
            self._problems.add(tell_of(entry.name, exc))
            return
        self._count(entry)

    def _make_links(self, *, at_end: bool = False) -> None:
        """Make the hard links so far; those to files that are missing stay for the end."""
        links, self._links = self._links, []
        for entry, parts in links:
            try:
                self._tree.make(entry, parts, ())
            except FileNotFoundError as exc:
                if at_end:
                    self._problems.add(tell_of(entry.name, exc))
                else:
                    self._links.append((entry, parts))
            except (OSError, UnsafeEntryError, ValueError) as exc:
                self._problems.add(tell_of(entry.name, exc))
            else:
                self._count(entry)

    def _at_cut(self) -> None:
        """Raise the error of an archive that has no end."""
        self._drain()
        self._make_links(at_end=True)
        skipped, carry_size = ffi.new("uint64_t *"), ffi.new("size_t *")
        left = lib.cpkg_tree_missing(self._c_tree, skipped)
        carry = lib.cpkg_tree_carry(self._c_tree, carry_size)
        held = ffi.buffer(carry, carry_size[0])[:] if carry_size[0] else b""
        content = Content([held], position=self._archive.position_behind() - len(held))
        if left or skipped[0]:
            raise content.cut()
        for _entry in TarReader(content, is_begun=self._archive.size > len(held) or not self._is_first):
            raise ArchiveError("the archive is cut")

    def _finish(self) -> None:
        error = ffi.new("int *")
        while True:
            path = lib.cpkg_tree_finish(self._c_tree, error)
            if not path:
                return
            name = text(ffi.string(path))
            exc = OSError(error[0], os.strerror(error[0]), os.path.join(self._directory, name))
            self._problems.add(tell_of(name, exc))
