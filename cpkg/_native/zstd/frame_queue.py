# SPDX-License-Identifier: Apache-2.0
"""
Queues of frames that threads of C compress or decompress while Python goes on (`ffi_build/zstd/frame_queue.c`).

A thread of Python's that is done with a frame waits for the interpreter's lock, which another one gives up every 5 ms;
those of C have no use for it. What they fail at is for the caller to do again, in order to learn why.
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
"""So much memory a queue takes, about, and as much again for each of its threads: contexts and frames."""


class FrameJob:
    """
    One frame, or several, and the memory that they lie in, which is C's; `made` is for the caller's use.

    Its methods raise ValueError after `FrameQueue.back`, RuntimeError while a thread has the job, and MemoryError.
    """

    __slots__ = ("_handle", "_queue", "made")

    def __init__(self, queue: FrameQueue, handle: CData) -> None:
        self._queue = queue
        self._handle: CData | None = handle
        self.made: object = None

    @property
    def handle(self) -> CData:
        """The job of C."""
        if self._handle is None:
            raise ValueError("the job was given back")
        return self._handle

    def put(self, at: int, piece: bytes, start: int = 0) -> None:
        """Copy piece[start:] behind the first `at` bytes of the input."""
        # bytes as they are: for the address of some, PyPy moves them out of the nursery
        self._check(self._queue.lib.cpkg_job_put(self.handle, at, piece, start, len(piece) - start))

    def read_frames(self, descriptor: int, numbers: Sequence[int]) -> None:
        """
        Have the thread read frames from a duplicate of a descriptor and decompress them, one after the other.

        `numbers` are three for each, of one or more in the order of the file: offset, size and size of the content.
        `submit` and `do` then have a size of 0, and `expect` is not called. A file that is too short is a failure.
        """
        places = self._queue.ffi.new("int64_t[]", numbers)
        self._check(self._queue.lib.cpkg_job_read_frames(self.handle, descriptor, places, len(numbers) // 3))

    def make(self, new: int, free: int, then: int, count: int) -> int:
        """
        Have the thread call `then` with what `new` returns, the frame's content, its size and `count`; after `expect`.

        The three are addresses of functions of C. Returns the address of what `new` has returned, 0 if there is none;
        the job owns that, and gives it to `free`.
        """
        cast = self._queue.ffi.cast
        functions = cast("void *(*)(void)", new), cast("void (*)(void *)", free)
        called = cast("void (*)(void *, const char *, size_t, int64_t)", then)
        return int(cast("uintptr_t", self._queue.lib.cpkg_job_make(self.handle, *functions, called, count)))

    def input(self, size: int) -> CBuffer:
        """Return the first `size` bytes of the input, a buffer of cffi's over the job's memory."""
        memory = self._queue.lib.cpkg_job_input(self.handle)
        if not memory:
            raise ValueError("the queue is closed")
        return self._queue.ffi.buffer(memory, size)

    def give_up(self) -> object:
        """Return the job of C, None the second time; it is the caller's from here on."""
        handle, self._handle = self._handle, None
        return handle

    def _check(self, result: int) -> None:
        if result == 0:
            raise MemoryError("no memory for a frame")
        if result < 0:
            raise RuntimeError("a thread is working on the frame")


class FrameQueue:
    """
    A queue of frames for `threads` threads, which `begin` starts and `close` ends.

    Used by one thread of Python's at a time. Any call may be repeated after an exception, or never be followed up: then
    jobs end by themselves, and their memory lives until `close`. A forked child has no threads: there all jobs fail.
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
        # a function of C: no signal comes between. The size is for PyPy's collector, which counts no memory of C
        self._handle = ffi.gc(handle, lib.cpkg_frames_free, _MEMORY * (1 + threads))
        self._pin = pin(self._handle)
        self._threads = threads

    def begin(self) -> bool:
        """Start the threads, as far as there can be some; return whether there are any."""
        return bool(self._threads and self.lib.cpkg_frames_start(self._handle, self._threads) > 0)

    def job(self) -> FrameJob:
        """Return a job to submit, or to give `back`."""
        handle = self.lib.cpkg_frames_job(self._handle)
        if not handle:
            raise MemoryError("no memory for a frame")
        return FrameJob(self, handle)

    def back(self, job: FrameJob) -> None:
        """Take a job back; its memory serves another frame once no thread works on it. Again: nothing."""
        handle = job.give_up()
        if handle is not None:
            self.lib.cpkg_job_let_go(handle)

    def expect(self, job: FrameJob, size: int) -> None:
        """Say how many bytes the frame in a job holds, which is to be decompressed."""
        if self.lib.cpkg_job_expect(job.handle, size) < 0:
            raise RuntimeError("a thread is working on the frame")

    def submit(self, job: FrameJob, size: int) -> None:
        """Hand a job with an input of `size` bytes to the threads, which have begun; again: nothing."""
        self.lib.cpkg_frames_submit(self._handle, job.handle, size)

    def do(self, job: FrameJob, size: int) -> CBuffer | None:
        """Do a job with an input of `size` bytes in the caller's thread; return what `wait` does."""
        return self._output(job) if self.lib.cpkg_frames_do(self._handle, job.handle, size) else None

    def wait(self, job: FrameJob) -> CBuffer | None:
        """
        Wait for a job, and do meanwhile what waits for a thread; return its output, None if it has failed.

        The output is a buffer of cffi's over the job's memory, valid until `back` and `close`.
        """
        handle = job.handle
        while (found := self.lib.cpkg_frames_wait(self._handle, handle)) < 0:
            pass  # signals are looked for
        return self._output(job) if found else None

    def _output(self, job: FrameJob) -> CBuffer:
        return self.ffi.buffer(self.lib.cpkg_job_output(job.handle), self.lib.cpkg_job_size(job.handle))

    def close(self) -> None:
        """Wait for the jobs that are being done, end the threads and free the memory of all jobs; again: nothing."""
        self.lib.cpkg_frames_close(self._handle)


def compressing(library: Library, options: Parameters, zstd_dict: ZstdDict | None, threads: int) -> FrameQueue:
    """Return a queue that compresses: `put` content into a job, and take the frame."""
    return FrameQueue(library, True, CompressionSettings(library, None, options, None).pairs, zstd_dict, threads)


def decompressing(library: Library, zstd_dict: ZstdDict | None, threads: int) -> FrameQueue:
    """Return a queue that decompresses: `put` a frame into a job, `expect` its content, and take that."""
    return FrameQueue(library, False, DecompressionSettings(library, None, None).pairs, zstd_dict, threads)
