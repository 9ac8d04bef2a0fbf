# SPDX-License-Identifier: Apache-2.0
"""Compress frames in advance, in C threads if the backend has them, otherwise in Python threads."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Final

from cpkg.records.packing import FrameCompressor
from cpkg.records.settings import has_threads_of_c
from purepy.base.crew import Call, Crew, wait_for

if TYPE_CHECKING:
    from cpkg._native.zstd.frame_queue import FrameJob

_WAITING: Final = 1 << 20
_WAITING_OF_PYTHON: Final = 4 << 20
"""
How many bytes of records may wait per thread, in 2 to `_FRAMES_MAX` frames. A Python thread that has finished a frame
waits for the GIL while the caller packs; with fewer frames in advance, cores would be idle.
"""
_FRAMES_MAX: Final = 16


class _Pieces:
    """Collects a frame's content like a FrameJob, but in Python: the pieces with their positions."""

    __slots__ = ("_pieces", "work")

    def __init__(self) -> None:
        self._pieces: list[tuple[int, memoryview]] = []
        self.work: Call | None = None

    def put(self, at: int, piece: bytes, start: int = 0) -> None:
        while self._pieces and self._pieces[-1][0] >= at:
            del self._pieces[-1]
        self._pieces.append((at, memoryview(piece)[start:]))

    def input(self, size: int) -> bytes:
        return b"".join([piece for at, piece in self._pieces if at < size])


class _QueueOfPython:
    """Compresses frames like a FrameQueue, but in Python threads, for any backend."""

    job = _Pieces

    def __init__(self, encoder: FrameCompressor, threads: int) -> None:
        self._encode = encoder.encode
        self._threads = threads
        self._crew = Crew(threads)

    def begin(self) -> bool:
        return bool(self._threads) and not self._crew.is_stopped and self._crew.begin() > 0

    def submit(self, job: _Pieces, size: int) -> None:
        job.work = self._crew.submit(lambda: self._encode(job.input(size)))

    def wait(self, job: _Pieces) -> bytes | None:
        work = job.work
        assert work is not None
        wait_for(work)
        is_done = work.failure is None and not work.is_given_up
        return work.result() if is_done else None  # the caller repeats the work and gets the error

    def back(self, job: _Pieces) -> None:
        pass

    def close(self) -> None:
        self._crew.stop()


class _Frame:
    """An ended frame: the job with its content, and the compressed frame in `data`, None until it is available."""

    __slots__ = ("data", "is_submitted", "job", "number", "records", "size")

    def __init__(self, number: int, job: FrameJob | _Pieces, size: int, records: int) -> None:
        self.number = number
        self.job = job
        self.size = size
        self.records = records
        self.is_submitted = False
        self.data: bytes | None = None


class Encoding:
    """
    The current frame, and a queue of ended frames that wait for compression or have been compressed.

    Frames already have the numbers that they get in the file. The writer counts how many frames are `written` and how
    many have `ended`. If a signal interrupts a call, these counts show whether the call took effect; if not, the call
    can be repeated.
    """

    def __init__(self, encoder: FrameCompressor, threads: int, frame_size: int) -> None:
        self._encoder = encoder
        self.is_by_c = threads > 1 and has_threads_of_c()
        # the caller also compresses, in addition to C threads
        self._threads = threads - 1 if self.is_by_c or threads == 1 else threads
        waiting = _WAITING if self.is_by_c else _WAITING_OF_PYTHON
        self._most = max(self._threads * min(max(waiting // frame_size, 2), _FRAMES_MAX), 1)
        self._ahead: Any = None  # the threads
        self._queue: deque[_Frame] = deque()
        self._at_hand: tuple[int, Any] = (-1, None)  # number and job of the current frame

    def __len__(self) -> int:
        """Return the number of frames in the queue."""
        return len(self._queue)

    def records(self, written: int, ended: int) -> int:
        """Return the number of records in ended frames that are not written yet."""
        return sum(frame.records for frame in tuple(self._queue) if written <= frame.number < ended)

    @property
    def is_full(self) -> bool:
        """Whether a frame should be written before the next frame ends."""
        return len(self._queue) >= self._most

    def settle(self, written: int, ended: int) -> None:
        """Drop written frames, and frames numbered `ended` or higher, whose end was interrupted by a signal."""
        queue = self._queue
        while queue and queue[-1].number >= ended:
            queue.pop()
        while queue and queue[0].number < written:
            self._ahead.back(queue.popleft().job)

    def add(self, number: int, at: int, piece: bytes, start: int = 0) -> None:
        """
        Put piece[start:] at byte `at` of the current frame `number`, replacing all bytes from there on.

        `at` is 0 or the end of an earlier piece.
        """
        # C copies the piece at once; if Python kept it, PyPy's garbage collector would copy it several times
        self._job_at_hand(number).put(at, piece, start)

    def end(self, number: int, size: int, records: int) -> None:
        """End the current frame `number` with its first `size` bytes, which are `records` records."""
        self._queue.append(_Frame(number, self._job_at_hand(number), size, records))

    def hand_over(self, *, final: bool) -> None:
        """
        Submit ended frames to the threads.

        Without threads, or with `final` and a single frame in the queue, compresses them in the calling thread.
        """
        waiting = [frame for frame in self._queue if not frame.is_submitted and frame.data is None]
        if waiting and ((final and len(self._queue) == 1) or not self._ahead.begin()):
            for frame in waiting:
                frame.data = self._encoded(frame)
            return
        for frame in waiting:
            self._ahead.submit(frame.job, frame.size)
            frame.is_submitted = True

    def first(self) -> tuple[int, int, bytes]:
        """Wait for the first frame, which stays queued; return its record count, content size and compressed bytes."""
        frame = self._queue[0]
        if frame.data is None and frame.is_submitted:
            found = self._ahead.wait(frame.job)
            frame.data = None if found is None else found[:]
        if frame.data is None:  # the threads failed: compress here, or raise the error
            frame.data = self._encoded(frame)
        return frame.records, frame.size, frame.data

    def close(self) -> None:
        """Drop all frames without writing them, and end the threads."""
        self._queue.clear()
        self._at_hand = (-1, None)
        if self._ahead is not None:
            self._ahead.close()
            self._ahead = None

    def _encoded(self, frame: _Frame) -> bytes:
        """Compress a frame in this thread."""
        return self._encoder.encode(frame.job.input(frame.size))

    def _job(self) -> Any:
        if self._ahead is None:
            make = self._encoder.compressing_queue
            self._ahead = make(self._threads) if self.is_by_c else _QueueOfPython(self._encoder, self._threads)
        return self._ahead.job()

    def _job_at_hand(self, number: int) -> Any:
        found = self._at_hand[1]
        if found is None or self._at_hand[0] != number:
            found = self._job()
            self._at_hand = number, found
        return found
