# SPDX-License-Identifier: Apache-2.0
"""Frames that are compressed or decompressed in advance: by threads of C where there are some, else by Python's."""

from __future__ import annotations

import os
from collections import deque
from typing import Any, Final

from cpkg.records.codec import Decoder, Encoded, Encoder, LaidOut, has_threads_of_c, lost
from cpkg.records.layout import Frame, Gap
from cpkg.records.ordered import Ordered
from cpkg.records.sources import Source

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


class Encoding:
    """
    Frames that are being compressed, in the order in which they are written.

    `encoder` may be replaced before the first frame. A call that raises has lost nothing: what was put is still there.
    """

    is_full: bool
    """Whether something should be taken before the next frame."""

    def __init__(self, encoder: Encoder) -> None:
        self.encoder = encoder

    def __len__(self) -> int:
        """Return 0 if there is nothing for `first`."""
        raise NotImplementedError

    def add(self, piece: bytes | bytearray, start: int = 0) -> None:
        """Put piece[start:] into the frame at hand; it is not changed from here on."""
        raise NotImplementedError

    def cut(self, records: int, *, final: bool) -> None:
        """End the frame at hand, which has so many records, the last one for now if `final`."""
        raise NotImplementedError

    def hand_over(self, *, final: bool) -> None:
        """Have what was cut compressed; by the caller if nothing else is, and nothing comes after it for now."""
        raise NotImplementedError

    def first(self) -> Encoded:
        """Wait for the first frame; raises what compressing it did."""
        raise NotImplementedError

    def drop(self) -> None:
        """Remove the first frame."""
        raise NotImplementedError

    def close(self) -> None:
        """End the threads."""
        raise NotImplementedError


class EncodingByPython(Encoding):
    """The one of any backend; with no threads frames are compressed at once."""

    def __init__(self, encoder: Encoder, threads: int, frame_size: int) -> None:
        super().__init__(encoder)
        depth = max(_GROUPS * _GROUP_SIZE // max(frame_size, _GROUP_SIZE), 2)
        self._queue: Ordered[list[Encoded]] = Ordered(threads, depth)
        self._pieces: list[Any] = []  # of the frame at hand
        self._group: list[tuple[list[Any], int]] = []  # frames for the next thread, in pieces
        self._group_size = _GROUP_SIZE if threads else 0

    def __len__(self) -> int:
        return len(self._queue)

    @property
    def is_full(self) -> bool:  # type: ignore[override]
        return self._queue.is_full

    def add(self, piece: bytes | bytearray, start: int = 0) -> None:
        self._pieces.append(memoryview(piece)[start:])

    def cut(self, records: int, *, final: bool) -> None:
        self._group.append((self._pieces, records))
        self._pieces = []
        if final or sum(len(piece) for pieces, _ in self._group for piece in pieces) >= self._group_size:
            self.hand_over(final=final)

    def hand_over(self, *, final: bool) -> None:
        if self._group:
            self._queue.call(self._encode, self._group, here=final and not len(self._queue))
            self._group = []

    def _encode(self, group: list[tuple[list[Any], int]]) -> list[Encoded]:
        return [self.encoder.encoded(b"".join(pieces), records) for pieces, records in group]

    def first(self) -> Encoded:
        return self._queue.first()[0]

    def drop(self) -> None:
        frames = self._queue.first()
        del frames[0]
        if not frames:
            self._queue.drop()

    def close(self) -> None:
        self._queue.close()


class EncodingByC(Encoding):
    """The one of the compiled libzstd."""

    def __init__(self, encoder: Encoder, threads: int, frame_size: int) -> None:
        super().__init__(encoder)
        fewest, most = _FRAMES_WAITING
        self._threads = threads
        self._most = threads * min(max(_WAITING // frame_size, fewest), most)
        self._ahead: Any = None
        self._job: Any = None  # the frame at hand
        self._cut: list[tuple[Any, int]] = []  # frames that are not at work yet
        self._queue: deque[Encoded | int] = deque()  # what is done, or the number of records of a frame at work

    def __len__(self) -> int:
        return len(self._queue)

    @property
    def is_full(self) -> bool:  # type: ignore[override]
        return len(self._queue) >= self._most

    def add(self, piece: bytes | bytearray, start: int = 0) -> None:
        # copied at once: what lives on in Python is copied by the collector of PyPy, and more than once
        if self._job is None:
            if self._ahead is None:
                self._ahead = self.encoder.compressed_ahead(self._threads)
            self._job = self._ahead.job()
        self._job.put(piece, start)

    def cut(self, records: int, *, final: bool) -> None:
        self._cut.append((self._job, records))
        self._job = None
        self.hand_over(final=final)

    def hand_over(self, *, final: bool) -> None:
        while self._cut:
            job, records = self._cut[0]
            if (final and not self._queue) or not self._ahead.begin():
                self._queue.append(self.encoder.encoded(job.input, records))
                self._ahead.back(job)
            else:
                self._ahead.submit(job)
                self._queue.append(records)
            del self._cut[0]

    def first(self) -> Encoded:
        first = self._queue[0]
        if isinstance(first, int):
            job, frame = self._ahead.first()
            # what the threads could not make, this can, or says why
            made = Encoded(first, len(job.input), frame[:]) if frame else self.encoder.encoded(job.input, first)
            self._ahead.drop()
            self._queue[0] = made
            return made
        return first

    def drop(self) -> None:
        self._queue.popleft()

    def close(self) -> None:
        self._queue.clear()
        if self._ahead is not None:
            self._ahead.close()
            self._ahead = self._job = None


def encoding(encoder: Encoder, threads: int, frame_size: int) -> Encoding:
    """Return what compresses the frames of a writer."""
    if threads and has_threads_of_c():
        return EncodingByC(encoder, threads, frame_size)
    return EncodingByPython(encoder, threads, frame_size)


class OneFrame:
    """
    Memory of C's for one frame at a time, which the caller decompresses.

    Frames of one record each after the other, as bytes, are what PyPy's collector is at work for longest.
    """

    def __init__(self, decoder: Decoder, source: Source) -> None:
        self._source = source
        self._descriptor: int | None = None
        self._frames: Any = None
        self._frames = decoder.decompressed_ahead(0)
        self._job = self._frames.job()
        self._descriptor = source.duplicate()

    def content(self, frame: Frame) -> Any:
        """Return a frame's content, a buffer that is valid until the next call; None if that fails."""
        if frame.decompressed > _READ_MAX:
            return None
        self._source.check()
        self._job.clear()
        if self._descriptor is not None:
            self._job.read(self._descriptor, frame.offset, frame.compressed)
        else:
            self._job.put(self._source.read_at(frame.offset, frame.compressed))
        self._frames.expect(self._job, frame.decompressed)
        return self._frames.do(self._job)

    def close(self) -> None:
        """Free the memory."""
        if self._frames is not None:
            self._frames.close()
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    __del__ = close


class Decoding:
    """
    Frames of a file that threads of C decompress, and lay out where their records are read by columns, in order.

    Where the file is the system's they read it, too: PyPy's collector counts bytes that Python reads.
    """

    def __init__(self, decoder: Decoder, source: Source, threads: int) -> None:
        self._decoder = decoder
        self._source = source
        self._ahead: Any = decoder.decompressed_ahead(threads)
        self._most = threads + 2 if self._ahead.begin() else 1
        self._descriptor = source.duplicate()
        self._queue: deque[tuple[Any, bytes | Exception | None]] = deque()  # None for what the threads have

    def __len__(self) -> int:
        """Return the number of frames that were put and not dropped."""
        return len(self._queue)

    @property
    def is_full(self) -> bool:
        """Whether something should be taken before the next frame."""
        return len(self._queue) >= self._most

    def put(self, piece: Frame | Gap) -> None:
        """Have a frame read and decompressed; errors, gaps among them, wait for their turn."""
        data: bytes | Exception | None
        try:
            data = lost(piece) if isinstance(piece, Gap) else self._submitted(piece)
        except Exception as exc:
            data = exc
        self._queue.append((piece, data))

    def _submitted(self, piece: Frame) -> bytes | None:
        """Have a frame decompressed; return its bytes if the threads are not to do it."""
        self._source.check()
        if piece.decompressed > _READ_MAX or not self._ahead.begin():
            return self._read(piece)
        job = self._ahead.job()
        if self._descriptor is not None:
            job.read(self._descriptor, piece.offset, piece.compressed)
        else:
            job.put(self._read(piece))
        if self._decoder.reads_rows:
            self._ahead.expect(job, piece.decompressed, job.rows or self._decoder.new_rows(), piece.records)
        else:
            self._ahead.expect(job, piece.decompressed)
        self._ahead.submit(job)
        return None

    def _read(self, piece: Frame) -> bytes:
        return self._source.read_at(piece.offset, piece.compressed)

    def first(self) -> tuple[Any, Any]:
        """
        Wait for the first frame; return it with its content, or the error that takes its place.

        The content is bytes or a LaidOut, whose memory is another frame's after `drop`.
        """
        piece, data = self._queue[0]
        try:
            if isinstance(data, Exception):
                raise data
            if data is None:
                job, content = self._ahead.first()
                if content is not None:
                    return piece, LaidOut(content, job.rows) if self._decoder.reads_rows and job.rows else content[:]
                # the threads could not: this can, or says why
                data = job.input[:] if job.input else self._read(piece)
            return piece, self._decoder.content(piece, data)
        except Exception as exc:
            return piece, exc

    def drop(self) -> None:
        """Remove the first frame."""
        _, data = self._queue.popleft()
        if data is None:
            self._ahead.drop()

    def close(self) -> None:
        """End the threads."""
        self._queue.clear()
        self._ahead.close()
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
