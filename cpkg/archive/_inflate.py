# SPDX-License-Identifier: Apache-2.0
"""Decompress frames in advance, in threads if there are any, and return their content in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sized
from typing import Any, Final

from cpkg import zstd
from cpkg.archive._indexed_frames import IndexedFrame, IndexedFrames
from cpkg.archive._settings import ContentLimit
from purepy.base.crew import Call, Crew
from purepy.base.errors import ArchiveLimitError, raise_if_from_handler
from purepy.tar.reader import Content
from purepy.zstd.format.error_codes import truncated_error
from purepy.zstd.format.splitter import FrameSplitter, Pieces, WholeFrame

CHUNK: Final = 4 << 20
"""The most bytes in a chunk from a frame that is too large to be decompressed as a whole."""


class Codec:
    """Decompresses frames to chunks; `view` returns the bytes of a chunk, and `give_back` releases it."""

    def __init__(self, window_log_max: int) -> None:
        self._reading: dict[int, int] = {zstd.DecompressionParameter.window_log_max: window_log_max}

    def inflate(self, frame: WholeFrame) -> Sized:
        """Return the content of a frame."""
        return zstd.decompress(frame.data, options=self._reading, max_output_size=frame.bound)

    def inflate_pieces(self, pieces: Iterator[bytes]) -> Iterator[Sized]:
        """Yield chunks of the content of a frame that comes in pieces; raises ZstdError for a damaged frame."""
        decompressor = zstd.ZstdDecompressor(options=self._reading)
        for piece in pieces:
            data = piece
            while True:
                chunk = decompressor.decompress(data, CHUNK)
                data = b""
                if chunk:
                    yield chunk
                if decompressor.eof or decompressor.needs_input:
                    break
        if not decompressor.eof:
            raise truncated_error()

    def view(self, chunk: Any) -> Any:
        """Return the bytes of a chunk."""
        return chunk

    def give_back(self, chunk: Any) -> None:
        """Do nothing: Python frees the chunk."""

    def close(self) -> None:
        """Do nothing: nothing stays open."""


class Inflater:
    """
    Iterates over the content of an archive, in chunks of its codec; callers give each chunk back.

    The crew decompresses up to `ahead` frames in advance. `skip` passes over whole frames without returning their
    content. An error is raised after all frames before it were returned; the iterator can continue after a damaged
    frame. `size` counts the bytes of content that were returned or skipped, not those that the source left out by its
    seek table. `is_continued` is whether the last chunk begins inside an entry, None if unknown.
    """

    def __init__(
        self, source: FrameSplitter | IndexedFrames, codec: Codec, crew: Crew, ahead: int, limit: ContentLimit
    ) -> None:
        self._source = source
        self._frames: Iterator[WholeFrame | Pieces | IndexedFrame] = iter(source)
        self._codec = codec
        self.view = codec.view
        """A function that returns the bytes of a chunk."""
        self.give_back = codec.give_back
        self._crew = crew
        self._ahead = ahead
        self._limit = limit
        self._queue: deque[tuple[Call, WholeFrame | IndexedFrame] | Pieces] = deque()
        self._stream: Call | None = None
        self._chunks: Iterator[Sized] = iter(())
        self._error: Exception | None = None
        self._left_out = 0  # bytes of content left out so far
        self.size = 0
        self.is_continued: bool | None = None

    @property
    def consumed(self) -> int:
        """The number of compressed bytes of the frames taken from the source so far, and of those that it left out."""
        return self._source.consumed

    def position_after(self) -> int:
        """Return the position in the whole content after the last chunk, or after the frames skipped since."""
        return self.size + self._left_out

    def views(self) -> Iterator[Any]:
        """Yield the bytes of the next chunks, each valid until the next one is requested."""
        for chunk in self:
            yield self.view(chunk)
            self.give_back(chunk)

    def content(self, views: Iterable[Any] | None = None) -> Content:
        """Return a Content that reads the chunks from here on; `views` yields their bytes, by default `views()`."""
        return Content(self.views() if views is None else views, self.skip, self.position_after)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        chunk = self._next_chunk()
        self.size += len(chunk)
        allowed = self._limit.allowed(self.consumed)
        if self.size > allowed:
            error = ArchiveLimitError(
                f"the archive has more than {allowed:,} bytes of content (found in {self.consumed:,} compressed bytes)"
            )
            error.advice = "if you trust the archive, raise max_size"
            raise error
        return chunk

    def _next_chunk(self) -> Sized:
        while True:
            if self._stream is not None:
                stream, self._stream = self._stream, None
                chunk: Sized | None = stream.result()
                if chunk is not None:
                    self._stream = self._crew.submit(next, self._chunks, None)
                    return chunk
            self._fill()
            if not self._queue:
                raise StopIteration
            item = self._queue.popleft()
            self.is_continued = None
            if isinstance(item, Pieces):
                self._chunks = self._codec.inflate_pieces(item.data)
                self._stream = self._crew.submit(next, self._chunks, None)
                continue
            self._fill()
            self._pass(item[1])
            whole: Sized = item[0].result()
            return whole

    def _fill(self) -> None:
        while len(self._queue) < self._ahead and not (self._queue and isinstance(self._queue[-1], Pieces)):
            frame = self._next_frame()
            if frame is None:
                return
            self._queue.append(frame if isinstance(frame, Pieces) else self._submit(frame))

    def _next_frame(self) -> WholeFrame | Pieces | IndexedFrame | None:
        """
        Return the next frame of the source, or None at its end.

        If the source raises an error, returns None until the queue of earlier frames is empty, then raises the error.
        """
        if self._error is None:
            try:
                return next(self._frames, None)
            except Exception as exc:
                raise_if_from_handler(exc)
                self._error = exc
        if not self._queue:
            error, self._error = self._error, None
            raise error
        return None

    def _submit(self, frame: WholeFrame | IndexedFrame) -> tuple[Call, WholeFrame | IndexedFrame]:
        source = self._source
        if isinstance(frame, IndexedFrame):
            assert isinstance(source, IndexedFrames)
            return self._crew.submit(source.inflate, frame, source.begin(frame), self._codec.inflate), frame
        # only the job keeps the bytes of the frame, which may be as large as the content
        return self._crew.submit(self._codec.inflate, frame), frame._replace(data=b"")

    def _pass(self, frame: WholeFrame | IndexedFrame) -> None:
        if isinstance(frame, IndexedFrame):
            self._left_out += frame.left_out
            self.is_continued = frame.is_continued

    def skip(self, size: int) -> int:
        """
        Skip the next frames that lie wholly in the next `size` bytes of content; return the size of their content.

        Stops at a frame of unknown size. The result may be 0; the caller must read the rest of the `size` bytes.
        """
        begin = self.size
        while self._stream is None:
            left = begin + size - self.size
            if not self._queue:
                frame = self._next_frame()
                if frame is None:
                    break
                if isinstance(frame, Pieces) or not self._is_within(frame, left):
                    self._queue.append(frame if isinstance(frame, Pieces) else self._submit(frame))
                    break
            else:
                item = self._queue[0]
                if isinstance(item, Pieces) or not self._is_within(item[1], left):
                    break
                self._queue.popleft()
                frame = item[1]
                self._crew.cancel(item[0])
            self._pass(frame)
            self.size += frame.size or 0
        return self.size - begin

    def _is_within(self, frame: WholeFrame | IndexedFrame, size: int) -> bool:
        """
        Return whether a frame may be skipped: its known size is at most `size`, and no content before it is left out.

        If the size is from a seek table, raises SeekableFormatError if the frame has another size.
        """
        if frame.size is None or frame.size > size:
            return False
        if isinstance(frame, IndexedFrame):
            assert isinstance(self._source, IndexedFrames)
            if frame.left_out:
                return False
            self._source.check(frame)
        return True
