# SPDX-License-Identifier: Apache-2.0
"""Read and decompress frames in C: in advance in threads, or at once in the thread of the caller."""

from __future__ import annotations

import os
from collections import deque
from typing import TYPE_CHECKING, Any, Final

from cpkg.records.decoding import Decoder, LaidOut, lost
from cpkg.records.layout import Frame, Gap
from cpkg.records.positions import Source
from cpkg.records.taking import Bunch
from purepy.base.errors import is_from_handler, raise_if_from_handler

if TYPE_CHECKING:
    from typing_extensions import TypeAlias

    from cpkg._native.cffi_types import CBuffer
    from cpkg._native.zstd.frame_queue import FrameJob, FrameQueue

    Prepared: TypeAlias = "tuple[Any, Any]"
    """A frame, gap or bunch, with its content, its records, or an error instead."""

_READ_MAX: Final = 4 << 20
"""C does not decompress frames or bunches with more bytes of content, because several are in memory at a time."""


class OneFrame:
    """
    C memory for one frame or Bunch at a time, which the caller's thread decompresses.

    Without it, reading one record from each of many frames creates large bytes objects, which keep PyPy's garbage
    collector busy.
    """

    def __init__(self, decoder: Decoder, source: Source) -> None:
        self._decoder = decoder
        self._frames = decoder.decompressing_queue(0)
        self._process = os.getpid()
        self._job = self._frames.job()
        self._source = source

    @property
    def is_here(self) -> bool:
        """Whether this process created the memory; a forked child cannot use it."""
        return self._process == os.getpid()

    def content(self, piece: Frame | Bunch) -> CBuffer | None:
        """
        Return the content of a frame, or of the frames of a Bunch one after the other; None if C cannot decompress it.

        The content is a buffer that is valid until the next call or `close`.
        """
        size = _fill(self._decoder, self._frames, self._job, piece, self._source)
        return None if size is None else self._frames.do(self._job, size)

    def close(self) -> None:
        """Free the memory."""
        self._frames.close()


class Decoding:
    """
    A queue of frames that C threads decompress, in order; they also lay out rows if records are read by columns.

    The threads start with `begin` or when the first frame is dropped: many iterators are used for one record only, and
    then the caller decompresses the frame. Gaps and bunches (of frames) may also be in the queue.

    If the source has a descriptor, the threads also read the file, because bytes that Python reads burden PyPy's
    garbage collector.
    """

    def __init__(self, decoder: Decoder, source: Source, threads: int) -> None:
        self._decoder = decoder
        self._threads = threads
        self._ahead: Any = None  # the threads
        self._most = 1  # the frame that the caller decompresses
        self._source = source
        self._queue: deque[tuple[Any, Any]] = deque()  # pairs of a frame and its job, bytes or error

    def __len__(self) -> int:
        """Return the number of frames, gaps and bunches in the queue."""
        return len(self._queue)

    @property
    def is_full(self) -> bool:
        """Whether `first` and `drop` should be called before the next `put`."""
        return len(self._queue) >= self._most

    def begin(self) -> None:
        """Start the threads; they decompress the frames that are put from now on."""
        self._ahead = self._decoder.decompressing_queue(self._threads)
        self._most = self._threads + 2 if self._ahead.begin() else 1

    def put(self, piece: Frame | Gap | Bunch) -> None:
        """
        Add a frame, gap or bunch to the queue, and start to read it.

        If reading a frame fails with OSError or ValueError, the queue holds the exception, and `first` returns it with
        the frame. The errors of a bunch, and those of signal handlers, are raised at once.
        """
        try:
            work: object = lost(piece) if isinstance(piece, Gap) else self._submitted(piece)
        except (OSError, ValueError) as exc:
            if isinstance(piece, Bunch) or is_from_handler(exc):
                raise
            work = exc
        self._queue.append((piece, work))

    def _submitted(self, piece: Frame | Bunch) -> FrameJob | bytes | None:
        """
        Submit a piece to the threads and return the job.

        If there are no threads, or `_fill` refuses the piece, reads a frame here and returns its compressed bytes, or
        returns None for a Bunch.
        """
        if self._ahead is not None and self._ahead.begin():
            job = self._ahead.job()
            size = _fill(self._decoder, self._ahead, job, piece, self._source)
            if size is not None:
                if isinstance(piece, Frame):
                    job.made = self._decoder.rows_of(job, piece)
                self._ahead.submit(job, size)
                submitted: FrameJob = job
                return submitted
            self._ahead.back(job)
        return None if isinstance(piece, Bunch) else self._read(piece)

    def first(self) -> Prepared:
        """
        Wait for the first frame of the queue; return it with its content or with an error. It stays in the queue.

        The content is bytes or a LaidOut, whose memory is reused after `drop`. A gap comes with its DamagedError. A
        Bunch comes with a buffer, also reused after `drop`, or with None if C could not decompress it.
        """
        piece, work = self._queue[0]
        if isinstance(piece, Bunch):
            return piece, self._ahead.wait(work) if work is not None else None
        try:
            if isinstance(work, Exception):
                raise work
            if not isinstance(work, bytes):
                content = self._ahead.wait(work)
                if content is not None:
                    return piece, LaidOut(content, work.made) if self._decoder.reads_rows and work.made else content[:]
                work = self._read(piece)  # the threads failed: try again here, to succeed or raise the right error
            return piece, self._decoder.content(piece, work)
        except Exception as exc:
            raise_if_from_handler(exc)
            return piece, exc

    def drop(self) -> None:
        """Remove the first frame from the queue, and start the threads if they have not begun."""
        _, work = self._queue.popleft()
        if work is not None and not isinstance(work, (bytes, Exception)):
            self._ahead.back(work)
        if self._ahead is None:
            self.begin()

    def close(self) -> None:
        """Empty the queue, and end the threads."""
        self._queue.clear()
        if self._ahead is not None:
            self._ahead.close()

    def _read(self, frame: Frame) -> bytes:
        return self._source.read_at(frame.offset, frame.compressed)


def _fill(decoder: Decoder, queue: FrameQueue, job: FrameJob, piece: Frame | Bunch, source: Source) -> int | None:
    """
    Give a job the compressed bytes of a piece, and return their size; or give it a descriptor to read, and return 0.

    Returns None if the piece has more than `_READ_MAX` bytes of content, more than the memory limit allows or more
    records than bytes, and for a Bunch if the source has no descriptor or there is no memory.
    """
    if isinstance(piece, Bunch):
        (records, content), numbers = piece.before[-1], piece.numbers
    else:
        records, content, numbers = piece.records, piece.decompressed, [*piece[:3]]
    if not records <= content <= min(_READ_MAX, decoder.content_max):
        return None
    descriptor = source.descriptor()
    if descriptor is not None:
        try:
            job.read_frames(descriptor, numbers)
        except MemoryError:  # also raised if there are too many open files for another duplicate
            pass
        else:
            return 0
    if isinstance(piece, Bunch):
        return None
    data = source.read_at(piece.offset, piece.compressed)
    job.put(0, data)
    queue.expect(job, piece.decompressed)
    return len(data)
