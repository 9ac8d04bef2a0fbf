# SPDX-License-Identifier: Apache-2.0
"""
Queues of frames that C threads compress or decompress while Python code runs (`ffi_build/zstd/frame_queue.c`).

A Python thread that has finished a frame must wait for the GIL, which another thread releases only every 5 ms; C
threads do not need the GIL. If a job fails, the caller repeats its work in Python to find out why.
"""

from __future__ import annotations

from cpkg._native.pins import pin
from cpkg._native.zstd.library import Library
from cpkg._native.zstd.settings import CompressionSettings, DecompressionSettings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpkg._native.cffi_types import CBuffer, CData
    from purepy.base.types import Parameters
    from purepy.zstd.format.zdict import ZstdDict


_MEMORY = 256 << 10
"""The estimated size in bytes of the contexts and frames in C, once for the queue and once for each thread."""


class FrameJob:
    """
    One frame or several frames, and their memory, which belongs to C; the caller may use the attribute `made` freely.

    After `FrameQueue.back`, methods other than `give_up` raise ValueError. `put` and `read_frames` raise MemoryError
    if there is no memory, and RuntimeError once the job was submitted.
    """

    __slots__ = ("_handle", "_queue", "made")

    def __init__(self, queue: FrameQueue, handle: CData) -> None:
        self._queue = queue
        self._handle: CData | None = handle
        self.made: object = None

    @property
    def handle(self) -> CData:
        """The job in C; raises ValueError after the job was given back."""
        if self._handle is None:
            raise ValueError("the job was given back")
        return self._handle

    def put(self, at: int, piece: bytes, start: int = 0) -> None:
        """Copy piece[start:] to the job's input, at offset `at`."""
        # pass bytes as they are: to get an address, PyPy would first move them out of the nursery
        self._check(self._queue.lib.cpkg_job_put(self.handle, at, piece, start, len(piece) - start))

    def read_frames(self, descriptor: int, numbers: Sequence[int]) -> None:
        """
        Let the job read its frames from a file and decompress them in order; the thread that runs the job does both.

        The job uses a duplicate of `descriptor`. `numbers` has three numbers per frame, in the order of the file:
        offset, size, and content size. Afterwards, pass 0 as the size to `submit` or `do`, and do not call `expect`.
        The job fails if the file is too short. Raises MemoryError also if the descriptor cannot be duplicated or a
        number is out of range.
        """
        places = self._queue.ffi.new("int64_t[]", numbers)
        self._check(self._queue.lib.cpkg_job_read_frames(self.handle, descriptor, places, len(numbers) // 3))

    def make(self, new: int, free: int, then: int, count: int) -> int:
        """
        Make the thread that runs the job call `then` once it has decompressed the content.

        Call this after `expect` or `read_frames`, because these cancel an earlier `make`. The first three arguments are
        addresses of C functions. `then` receives the object that `new` returned, the content, its size and `count`.
        Returns the address of that object; 0 if there is no memory or the job was submitted. The job owns the object
        and frees it with `free`.
        """
        cast = self._queue.ffi.cast
        functions = cast("void *(*)(void)", new), cast("void (*)(void *)", free)
        called = cast("void (*)(void *, const char *, size_t, int64_t)", then)
        return int(cast("uintptr_t", self._queue.lib.cpkg_job_make(self.handle, *functions, called, count)))

    def input(self, size: int) -> CBuffer:
        """Return a cffi buffer over `size` bytes of the input, in the job's memory; ValueError if there is no input."""
        memory = self._queue.lib.cpkg_job_input(self.handle)
        if not memory:
            raise ValueError("the queue is closed")
        return self._queue.ffi.buffer(memory, size)

    def give_up(self) -> object:
        """Return the job in C, which the caller then owns; None if it was given up already."""
        handle, self._handle = self._handle, None
        return handle

    def _check(self, result: int) -> None:
        if result == 0:
            raise MemoryError("no memory for a frame")
        if result < 0:
            raise _submitted()


def _submitted() -> RuntimeError:
    return RuntimeError("the job was already submitted, so its input cannot change: take a new job")


class FrameQueue:
    """
    A queue of frames for `threads` threads, which `begin` starts and `close` ends.

    One Python thread at a time may use it. After an exception a call may be repeated, or the queue may be abandoned:
    then jobs end on their own, and their memory stays until `close` or the end of the queue object. A forked child has
    no threads, and there all jobs fail.
    """

    def __init__(
        self, library: Library, compresses: bool, pairs: list[tuple[int, int]], zstd_dict: ZstdDict | None, threads: int
    ) -> None:
        self.ffi, self.lib = ffi, lib = library.ffi, library.lib
        content = b"" if zstd_dict is None else zstd_dict.dict_content
        numbers = [number for pair in pairs for number in pair]
        handle = lib.cpkg_frames_new(compresses, ffi.new("int[]", numbers), len(pairs), content, len(content))
        if not handle:
            raise MemoryError("no memory for a queue of frames")
        # freed by a C function, which no signal interrupts; the size is for PyPy's collector, which does not see C
        # memory
        self._handle = ffi.gc(handle, lib.cpkg_frames_free, _MEMORY * (1 + threads))
        self._pin = pin(self._handle)
        self._threads = threads

    def begin(self) -> bool:
        """Start up to `threads` threads, as many as the system allows; return whether any was started."""
        return bool(self._threads and self.lib.cpkg_frames_start(self._handle, self._threads) > 0)

    def job(self) -> FrameJob:
        """Return a job to fill and submit; in the end, it must be given back with `back`. Raises MemoryError."""
        handle = self.lib.cpkg_frames_job(self._handle)
        if not handle:
            raise MemoryError("no memory for a frame")
        return FrameJob(self, handle)

    def back(self, job: FrameJob) -> None:
        """Take a job back, to use its memory again once no thread works on it; do nothing if it is back already."""
        handle = job.give_up()
        if handle is not None:
            self.lib.cpkg_job_let_go(handle)

    def expect(self, job: FrameJob, size: int) -> None:
        """Set the content size in bytes of the frame that a job will decompress; RuntimeError once it is submitted."""
        if self.lib.cpkg_job_expect(job.handle, size) < 0:
            raise _submitted()

    def submit(self, job: FrameJob, size: int) -> None:
        """
        Give a job with `size` bytes of input to the threads that `begin` started.

        Does nothing if the job was submitted before or the queue is closed.
        """
        self.lib.cpkg_frames_submit(self._handle, job.handle, size)

    def do(self, job: FrameJob, size: int) -> CBuffer | None:
        """Run a job with `size` bytes of input in the calling thread; return its output, or None if that fails."""
        return self._output(job) if self.lib.cpkg_frames_do(self._handle, job.handle, size) else None

    def wait(self, job: FrameJob) -> CBuffer | None:
        """
        Wait for a job, running waiting jobs meanwhile; return its output, or None if it failed or was not submitted.

        The output is a cffi buffer over the job's memory, valid until `back` or `close`.
        """
        handle = job.handle
        while (found := self.lib.cpkg_frames_wait(self._handle, handle)) < 0:
            pass  # returns to Python so that signals are handled
        return self._output(job) if found else None

    def _output(self, job: FrameJob) -> CBuffer:
        return self.ffi.buffer(self.lib.cpkg_job_output(job.handle), self.lib.cpkg_job_size(job.handle))

    def close(self) -> None:
        """Wait for running jobs, end the threads and free the memory of all jobs; do nothing if already closed."""
        self.lib.cpkg_frames_close(self._handle)


def compressing(library: Library, options: Parameters, zstd_dict: ZstdDict | None, threads: int) -> FrameQueue:
    """Return a queue that compresses: `put` content into a job, `submit` the job, and get the frame from `wait`."""
    return FrameQueue(library, True, CompressionSettings(library, None, options, None)._pairs, zstd_dict, threads)


def decompressing(library: Library, zstd_dict: ZstdDict | None, threads: int) -> FrameQueue:
    """
    Return a queue that decompresses frames in up to `threads` threads.

    `put` a frame into a job, `expect` the content's size, `submit` the job, and get the content from `wait`.
    """
    return FrameQueue(library, False, DecompressionSettings(library, None, None)._pairs, zstd_dict, threads)
