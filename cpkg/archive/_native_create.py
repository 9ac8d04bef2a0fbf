# SPDX-License-Identifier: Apache-2.0
"""The engine of `create` whose work is done in C: walking, reading, headers and compressing, without the GIL."""

from __future__ import annotations

import os
from array import array
from collections.abc import Generator
from typing import Any

from cpkg._native.archive import ffi, lib
from cpkg.archive._made import Create, MadeFrame
from cpkg.archive._plan import problem
from cpkg.archive._result import Problem
from cpkg.archive._settings import CreateSettings
from cpkg.archive._told import told
from cpkg.archive._walk import member_name
from purepy.errors import ZstdError
from purepy.tar.encode import NANO


def can_do(settings: CreateSettings) -> bool:
    """Say whether C can do what is asked for; `select`, attributes and sparse files are left to Python."""
    return not (settings.select is not None or settings.xattrs or settings.acls or settings.sparse)


class _Plan:
    """A plan of C's."""

    __slots__ = ("pointer",)

    def __init__(self, pointer: Any) -> None:
        self.pointer = pointer

    def close(self) -> None:
        """Release its files, directories and memory."""
        pointer, self.pointer = self.pointer, None
        if pointer is not None:
            lib.cpkg_plan_free(pointer)


class NativeCreate(Create):
    """Walks in the calling thread, and reads and compresses in the threads that call `carry_out`."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._walk: Any = None
        self._makers: list[Any] = []
        self._outputs: list[Any] = []
        self._capacity = lib.ZSTD_compressBound(2 * self._settings.frame_size)
        self._new = ffi.new_allocator(should_clear_after_alloc=False)

    def close(self) -> None:
        """Free contexts and the walk, whose root the last plans may need."""
        if self._walk is not None:
            lib.cpkg_walk_free(self._walk)
            self._walk = None
        while self._makers:
            lib.cpkg_maker_free(self._makers.pop())

    def _options(self, own_file: tuple[int, int] | None) -> Any:
        settings = self._settings
        options = ffi.new("cpkg_walk_options *")
        options.frame_size = settings.frame_size
        options.is_sorted = settings.sort
        options.is_recursive = settings.recursive
        options.is_numeric = settings.numeric_owner
        options.is_told = self._on_entry is not None
        options.mode_mask = settings.mode_mask
        if settings.mtime_ns is not None:
            options.has_time = 1
            options.seconds, options.nanoseconds = divmod(settings.mtime_ns, NANO)
        if settings.owner is not None:
            options.has_owner = 1
            options.uid, options.gid = settings.owner
        if own_file is not None:
            options.has_own_file = 1
            options.own_device, options.own_inode = own_file
        return options

    def plans(self, base: str, paths: list[str], own_file: tuple[int, int] | None) -> Generator[_Plan, None, None]:
        """Yield the plans of all frames."""
        included, excluded = self._settings.include, self._settings.exclude
        texts = b"".join(os.fsencode(pattern) + b"\0" for pattern in (*included, *excluded))
        options = self._options(own_file)
        self._walk = lib.cpkg_walk_new(options, os.fsencode(base), texts, len(included), len(excluded))
        if not self._walk:
            self._walk = None
            raise OSError(ffi.errno, os.strerror(ffi.errno), base)
        for path in paths:
            if not lib.cpkg_walk_add(self._walk, os.fsencode(path), os.fsencode(member_name(path))):
                raise MemoryError("no memory for the names of files")
        is_at_end = ffi.new("int *")
        while True:
            pointer = lib.cpkg_walk_next(self._walk, is_at_end)
            if not pointer:
                if is_at_end[0]:
                    return
                raise MemoryError("no memory for the names of files")
            plan = _Plan(pointer)
            try:
                self._tell(pointer)
            except BaseException:
                plan.close()
                raise
            yield plan
            if is_at_end[0]:
                return

    def _tell(self, pointer: Any) -> None:
        """Tell of a plan's entries."""
        if self._on_entry is not None:
            size = ffi.new("size_t *")
            records = lib.cpkg_plan_told(pointer, size)
            for entry in told(records, size[0]):
                self._on_entry(entry)

    def prepare(self, plan: _Plan) -> _Plan:
        """Return what `carry_out` takes: the plan, whose files are read in threads."""
        return plan

    def _maker(self) -> Any:
        try:
            return self._makers.pop()
        except IndexError:
            maker = lib.cpkg_maker_new(self._settings.level)
        if not maker:
            raise MemoryError("no memory for a compression context")
        return maker

    def _checked(self, size: int) -> int:
        if lib.ZSTD_isError(size):
            raise ZstdError(f"a frame cannot be made: {ffi.string(lib.ZSTD_getErrorName(size)).decode('ascii')}")
        return size

    def deflate(self, content: bytes) -> bytes:
        """Return content as one frame."""
        maker = self._maker()
        output = ffi.new("char[]", lib.ZSTD_compressBound(len(content)))
        size = lib.cpkg_maker_deflate(maker, output, len(output), content, len(content))
        self._makers.append(maker)
        frame: bytes = ffi.buffer(output, self._checked(size))[:]
        return frame

    def carry_out(self, plan: _Plan) -> MadeFrame:
        """Make the frame of a plan; called in threads."""
        maker = self._maker()
        try:
            output = self._outputs.pop()
        except IndexError:
            output = self._new("char[]", self._capacity)
        size = lib.cpkg_plan_make(plan.pointer, maker, output, self._capacity)
        self._makers.append(maker)
        self._checked(size)
        members, is_continued = self._members(plan.pointer)
        problems = self._told(plan.pointer)
        size_made = lib.cpkg_plan_size(plan.pointer)
        entries = lib.cpkg_plan_entries(plan.pointer)
        return MadeFrame(ffi.buffer(output, size), size_made, problems, members, is_continued, output, entries)

    def _members(self, pointer: Any) -> tuple[array[int], bool]:
        count, is_continued = ffi.new("size_t *"), ffi.new("int *")
        numbers = lib.cpkg_plan_members(pointer, count, is_continued)
        return array("H", ffi.buffer(numbers, 2 * count[0])[:] if count[0] else b""), bool(is_continued[0])

    def _told(self, pointer: Any) -> list[Problem]:
        count = lib.cpkg_plan_problem_count(pointer)
        if not count:
            return []
        what, amount, error = ffi.new("int *"), ffi.new("int64_t *"), ffi.new("int *")
        found = []
        for index in range(count):
            name = lib.cpkg_plan_problem(pointer, index, what, amount, error)
            found.append(problem(os.fsdecode(ffi.string(name)), what[0], amount[0], error[0]))
        return found

    def give_back(self, frame: MadeFrame) -> None:
        """Count a frame that was written, and take back its memory; called in one thread, where counting is safe."""
        self.entries += frame.entries
        self._outputs.append(frame.memory)
