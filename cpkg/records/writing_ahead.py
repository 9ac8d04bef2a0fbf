# SPDX-License-Identifier: Apache-2.0
"""Frames on their way into a file, compressed by threads of C where there are some, else by Python's."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from cpkg.records.packing import Encoded, FrameCompressor
from cpkg.records.threads import has_threads_of_c
from purepy.base.crew import Call, Crew

if TYPE_CHECKING:
    from cpkg._native.zstd.frame_queue import FrameJob

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


Content = TypeVar("Content")


class _Frame(Generic[Content]):
    """A frame that has ended: what it holds, the work that compresses it, and what comes of that."""

    __slots__ = ("content", "encoded", "number", "records", "size", "work")

    def __init__(self, number: int, content: Content, size: int, records: int) -> None:
        self.number = number
        self.content = content
        self.size = size
        self.records = records
        self.work: Call | bool | None = None
        self.encoded: Encoded | None = None


class Encoding(Generic[Content]):
    """
    The frame at hand, and those that have ended and are being compressed, in order.

    Frames have the numbers that they will have in the file. The writer counts how many are `written` and how many have
    `ended`: a call that a signal interrupts has taken place when these counts say so, and can be repeated if not.
    """

    def __init__(self, encoder: FrameCompressor, threads: int, most: int) -> None:
        self.encoder = encoder
        self._threads = threads
        self._most = most
        self._queue: deque[_Frame[Content]] = deque()
        self._at_hand: tuple[int, Content | None] = (-1, None)  # the number of the frame at hand, and its content

    def __len__(self) -> int:
        """Return the number of frames for `first`."""
        return len(self._queue)

    def records(self, written: int, ended: int) -> int:
        """Return how many records are in frames that have ended and are not written."""
        return sum(frame.records for frame in tuple(self._queue) if written <= frame.number < ended)

    @property
    def is_full(self) -> bool:
        """Whether a frame should be written before the next one ends."""
        return len(self._queue) >= self._most

    def settle(self, written: int, ended: int) -> None:
        """Drop the frames that are written, and those that were to end when a signal came."""
        queue = self._queue
        while queue and queue[-1].number >= ended:
            queue.pop()
        while queue and queue[0].number < written:
            self._reuse(queue.popleft().content)

    def add(self, number: int, at: int, piece: bytes, start: int = 0) -> None:
        """Put piece[start:] behind the first `at` bytes of the frame at hand; what was there is dropped."""
        self._put(self._content(number), at, piece, start)

    def end(self, number: int, size: int, records: int) -> None:
        """End the frame at hand, which has so many bytes and records."""
        self._queue.append(_Frame(number, self._content(number), size, records))

    def end_with(self, number: int, frames: Iterable[tuple[bytes, int]]) -> None:
        """Replace the current frame by frames from `number` on, each of so many records."""
        for place, (content, records) in enumerate(frames, number):
            frame = _Frame(place, self._new_content(), len(content), records)
            self._put(frame.content, 0, content, 0)
            self._queue.append(frame)

    def hand_over(self, *, final: bool) -> None:
        """Have frames compressed; by the caller if it is one alone, and nothing comes after it for now."""
        waiting = [frame for frame in self._queue if frame.work is None and frame.encoded is None]
        if waiting and ((final and len(self._queue) == 1) or not self._has_threads()):
            for frame in waiting:
                frame.encoded = self._encoded(frame)
        elif waiting:
            self._start(waiting, final)

    def first(self) -> Encoded:
        """Wait for the first frame; raises what compressing it did."""
        frame = self._queue[0]
        if frame.encoded is None and frame.work is not None:
            self._finish(frame)
        if frame.encoded is None:  # the threads could not: this can, or says why
            frame.encoded = self._encoded(frame)
        return frame.encoded

    def close(self) -> None:
        """End the threads."""
        self._queue.clear()
        self._at_hand = (-1, None)

    def _content(self, number: int) -> Content:
        found = self._at_hand[1]
        if found is None or self._at_hand[0] != number:
            found = self._new_content()
            self._at_hand = number, found
        return found

    def _reuse(self, content: Content) -> None:
        """Take the content of a frame that is written."""

    _new_content: Callable[[], Content]
    _put: Callable[[Content, int, bytes, int], None]
    """Put `piece[start:]` behind the first `at` bytes of a content: `_put(content, at, piece, start)`."""
    _has_threads: Callable[[], bool]
    """Start threads, if there are none yet; return whether there are some."""
    _start: Callable[[list[_Frame[Content]], bool], None]
    """Have threads compress frames, and put down who does: `_start(waiting, final)`; some may wait if not `final`."""
    _finish: Callable[[_Frame[Content]], None]
    """Wait for the threads; `encoded` stays None if they have failed."""
    _encoded: Callable[[_Frame[Content]], Encoded]
    """Compress a frame in this thread."""


Pieces = list[tuple[int, memoryview]]


class EncodingByPython(Encoding[Pieces]):
    """Compresses by threads of Python, on any backend. A content is a list of pieces, and where each begins."""

    def __init__(self, encoder: FrameCompressor, threads: int, frame_size: int) -> None:
        helpers = threads if threads > 1 else 0
        super().__init__(encoder, helpers, max(helpers * max(_GROUPS * _GROUP_SIZE // frame_size, 2), 1))
        self._crew: Crew | None = None

    def _new_content(self) -> Pieces:
        return []

    def _put(self, content: Pieces, at: int, piece: bytes, start: int) -> None:
        while content and content[-1][0] >= at:
            del content[-1]
        content.append((at, memoryview(piece)[start:]))

    def _has_threads(self) -> bool:
        if self._crew is None:
            self._crew = Crew(self._threads)
        return bool(self._threads) and self._crew.begin() > 0

    def _start(self, waiting: list[_Frame[Pieces]], final: bool) -> None:
        if self._crew is not None and (final or sum(frame.size for frame in waiting) >= _GROUP_SIZE):
            work = self._crew.submit(self._encode, waiting)
            for frame in waiting:
                frame.work = work

    def _encode(self, frames: list[_Frame[Pieces]]) -> None:
        for frame in frames:
            frame.encoded = self._encoded(frame)

    def _finish(self, frame: _Frame[Pieces]) -> None:
        try:
            assert isinstance(frame.work, Call)
            frame.work.result()
        except Exception:  # the caller does it again, and learns why
            frame.work = None

    def _encoded(self, frame: _Frame[Pieces]) -> Encoded:
        pieces = [piece for at, piece in frame.content if at < frame.size]
        return self.encoder.encoded(b"".join(pieces), frame.records)

    def close(self) -> None:
        super().close()
        if self._crew is not None:
            self._crew.stop()
            self._crew = None


class EncodingByC(Encoding["FrameJob"]):
    """Compresses by threads of C, and in the caller. A content is a job, in whose memory it lies."""

    def __init__(self, encoder: FrameCompressor, threads: int, frame_size: int) -> None:
        fewest, most = _FRAMES_WAITING
        helpers = threads - 1
        super().__init__(encoder, helpers, helpers * min(max(_WAITING // frame_size, fewest), most))
        self._ahead: Any = None

    def _new_content(self) -> FrameJob:
        if self._ahead is None:
            self._ahead = self.encoder.compressing_queue(self._threads)
        job: FrameJob = self._ahead.job()
        return job

    def _put(self, content: FrameJob, at: int, piece: bytes, start: int) -> None:
        # copied at once: what lives on in Python is copied by the collector of PyPy, and more than once
        content.put(at, piece, start)

    def _reuse(self, content: FrameJob) -> None:
        self._ahead.back(content)

    def _has_threads(self) -> bool:
        has: bool = self._ahead.begin()
        return has

    def _start(self, waiting: list[_Frame[FrameJob]], final: bool) -> None:
        for frame in waiting:
            self._ahead.submit(frame.content, frame.size)
            frame.work = True

    def _finish(self, frame: _Frame[FrameJob]) -> None:
        data = self._ahead.wait(frame.content)
        if data is not None:
            frame.encoded = Encoded(frame.records, frame.size, data[:])

    def _encoded(self, frame: _Frame[FrameJob]) -> Encoded:
        return self.encoder.encoded(frame.content.input(frame.size), frame.records)

    def close(self) -> None:
        super().close()
        if self._ahead is not None:
            self._ahead.close()
            self._ahead = None


def encoding(encoder: FrameCompressor, threads: int, frame_size: int) -> Encoding[Any]:
    """Return what compresses the frames of a writer."""
    if threads > 1 and has_threads_of_c():
        return EncodingByC(encoder, threads, frame_size)
    return EncodingByPython(encoder, threads, frame_size)
