# SPDX-License-Identifier: Apache-2.0
"""Split a stream of Zstandard frames (RFC 8878, section 3.1) into frames, using only frame and block headers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from purepy.base.errors import ZstdError, ZstdLimitError
from purepy.zstd.format.error_codes import located
from purepy.zstd.format.header import Header
from purepy.zstd.format.scanner import FrameScanner

READ_SIZE: Final = 1 << 20
WHOLE_CONTENT_MAX: Final = 32 << 20
"""A frame that declares more bytes of content, or whose blocks before the last may hold more, is not kept whole."""
WHOLE_SIZE_MAX: Final = 16 << 20
"""A frame that has more compressed bytes than this before its last block is not kept whole."""


class WholeFrame(NamedTuple):
    """A whole frame: its bytes, the most content in bytes that it can have, and its declared content size or None."""

    data: bytes
    bound: int
    size: int | None


class Pieces(NamedTuple):
    """The compressed pieces of a frame that is too large to keep whole; consume all of them before the next frame."""

    data: Iterator[bytes]


class FrameSplitter:
    """
    An iterable of the frames in the data that `read(n)` returns: for each a WholeFrame, or Pieces if it is large.

    `read(n)` returns up to n bytes, b"" at the end. Skippable frames are left out. Zero bytes may follow the last
    frame, as bsdtar and tape drives write them. Raises ZstdError for data that is not a frame, is truncated or needs a
    dictionary, and ZstdLimitError for a window of more than 2**window_log_max bytes. `consumed` counts the compressed
    bytes that were returned or left out so far.
    """

    def __init__(self, read: Callable[[int], bytes], window_log_max: int = 27) -> None:
        self._read = read
        self._window_max = 1 << window_log_max
        self._scanner = FrameScanner(pads=True)
        self._buffer = bytearray()
        self._begin = 0  # the position of the buffer in the stream
        self._frame_begin = 0  # the position of the frame
        self._is_at_end = False
        self.consumed = 0

    def __iter__(self) -> Iterator[WholeFrame | Pieces]:
        scanner = self._scanner
        while self._has(1):
            self._frame_begin = self.consumed
            self._step("header")
            if scanner.in_padding:
                self.consumed = scanner.offset
                continue
            header = scanner.header
            assert header is not None
            if header.is_skippable:
                self._pass_over(scanner.offset)
                continue
            self._check(header)
            yield from self._frame(header.content_size)

    def _frame(self, declared: int | None) -> Iterator[WholeFrame | Pieces]:
        scanner = self._scanner
        while not scanner.is_between:
            size = scanner.offset - scanner.start
            if scanner.content_max > WHOLE_CONTENT_MAX or size > WHOLE_SIZE_MAX or (declared or 0) > WHOLE_CONTENT_MAX:
                yield Pieces(self._pieces())
                return
            self._step("block")
        bound = scanner.content_max
        yield WholeFrame(self._take(), bound if declared is None else min(bound, declared), declared)

    def _pieces(self) -> Iterator[bytes]:
        """Yield the bytes of the current frame in pieces of at least READ_SIZE; the last piece may be smaller."""
        scanner = self._scanner
        while not scanner.is_between:
            self._step("block")
            if scanner.offset - self.consumed >= READ_SIZE and not scanner.is_between:
                yield self._take()
        yield self._take()

    def _check(self, header: Header) -> None:
        if header.dictionary_id:
            error = self._error(f"the frame needs the dictionary with the id {header.dictionary_id}")
            error.advice = "decompress it with cpkg.zstd and this dictionary first"
            raise error
        if header.window_size > self._window_max:
            error = ZstdLimitError(
                f"a frame requires a window of {header.window_size:,} bytes, more than the {self._window_max:,} allowed"
            )
            error.advice = "if you trust the data, allow more with window_log_max=31"
            raise error

    def _step(self, what: str) -> None:
        """
        Move the scanner past the next part and read all of that part, except the content of a skippable frame.

        Raises ZstdError if the part is invalid, or if the data ends inside it; that error calls the part `what`.
        """
        scanner = self._scanner
        ahead = 1
        while not scanner.step(self._buffer, scanner.offset - self._begin, len(self._buffer)):
            self._need(scanner.offset + ahead, what)
            ahead += 1
        if not scanner.is_between or not (scanner.header and scanner.header.is_skippable):
            self._need(scanner.offset, what)

    def _has(self, size: int) -> bool:
        """Read until the buffer holds `size` bytes from `consumed` on; return False if the data ends before."""
        while self._begin + len(self._buffer) < self.consumed + size:
            if self._is_at_end:
                return False
            if self._begin < self.consumed:
                # a new bytearray: PyPy 8 releases views late, and a bytearray with a view cannot shrink
                self._buffer = self._buffer[self.consumed - self._begin :]
                self._begin = self.consumed
            chunk = self._read(READ_SIZE)
            if not chunk:
                self._is_at_end = True
                return False
            self._buffer += chunk
        return True

    def _need(self, offset: int, what: str) -> None:
        if not self._has(offset - self.consumed):
            raise self._cut_within(f"a {what}")

    def _take(self) -> bytes:
        """Return the bytes from `consumed` up to the scanner's position, and count them as consumed."""
        start, self.consumed = self.consumed, self._scanner.offset
        with memoryview(self._buffer) as view:  # slicing the view copies the bytes only once
            return bytes(view[start - self._begin : self.consumed - self._begin])

    def _pass_over(self, end: int) -> None:
        while self.consumed < end:
            if not self._has(1):
                raise self._cut_within("a skippable frame")
            self.consumed = min(end, self._begin + len(self._buffer))

    def _cut_within(self, what: str) -> ZstdError:
        return self._error(f"the compressed data is truncated: it ends within {what}", "in the frame at")

    def _error(self, text: str, where: str = "at") -> ZstdError:
        return located(ZstdError(f"{text} ({where} byte {self._frame_begin:,})"), self._frame_begin)
