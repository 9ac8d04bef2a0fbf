# SPDX-License-Identifier: Apache-2.0
"""Zero bytes after frames, which pad a file to the size of a tape's record or fill a buffer of fixed size."""

from __future__ import annotations

from purepy.base.errors import ZstdError
from purepy.base.reading import read_some
from purepy.zstd.format.scanner import FrameScanner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from purepy.base.types import File

_READ_SIZE = 64 << 10


class Unpadded:
    """
    A filter that passes on the bytes of frames without the zero bytes after the last frame.

    It follows the headers of frames and blocks. After a wrong header it passes on everything, so that the decompressor
    raises its error. If padding is followed by other bytes, it passes these on with zero bytes before them, so that the
    decompressor does not take them for another frame.
    """

    __slots__ = ("_base", "_scanner", "_tail")

    def __init__(self) -> None:
        self._scanner: FrameScanner | None = FrameScanner(is_strict=False, pads=True)
        self._base = 0  # the position of `_tail` in the stream
        self._tail = b""  # bytes of an incomplete header, which were passed on already

    def feed(self, data: bytes) -> bytes:
        """Return the bytes of `data` to pass on, perhaps b""; with zeros before them if they wrongly follow padding."""
        scanner = self._scanner
        if scanner is None:
            return data
        passed = b"" if scanner.in_padding else data
        buffer = self._tail + data
        try:
            while (position := scanner.offset - self._base) < len(buffer):
                if not scanner.step(buffer, position, len(buffer)):
                    break
        except ZstdError:
            self._scanner = None
            return passed or bytes(4) + data
        if scanner.in_padding:
            passed = passed[: len(data) - (scanner.offset - scanner.start)]
        self._tail = buffer[position:]
        self._base += len(buffer) - len(self._tail)
        return passed


class UnpaddedFile:
    """
    A file for a decompressor to read, without the zero bytes after its frames.

    `read(size)` returns b"" only at the end; without a size, it returns a piece, not the whole rest. `seek(offset)`
    requires an offset at which a frame begins, such as 0.
    """

    def __init__(self, file: File) -> None:
        self._file = file
        self._unpadded = Unpadded()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def read(self, size: int = -1, /) -> bytes:
        while data := read_some(self._file, _READ_SIZE if size < 0 else size):
            content = self._unpadded.feed(data)
            if content:
                return content
        return b""

    def seek(self, offset: int, /) -> None:
        self._file.seek(offset)
        self._unpadded = Unpadded()
