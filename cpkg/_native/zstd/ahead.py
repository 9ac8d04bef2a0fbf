# SPDX-License-Identifier: Apache-2.0
"""
Frames that threads of C compress, or decompress, while Python goes on (`ffi_build/zstd/ahead.c`).

A thread of Python's that is done with a frame waits for the interpreter's lock, which another one gives up every 5 ms;
those of C have no use for it. What they fail at is for the caller to do again, in order to learn why.
"""

from __future__ import annotations

from collections import deque

from cpkg._native.pins import pin
from cpkg._native.zstd.library import Library
from cpkg._native.zstd.settings import CompressionSettings, DecompressionSettings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from purepy.zstd.common.zdict import ZstdDict


class Job:
    """
    A frame at work, and its memory.

    `input` is what was put into it, in the threads' memory; `rows` memory in which its content is laid out.
    """

    __slots__ = ("_library", "handle", "input", "rows")

    def __init__(self, library: Library, handle: Any) -> None:
        self._library = library
        self.handle = handle
        self.rows: Any = None
        self.clear()

    def clear(self) -> None:
        """Forget the input."""
        self._library.lib.cpkg_job_clear(self.handle)
        self.input: Any = b""

    def put(self, piece: bytes | bytearray, start: int = 0) -> None:
        """Copy piece[start:] behind the input that is there; MemoryError if there is no memory."""
        library, size = self._library, len(piece) - start
        # bytes as they are: for the address of some, PyPy moves them out of the nursery
        data = piece if type(piece) is bytes else library.ffi.from_buffer(piece)
        memory = library.lib.cpkg_job_append(self.handle, data, start, size)
        if not memory:
            raise MemoryError("no memory for a frame")
        self.input = library.ffi.buffer(memory, len(self.input) + size)

    def read(self, descriptor: int, offset: int, size: int) -> None:
        """Have the thread read a stretch of a file, which stays open until the job is done; a short one fails."""
        if not self._library.lib.cpkg_job_input_from(self.handle, descriptor, offset, size):
            raise MemoryError("no memory for a frame")


class FramesAhead:
    """
    A queue of frames for `threads` threads, which begin with the first one and end with `close`.

    Jobs are taken in the order that they were submitted in, by one thread of Python's at a time. A forked child has no
    threads: there all jobs fail.
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
        self._queue: deque[Job] = deque()
        self._settings = settings
        self._threads = threads
        self._has_begun = False
        self._context: Any = None  # of the caller's thread

    def begin(self) -> bool:
        """Start the threads, if they have not begun; return whether there are some."""
        if not self._has_begun:
            self._has_begun = True
            wanted, self._threads = self._threads, 0
            for _ in range(wanted):
                context = self._settings.take(self._library)
                if not self._library.lib.cpkg_ahead_start(self._handle, context):
                    self._library.drop(context)
                    break  # there can be no more of them
                self._library.ffi.gc(context, None)  # it is the thread's from here on
                self._threads += 1
        return self._threads > 0

    def __len__(self) -> int:
        """Return the number of jobs that were submitted and not taken."""
        return len(self._queue)

    def job(self) -> Job:
        """Return a job without input, to submit or to give `back`."""
        if self._idle:
            return self._idle.pop()
        handle = self._library.lib.cpkg_ahead_job(self._handle)
        if not handle:
            raise MemoryError("no memory for a frame")
        return Job(self._library, handle)

    def back(self, job: Job) -> None:
        """Take a job that was not submitted, or that was taken; its memory serves another frame."""
        job.clear()
        self._idle.append(job)

    def submit(self, job: Job) -> None:
        """Hand a job to the threads, which have begun."""
        self._library.lib.cpkg_ahead_submit(self._handle, job.handle)
        self._queue.append(job)

    def first(self) -> tuple[Job, Any]:
        """
        Wait for the first job; return it and its output, None if it has failed.

        The output is a buffer of cffi's over the job's memory, valid until `drop` and `close`.
        """
        job, lib = self._queue[0], self._library.lib
        output = lib.cpkg_ahead_wait(self._handle, job.handle)
        return job, self._library.ffi.buffer(output, lib.cpkg_job_size(job.handle)) if output else None

    def drop(self) -> None:
        """Remove the first job."""
        self.back(self._queue.popleft())

    def close(self) -> None:
        """Wait for the jobs that are being done, end the threads and free all memory."""
        self._queue.clear()
        self._idle.clear()
        context, self._context = self._context, None
        if context is not None:
            self._library.drop(context)
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

    def do(self, job: Job) -> Any:
        """
        Do a job in the caller's thread; return its output, None if it has failed.

        The output is a buffer of cffi's over the job's memory, valid until the job is used again, and `close`.
        """
        library, lib = self._library, self._library.lib
        if self._context is None:
            self._context = self._settings.take(library)
        output = lib.cpkg_ahead_do(self._handle, job.handle, self._context)
        if not output:
            context, self._context = self._context, None
            library.drop(context)
            return None
        return library.ffi.buffer(output, lib.cpkg_job_size(job.handle))

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
