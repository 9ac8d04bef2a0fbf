# SPDX-License-Identifier: Apache-2.0
"""Feed: a backend's compression stream that counts input and output, and fails once an error has lost data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Callable

from cpkg.zstandard.arguments import Bytes
from cpkg.zstandard.constants import BLOCKSIZE_MAX
from purepy.base.errors import ZstdError, exception_text
from purepy.zstd.format.locks import release
from purepy.zstd.format.rules import CONTINUE, FLUSH_FRAME

if TYPE_CHECKING:
    from purepy.base.types import CompressionStream


class Progress:
    """How many bytes a Feed has taken (`ingested`), had taken at its last flush (`flushed`), and has `produced`."""

    __slots__ = ("flushed", "ingested", "produced")

    def __init__(self) -> None:
        self.ingested = self.flushed = self.produced = 0

    def counts(self) -> tuple[int, int, int]:
        """Return three sizes in bytes: all input, the input in full blocks or before the last flush, and the output."""
        waiting = (self.ingested - self.flushed) % BLOCKSIZE_MAX
        return self.ingested, self.ingested - waiting, self.produced


class Feed:
    """
    One frame that a ZstdCompressor compresses, or several in sequence.

    After an exception that has lost data of the frame, each `push` raises ZstdError, whose text gives the reason.
    `size` is the size of the first frame's content in bytes, -1 if unknown. The stream refers to the compressor; to
    avoid a reference cycle, the compressor refers to `progress` and not to the Feed.
    """

    __slots__ = ("_failure", "_stream", "progress")

    def __init__(self, stream: CompressionStream, size: int) -> None:
        if size != -1:
            stream.set_pledged_input_size(size)
        self._stream = stream
        self._failure: str | None = None
        self.progress = Progress()

    def push(self, data: Bytes, mode: int = CONTINUE) -> bytes:
        """Compress `data` and return output; FLUSH_BLOCK returns all output, FLUSH_FRAME also ends the frame."""
        if self._failure is not None:
            raise ZstdError(self._failure)
        if not data and mode == CONTINUE:
            return b""  # only a frame that begins with FLUSH_FRAME can declare that it is empty
        stream = self._stream
        is_inside = stream.last_mode != FLUSH_FRAME
        try:
            output = stream.compress(data, mode)
        except BaseException as exc:
            if isinstance(exc, ZstdError):
                self._failure = str(exc)
            elif not isinstance(exc, RuntimeError) or (is_inside and stream.last_mode == FLUSH_FRAME):
                # a signal handler raised and the stream was reset; a RuntimeError without a reset refused the call
                self._failure = f"the frame was abandoned because of {exception_text(exc, repr)}"
            raise
        progress = self.progress
        progress.ingested += len(data)
        progress.produced += len(output)
        if mode != CONTINUE:
            progress.flushed = progress.ingested
        return output

    def outputs(self, next_chunk: Callable[[], Bytes]) -> Iterator[bytes]:
        """Yield one frame in pieces (some perhaps b""), then call `release`; `next_chunk` returns b"" at the end."""
        try:
            while chunk := next_chunk():
                yield self.push(chunk)
            yield self.push(b"", FLUSH_FRAME)
        finally:
            self.release()

    def fail(self, why: str) -> None:
        """Make each further `push` raise ZstdError with the text `why`, because output was lost."""
        self._failure = why

    @property
    def has_failed(self) -> bool:
        """Whether data of the frame was lost, so that each further `push` fails."""
        return self._failure is not None

    def memory_size(self) -> int:
        """Return the size of the context in bytes."""
        return self._stream._memory_size()

    def release(self) -> None:
        """Release the context; nothing more can be compressed."""
        release(self._stream)
