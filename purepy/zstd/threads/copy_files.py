# SPDX-License-Identifier: Apache-2.0
"""
Decompress frames from file to file: each thread reads and decompresses its own frames and writes them to their places.

This works as long as frames declare their size, because the sizes determine the places. No content waits in memory for
the content before it, so a few MB are enough, and they stay in the processor's caches. If a frame cannot be copied in
this way, for example because it is damaged, the caller has to decompress this frame, all frames after it, and perhaps
some before it.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Callable

from purepy.base.crew import Crew, Job
from purepy.base.descriptors import Descriptor, place_of, write_at
from purepy.base.errors import ZstdError
from purepy.base.pypy import JIT
from purepy.zstd.format.error_codes import CANNOT_DECOMPRESS, moved
from purepy.zstd.format.locks import release
from purepy.zstd.format.scanner import frame_extent
from purepy.zstd.threads.arguments import DecompressionPlan
from purepy.zstd.threads.decompress import CONTENT_MAX, decompressed_views
from purepy.zstd.threads.spare_memory import reused

if TYPE_CHECKING:
    from purepy.base.types import Buffer, Bytes, Decompressor, File

_PART_SIZE = 4 << 20  # small frames are combined until they have this much content
_PART_FRAMES = 1 << 10
_READ_SIZE = 256 << 10
_WRITE_SIZE = 1 << 20

Put = Callable[[int, "Bytes", int], None]
"""A function like `write_at`: writes bytes to a descriptor at a position."""


class CopyPart:
    """Whole frames: `size` bytes from `start` in the source; the size of their content and where to write it."""

    __slots__ = ("content_size", "position", "size", "start")

    def __init__(self, start: int, size: int, position: int, content_size: int) -> None:
        self.start = start
        self.size = size
        self.position = position
        self.content_size = content_size

    def __len__(self) -> int:
        return self.content_size


class _CopyJob(Job):
    """Decompresses one CopyPart and writes its content by calling `put`; the job's only output is the part itself."""

    def __init__(
        self,
        plan: DecompressionPlan,
        source: Descriptor,
        part: CopyPart,
        destination: Descriptor | None,
        put: Put,
        spare: list[object],
    ) -> None:
        super().__init__()
        self._plan = plan
        self._source = source
        self._part = part
        self._destination = destination
        self._put_at = put
        self._spare = spare

    def run(self) -> None:
        decompressor = self._plan.new_decompressor()
        into = None if JIT else getattr(decompressor, "_decompress_into", None)
        try:
            self._copy(decompressor, into)
        finally:
            release(decompressor)
        self.put(self._part)

    def _copy(self, decompressor: Decompressor, into: Callable[[object, object], int] | None) -> None:
        part = self._part
        offset, end = part.start, part.start + part.size
        position, room = part.position, part.content_size
        memory = None
        if into is not None:
            memory = memoryview(reused(self._spare, lambda: bytearray(_WRITE_SIZE)))
        filled = 0
        while True:
            data = b""
            if decompressor.needs_input and offset < end:
                data = os.pread(self._source.number, min(_READ_SIZE, end - offset), offset)
                offset += len(data)
            is_over = not data and decompressor.needs_input
            content: Bytes
            if memory is None:
                content = b"" if is_over else decompressor.decompress(data, _WRITE_SIZE)
            else:
                if not is_over:
                    filled += into(data, memory[filled:])  # type: ignore[misc]
                    if filled < _WRITE_SIZE // 2:
                        continue
                content, filled = memory[:filled], 0
            if len(content) > room:
                raise ZstdError(CANNOT_DECOMPRESS)
            self.crew.check()
            if len(content):
                if self._destination is not None:
                    self._put_at(self._destination.number, content, position)
                position += len(content)
                room -= len(content)
            if is_over:
                break
        if memory is not None:
            self._spare.append(memory.obj)
        if room or offset != end or not decompressor.eof:
            raise ZstdError(CANNOT_DECOMPRESS)


class _CopyParts:
    """
    The frames of a file from `start` on, as an iterator of CopyParts.

    `position` is where the content of these frames begins in the destination. The iterator ends before a frame whose
    headers are damaged or do not show the size of its content. It also ends before the frame with which the content
    from `start` on would exceed `limit` bytes (None: no limit).
    """

    def __init__(self, source: int, start: int, position: int, limit: int | None) -> None:
        self._read = partial(os.pread, source)
        self._position = position
        self._end = None if limit is None else position + limit
        self._begin = start  # the start of the next part
        self._is_over = False

    def __iter__(self) -> _CopyParts:
        return self

    def __next__(self) -> CopyPart:
        content = frames = 0
        end = self._begin
        while not self._is_over and content < _PART_SIZE and frames < _PART_FRAMES:
            extent = self._extent(end)
            if extent is None or (self._end is not None and self._position + content + extent[1] > self._end):
                self._is_over = True
                break
            end += extent[0]
            content += extent[1]
            frames += 1
        if not frames:
            raise StopIteration
        part = CopyPart(self._begin, end - self._begin, self._position, content)
        self._begin = end
        self._position += content
        return part

    def _extent(self, offset: int) -> tuple[int, int] | None:
        try:
            return frame_extent(self._read, offset, CONTENT_MAX)
        except ZstdError:  # not a frame: reading frame by frame will raise the error
            return None


class FrameCopy:
    """
    Decompress the frames of one file, from `start`, into another file, from `position`, in threads.

    `source` and `destination` are descriptors, and jobs hold duplicates of them. If the destination is None, frames are
    decompressed but not written. `read` counts the bytes of frames up to the first unfinished part, `written` the bytes
    of their content; later parts may be written already.
    """

    def __init__(
        self,
        plan: DecompressionPlan,
        source: int,
        start: int,
        destination: int | None,
        position: int,
        put: Put,
    ) -> None:
        self._plan = plan
        self._source = source
        self._start = start
        self._destination = destination
        self._position = position
        self._put = put
        self.read = 0
        self.written = 0

    def run(self, limit: int | None, done: Callable[[int, int], object] | None) -> None:
        """
        Copy as much as possible, at most `limit` bytes of content; copy nothing if all fits into one CopyPart.

        A `limit` of None means no limit. If `done` is not None, calls `done(read, written)` after each part. Raises
        errors of reading and writing; an error in a frame only ends the copy.
        """
        parts = _CopyParts(self._source, self._start, self._position, limit)
        first, second = next(parts, None), next(parts, None)
        if first is None or second is None:
            return
        crew = Crew(self._plan.threads)
        most = self._plan.threads + 1
        spare: list[object] = []
        waiting = [second, first]
        source = Descriptor(self._source)
        destination = None if self._destination is None else Descriptor(self._destination)
        try:
            while True:
                part = waiting.pop() if waiting else next(parts, None)
                if part is not None:
                    crew.give(_CopyJob(self._plan, source, part, destination, self._put, spare))
                self._take(crew, 0 if part is None else most, done)
                if part is None:
                    return
        except ZstdError:
            pass
        finally:
            if crew.stop():
                source.close()
                if destination is not None:
                    destination.close()

    def _take(self, crew: Crew, most: int, done: Callable[[int, int], object] | None) -> None:
        """Count finished parts as copied and call `done`; wait until no more than `most` parts are in progress."""
        while True:
            copied = crew.take(lambda: len(crew) > most)
            if copied is None:
                return
            self.read += copied.size
            self.written += copied.content_size
            if done is not None:
                done(self.read, self.written)


def copy_frames(
    plan: DecompressionPlan,
    source: File,
    destination: File,
    limit: int | None,
    done: Callable[[int, int], object] | None,
) -> tuple[int, int]:
    """
    Decompress frames from file to file as far as FrameCopy can, and move both files to the end of the copied part.

    Returns the numbers of bytes read and written, which are 0 if nothing can be copied in this way. `limit` and `done`
    are as in `FrameCopy.run`. After an error the destination contains what was written without a gap.
    """
    read_from = place_of(source, is_written=False)
    written_to = place_of(destination, is_written=True) if read_from is not None else None
    if read_from is None or written_to is None:
        return 0, 0
    descriptor, position = written_to
    copy = FrameCopy(plan, *read_from, descriptor, position, write_at)
    try:
        copy.run(limit, done)
    finally:
        end = position + copy.written
        if os.fstat(descriptor).st_size > end:
            os.ftruncate(descriptor, end)
        destination.seek(end)
        source.seek(read_from[1] + copy.read)
    return copy.read, copy.written


def rest_of(
    plan: DecompressionPlan, chunks: Iterator[Buffer], limit: int | None, read: int, written: int
) -> Generator[Bytes, None, None]:
    """
    Yield the content after the part that `copy_frames` has copied; yield nothing if it has copied everything.

    `chunks` is the rest of the source. `read` and `written` are the results of `copy_frames`, and `limit` includes what
    was written. Each view that is yielded is valid until the next view is requested.
    """
    if read:
        first = next(chunks, None)
        if first is None:
            return
        chunks = chain((first,), chunks)
    views = decompressed_views(plan, chunks, limit, written)
    try:
        yield from views
    except ZstdError as exc:
        moved(exc, read)
        raise
    finally:
        views.close()
