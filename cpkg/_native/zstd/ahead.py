# SPDX-License-Identifier: Apache-2.0
"""
Frames that threads of C compress, or decompress, while Python goes on (`ffi_build/zstd/ahead.c`).

A thread of Python's that is done with a frame waits for the interpreter's lock, which another one gives up every 5 ms;
those of C have no use for it. What they fail at is for the caller to do again, in order to learn why.
"""

from __future__ import annotations

from cpkg._native.pins import pin
from cpkg._native.zstd.library import Library
from cpkg._native.zstd.settings import CompressionSettings, DecompressionSettings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from purepy.zstd.common.zdict import ZstdDict


class Job:
    """A frame at work, and its memory; `rows` is memory in which its content is laid out."""

    __slots__ = ("_library", "handle", "rows")

    def __init__(self, library: Library, handle: Any) -> None:
        self._library = library
        self.handle = handle
        self.rows: Any = None

    def put(self, at: int, piece: bytes, start: int = 0) -> None:
        """Copy piece[start:] behind the first `at` bytes of the input; MemoryError if there is no memory."""
        # bytes as they are: for the address of some, PyPy moves them out of the nursery
        if not self._library.lib.cpkg_job_put(self.handle, at, piece, start, len(piece) - start):
            raise MemoryError("no memory for a frame")

    def read(self, descriptor: int, offset: int, size: int) -> None:
        """Have the thread read a stretch of a file, which stays open until the job is done; a short one fails."""
        if not self._library.lib.cpkg_job_read(self.handle, descriptor, offset, size):
            raise MemoryError("no memory for a frame")

    def input(self, size: int) -> Any:
        """Return the first `size` bytes of the input, a buffer of cffi's over the job's memory."""
        return self._library.ffi.buffer(self._library.lib.cpkg_job_input(self.handle), size)


class FramesAhead:
    """
    A queue of frames for `threads` threads, which begin with the first one and end with `close`.

    Jobs are done in the order that they were submitted in. Used by one thread of Python's at a time; a call that a
    signal interrupts can be repeated. A forked child has no threads: there all jobs fail.
    """

    def __init__(self, library: Library, compresses: bool, settings: Any, threads: int) -> None:
        self._library = library
        lib = library.lib
        handle = lib.cpkg_ahead_new(compresses)
        if not handle:
            raise MemoryError("no memory for threads")
        self._held: list[Any] = []  # what threads write to, until they have ended

        def free(pointer: Any, held: list[Any] = self._held) -> None:
            lib.cpkg_ahead_free(pointer)

        self._handle = library.ffi.gc(handle, free)
        self._pin = pin(self._handle)
        self._idle: list[Job] = []
        self._settings = settings
        self._threads = threads
        self._has_begun = False

    def begin(self) -> bool:
        """Start the threads, if they have not begun; return whether there are some."""
        if not self._has_begun:
            self._has_begun = True
            wanted, self._threads = self._threads, 0
            for _ in range(wanted):
                if not self._library.lib.cpkg_ahead_start(self._handle, self._new_context()):
                    break  # there can be no more of them
                self._threads += 1
            if self._threads:
                self._lend()
        return self._threads > 0

    def _lend(self) -> None:
        """Give the caller's thread a context, if it has none."""
        if not self._library.lib.cpkg_ahead_is_lent(self._handle):
            self._library.lib.cpkg_ahead_lend(self._handle, self._new_context())

    def _new_context(self) -> Any:
        """Return a context that is C's, who frees it."""
        context = self._settings.take(self._library)
        self._library.ffi.gc(context, None)
        return context

    def job(self) -> Job:
        """Return a job to submit, or to give `back`."""
        if self._idle:
            return self._idle.pop()
        handle = self._library.lib.cpkg_ahead_job(self._handle)
        if not handle:
            raise MemoryError("no memory for a frame")
        return Job(self._library, handle)

    def back(self, job: Job) -> None:
        """Take a job that was waited for, or never submitted; its memory serves another frame."""
        self._library.lib.cpkg_job_clear(job.handle)
        self._idle.append(job)

    def submit(self, job: Job, size: int) -> None:
        """Hand a job with an input of `size` bytes to the threads, which have begun."""
        self._library.lib.cpkg_ahead_submit(self._handle, job.handle, size)

    def wait(self, job: Job) -> Any:
        """
        Wait for a job, and do meanwhile what waits for a thread; return its output, None if it has failed.

        The output is a buffer of cffi's over the job's memory, valid until `back` and `close`.
        """
        return self._output(job, self._library.lib.cpkg_ahead_wait(self._handle, job.handle))

    def _output(self, job: Job, output: Any) -> Any:
        return self._library.ffi.buffer(output, self._library.lib.cpkg_job_size(job.handle)) if output else None

    def close(self) -> None:
        """Wait for the jobs that are being done, end the threads and free all memory."""
        self._idle.clear()
        self._library.ffi.release(self._handle)


class CompressedAhead(FramesAhead):
    """Frames that are compressed: `put` content into a job, and take the frame."""

    def __init__(self, library: Library, options: Any, zstd_dict: ZstdDict | None, threads: int) -> None:
        undigested = None if zstd_dict is None else zstd_dict.as_undigested_dict  # of which contexts make copies
        super().__init__(library, True, CompressionSettings(library, None, options, undigested), threads)


class DecompressedAhead(FramesAhead):
    """Frames that are decompressed: `put` one into a job, `expect` its content, and take that."""

    def __init__(self, library: Library, zstd_dict: ZstdDict | None, threads: int) -> None:
        undigested = None if zstd_dict is None else zstd_dict.as_undigested_dict
        super().__init__(library, False, DecompressionSettings(library, undigested, None), threads)

    def do(self, job: Job, size: int) -> Any:
        """
        Do a job with an input of `size` bytes in the caller's thread; return its output, None if it has failed.

        The output is a buffer of cffi's over the job's memory, valid until the job is used again, and `close`.
        """
        self._lend()
        return self._output(job, self._library.lib.cpkg_ahead_do(self._handle, job.handle, size))

    def expect(self, job: Job, size: int, rows: Any = None, count: int = 0) -> None:
        """
        Say how many bytes the frame in a job holds, and where the threads lay out its records, `count` of them.

        `rows` has two addresses: of a function, `then`, and of what it works with, `state`.
        """
        cast, lib = self._library.ffi.cast, self._library.lib
        if rows is None:
            lib.cpkg_job_expect(job.handle, size, cast("void *", 0), cast("void *", 0), 0)
            return
        if rows is not job.rows:
            job.rows = rows
            self._held.append(rows)
        lib.cpkg_job_expect(job.handle, size, cast("void *", rows.then), cast("void *", rows.state), count)
