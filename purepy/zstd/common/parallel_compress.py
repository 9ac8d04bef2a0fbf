# SPDX-License-Identifier: Apache-2.0
"""
Compress into independent frames, several at a time.

What comes out depends on the parameters and the frames' size, not on the number of threads, and is read by anything
that reads more than one frame. Each frame declares its size.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, Callable, NamedTuple

from purepy._jit import JIT
from purepy._reading import no_data, read_some
from purepy.errors import ZstdError
from purepy.zstd.common.error_codes import CANNOT_COMPRESS
from purepy.zstd.common.file_places import is_plain_file, place_of, read_at
from purepy.zstd.common.parameters import CompressionParameter
from purepy.zstd.common.pieces import sliceable
from purepy.zstd.common.spare_memory import reused, work_memory
from purepy.zstd.common.stream_functions import CONTINUE, FLUSH_FRAME
from purepy.zstd.common.threads import Crew, Job, frame_size_for, is_slow, run_all
from purepy.zstd.common.zdict import PREFIX, UNDIGESTED, parse_dict_argument

_STEP = 1 << 20
_WORKERS_KEY = int(CompressionParameter.nb_workers)


class Parameters(NamedTuple):
    """The parameters of all frames of an output: a backend's functions and the caller's checked arguments."""

    compress: Callable[..., bytes]
    compressor_type: Any
    threads: int
    frame_size: int
    level: Any
    options: Any
    zstd_dict: Any
    is_slow: bool

    def frame(self, data: Any, check: Callable[[], None]) -> bytes:
        """Compress one frame; where that takes long, call `check` in between."""
        if not self.is_slow:
            return self.compress(data, self.level, self.options, self.zstd_dict)
        compressor = self.compressor_type(self.level, self.options, self.zstd_dict)
        compressor.set_pledged_input_size(len(data))
        pieces = [compressor.compress(b"")]
        for start in range(0, len(data), _STEP):
            check()
            pieces.append(compressor.compress(data[start : start + _STEP]))
        pieces.append(compressor.flush())
        return b"".join(pieces)


def checked(
    compress: Any, compressor_type: Any, threads: int, frame_size: Any, level: Any, options: Any, zstd_dict: Any
) -> Parameters:
    """
    Check the arguments of a compression by several threads.

    Raises what `compress` would for `level`, `options` and `zstd_dict`, besides ValueError for `nb_workers` (both are
    ways to use several cores) and for a prefix, which other readers know in front of the first frame only.
    """
    compressor_type(level, options, zstd_dict)
    size = frame_size_for(frame_size, level, options)
    if options and options.get(_WORKERS_KEY):
        raise ValueError("threads and nb_workers exclude each other: leave nb_workers out")
    if zstd_dict is not None and parse_dict_argument(zstd_dict, UNDIGESTED)[1] == PREFIX:
        raise ValueError("threads and frame_size make several frames, a prefix is for one: use as_undigested_dict")
    if options is not None:
        options = dict(options)
    return Parameters(compress, compressor_type, threads, size, level, options, zstd_dict, is_slow(level, options))


def compress_at_once(data: Any, parameters: Parameters, join: Callable[[list[bytes], int], bytes]) -> bytes:
    """Compress a buffer into frames and return them; `join(frames, threads)` puts them together."""
    view = sliceable(data)
    size = parameters.frame_size
    frames: list[bytes] = [b""] * max(-(-len(view) // size), 1)

    def work(number: int, check: Callable[[], None]) -> None:
        frames[number] = parameters.frame(view[number * size : (number + 1) * size], check)

    run_all(parameters.threads, len(frames), work)
    return frames[0] if len(frames) == 1 else join(frames, parameters.threads)


class _FrameJob(Job):
    """Compress one frame."""

    def __init__(self, parameters: Parameters, data: Any, finished: Callable[[], None] | None) -> None:
        super().__init__()
        self._parameters = parameters
        self._data = data
        self._finished = finished

    def run(self) -> None:
        frame = self._parameters.frame(self._data, self.crew.check)
        self._data = None
        if self._finished is not None:
            self._finished()
        self.put(frame, is_last=True)


class _Placed(NamedTuple):
    """The frame of what stands at a place in a file, and how much that was in bytes: less if the file has been cut."""

    frame: bytes
    size: int


class _PlaceJob(Job):
    """Compress one frame of what stands at a place in a file; put a _Placed."""

    def __init__(self, parameters: Parameters, descriptor: int, position: int, spare: list[Any]) -> None:
        super().__init__()
        self._parameters = parameters
        self._descriptor = descriptor
        self._position = position
        self._spare = spare

    def run(self) -> None:
        parameters, size = self._parameters, self._parameters.frame_size
        if JIT:  # as in _NextFrame
            data = b"".join(iter(self._pieces(size).__next__, b""))
            self.put(_Placed(parameters.frame(data, self.crew.check) if data else b"", len(data)), is_last=True)
            return
        memory = reused(self._spare, lambda: work_memory(size))
        with memoryview(memory) as whole:
            filled = read_at(self._descriptor, whole, self._position)
            with whole[:filled] as view:
                frame = parameters.frame(view, self.crew.check) if filled else b""
        self._spare.append(memory)
        self.put(_Placed(frame, filled), is_last=True)

    def _pieces(self, size: int) -> Iterator[bytes]:
        position, end = self._position, self._position + size
        while position < end:
            piece = os.pread(self._descriptor, end - position, position)
            yield piece
            position += len(piece)
        yield b""


class _NextFrame:
    """
    The content of the next frame: memory that is used again where a compressor may read a caller's memory, else pieces.

    On PyPy, C cannot read a bytearray where it is: pieces of bytes are joined there.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._spare: list[Any] = []
        self._memory: Any = None
        self._pieces: list[Any] = []
        self.filled = 0

    def put(self, data: Any, start: int) -> int:
        """Take as much of `data[start:]`, as `sliceable` gives it, as fits; return how much that was."""
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
        if len(memory) < self.filled + taken:  # the whole size once it shows that there is so much
            larger = work_memory(self._size if self.filled else taken)
            larger[: self.filled] = memory[: self.filled]
            memory = self._memory = larger
        return memory

    def read_from(self, file: Any) -> int:
        """Fill it from a file as far as that goes in one read; return how much that was."""
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

    def give(self) -> tuple[Any, Callable[[], None] | None]:
        """Return the content, and what to call once nobody reads it any more; begin anew."""
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
    A compressor that makes frames of one size, several at a time; what file objects and iterators need of one.

    A flush ends the frame: only so can a reader have all that was given. Calls are for one thread at a time.
    """

    def __init__(self, parameters: Parameters) -> None:
        self._parameters = parameters
        self._crew = Crew(parameters.threads if parameters.threads > 1 else 0)
        self._next = _NextFrame(parameters.frame_size)
        self._is_begun = False
        self.last_mode = FLUSH_FRAME
        self.missing = 0
        """The bytes that `compress_places` counted and did not find, since the file was cut meanwhile."""

    def __del__(self) -> None:
        crew = getattr(self, "_crew", None)
        if crew is not None:
            crew.abandon()

    def compress(self, data: Any, mode: int = CONTINUE) -> bytes:
        """Take a buffer's bytes and return the frames that are ready."""
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

    def compress_from(self, file: Any) -> tuple[int, list[bytes]]:
        """Read once from a file; return how much that was, 0 at its end, and the frames that are ready."""
        self.last_mode = CONTINUE
        ready: list[bytes] = []
        taken = self._next.read_from(file)
        self._dispatch(ready)
        return taken, ready

    def compress_places(self, file: Any, count: Callable[[int], None]) -> Iterator[bytes]:
        """
        Yield the frames of a file as far as they are full, if threads can read it each at its place; then read on.

        `count(size)` is told of each.
        """
        place = place_of(file, is_written=False)
        size = self._parameters.frame_size
        if place is None or self._parameters.threads < 2:
            return
        descriptor, start = place
        spare: list[Any] = []
        frames = max(os.fstat(descriptor).st_size - start, 0) // size
        for number in range(frames):
            count(size)
            self._crew.give(_PlaceJob(self._parameters, descriptor, start + number * size, spare))
            self._is_begun = True
            ready: list[bytes] = []
            self._collect(ready, self._parameters.threads + 1)
            yield from ready
        file.seek(start + frames * size)

    def _dispatch(self, ready: list[bytes]) -> None:
        if self._next.filled == self._parameters.frame_size:
            self._give()
        self._collect(ready, self._parameters.threads + 1)

    def _give(self) -> None:
        data, finished = self._next.give()
        self._crew.give(_FrameJob(self._parameters, data, finished))
        self._is_begun = True

    def _collect(self, ready: list[bytes], most: int) -> None:
        """Take what is ready, and wait until there are no more than `most` frames under way."""
        while True:
            frame = self._crew.take(lambda: len(self._crew) > most)
            if frame is None:
                return
            is_cut = self.missing > 0
            if type(frame) is _Placed:
                self.missing += self._parameters.frame_size - (0 if is_cut else frame.size)
                frame = frame.frame
            if not is_cut:  # what was read behind the new end before the cut would follow a gap
                ready.append(frame)

    def flush(self, mode: int = FLUSH_FRAME) -> bytes:
        """End the frame and return all that is left."""
        if self._next.filled or (self.last_mode == CONTINUE and not self._is_begun):
            self._give()
        self._is_begun = False
        ready: list[bytes] = []
        self._collect(ready, 0)
        self.last_mode = mode
        return b"".join(ready)

    def _release(self) -> None:
        self._crew.stop()


def compressed_pieces(
    parameters: Parameters, source: Any, chunks: Callable[[Any], Iterator[Any]], size: int | None, read: Any
) -> Iterator[bytes]:
    """
    Yield the frames of a source; `chunks(source)` are its pieces if it is no plain file.

    Raises ZstdError if the content is not as long as `size` says; `read(size)` is told what was read.
    """
    compressor = ParallelCompressor(parameters)
    given = 0

    def count(more: int) -> None:
        nonlocal given
        given += more
        if size is not None and given > size:
            raise _not_pledged(given - size, "more")
        if read is not None:
            read(more)

    try:
        if is_plain_file(source):
            yield from compressor.compress_places(source, count)
            while True:
                taken, ready = compressor.compress_from(source)
                if taken:
                    count(taken)
                yield from ready  # at the end of the file, too: frames may have become ready while it was read
                if not taken:
                    break
        else:
            for chunk in chunks(source):
                with memoryview(chunk) as view:
                    count(view.nbytes)
                frame = compressor.compress(chunk)
                if frame:
                    yield frame
        rest = compressor.compress(b"", FLUSH_FRAME)
        if size is not None and given - compressor.missing < size:
            raise _not_pledged(size - given + compressor.missing, "less")
        yield rest
    finally:
        compressor._release()


def _not_pledged(difference: int, what: str) -> ZstdError:
    return ZstdError(f"{CANNOT_COMPRESS}: Src size is incorrect: {difference} bytes {what} than pledged")
