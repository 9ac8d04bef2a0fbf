# SPDX-License-Identifier: Apache-2.0
"""ZstdCompressionObj and ZstdCompressionChunker: compression of data that the caller passes in, without a file."""

from __future__ import annotations

from _thread import allocate_lock
from collections.abc import Iterator
from typing import TYPE_CHECKING

from cpkg.zstandard.arguments import Bytes, pieces_of
from cpkg.zstandard.constants import COMPRESSOBJ_FLUSH_BLOCK, COMPRESSOBJ_FLUSH_FINISH
from cpkg.zstandard.feeding import Feed
from purepy.base.buffers import view_of
from purepy.base.errors import ZstdError
from purepy.base.locks import Exclusive, RLock
from purepy.zstd.format.rules import CONTINUE, FLUSH_BLOCK, FLUSH_FRAME

if TYPE_CHECKING:
    from typing_extensions import Buffer


class ZstdCompressionObj(Exclusive):
    """
    Compresses one frame in pieces, with the methods of zlib.compressobj() (replaces `zstandard.ZstdCompressionObj`).

    Returned by `ZstdCompressor.compressobj`. Methods may be called from several threads.
    """

    __slots__ = ("_feed", "_finished", "_lock")

    def __init__(self, feed: Feed) -> None:
        self._lock = RLock()
        self._feed = feed
        self._finished = False

    def compress(self, data: Buffer) -> bytes:
        """Compress `data`, a buffer; return available output, perhaps b"". Raises ZstdError if the frame has ended."""
        view = view_of(data)
        with self._turn():
            if self._finished:
                raise ZstdError("cannot call compress() after compressor finished")
            output = self._feed.push(view)
            return output

    def flush(self, flush_mode: int = COMPRESSOBJ_FLUSH_FINISH) -> bytes:
        """
        Return the output that was held back; end the frame if `flush_mode` is COMPRESSOBJ_FLUSH_FINISH.

        After COMPRESSOBJ_FLUSH_BLOCK a reader can decompress all data given so far. Raises ValueError for another mode,
        and ZstdError after the end of the frame.
        """
        if flush_mode not in (COMPRESSOBJ_FLUSH_FINISH, COMPRESSOBJ_FLUSH_BLOCK):
            raise ValueError(f"flush mode not recognized: {flush_mode!r}")
        with self._turn():
            if self._finished:
                raise ZstdError("compressor object already finished")
            if flush_mode == COMPRESSOBJ_FLUSH_BLOCK:
                output = self._feed.push(b"", FLUSH_BLOCK)
            else:
                self._finished = True
                output = self._feed.push(b"", FLUSH_FRAME)
                self._feed.release()
            return output


class ZstdCompressionChunker:
    """
    Compresses one frame into chunks of a fixed size (replaces `zstandard.ZstdCompressionChunker`).

    Returned by `ZstdCompressor.chunker`. The methods return iterators, which do the work. Each iterator must be
    exhausted before the next call, which otherwise raises ZstdError. After finish(), every call raises ZstdError.
    """

    __slots__ = ("_busy", "_chunk_size", "_feed", "_finished", "_held", "_size")

    def __init__(self, feed: Feed, chunk_size: int) -> None:
        self._feed = feed
        self._chunk_size = chunk_size
        self._held: list[bytes] = []
        self._size = 0
        self._finished = False
        self._busy = allocate_lock()  # taken in one step, so no signal handler or thread can begin another operation

    def compress(self, data: Buffer) -> Iterator[bytes]:
        """Compress `data`, a buffer; return an iterator of the chunks that became full."""
        view = view_of(data)
        self._begin("cannot call compress() after compression finished", "cannot perform operation")
        return self._run(view, CONTINUE)

    def flush(self) -> Iterator[bytes]:
        """Return an iterator of the remaining output for all data so far, in chunks; the last one may be shorter."""
        self._begin("cannot call flush() after compression finished", "cannot call flush()")
        return self._run(b"", FLUSH_BLOCK)

    def finish(self) -> Iterator[bytes]:
        """End the frame; return an iterator of the remaining output, in chunks; the last one may be shorter."""
        self._begin("cannot call finish() after compression finished", "cannot call finish()")
        return self._run(b"", FLUSH_FRAME)

    def _begin(self, finished: str, busy: str) -> None:
        if not self._busy.acquire(False):
            raise ZstdError(f"{busy} before consuming output from previous operation")
        if self._finished:
            self._busy.release()
            raise ZstdError(finished)

    def _run(self, data: Bytes, mode: int) -> Iterator[bytes]:
        if mode == CONTINUE:
            for piece in pieces_of(data):
                yield from self._chunks(self._feed.push(piece, CONTINUE))
        else:
            yield from self._chunks(self._feed.push(b"", mode), is_end=True)
        if mode == FLUSH_FRAME:
            self._finished = True
            self._feed.release()
        self._busy.release()

    def _chunks(self, output: bytes, is_end: bool = False) -> Iterator[bytes]:
        """Yield the held bytes and `output` in full chunks; hold the rest, or yield it if `is_end`."""
        self._held.append(output)
        self._size += len(output)
        if self._size >= self._chunk_size:
            view = memoryview(b"".join(self._held))
            end = self._size - self._size % self._chunk_size
            self._held = [bytes(view[end:])]
            self._size -= end
            for start in range(0, end, self._chunk_size):
                yield bytes(view[start : start + self._chunk_size])
        if is_end and self._size:
            rest = b"".join(self._held)
            self._held, self._size = [], 0
            yield rest
