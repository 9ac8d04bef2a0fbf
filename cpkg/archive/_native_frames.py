# SPDX-License-Identifier: Apache-2.0
"""
The frames of an archive in C memory, which is reused because new pages are expensive.

C compresses frames and reads files into them: runs of ordinary files with their headers in one call, large files in
pieces. C also decompresses whole frames.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Any, Callable, Final

from cpkg._native.archive import ffi, lib
from cpkg._native.zstd import compiled
from cpkg._native.zstd.contexts import Contexts, Place
from cpkg.archive._frames import Content, Frames, Plan
from cpkg.archive._inflate import Codec
from cpkg.archive._settings import CreateSettings
from purepy.base.cores import THREADS_MAX
from purepy.tar.encode import NANO, common_block, encoded, pax_block
from purepy.tar.entry import BLOCK, FILE, Entry
from purepy.zstd.format.error_codes import CANNOT_COMPRESS, CANNOT_DECOMPRESS
from purepy.zstd.format.splitter import WholeFrame

if TYPE_CHECKING:
    from cpkg._native.cffi_types import CBuffer, CData
    from cpkg._native.zstd.library import Library

_library: Final[Library] = compiled.__getattr__("codec").library
_new: Final = ffi.new_allocator(should_clear_after_alloc=False)
_KEPT_MAX: Final = 16
_FILES_MAX: Final = 1024
_PIECE: Final = 1 << 20
"""The most bytes that one call of C reads; Python handles signals between calls."""


class _Place(Place):
    """A pool of idle contexts, which compress or decompress one archive; all have the same parameters."""

    __slots__ = ("_make", "_parameters", "_set")

    def __init__(
        self, contexts: Contexts, set_all: Callable[[CData, list[tuple[int, int]]], None], parameters: dict[int, int]
    ) -> None:
        super().__init__(THREADS_MAX)
        self._make, self._set, self._parameters = contexts.new, set_all, list(parameters.items())

    def take(self) -> CData:
        """Return a context; create one if all are in use."""
        context = super().take()
        if context is None:
            context = self._make()
            self._set(context, self._parameters)
        return context

    def close(self) -> None:
        """Free the contexts that are not in use."""
        while (context := super().take()) is not None:
            ffi.release(context)


class Chunk:
    """The decompressed content of a frame: the first `size` bytes of `memory`, which C allocated."""

    __slots__ = ("memory", "size")

    def __init__(self, capacity: int) -> None:
        self.memory = _new("char[]", capacity)
        self.size = 0

    def __len__(self) -> int:
        return self.size


class NativeCodec(Codec):
    """Decompresses whole frames in C, into Chunks that are reused; frames in pieces are decompressed as by Codec."""

    def __init__(self, window_log_max: int) -> None:
        super().__init__(window_log_max)
        self._contexts = _Place(_library.dctxs, _library.set_decompression, self._reading)
        self._chunks: list[Chunk] = []

    def close(self) -> None:
        """Free the contexts that are not in use."""
        self._contexts.close()

    def inflate(self, frame: WholeFrame) -> Chunk:
        try:
            chunk = self._chunks.pop()
        except IndexError:
            chunk = None
        if chunk is None or len(chunk.memory) < frame.bound:
            chunk = Chunk(max(frame.bound, 1))
        context, data = self._contexts.take(), frame.data
        size = lib.ZSTD_decompressDCtx(context, chunk.memory, frame.bound, ffi.from_buffer(data), len(data))
        chunk.size = _library.check(size, CANNOT_DECOMPRESS)
        self._contexts.give(context)
        return chunk

    def view(self, chunk: Any) -> Any:
        """Return the bytes of a Chunk as a buffer whose slices are bytes; any other chunk is already bytes."""
        return ffi.buffer(chunk.memory, chunk.size) if isinstance(chunk, Chunk) else chunk

    def give_back(self, chunk: Any) -> None:
        """Keep a Chunk for reuse, unless enough are kept or it is only bytes."""
        if isinstance(chunk, Chunk) and len(self._chunks) < _KEPT_MAX:
            self._chunks.append(chunk)


class NativeContent(Content):
    """The content of a frame, in C memory."""

    __slots__ = ("frame", "memory")

    def __init__(self, memory: CData) -> None:
        super().__init__()
        self.memory = memory
        self.frame: CData | None = None
        """Memory for the compressed frame."""

    def add(self, data: bytes) -> None:
        end = self.size + len(data)
        if end > len(self.memory):  # only a header can be larger than a frame
            larger = ffi.new("char[]", 2 * end)
            ffi.memmove(larger, self.memory, self.size)
            self.memory = larger
        ffi.memmove(self.memory + self.size, data, len(data))
        self.size = end

    def read(self, file: int, offset: int, size: int) -> tuple[int, OSError | None]:
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
    """Compresses plans with reused memory and contexts, and reads runs of files into plans."""

    reads_runs = True

    def __init__(self, settings: CreateSettings, own: list[tuple[int, int]], has_entries: bool) -> None:
        super().__init__(settings.level)
        self._frame_size = settings.frame_size
        self._has_entries = has_entries
        self._contexts = _Place(_library.cctxs, _library.set_compression, self._options)
        self._kept: list[NativeContent] = []
        self._files = ffi.new("cpkg_file[]", _FILES_MAX)
        run = self._run = ffi.new("cpkg_run *")
        run.files, run.file_max = self._files, _FILES_MAX
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
        """Free the contexts that are not in use."""
        self._contexts.close()

    def content(self) -> NativeContent:
        try:
            return self._kept.pop()
        except IndexError:
            return NativeContent(_new("char[]", self._frame_size + BLOCK))

    def give_back(self, content: Content) -> None:
        """Empty `content`, whose frame was written, and keep its memory for reuse."""
        assert isinstance(content, NativeContent)
        content.size = 0
        self._kept.append(content)

    def deflate(self, content: Content) -> CBuffer:
        """Compress `content`; return a frame with size and checksum, a buffer that is valid until `give_back`."""
        assert isinstance(content, NativeContent)
        context = self._contexts.take()
        room = lib.ZSTD_compressBound(max(content.size, self._frame_size))
        if content.frame is None or len(content.frame) < room:
            content.frame = _new("char[]", room)
        size = lib.ZSTD_compress2(context, content.frame, len(content.frame), content.memory, content.size)
        _library.check(size, CANNOT_COMPRESS)
        self._contexts.give(context)
        return ffi.buffer(content.frame, size)

    def learn(self, entry: Entry, status: os.stat_result) -> None:
        """
        Let C, instead of Python, archive the next files that have the same mode and owner as this regular file.

        Does nothing if C already knows this mode and owner, or if a tar header without pax records cannot hold them. C
        knows a fixed number of combinations; a new one replaces the oldest.
        """
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
        self._models[index : index + 1] = [entry.replace(sparse=None)]  # a copy, which callers cannot change
        self._learned += 1
        self._run.header_count = len(self._keys)

    def files(self, path: str, names: list[str]) -> RunOfFiles:
        """
        Return a RunOfFiles with these names in the directory `path` of the archive; a name of "" is left to Python.
        """
        return RunOfFiles(self, path, names)

    def read(self, plan: Plan, files: RunOfFiles) -> None:
        """Read the next files of a run, each with its header, into a plan: see `RunOfFiles.read`."""
        run, content, path, names, at = self._run, plan.content, files.path, files.names, files.at
        assert isinstance(content, NativeContent)
        run.content, run.room = content.memory + content.size, self._frame_size - content.size
        files.at = lib.cpkg_read_run(run, files.directory, path, len(path), names, at, len(names))
        count: int = run.file_count
        if count:
            files.index += count
            content.size = self._frame_size - run.room
            plan.entry_count += count
            bases = names[at : files.at - 1].split(b"\0")
            plan.members.add_all(path[:-1], bases)
            if self._has_entries:
                plan.entries += map(self._entry, range(count), [os.fsdecode(path + base) for base in bases])

    def _entry(self, index: int, name: str) -> Entry:
        file = self._files[index]
        model: Entry = self._models[file.header]
        return model.replace(name=name, size=file.size, mtime_ns=file.seconds * NANO + file.nanoseconds)


class RunOfFiles:
    """
    The names in a directory; `index` is the index of the first one that was neither read nor skipped.

    `directory` is the descriptor of the directory. `path` is its path in the archive, with a slash at the end. `names`
    has all names, each with a NUL after it; the name of `index` begins at byte `at`.
    """

    __slots__ = ("_frames", "at", "directory", "index", "names", "path")

    def __init__(self, frames: NativeFrames, path: str, names: list[str]) -> None:
        self._frames = frames
        self.path = encoded(path) + b"/"
        self.names = encoded("\0".join(names)) + b"\0"
        self.at = self.index = 0
        self.directory = -1

    def read(self, plan: Plan) -> None:
        """
        Read files, each with its header, into a plan, and advance `index`.

        Stops before a file that does not fit into the plan or that Python must read, and after some time.
        """
        self._frames.read(plan, self)

    def skip(self) -> None:
        """Skip the name of `index`."""
        self.at = self.names.index(b"\0", self.at) + 1
        self.index += 1
