# SPDX-License-Identifier: Apache-2.0
"""Frames that are compressed or decompressed in advance: by threads of C where there are some, else by Python's."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from cpkg.records.codec import Decoder, Encoded, Encoder, LaidOut, has_threads_of_c, lost
from cpkg.records.layout import Frame, Gap
from cpkg.records.sources import Source

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

_GROUP_SIZE: Final = 1 << 19
"""Frames of so many bytes of records go to a thread of Python's at once: handing over takes time, too."""
_GROUPS: Final = 8
"""
So many groups wait for each such thread, fewer of larger frames. One whose frame is done waits for Python's lock while
the caller packs: with little ahead both cores are idle in turn.
"""
_WAITING: Final = 1 << 20
_FRAMES_WAITING: Final = (2, 16)
"""Records of so many bytes wait for each thread of C, but at least two frames and at most so many."""
_READ_MAX: Final = 4 << 20
"""Frames of more bytes of records are not decompressed in advance by C: several of them are in memory."""


class _Frame:
    """A frame on its way into the file: what it holds, the work that compresses it, and what comes of that."""

    __slots__ = ("content", "encoded", "place", "records", "size", "work")

    def __init__(self, content: Any, size: int, records: int) -> None:
        self.content = content
        self.size = size
        self.records = records
        self.work: Any = None
        self.encoded: Encoded | None = None
        self.place: tuple[int, int, int] | None = None


class Encoding:
    """
    Frames that are being compressed, in the order in which they are written.

    `encoder` may be replaced before the first frame. A call that raises has lost nothing, and can be repeated: what a
    signal may interrupt is begun anew, or takes place by one assignment.
    """

    def __init__(self, encoder: Encoder, threads: int, most: int) -> None:
        self.encoder = encoder
        self._threads = threads
        self._most = most
        self._queue: deque[_Frame] = deque()
        self._content: Any = None  # of the frame at hand
        self.ended: list[_Frame] | None = None
        """Frames that have ended: `settle` is to be called."""

    def __len__(self) -> int:
        """Return the number of frames for `first`."""
        return len(self._queue)

    def records(self, written: int) -> int:
        """Return how many records are on their way, in frames that are not among the first `written` of the file."""
        frames = {*self._queue, *(self.ended or ())}
        return sum(frame.records for frame in frames if frame.place is None or frame.place[0] >= written)

    @property
    def is_full(self) -> bool:
        """Whether a frame should be taken before the next one."""
        return len(self._queue) >= self._most

    def add(self, at: int, piece: bytes, start: int = 0) -> None:
        """Put piece[start:] behind the first `at` bytes of the frame at hand; what stood there is dropped."""
        if self._content is None:
            self._content = self._new_content()
        self._put(self._content, at, piece, start)

    def end(self, size: int, records: int) -> None:
        """End the frame at hand, which has so many bytes and records. It takes place by one assignment."""
        self.ended = [_Frame(self._content, size, records)]

    def end_with(self, frames: Iterable[tuple[bytes, int]]) -> None:
        """Have frames of so many records each in place of the one at hand, in the same way."""
        ended = []
        for content, records in frames:
            ended.append(_Frame(self._new_content(), len(content), records))
            self._put(ended[-1].content, 0, content, 0)
        self.ended = ended

    def settle(self) -> None:
        """Go on to the next frame, after `end`."""
        ended = self.ended
        if ended and (not self._queue or self._queue[-1] is not ended[-1]):
            self._queue.extend(ended)
        self._content = None
        self.ended = None

    def hand_over(self, *, final: bool) -> None:
        """Have frames compressed; by the caller if it is one alone, and nothing comes after it for now."""
        waiting = [frame for frame in self._queue if frame.work is None and frame.encoded is None]
        if waiting and ((final and len(self._queue) == 1) or not self._has_threads()):
            for frame in waiting:
                frame.encoded = self._encoded(frame)
        elif waiting:
            self._start(waiting, final=final)

    def first(self) -> Encoded:
        """Wait for the first frame; raises what compressing it did."""
        frame = self._queue[0]
        if frame.encoded is None and frame.work is not None:
            self._finish(frame)
        if frame.encoded is None:  # the threads could not: this can, or says why
            frame.encoded = self._encoded(frame)
        return frame.encoded

    def place(self, place: tuple[int, int, int]) -> tuple[int, int, int]:
        """Put down where the first frame is written; return what was put down first, if that is tried once more."""
        frame = self._queue[0]
        if frame.place is None:
            frame.place = place
        return frame.place

    def drop(self) -> None:
        """Remove the first frame."""
        self._reuse(self._queue.popleft().content)

    def close(self) -> None:
        """End the threads."""
        self._queue.clear()
        self._content = None

    def _new_content(self) -> Any:
        raise NotImplementedError

    def _put(self, content: Any, at: int, piece: bytes, start: int) -> None:
        raise NotImplementedError

    def _reuse(self, content: Any) -> None:
        """Take the content of a frame that is written."""

    def _has_threads(self) -> bool:
        """Start threads, if there are none yet; return whether there are some."""
        raise NotImplementedError

    def _start(self, waiting: list[_Frame], *, final: bool) -> None:
        """Have threads compress frames, and put down who does; some may wait if this is not `final`."""
        raise NotImplementedError

    def _finish(self, frame: _Frame) -> None:
        """Wait for the threads; `encoded` stays None if they have failed."""
        raise NotImplementedError

    def _encoded(self, frame: _Frame) -> Encoded:
        raise NotImplementedError


class EncodingByPython(Encoding):
    """The one of any backend. A content is a list of pieces, and where each begins."""

    def __init__(self, encoder: Encoder, threads: int, frame_size: int) -> None:
        super().__init__(encoder, threads, max(threads * max(_GROUPS * _GROUP_SIZE // frame_size, 2), 1))
        self._pool: ThreadPoolExecutor | None = None

    def _new_content(self) -> list[tuple[int, memoryview]]:
        return []

    def _put(self, content: Any, at: int, piece: bytes, start: int) -> None:
        while content and content[-1][0] >= at:
            del content[-1]
        content.append((at, memoryview(piece)[start:]))

    def _has_threads(self) -> bool:
        if self._pool is None and self._threads:
            from concurrent.futures import ThreadPoolExecutor

            self._pool = ThreadPoolExecutor(self._threads, "cpkg-records")
        return self._pool is not None

    def _start(self, waiting: list[_Frame], *, final: bool) -> None:
        if self._pool is not None and (final or sum(frame.size for frame in waiting) >= _GROUP_SIZE):
            work = self._pool.submit(self._encode, waiting)
            for frame in waiting:
                frame.work = work

    def _encode(self, frames: list[_Frame]) -> None:
        for frame in frames:
            frame.encoded = self._encoded(frame)

    def _finish(self, frame: _Frame) -> None:
        work, frame.work = frame.work, None
        work.result()

    def _encoded(self, frame: _Frame) -> Encoded:
        pieces = [piece for at, piece in frame.content if at < frame.size]
        return self.encoder.encoded(b"".join(pieces), frame.records)

    def close(self) -> None:
        super().close()
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=True)


class EncodingByC(Encoding):
    """The one of the compiled libzstd. A content is a job, in whose memory it lies."""

    def __init__(self, encoder: Encoder, threads: int, frame_size: int) -> None:
        fewest, most = _FRAMES_WAITING
        super().__init__(encoder, threads, threads * min(max(_WAITING // frame_size, fewest), most))
        self._ahead: Any = None

    def _new_content(self) -> Any:
        if self._ahead is None:
            self._ahead = self.encoder.compressed_ahead(self._threads)
        return self._ahead.job()

    def _put(self, content: Any, at: int, piece: bytes, start: int) -> None:
        # copied at once: what lives on in Python is copied by the collector of PyPy, and more than once
        content.put(at, piece, start)

    def _reuse(self, content: Any) -> None:
        self._ahead.back(content)

    def _has_threads(self) -> bool:
        has: bool = self._ahead.begin()
        return has

    def _start(self, waiting: list[_Frame], *, final: bool) -> None:
        for frame in waiting:
            self._ahead.submit(frame.content, frame.size)
            frame.work = self._ahead

    def _finish(self, frame: _Frame) -> None:
        data = self._ahead.wait(frame.content)
        if data is not None:
            frame.encoded = Encoded(frame.records, frame.size, data[:])

    def _encoded(self, frame: _Frame) -> Encoded:
        return self.encoder.encoded(frame.content.input(frame.size), frame.records)

    def close(self) -> None:
        super().close()
        if self._ahead is not None:
            self._ahead.close()
            self._ahead = None


def encoding(encoder: Encoder, threads: int, frame_size: int) -> Encoding:
    """Return what compresses the frames of a writer."""
    if threads and has_threads_of_c():
        return EncodingByC(encoder, threads, frame_size)
    return EncodingByPython(encoder, threads, frame_size)


class _Input:
    """Where frames are read from: by C itself where the file is the system's."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._descriptor = source.duplicate()

    def fill(self, job: Any, frame: Frame) -> int:
        """Give a job its input, or the file to read it from; return its size."""
        if self._descriptor is not None:
            self._source.check()
            job.read(self._descriptor, frame.offset, frame.compressed)
            return frame.compressed
        data = self.read(frame)
        job.put(0, data)
        return len(data)

    def read(self, frame: Frame) -> bytes:
        """Return a frame's bytes."""
        return self._source.read_at(frame.offset, frame.compressed)

    def close(self) -> None:
        """Close what was opened here."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)


class OneFrame:
    """
    Memory of C's for one frame at a time, which the caller decompresses.

    Frames of one record each after the other, as bytes, are what PyPy's collector is at work for longest.
    """

    def __init__(self, decoder: Decoder, source: Source) -> None:
        self._frames: Any = decoder.decompressed_ahead(0)
        self._job = self._frames.job()
        self._input = _Input(source)

    def content(self, frame: Frame) -> Any:
        """Return a frame's content, a buffer that is valid until the next call; None if that fails."""
        if not _is_served(frame):
            return None
        size = self._input.fill(self._job, frame)
        self._frames.expect(self._job, frame.decompressed)
        return self._frames.do(self._job, size)

    def close(self) -> None:
        """Free the memory."""
        self._frames.close()
        self._input.close()

    def __del__(self) -> None:
        if hasattr(self, "_input"):
            self.close()


class Decoding:
    """
    Frames of a file that threads of C decompress, and lay out where their records are read by columns, in order.

    Where the file is the system's they read it, too: PyPy's collector counts bytes that Python reads.
    """

    def __init__(self, decoder: Decoder, source: Source, threads: int) -> None:
        self._decoder = decoder
        self._ahead: Any = decoder.decompressed_ahead(threads)
        self._most = threads + 2 if self._ahead.begin() else 1
        self._input = _Input(source)
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
            data = lost(piece) if isinstance(piece, Gap) else self._submitted(piece)
        except Exception as exc:
            data = exc
        self._queue.append((piece, data))

    def _submitted(self, piece: Frame) -> Any:
        """Have a frame decompressed; return the job, or its bytes if the threads are not to do it."""
        if not _is_served(piece) or not self._ahead.begin():
            return self._input.read(piece)
        job = self._ahead.job()
        size = self._input.fill(job, piece)
        if self._decoder.reads_rows:
            self._ahead.expect(job, piece.decompressed, job.rows or self._decoder.new_rows(), piece.records)
        else:
            self._ahead.expect(job, piece.decompressed)
        self._ahead.submit(job, size)
        return job

    def first(self) -> tuple[Any, Any]:
        """
        Wait for the first frame; return it with its content, or the error that takes its place.

        The content is bytes or a LaidOut, whose memory is another frame's after `drop`.
        """
        piece, work = self._queue[0]
        try:
            if isinstance(work, Exception):
                raise work
            if not isinstance(work, bytes):
                content = self._ahead.wait(work)
                if content is not None:
                    return piece, LaidOut(content, work.rows) if self._decoder.reads_rows and work.rows else content[:]
                work = self._input.read(piece)  # the threads could not: this can, or says why
            return piece, self._decoder.content(piece, work)
        except Exception as exc:
            return piece, exc

    def drop(self) -> None:
        """Remove the first frame."""
        _, work = self._queue.popleft()
        if not isinstance(work, (bytes, Exception)):
            self._ahead.back(work)

    def close(self) -> None:
        """End the threads."""
        self._queue.clear()
        self._ahead.close()
        self._input.close()


def _is_served(frame: Frame) -> bool:
    """Tell whether a frame is small enough, and may have as many records as it is said to: each has a byte at least."""
    return frame.records <= frame.decompressed <= _READ_MAX
