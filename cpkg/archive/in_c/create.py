# SPDX-License-Identifier: Apache-2.0
"""Make the frames of an archive in C: walking, reading, headers and compressing, without the GIL."""

from __future__ import annotations

import os
from array import array
from collections.abc import Generator
from typing import TYPE_CHECKING, Final

from cpkg._native.archive import ffi, lib
from cpkg._native.zstd.contexts import Place
from cpkg.archive._frame import CompressedFrame
from cpkg.archive._result import Problem
from cpkg.archive._settings import CreateSettings
from cpkg.archive.in_c.entries import entries_of
from cpkg.archive.in_python.frame_plan import problem
from cpkg.archive.in_python.walk import member_name
from purepy.base.cores import THREADS_MAX
from purepy.base.errors import ZstdError
from purepy.tar.encode import NANO

if TYPE_CHECKING:
    from cpkg._native.cffi_types import CData

_NO_MEMORY: Final = -1
_END, _FULL = 0, 1


def can_do(settings: CreateSettings) -> bool:
    """Return whether C can serve these settings; `select`, attributes and sparse files are left to Python."""
    return not (settings.select is not None or settings.xattrs or settings.acls or settings.sparse)


def _owned(pointer: CData, free: CData) -> CData:
    """Return a pointer that is freed with the last who holds it; raises MemoryError if it is NULL."""
    if not pointer:
        raise MemoryError("no memory for an archive")
    return ffi.gc(pointer, free)


class FramesInC:
    """
    Walks in the calling thread, and reads and compresses in the threads that call `make`.

    A plan holds all that its frame needs: the frame can be compressed, or freed, after the walk has ended.
    """

    def __init__(self, settings: CreateSettings, has_entries: bool) -> None:
        self._settings = settings
        self._has_entries = has_entries
        self._makers = Place(THREADS_MAX)
        self._outputs: list[CData] = []
        self._new = ffi.new_allocator(should_clear_after_alloc=False)

    def close(self) -> None:
        """Free the contexts that no thread uses."""
        while (maker := self._makers.take()) is not None:
            ffi.release(maker)

    def _options(self, own: list[tuple[int, int]]) -> CData:
        settings = self._settings
        options = ffi.new("cpkg_walk_options *")
        options.frame_size = settings.frame_size
        options.is_sorted = settings.sort
        options.is_recursive = settings.recursive
        options.is_numeric = settings.numeric_owner
        options.has_records = self._has_entries
        options.mode_mask = settings.mode_mask
        if settings.mtime_ns is not None:
            options.has_time = 1
            options.seconds, options.nanoseconds = divmod(settings.mtime_ns, NANO)
        if settings.owner is not None:
            options.has_owner = 1
            options.uid, options.gid = settings.owner
        for index, (device, inode) in enumerate(own):
            options.own_device[index], options.own_inode[index] = device, inode
        options.own_count = len(own)
        return options

    def plans(self, base: str, paths: list[str], own: list[tuple[int, int]]) -> Generator[CData, None, None]:
        """Yield the plans of all frames."""
        included, excluded = self._settings.include, self._settings.exclude
        texts = b"".join(os.fsencode(pattern) + b"\0" for pattern in (*included, *excluded))
        options = self._options(own)
        walk = _owned(lib.cpkg_walk_new(options, texts, len(included), len(excluded)), lib.cpkg_walk_free)
        try:
            error = lib.cpkg_walk_open(walk, os.fsencode(base))
            if error:
                raise OSError(error, os.strerror(error), base)
            for path in paths:
                if not lib.cpkg_walk_add(walk, os.fsencode(path), os.fsencode(member_name(path))):
                    raise MemoryError("no memory for the names of files")
            result = _FULL
            while result != _END:
                plan = _owned(lib.cpkg_plan_new(), lib.cpkg_plan_free)
                while (result := lib.cpkg_walk_fill(walk, plan)) not in (_END, _FULL):
                    if result == _NO_MEMORY:
                        raise MemoryError("no memory for the names of files")
                yield plan
                del plan
        finally:
            ffi.release(walk)

    def _maker(self) -> CData:
        maker: CData | None = self._makers.take()
        return _owned(lib.cpkg_maker_new(self._settings.level), lib.cpkg_maker_free) if maker is None else maker

    def _checked(self, size: int) -> int:
        if lib.ZSTD_isError(size):
            raise ZstdError(f"a frame cannot be compressed: {ffi.string(lib.ZSTD_getErrorName(size)).decode('ascii')}")
        return size

    def deflate(self, content: bytes) -> bytes:
        """Return content as one frame."""
        maker = self._maker()
        output = ffi.new("char[]", lib.ZSTD_compressBound(len(content)))
        size = self._checked(lib.cpkg_maker_deflate(maker, output, len(output), content, len(content)))
        self._makers.give(maker)
        frame: bytes = ffi.buffer(output, size)[:]
        return frame

    def make(self, plan: CData) -> CompressedFrame:
        """Make the frame of a plan, and free the plan; called in threads."""
        try:
            maker = self._maker()
            # a plan has a frame's size at most, but for one entry whose header alone has more
            capacity = lib.ZSTD_compressBound(max(self._settings.frame_size, lib.cpkg_plan_size(plan)))
            try:
                output: CData | None = self._outputs.pop()
            except IndexError:
                output = None
            if output is None or len(output) < capacity:
                output = self._new("char[]", capacity)
            size = self._checked(lib.cpkg_plan_make(plan, maker, output, capacity))
            self._makers.give(maker)
            return self._frame(plan, output, size)
        finally:
            ffi.release(plan)

    def _frame(self, plan: CData, output: CData, size: int) -> CompressedFrame:
        count, is_continued, length = ffi.new("size_t *"), ffi.new("int *"), ffi.new("size_t *")
        numbers = lib.cpkg_plan_members(plan, count, is_continued)
        records = lib.cpkg_plan_records(plan, length)
        return CompressedFrame(
            ffi.buffer(output, size),
            lib.cpkg_plan_size(plan),
            lib.cpkg_plan_entries(plan),
            self._problems(plan),
            array("H", ffi.buffer(numbers, 2 * count[0])[:] if count[0] else b""),
            bool(is_continued[0]),
            list(entries_of(records, length[0])),
            output,
        )

    def _problems(self, plan: CData) -> list[Problem]:
        what, amount, error = ffi.new("int *"), ffi.new("int64_t *"), ffi.new("int *")
        found = []
        for index in range(lib.cpkg_plan_problem_count(plan)):
            name = lib.cpkg_plan_problem(plan, index, what, amount, error)
            found.append(problem(os.fsdecode(ffi.string(name)), what[0], amount[0], error[0]))
        return found

    def give_back(self, frame: CompressedFrame) -> None:
        """Take back the memory of a frame that was written."""
        assert frame.memory is not None
        self._outputs.append(frame.memory)
