# SPDX-License-Identifier: Apache-2.0
"""Decompress frames ahead of their use, in threads, and hand out their content in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Executor, Future
from typing import Any, Final, Protocol

from cpkg.archive._stored import StoredFrame, StoredFrames
from purepy.errors import SeekableFormatError, ZstdError
from purepy.zstd_frames import Frame, FrameSplitter, Pieces

CHUNK: Final = 4 << 20
"""Bytes of content that come at a time from a frame that is too large to be decompressed whole."""


class Codec(Protocol):
    """A codec that decompresses: to chunks, whose bytes `view` gives, and which `give_back` takes in the end."""

    def inflate(self, frame: Frame) -> Any: ...
    def inflate_pieces(self, pieces: Iterator[bytes]) -> Iterator[Any]: ...
    def view(self, chunk: Any) -> Any: ...
    def give_back(self, chunk: Any) -> None: ...
    def close(self) -> None: ...


class Inflater:
    """
    An iterator over the content of frames in chunks, in order; up to `ahead` frames are decompressed in advance.

    `skip` passes over content that was not asked for yet, without decompressing frames that lie in it whole. An error
    comes when all frames before it were taken; the iterator goes on behind a frame that is damaged. `left_out` counts
    the content left out so far, and `is_continued` says whether the last chunk begins within an entry, None if unknown.
    """

    def __init__(self, source: FrameSplitter | StoredFrames, codec: Codec, pool: Executor, ahead: int) -> None:
        self._source = source
        self._frames: Iterator[Frame | Pieces | StoredFrame] = iter(source)
        self._codec = codec
        self._pool = pool
        self._ahead = ahead
        self._queue: deque[tuple[Future[Any], Frame | StoredFrame] | Pieces] = deque()
        self._stream: Future[Any] | None = None
        self._chunks: Iterator[Any] = iter(())
        self._error: Exception | None = None
        self.left_out = 0
        self.is_continued: bool | None = None

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        while True:
            if self._stream is not None:
                stream, self._stream = self._stream, None
                chunk = stream.result()
                if chunk is not None:
                    self._stream = self._pool.submit(next, self._chunks, None)
                    return chunk
            self._fill()
            if not self._queue:
                raise StopIteration
            item = self._queue.popleft()
            self.is_continued = None
            if isinstance(item, Pieces):
                self._chunks = self._codec.inflate_pieces(item.data)
                self._stream = self._pool.submit(next, self._chunks, None)
                continue
            self._fill()
            self._pass(item[1])
            return item[0].result()

    def _fill(self) -> None:
        while len(self._queue) < self._ahead and not (self._queue and isinstance(self._queue[-1], Pieces)):
            frame = self._next_frame()
            if frame is None:
                return
            self._queue.append(frame if isinstance(frame, Pieces) else self._submit(frame))

    def _next_frame(self) -> Frame | Pieces | StoredFrame | None:
        """Return the next frame, None at the end or while frames before an error are still to be taken."""
        if self._error is None:
            try:
                return next(self._frames, None)
            except Exception as exc:
                self._error = exc
        if not self._queue:
            error, self._error = self._error, None
            raise error
        return None

    def _submit(self, frame: Frame | StoredFrame) -> tuple[Future[Any], Frame | StoredFrame]:
        return self._pool.submit(self._inflate, frame), frame

    def _inflate(self, stored: Frame | StoredFrame) -> Any:
        if isinstance(stored, Frame):
            return self._codec.inflate(stored)
        assert isinstance(self._source, StoredFrames)
        why = "it holds less"
        try:
            chunk = self._codec.inflate(self._source.load(stored))
            if len(chunk) == stored.size:
                return chunk
        except ZstdError as exc:
            why = str(exc)
        raise SeekableFormatError(
            f"the file is damaged at byte {stored.offset:,}, or its seek table is wrong: "
            f"there is no frame of {stored.compressed_size:,} bytes and a content of {stored.size:,} ({why})"
        )

    def _pass(self, frame: Frame | StoredFrame) -> None:
        if isinstance(frame, StoredFrame):
            self.left_out += frame.left_out
            self.is_continued = frame.is_continued

    def skip(self, size: int) -> int:
        """Pass over whole frames of declared size within the next `size` bytes; return how many bytes that are."""
        skipped = 0
        if self._stream is not None:
            return 0
        while True:
            if not self._queue:
                frame = self._next_frame()
                if frame is None:
                    return skipped
                if isinstance(frame, Pieces):
                    self._queue.append(frame)
                    return skipped
                if frame.size is None or frame.size > size - skipped:
                    self._queue.append(self._submit(frame))
                    return skipped
                self._pass(frame)
                skipped += frame.size
                continue
            item = self._queue[0]
            if isinstance(item, Pieces) or item[1].size is None or item[1].size > size - skipped:
                return skipped
            self._queue.popleft()
            self._pass(item[1])
            future = item[0]
            if not future.cancel():
                future.add_done_callback(self._forget)
            skipped += item[1].size

    def _forget(self, future: Future[Any]) -> None:
        if future.exception() is None:
            self._codec.give_back(future.result())
