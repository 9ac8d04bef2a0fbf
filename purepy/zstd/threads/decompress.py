# SPDX-License-Identifier: Apache-2.0
"""
Decompress frames of one stream in parallel; a large frame is decompressed while the caller reads the rest of it.

A complete frame of at most 64 MiB that, by its header or blocks, has no more content than this, is decompressed in one
go. Adjacent small frames are combined into a run, which one job decompresses. The pieces of a larger frame, or of data
that is not a frame, go to one job as they arrive. This job raises the same errors as a decompressor in the calling
thread. Memory is bounded by the number of frames in progress and the most that each can hold.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any, Callable

from purepy.base.crew import Bell, Crew, Job
from purepy.base.errors import ZstdError
from purepy.base.pypy import JIT
from purepy.zstd.format.chunks import content_of, decompressed
from purepy.zstd.format.error_codes import moved, output_limit_error
from purepy.zstd.format.locks import release
from purepy.zstd.format.scanner import FrameScanner
from purepy.zstd.threads.arguments import DecompressionPlan
from purepy.zstd.threads.spare_memory import Lent, Pending, reused, work_memory

if TYPE_CHECKING:
    from purepy.base.types import Buffer, Bytes

CONTENT_MAX = 64 << 20
"""The largest content, and the largest compressed size, that is decompressed in one go, in bytes."""
_RUN_SIZE = 4 << 20  # small frames are combined until they have this much content
_RUN_FRAMES = 1 << 10
_PIECE = 1 << 20
_WAITING_MAX = 4 << 20  # waiting input of a frame that goes piece by piece, while its thread is busy
_AHEAD_MAX = 4 << 20  # output of such a frame that has not been taken


class _DecompressJob(Job):
    """Base of the jobs; `_flow(read)` decompresses piece by piece, like a decompressor in the calling thread."""

    output_max = _AHEAD_MAX

    def __init__(self, plan: DecompressionPlan, offset: int, spare_pieces: list[object]) -> None:
        super().__init__()
        self._plan = plan
        self._offset = offset
        self._spare_pieces = spare_pieces  # unused memory of _PIECE bytes each

    def _flow(self, read: Callable[[], Bytes | None]) -> None:
        plan = self._plan
        decompressor = plan.new_decompressor()
        into = None if JIT else getattr(decompressor, "_decompress_into", None)
        given = 0
        try:
            while (data := read()) is not None:
                given += len(data)
                rest: Bytes = data
                while True:
                    self.crew.check()
                    content = decompressor.decompress(rest, _PIECE) if into is None else self._filled(into, rest)
                    if len(content):
                        self.put(content)
                    if decompressor.needs_input:
                        break
                    rest = b""
            if not decompressor.eof:
                raise plan.truncated(given)
        except ZstdError as exc:
            moved(exc, self._offset)
            raise
        finally:
            release(decompressor)

    def _filled(self, into: Callable[[object, object], int], data: Buffer) -> Lent:
        """
        Return the content of `data`, which `into` stores in reused memory.

        In new memory, page faults would take half as long as decompression.
        """
        memory = reused(self._spare_pieces, lambda: bytearray(_PIECE))
        with memoryview(memory) as view:
            return Lent(memory, into(data, view), self._spare_pieces)


class _WholeJob(_DecompressJob):
    """Decompresses a run of frames, with at most `content_max` bytes of content, in one go; bad frames piecewise."""

    def __init__(
        self,
        plan: DecompressionPlan,
        data: Lent,
        offset: int,
        content_max: int,
        spare_pieces: list[object],
        spare: list[object],
    ) -> None:
        super().__init__(plan, offset, spare_pieces)
        self._data = data
        self._content_max = content_max
        self._spare = spare

    def run(self) -> None:
        with self._data.view() as data:
            try:
                content = self._content(data)
            except ZstdError:  # decompress as a stream: the content before the error, and then the stream's error
                self._flow(iter((bytes(data), None)).__next__)
                return
        self._data.give_back()
        self.put(content)

    def _content(self, data: memoryview) -> bytes | Lent:
        plan, size_max = self._plan, self._content_max
        if JIT:  # C code can neither read nor write a bytearray in place
            return plan.decompress(bytes(data), plan.zstd_dict, plan.options, max_output_size=size_max)
        memory: Any = reused(self._spare, bytes)
        if len(memory) <= size_max:
            memory = work_memory(size_max + 1)
        size = plan.decompress_into(data, memory, plan.zstd_dict, plan.options)
        return Lent(memory, size, self._spare)


class _FlowJob(_DecompressJob):
    """Decompresses input that arrives piece by piece: a large frame, or the rest of a stream, valid or not."""

    def __init__(self, plan: DecompressionPlan, offset: int, spare_pieces: list[object]) -> None:
        super().__init__(plan, offset, spare_pieces)
        self._input: deque[bytes] = deque()
        self._arrived = Bell()
        self._fed = 0  # these two count bytes; one thread writes each
        self._used = 0
        self._is_complete = False

    @property
    def waiting(self) -> int:
        """The size of the unused input in bytes."""
        return self._fed - self._used

    def feed(self, data: bytes) -> None:
        """Add input; called by the thread that passed the job to the Crew."""
        self._fed += len(data)
        self._input.append(data)
        self._arrived.ring()

    def end(self) -> None:
        """Declare that there is no more input."""
        self._is_complete = True
        self._arrived.ring()

    def wake(self) -> None:
        super().wake()
        self._arrived.ring()

    def _next(self) -> bytes | None:
        while True:
            is_complete = self._is_complete
            if self._input:
                data = self._input.popleft()
                self._used += len(data)
                self.crew.bell.ring()
                return data
            if is_complete:
                return None
            self.crew.check()
            self._arrived.wait()

    def run(self) -> None:
        self._flow(self._next)


class ParallelDecompressor:
    """Decompresses a stream in its own threads; only one thread at a time may call its methods."""

    def __init__(self, plan: DecompressionPlan) -> None:
        self._plan = plan
        self._crew = Crew(plan.threads)
        self._jobs_max = plan.threads + 1
        self._scanner = FrameScanner()
        self._data = Pending()  # input that no job has yet, from `_begin` on
        self._begin = 0
        self._run_content = 0  # the content, size and number of the frames of the next run, which begins `_data`
        self._run_size = 0
        self._run_frames = 0
        self._noted = 0  # the end of the last complete frame
        self._flow: _FlowJob | None = None
        self._flow_ends_with_frame = False
        self._is_complete = False
        self._spare_pieces: list[object] = []  # memory to reuse: this list for pieces, the next for whole runs
        self._spare: list[object] = []
        self._lent: Lent | None = None
        self._has_begun = False
        self._alone: Iterator[bytes] | None = None

    def close(self) -> None:
        """Stop all threads; may be called again."""
        self._crew.stop()

    # input

    @property
    def wants_input(self) -> bool:
        """Whether to call `feed` or `end` now; False after `end`, and while enough jobs or enough input wait."""
        if self._is_complete or (self._flow is not None and self._flow.waiting >= _WAITING_MAX):
            return False
        return len(self._crew) < self._jobs_max

    def feed(self, data: Bytes) -> None:
        """Add the next bytes of the stream; pass complete frames, and the available part of a large one, to jobs."""
        if self._flow is not None and not self._flow_ends_with_frame:
            self._flow.feed(bytes(data))
            return
        self._data.add(data)
        try:
            self._scan()
        except ZstdError:
            self._give_rest()

    def end(self) -> None:
        """Declare that the stream has ended."""
        self._is_complete = True
        if self._flow is None:
            self._give_run()
            if not self._data and self._begin:
                return
            self._give_flow(to_the_end=True)
        if self._flow is not None:
            self._flow.feed(self._cut(len(self._data)))
            self._flow.end()
            self._flow = None

    def _scan(self) -> None:
        """Scan the available input; pass frames, or the scanned part of a large one, to jobs. May raise ZstdError."""
        scanner, data = self._scanner, self._data
        while True:
            position = scanner.offset - self._begin
            if position > len(data):
                break
            if scanner.is_between and scanner.offset > self._noted:
                self._noted = scanner.offset
                self._pass_frame(position)
                position = scanner.offset - self._begin
            if not scanner.step(data.memory, position, len(data)):
                break
            if not scanner.is_between and self._flow is None and self._is_large():
                self._give_run()
                self._give_flow(to_the_end=False)
        if self._flow is None and scanner.header is not None and len(self._data) - self._run_size > CONTENT_MAX:
            self._give_run()
            self._give_flow(to_the_end=False)
        if self._flow is not None:  # only up to the scanner's position: the rest may belong to the next frame
            self._feed_flow(min(scanner.offset - self._begin, len(self._data)))

    def _pass_frame(self, size: int) -> None:
        """
        End the job that decompresses the complete frame at the end of `_data[:size]`, or add the frame to the next job.

        Raises ZstdError if a frame without a job of its own declares more content than its blocks can hold.
        """
        if self._flow is not None:
            self._feed_flow(size)
            self._flow.end()
            self._flow = None
            return
        scanner = self._scanner
        header = scanner.header
        content = 0 if header is None else scanner.content_max
        if header is not None and header.content_size is not None:
            if header.content_size > content:
                raise ZstdError("the frame declares more than its blocks can hold")
            content = header.content_size
        if self._run_content + content > CONTENT_MAX:
            self._give_run()
        self._run_content += content
        self._run_size = scanner.offset - self._begin
        self._run_frames += 1
        if self._run_content >= _RUN_SIZE or self._run_size >= _RUN_SIZE or self._run_frames >= _RUN_FRAMES:
            self._give_run()

    def _is_large(self) -> bool:
        header = self._scanner.header
        if header is None:
            return False
        declared = header.content_size
        return self._scanner.content_max > CONTENT_MAX or (declared is not None and declared > CONTENT_MAX)

    def _cut(self, size: int) -> bytes:
        """Remove and return the first `size` bytes of `_data`."""
        taken = self._data.take(size)
        self._begin += size
        with taken.view() as view:
            data = bytes(view)
        taken.give_back()
        return data

    def _give_run(self) -> None:
        if not self._run_frames:
            return
        offset, content = self._begin, self._run_content
        data = self._data.take(self._run_size)
        self._begin += self._run_size
        self._run_content = self._run_size = self._run_frames = 0
        self._crew.give(_WholeJob(self._plan, data, offset, content, self._spare_pieces, self._spare))

    def _give_flow(self, to_the_end: bool) -> None:
        self._flow = _FlowJob(self._plan, self._begin, self._spare_pieces)
        self._flow_ends_with_frame = not to_the_end
        self._crew.give(self._flow)

    def _give_rest(self) -> None:
        """Assign all available and further input to one job, which detects what is wrong."""
        self._give_run()
        if self._flow is None:
            self._give_flow(to_the_end=True)
        self._flow_ends_with_frame = False
        self._feed_flow(len(self._data))

    def _feed_flow(self, size: int) -> None:
        if size and self._flow is not None:
            self._flow.feed(self._cut(size))

    # output

    def _take(self) -> Bytes | None:
        """
        Return the next piece of content, as bytes or a view that is valid until the next call; None if it is not ready.

        While `wants_input` is false, waits for a piece; also returns None if no job is left. Raises a job's error.
        """
        if self._lent is not None:
            self._lent.give_back()
            self._lent = None
        piece: Bytes | Lent | None = self._crew.take(lambda: not self.wants_input)
        if isinstance(piece, Lent):
            self._lent = piece
            return piece.view()
        return piece

    def next_piece(self, read: Callable[[], Bytes | None]) -> Bytes | None:
        """
        Return the next piece of content, as bytes or a view that is valid until the next call; None at the end.

        `read()` is called for input: it returns the next bytes of the stream, at most _PIECE, or None at its end.
        """
        if not self._has_begun:
            if not self._crew.begin():  # the system cannot start a thread
                decompressor, truncated = self._plan.new_decompressor(), self._plan.truncated
                self._alone = decompressed(decompressor, iter(read, None), _PIECE, truncated=truncated)
            self._has_begun = True
        if self._alone is not None:
            return next(self._alone, None)
        while len(self._crew) or not self._is_complete:
            if self.wants_input:
                part = read()
                if part is None:
                    self.end()
                else:
                    self.feed(part)
            piece = self._take()
            if piece is not None and len(piece):
                return piece
        return None


def decompressed_views(
    plan: DecompressionPlan, chunks: Iterator[Buffer], limit: int | None, before: int = 0
) -> Generator[Bytes, None, None]:
    """
    Yield the content of a stream, as bytes or as views. Each view is valid until the next piece is requested.

    Raises ZstdLimitError once this content, together with `before` bytes of earlier content, exceeds `limit` bytes
    (None: no limit).
    """
    parallel = ParallelDecompressor(plan)
    parts = content_of(chunks, _PIECE)
    total = before
    try:
        while (piece := parallel.next_piece(lambda: next(parts, None))) is not None:
            total += len(piece)
            if limit is not None and total > limit:
                raise output_limit_error(limit, None)
            yield piece
    finally:
        parallel.close()


def decompressed_pieces(
    plan: DecompressionPlan, chunks: Iterator[Buffer], limit: int | None, write_size: int
) -> Generator[bytes, None, None]:
    """Yield a stream's content in pieces of up to `write_size` bytes; raises ZstdLimitError beyond `limit` bytes."""
    views = decompressed_views(plan, chunks, limit)
    try:
        yield from content_of(views, write_size)
    finally:
        views.close()
