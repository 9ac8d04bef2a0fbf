# SPDX-License-Identifier: Apache-2.0
"""Cut a stream of Zstandard frames (RFC 8878, section 3.1) into frames, by their headers and those of their blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from purepy.errors import ZstdError, ZstdLimitError
from purepy.zstd_format import (
    BLOCK_HEADER_SIZE,
    BLOCK_SIZE_MAX,
    CHECKSUM_FLAG,
    CHECKSUM_SIZE,
    MAGIC,
    RESERVED,
    RESERVED_FLAG,
    RLE,
    SKIPPABLE_HEADER_SIZE,
    block_header,
    header_fields,
    header_size,
    is_frame,
)

READ_SIZE: Final = 1 << 20
WHOLE_CONTENT_MAX: Final = 32 << 20
"""A frame that may hold more than this is not kept whole."""
WHOLE_SIZE_MAX: Final = 16 << 20
"""Nor one of more compressed bytes than this."""


class Frame(NamedTuple):
    """A whole frame; `bound` is the most that it can hold, `size` what its header declares, or None."""

    data: bytes
    bound: int
    size: int | None


class Pieces(NamedTuple):
    """The compressed pieces of a frame that is too large to be kept whole: take all of them before the next frame."""

    data: Iterator[bytes]


class FrameSplitter:
    """
    An iterator over the frames that `read(n)` gives; skippable frames are left out.

    Raises ZstdError for what is no frame and for one that is cut, ZstdLimitError for a window of more than
    2**window_log_max bytes. `consumed` counts the compressed bytes read so far.

    It mirrors `FrameScanner` of zstd/common/frame_scan.py, which holds no bytes, takes skippable frames and knows no
    limits; what both read of headers is zstd_format.py's.
    """

    def __init__(self, read: Callable[[int], bytes], window_log_max: int = 27) -> None:
        self._read = read
        self._window_max = 1 << window_log_max
        self._buffer = bytearray()
        self._start = 0  # of the frame at hand, in the buffer
        self._is_at_end = False
        self.consumed = 0

    def __iter__(self) -> Iterator[Frame | Pieces]:
        while self._has(1):
            head = self._bytes(0, SKIPPABLE_HEADER_SIZE, "header")
            if not is_frame(head):
                raise self._error("no Zstandard frame: unknown frame descriptor")
            if head[:4] != MAGIC:
                self._pass(SKIPPABLE_HEADER_SIZE + int.from_bytes(head[4:8], "little"))
                continue
            yield from self._frame(head[4])

    def _frame(self, descriptor: int) -> Iterator[Frame | Pieces]:
        at, declared, window = self._header(descriptor)
        tail = CHECKSUM_SIZE if descriptor & CHECKSUM_FLAG else 0
        most = min(window, BLOCK_SIZE_MAX)
        bound = 0
        is_last = False
        while not is_last:
            if bound > WHOLE_CONTENT_MAX or at > WHOLE_SIZE_MAX or (declared or 0) > WHOLE_CONTENT_MAX:
                yield Pieces(self._pieces(at, tail))
                return
            at, is_last, size = self._block(at)
            bound += min(size, most)
        self._need(at + tail, "checksum")
        data = self._slice(at + tail)
        self._drop(at + tail)
        yield Frame(data, bound if declared is None else min(bound, declared), declared)

    def _pieces(self, at: int, tail: int) -> Iterator[bytes]:
        """Give what is at hand, whose next block starts at `at`, and then block after block."""
        is_last = False
        while not is_last:
            at, is_last, _ = self._block(at)
            if at >= READ_SIZE and not is_last:
                yield self._slice(at)
                self._drop(at)
                at = 0
        self._need(at + tail, "checksum")
        data = self._slice(at + tail)
        self._drop(at + tail)
        yield data

    def _header(self, descriptor: int) -> tuple[int, int | None, int]:
        """Return the size of the frame header, the declared size or None, and the window."""
        if descriptor & RESERVED_FLAG:
            raise self._error("a reserved bit of a frame header is set")
        size = len(MAGIC) + header_size(descriptor)
        window, declared, dictionary_id = header_fields(self._bytes(0, size, "header"), len(MAGIC))
        if dictionary_id:
            raise self._error("the frame needs a dictionary")
        if window > self._window_max:
            raise ZstdLimitError(
                f"a frame asks for a window of {window:,} bytes, more than the {self._window_max:,} allowed; "
                "if you trust it, allow more with window_log_max=31"
            )
        return size, declared, window

    def _block(self, at: int) -> tuple[int, bool, int]:
        """Return where the block at `at` ends, whether it is the last, and how much it may hold."""
        is_last, kind, size, stored = block_header(self._bytes(at, BLOCK_HEADER_SIZE, "block"), 0)
        if kind == RESERVED:
            raise self._error("a block is of the reserved type")
        if size > BLOCK_SIZE_MAX:
            raise self._error(f"a block of {size:,} bytes, more than {BLOCK_SIZE_MAX:,}")
        end = at + BLOCK_HEADER_SIZE + stored
        self._need(end, "block")
        return end, is_last, size if kind <= RLE else BLOCK_SIZE_MAX

    def _has(self, size: int) -> bool:
        """Say whether `size` bytes from the start of the frame are at hand, after reading as far as needed."""
        while len(self._buffer) - self._start < size:
            if self._is_at_end:
                return False
            if self._start:
                del self._buffer[: self._start]
                self._start = 0
            chunk = self._read(READ_SIZE)
            if not chunk:
                self._is_at_end = True
                return False
            self._buffer += chunk
        return True

    def _need(self, size: int, what: str) -> None:
        if not self._has(size):
            raise self._error(f"the compressed data is cut: it ends within a {what}")

    def _bytes(self, at: int, size: int, what: str) -> bytes:
        self._need(at + size, what)
        start = self._start + at
        return bytes(self._buffer[start : start + size])

    def _slice(self, size: int) -> bytes:
        with memoryview(self._buffer) as view:  # copied once, not twice
            return bytes(view[self._start : self._start + size])

    def _drop(self, size: int) -> None:
        self._start += size
        self.consumed += size

    def _pass(self, size: int) -> None:
        while size:
            self._need(1, "skippable frame")
            here = min(size, len(self._buffer) - self._start)
            self._drop(here)
            size -= here

    def _error(self, text: str) -> ZstdError:
        error = ZstdError(f"{text} (at byte {self.consumed:,})")
        error.offset = self.consumed
        return error
