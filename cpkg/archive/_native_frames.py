# SPDX-License-Identifier: Apache-2.0
"""
The frames of an archive in memory of C, which compresses them and reads files into them.

Runs of ordinary files are read with their headers in one call, and large files piece by piece.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Final
from zlib import crc32

from cpkg._native.archive import ffi, lib
from cpkg._native.zstd.contexts import Place
from cpkg.archive._frames import Content, Frames, Plan
from cpkg.archive._settings import CreateSettings
from purepy.base.cores import THREADS_MAX
from purepy.base.errors import ZstdError
from purepy.tar.encode import NANO, common_block, encoded, pax_block
from purepy.tar.entry import BLOCK, FILE, Entry

if TYPE_CHECKING:
    from cpkg._native.cffi_types import CBuffer, CData

_LEVEL_KEY: Final = 100  # ZSTD_c_compressionLevel
_CHECKSUM_KEY: Final = 201  # ZSTD_c_checksumFlag
_FILES_MAX: Final = 1024
_PIECE: Final = 1 << 20
"""Bytes that one call reads: Python looks for signals in between."""


class NativeContent(Content):
    """The content of a frame in memory of C, which is used again, so that its pages are there already."""

    __slots__ = ("frame", "memory")

    def __init__(self, memory: CData) -> None:
        super().__init__()
        self.memory = memory
        self.frame: CData | None = None
        """Memory for the compressed frame."""

    def add(self, data: bytes) -> None:
        """Add bytes."""
        end = self.size + len(data)
        if end > len(self.memory):  # only a header can be larger than a frame
            larger = ffi.new("char[]", 2 * end)
            ffi.memmove(larger, self.memory, self.size)
            self.memory = larger
        ffi.memmove(self.memory + self.size, data, len(data))
        self.size = end

    def read(self, file: int, offset: int, size: int) -> tuple[int, OSError | None]:
        """Add a piece of a file, zeros after its end or an error; return how many bytes are missing, and the error."""
        error, done = 0, ffi.new("size_t *")
        missing = size
        while missing and not error:
            error = lib.cpkg_read_at(file, self.memory + self.size, min(missing, _PIECE), offset, done)
            if not done[0]:
                break
            self.size += done[0]
            offset += done[0]
            missing -= done[0]
        if missing:
            self.add(bytes(missing))
        return missing, OSError(error, os.strerror(error)) if error else None


class NativeFrames(Frames):
    """Makes frames with memory and contexts that are used again; reads runs of files into plans."""

    reads_runs = True

    def __init__(self, settings: CreateSettings, own: list[tuple[int, int]], has_entries: bool) -> None:
        self._level = settings.level
        self._frame_size = settings.frame_size
        self._has_entries = has_entries
        self._new = ffi.new_allocator(should_clear_after_alloc=False)
        self._contexts = Place(THREADS_MAX)
        self._kept: list[NativeContent] = []
        self._files = ffi.new("cpkg_file[]", _FILES_MAX)
        self._numbers = ffi.new("uint16_t[]", _FILES_MAX)
        run = self._run = ffi.new("cpkg_run *")
        run.files, run.numbers, run.file_max = self._files, self._numbers, _FILES_MAX
        run.pax_block = pax_block(0)
        run.is_sparse = settings.sparse
        mtime_ns = settings.mtime_ns
        if mtime_ns is not None:
            run.has_time = 1
            run.seconds, run.nanoseconds = divmod(mtime_ns, NANO)
        for index, (device, inode) in enumerate(own):
            run.own[index].device, run.own[index].inode = device, inode
        run.own_count = len(own)
        self._keys: list[tuple[int, int, int]] = []
        self._models: list[Entry] = []
        self._learned = 0

    def close(self) -> None:
        """Free the contexts that no thread uses."""
        while (context := self._contexts.take()) is not None:
            ffi.release(context)

    def content(self) -> NativeContent:
        """Return memory for the content of a frame, empty."""
        try:
            return self._kept.pop()
        except IndexError:
            return NativeContent(self._new("char[]", self._frame_size + BLOCK))

    def give_back(self, content: Content) -> None:
        """Keep the memory of a frame, which was written, for another."""
        assert isinstance(content, NativeContent)
        content.size = 0
        self._kept.append(content)

    def deflate(self, content: Content) -> CBuffer:
        """Return the frame of some content, with its size and a checksum, in the memory of the content."""
        assert isinstance(content, NativeContent)
        context = self._contexts.take()
        if context is None:
            context = self._context()
        room = lib.ZSTD_compressBound(max(content.size, self._frame_size))
        if content.frame is None or len(content.frame) < room:
            content.frame = self._new("char[]", room)
        size = lib.ZSTD_compress2(context, content.frame, len(content.frame), content.memory, content.size)
        if lib.ZSTD_isError(size):
            name = ffi.string(lib.ZSTD_getErrorName(size)).decode("ascii")
            raise ZstdError(f"a frame cannot be compressed: {name}")
        self._contexts.give(context)
        return ffi.buffer(content.frame, size)

    def _context(self) -> CData:
        context = ffi.gc(lib.ZSTD_createCCtx(), lib.ZSTD_freeCCtx)  # an interrupted caller leaves it to its thread
        if not context:
            raise MemoryError("no memory for a compression context")
        for key, value in ((_LEVEL_KEY, self._level), (_CHECKSUM_KEY, 1)):
            lib.ZSTD_CCtx_setParameter(context, key, value)
        return context

    def learn(self, entry: Entry, status: os.stat_result) -> None:
        """Have files of this one's mode and owner read from now on, if their headers are ordinary."""
        key = status.st_mode, status.st_uid, status.st_gid
        if key in self._keys or not stat.S_ISREG(status.st_mode) or entry.type != FILE:
            return
        block = common_block(entry)
        if not block:
            return
        index = self._learned % len(self._run.headers)
        header = self._run.headers[index]
        header.mode, header.uid, header.gid = key
        header.block = block
        self._keys[index : index + 1] = [key]
        self._models[index : index + 1] = [entry.replace()]  # which callers cannot change
        self._learned += 1
        self._run.header_count = len(self._keys)

    def files(self, path: str, names: list[str]) -> RunOfFiles:
        """Return the files of these names, "" for one to be left to Python, in a directory of this path."""
        return RunOfFiles(self, path, names)

    def read(self, plan: Plan, directory: int, path: bytes, names: bytes, at: int) -> tuple[int, int]:
        """Read files into a plan, from the place `at` of the names on; return how many, and the place after them."""
        run, content = self._run, plan.content
        assert isinstance(content, NativeContent)
        run.path_crc = crc32(path)
        run.content, run.room = content.memory + content.size, self._frame_size - content.size
        end: int = lib.cpkg_read_run(run, directory, path, len(path), names, at, len(names))
        count: int = run.file_count
        if count:
            content.size = self._frame_size - run.room
            plan.entry_count += count
            plan.members.add_numbers(path[:-1], ffi.buffer(self._numbers, 2 * count)[:])
            if self._has_entries:
                bases = names[at : end - 1].split(b"\0")
                plan.entries += map(self._entry, range(count), [os.fsdecode(path + base) for base in bases])
        return count, end

    def _entry(self, index: int, name: str) -> Entry:
        file = self._files[index]
        model: Entry = self._models[file.header]
        return model.replace(name=name, size=file.size, mtime_ns=file.seconds * NANO + file.nanoseconds)


class RunOfFiles:
    """
    The names in a directory, of which `index` is the first that was neither read nor passed over.

    `directory` is its descriptor.
    """

    __slots__ = ("_at", "_frames", "_names", "_path", "directory", "index")

    def __init__(self, frames: NativeFrames, path: str, names: list[str]) -> None:
        self._frames = frames
        self._path = encoded(path) + b"/"
        self._names = encoded("\0".join(names)) + b"\0"
        self._at = self.index = 0
        self.directory = -1

    def read(self, plan: Plan) -> None:
        """Read files into a plan, as many as follow each other and are ordinary."""
        count, self._at = self._frames.read(plan, self.directory, self._path, self._names, self._at)
        self.index += count

    def skip(self) -> None:
        """Pass over one name."""
        self._at = self._names.index(b"\0", self._at) + 1
        self.index += 1
