# SPDX-License-Identifier: Apache-2.0
"""
Compress into independent frames, several at a time.

The output depends on the parameters and the frame size, not on the number of threads, and any program that reads
several frames can read it. Each frame declares the size of its content, unless the options prevent that.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any, BinaryIO, Callable, NamedTuple

from purepy.base.crew import Crew, Job, run_all
from purepy.base.descriptors import Descriptor, is_plain_file, place_of, read_at
from purepy.base.pypy import JIT
from purepy.base.reading import no_data, read_some
from purepy.zstd.format.chunks import chunks_of, nbytes, sliceable, sliceable_alone
from purepy.zstd.format.error_codes import pledge_error
from purepy.zstd.format.rules import CONTINUE, FLUSH_FRAME
from purepy.zstd.threads.arguments import CompressionPlan
from purepy.zstd.threads.spare_memory import reused, work_memory

if TYPE_CHECKING:
    from purepy.base.types import Buffer, Bytes, File


def compress_buffer(data: Buffer, plan: CompressionPlan, join: Callable[[list[bytes], int], bytes]) -> bytes:
    """Compress a buffer into frames of `plan.frame_size` and return them; `join(frames, threads)` joins several."""
    view = sliceable(data)
    size = plan.frame_size
    frames: list[bytes] = [b""] * max(-(-len(view) // size), 1)

    def work(number: int, check: Callable[[], None]) -> None:
        frames[number] = plan.frame(sliceable_alone(view)[number * size : (number + 1) * size], check)

    run_all(plan.threads, len(frames), work)
    return frames[0] if len(frames) == 1 else join(frames, plan.threads)


class _FrameJob(Job):
    """Compresses `data` into one frame; calls `finished()`, unless it is None, once the data is no longer read."""

    def __init__(self, plan: CompressionPlan, data: Bytes, finished: Callable[[], None] | None) -> None:
        super().__init__()
        self._plan = plan
        self._data = data
        self._finished = finished

    def run(self) -> None:
        frame = self._plan.frame(self._data, self.crew.check)
        self._data = b""  # may be a caller's memory, which the caller may change from now on
        if self._finished is not None:
            self._finished()
        self.put(frame)


class _Placed(NamedTuple):
    """The frame of a part of a file, and the part's size in bytes: less than requested if the file was truncated."""

    frame: bytes
    size: int


class _PlaceJob(Job):
    """Compresses the part of a file that starts at `position` into one frame; the output is one _Placed."""

    def __init__(self, plan: CompressionPlan, source: Descriptor, position: int, spare: list[object]) -> None:
        super().__init__()
        self._plan = plan
        self._source = source
        self._position = position
        self._spare = spare

    def run(self) -> None:
        plan, size = self._plan, self._plan.frame_size
        if JIT:  # as in _NextFrame
            data = b"".join(iter(self._pieces(size).__next__, b""))
            self.put(_Placed(plan.frame(data, self.crew.check) if data else b"", len(data)))
            return
        memory = reused(self._spare, lambda: work_memory(size))
        with memoryview(memory) as whole:
            filled = read_at(self._source.number, whole, self._position)
            with whole[:filled] as view:
                frame = plan.frame(view, self.crew.check) if filled else b""
        self._spare.append(memory)
        self.put(_Placed(frame, filled))

    def _pieces(self, size: int) -> Iterator[bytes]:
        position, end = self._position, self._position + size
        while position < end:
            piece = os.pread(self._source.number, end - position, position)
            yield piece
            position += len(piece)
        yield b""


class _NextFrame:
    """
    The content of the next frame: reused memory if a compressor can read a caller's memory, otherwise pieces.

    On PyPy, C code cannot read a bytearray in place, so pieces of bytes are joined there.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._spare: list[object] = []
        self._memory: Any = None
        self._pieces: list[Bytes] = []
        self.filled = 0

    def put(self, data: Bytes, start: int) -> int:
        """Add as many bytes of `data[start:]` as fit and return their number; `data` is a result of `sliceable`."""
        taken = min(len(data) - start, self._size - self.filled)
        if JIT:
            self._pieces.append(data[start : start + taken])
        else:
            memory = self._place(taken)
            memory[self.filled : self.filled + taken] = data[start : start + taken]
        self.filled += taken
        return taken

    def _place(self, taken: int) -> Any:
        memory = self._memory
        if memory is None:
            memory = self._memory = self._spare.pop() if self._spare else bytearray()
        if len(memory) < self.filled + taken:  # allocate the full size once a second piece arrives
            larger = work_memory(self._size if self.filled else taken)
            larger[: self.filled] = memory[: self.filled]
            memory = self._memory = larger
        return memory

    def read_from(self, file: File) -> int:
        """Read once from a file, no more than fits; return the number of bytes, 0 at the file's end."""
        wanted = self._size - self.filled
        if JIT:
            data = read_some(file, wanted)
            taken = len(data)
            self._pieces.append(data)
        else:
            memory = self._place(wanted)
            with memoryview(memory) as view, view[self.filled : self._size] as rest:
                taken = file.readinto(rest)
            if taken is None:
                raise no_data()
        self.filled += taken
        return int(taken)

    def give(self) -> tuple[Bytes, Callable[[], None] | None]:
        """Return the content, and a function to call once it is no longer read, or None; begin a new frame."""
        filled, self.filled = self.filled, 0
        if JIT:
            pieces, self._pieces = self._pieces, []
            return (pieces[0] if len(pieces) == 1 else b"".join(pieces)), None
        memory, self._memory = self._memory, None
        if memory is None:
            return b"", None
        whole = memoryview(memory)
        view = whole[:filled]
        whole.release()

        def finished() -> None:
            view.release()
            self._spare.append(memory)

        return view, finished


class ParallelCompressor:
    """
    A compressor that creates frames of a fixed size, several at a time, with the methods that files and iterators need.

    A flush ends the frame: only then can a reader decompress all data given so far. Only one thread at a time may call
    methods.
    """

    ends_frame = True
    """Whether the output so far contains only complete frames."""

    def __init__(self, plan: CompressionPlan) -> None:
        self._plan = plan
        self._crew = Crew(plan.threads if plan.threads > 1 else 0)
        self._next = _NextFrame(plan.frame_size)
        self._source: Descriptor | None = None
        self._is_begun = False
        self.last_mode = FLUSH_FRAME
        self.missing = 0
        """How many bytes `compress_places` counted but did not find, because the file was truncated meanwhile."""

    def compress(self, data: Buffer, mode: int = CONTINUE) -> bytes:
        """Take a buffer's bytes and return the frames that are ready; unless `mode` is CONTINUE, also flush."""
        view = sliceable(data)
        ready: list[bytes] = []
        start = 0
        while start < len(view):
            start += self._next.put(view, start)
            self._dispatch(ready)
        self.last_mode = CONTINUE
        if mode != CONTINUE:
            ready.append(self.flush(mode))
        return b"".join(ready)

    def compress_from(self, file: BinaryIO) -> tuple[int, list[bytes]]:
        """
        Read once from a file.

        Return the number of bytes read (0 at the end of the file) and the frames that are ready.
        """
        self.last_mode = CONTINUE
        ready: list[bytes] = []
        taken = self._next.read_from(file)
        self._dispatch(ready)
        return taken, ready

    def compress_places(self, file: BinaryIO, count: Callable[[int], None]) -> Iterator[bytes]:
        """
        Compress the part of a file that fills whole frames; yield the frames that are ready.

        The threads read this part themselves. Later calls of other methods return the frames that are not ready at the
        end. Finally, moves the file to the end of this part. Does nothing with a single thread, or if the file cannot
        be accessed through its descriptor. Calls `count(size)` with the content size of each frame before compressing
        the frame.
        """
        place = place_of(file, is_written=False)
        size = self._plan.frame_size
        if place is None or self._plan.threads < 2:
            return
        descriptor, start = place
        spare: list[object] = []
        frames = max(os.fstat(descriptor).st_size - start, 0) // size
        if frames:
            self._source = Descriptor(descriptor)
        for number in range(frames):
            count(size)
            assert self._source is not None
            self._crew.give(_PlaceJob(self._plan, self._source, start + number * size, spare))
            self._is_begun = True
            ready: list[bytes] = []
            self._collect(ready, self._plan.threads + 1)
            yield from ready
        file.seek(start + frames * size)

    def _dispatch(self, ready: list[bytes]) -> None:
        if self._next.filled == self._plan.frame_size:
            self._give()
        self._collect(ready, self._plan.threads + 1)

    def _give(self) -> None:
        data, finished = self._next.give()
        self._crew.give(_FrameJob(self._plan, data, finished))
        self._is_begun = True

    def _collect(self, ready: list[bytes], most: int) -> None:
        """
        Append the frames that are ready to `ready`, and wait until no more than `most` frames are in progress.

        After a part that was truncated, counts the bytes of further parts as missing and drops their frames.
        """
        while True:
            frame = self._crew.take(lambda: len(self._crew) > most)
            if frame is None:
                return
            is_cut = self.missing > 0
            if type(frame) is _Placed:
                self.missing += self._plan.frame_size - (0 if is_cut else frame.size)
                frame = frame.frame
            if not is_cut:  # a part read beyond the new end, before the truncation, would follow a gap
                ready.append(frame)

    def flush(self, mode: int = FLUSH_FRAME) -> bytes:
        """End the frame and return the remaining output."""
        if self._next.filled or (self.last_mode == CONTINUE and not self._is_begun):
            self._give()
        self._is_begun = False
        ready: list[bytes] = []
        self._collect(ready, 0)
        self.last_mode = mode
        return b"".join(ready)

    def _release(self) -> None:
        if self._crew.stop() and self._source is not None:
            self._source.close()


def compressed_pieces(
    plan: CompressionPlan, source: Any, read_size: int, size: int | None, read: Callable[[int], None] | None
) -> Generator[bytes, None, None]:
    """
    Compress a source, a file object or an iterable of buffers, into several frames; yield them in pieces.

    `read_size` is how many bytes are read at a time from a file object for which `is_plain_file` is false. Raises
    ZstdError if the content does not have `size` bytes, unless `size` is None. If `read` is not None, calls it with the
    number of bytes of each read, and with a negative number for bytes that were counted but then missing.
    """
    compressor = ParallelCompressor(plan)
    given = 0

    def count(more: int) -> None:
        nonlocal given
        given += more
        if size is not None and given > size:
            raise pledge_error(given - size, True)
        if read is not None:
            read(more)

    try:
        if is_plain_file(source):
            yield from compressor.compress_places(source, count)
            while True:
                taken, ready = compressor.compress_from(source)
                if taken:
                    count(taken)
                yield from ready  # also at the end of the file: frames may have become ready during the read
                if not taken:
                    break
        else:
            for chunk in chunks_of(source, read_size):
                count(nbytes(chunk))
                frame = compressor.compress(chunk)
                if frame:
                    yield frame
        rest = compressor.compress(b"", FLUSH_FRAME)
        if size is not None and given - compressor.missing < size:
            raise pledge_error(size - given + compressor.missing, False)
        if read is not None and compressor.missing:
            read(-compressor.missing)
        yield rest
    finally:
        compressor._release()
