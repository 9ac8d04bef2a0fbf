# SPDX-License-Identifier: Apache-2.0
"""Frames that threads of C read and decompress in advance, or that one call does for the caller."""

from __future__ import annotations

import os
from collections import deque
from typing import TYPE_CHECKING, Any, Final

from cpkg.records.decoding import Decoder, LaidOut, lost
from cpkg.records.layout import Frame, Gap
from cpkg.records.positions import Source
from cpkg.records.taking import Bunch

if TYPE_CHECKING:
    from typing_extensions import TypeAlias

    from cpkg._native.cffi_types import CBuffer
    from cpkg._native.zstd.frame_queue import FrameJob

    Prepared: TypeAlias = "tuple[Any, Any]"
    """A frame, a gap or a bunch with its content, its records, or the error that takes their place."""

_READ_MAX: Final = 4 << 20
"""Frames of more bytes of records are not decompressed in advance by C: several of them are in memory."""


class OneFrame:
    """
    Memory of C's for one frame at a time, which the caller decompresses.

    Frames of one record each after the other, as bytes, are what PyPy's collector is at work for longest.
    """

    def __init__(self, decoder: Decoder, source: Source) -> None:
        self._frames = decoder.decompressing_queue(0)
        self._process = os.getpid()
        self._job = self._frames.job()
        self._source = source

    @property
    def is_here(self) -> bool:
        """Whether this is the process that has the memory; in a forked child all fails."""
        return self._process == os.getpid()

    def content(self, frame: Frame) -> CBuffer | None:
        """Return a frame's content, a buffer that is valid until the next call; None if that fails."""
        if not _is_served(frame):
            return None
        size = _fill(self._job, frame, self._source)
        self._frames.expect(self._job, frame.decompressed)
        return self._frames.do(self._job, size)

    def contents(self, bunch: Bunch) -> CBuffer | None:
        """Do what `content` does for several frames; their contents follow each other."""
        return self._frames.do(self._job, 0) if _fill_with(self._job, bunch, self._source) else None

    def close(self) -> None:
        """Free the memory."""
        self._frames.close()


class Decoding:
    """
    Frames of a file that threads of C decompress, and lay out where their records are read by columns, in order.

    Where the file is the system's they read it, too: PyPy's collector counts bytes that Python reads.
    """

    def __init__(self, decoder: Decoder, source: Source, threads: int) -> None:
        self._decoder = decoder
        self._ahead = decoder.decompressing_queue(threads)
        self._most = threads + 2 if self._ahead.begin() else 1
        self._source = source
        self._queue: deque[tuple[Any, Any]] = deque()  # with each frame the job that has it, or bytes, or an error

    def __len__(self) -> int:
        """Return the number of frames that were put and not dropped."""
        return len(self._queue)

    @property
    def is_full(self) -> bool:
        """Whether something should be taken before the next frame."""
        return len(self._queue) >= self._most

    def put(self, piece: Frame | Gap) -> None:
        """Have a frame read and decompressed; errors, gaps among them, wait for their turn."""
        try:
            data: object = lost(piece) if isinstance(piece, Gap) else self._submitted(piece)
        except Exception as exc:
            data = exc
        self._queue.append((piece, data))

    def put_bunch(self, bunch: Bunch) -> None:
        """Have several frames read and decompressed; `first` gives what `OneFrame.contents` does."""
        job = self._ahead.job()
        if not (self._ahead.begin() and _fill_with(job, bunch, self._source)):
            self._queue.append((bunch, None))
            return
        self._ahead.submit(job, 0)
        self._queue.append((bunch, job))

    def _submitted(self, piece: Frame) -> FrameJob | bytes:
        """Have a frame decompressed; return the job, or its bytes if the threads are not to do it."""
        if not _is_served(piece) or not self._ahead.begin():
            return self._read(piece)
        job = self._ahead.job()
        size = _fill(job, piece, self._source)
        self._ahead.expect(job, piece.decompressed)
        job.made = self._decoder.rows_of(job, piece)
        self._ahead.submit(job, size)
        return job

    def first(self) -> Prepared:
        """
        Wait for the first frame; return it with its content, or the error that takes its place.

        The content is bytes or a LaidOut, whose memory is another frame's after `drop`.
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
                work = self._read(piece)  # the threads could not: this can, or says why
            return piece, self._decoder.content(piece, work)
        except Exception as exc:
            return piece, exc

    def drop(self) -> None:
        """Remove the first frame."""
        _, work = self._queue.popleft()
        if work is not None and not isinstance(work, (bytes, Exception)):
            self._ahead.back(work)

    def close(self) -> None:
        """End the threads."""
        self._queue.clear()
        self._ahead.close()

    def _read(self, frame: Frame) -> bytes:
        return self._source.read_at(frame.offset, frame.compressed)


def _fill(job: FrameJob, frame: Frame, source: Source) -> int:
    """Give a job its input, or the file that C reads it from; return its size."""
    descriptor = source.descriptor()
    if descriptor is not None:
        try:
            job.read(descriptor, frame.offset, frame.compressed)
        except MemoryError:  # or there are too many open files for another duplicate
            pass
        else:
            return frame.compressed
    data = source.read_at(frame.offset, frame.compressed)
    job.put(0, data)
    return len(data)


def _fill_with(job: FrameJob, bunch: Bunch, source: Source) -> bool:
    """Have a job read several frames from the file; false if they are too large, or not in a file of the system's."""
    descriptor = source.descriptor()
    records, content = bunch.before[-1]
    if descriptor is None or not records <= content <= _READ_MAX:
        return False
    try:
        job.read_frames(descriptor, bunch.numbers)
    except MemoryError:
        return False
    return True


def _is_served(frame: Frame) -> bool:
    """Return whether a frame is small, and may have as many records as it is said to: each has a byte at least."""
    return frame.records <= frame.decompressed <= _READ_MAX
