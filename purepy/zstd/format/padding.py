# SPDX-License-Identifier: Apache-2.0
"""Zero bytes after frames: what pads a file to the size of a tape's record, or fills a buffer of a fixed size."""

from __future__ import annotations

from purepy.base.errors import ZstdError
from purepy.zstd.format.scanner import FrameScanner

_MAGIC_SIZE = 4


class Unpadded:
    """
    Passes the bytes of frames on, without the zero bytes that follow the last of them.

    It goes by the headers of frames and blocks. What is no frame is passed on from its beginning, with zero bytes in
    front: the decompressor raises its error.
    """

    __slots__ = ("_base", "_is_off", "_scanner", "_tail", "_zeros")

    def __init__(self) -> None:
        self._scanner = FrameScanner(is_strict=False)
        self._base = 0  # where `_tail` begins
        self._tail = b""  # bytes that were passed on, of a header that is cut
        self._zeros = -1  # how many have come after a frame; -1: none is awaited
        self._is_off = False

    def feed(self, data: bytes) -> bytes:
        """Return the part of the next bytes that is no padding, perhaps b""."""
        if self._is_off:
            return data
        if self._zeros >= 0:
            if not data.strip(b"\0"):
                self._zeros += len(data)
                return b""
            self._is_off = True
            return bytes(min(self._zeros, _MAGIC_SIZE)) + data
        scanner, buffer = self._scanner, self._tail + data
        while (position := scanner.offset - self._base) < len(buffer):
            if scanner.is_between and scanner.offset and not buffer[position]:  # no magic number begins so
                self._zeros = 0
                padding = position - len(self._tail)
                return data[:padding] + self.feed(data[padding:])
            try:
                if not scanner.step(buffer, position, len(buffer)):
                    break
            except ZstdError:
                self._is_off = True
                return data
        self._tail = buffer[position:]
        self._base += len(buffer) - len(self._tail)
        return data
