# SPDX-License-Identifier: Apache-2.0
"""The stream through which a SeekableZstdFile writes: frames of limited size, and their table at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from purepy.zstd.files.writer import CompressWriter
from purepy.zstd.format.chunks import sliceable
from purepy.zstd.format.locks import release
from purepy.zstd.format.rules import CHECKSUM_SIZE, CONTINUE, FLUSH_FRAME
from purepy.zstd.seekable.table import SeekTable

if TYPE_CHECKING:
    from purepy.base.types import Buffer, Compressor


class FrameCompressor:
    """
    A compressor that ends a frame whenever it is full, and records each frame in a table.

    A frame is full with `frame_size` bytes of content, or once it has `compressed_max` bytes of compressed data. If the
    table has checksums, `compressor` must write them: an entry contains the checksum at the end of its frame.
    """

    def __init__(self, compressor: Compressor, table: SeekTable, frame_size: int, compressed_max: int) -> None:
        self._compressor = compressor
        self._frame_size = frame_size
        self._compressed_max = compressed_max
        self.table = table
        self._content = self._compressed = 0  # bytes of the current frame
        self.last_mode: int = FLUSH_FRAME

    @property
    def ends_frame(self) -> bool:
        """Whether the output so far contains only complete frames."""
        return not self._compressed

    def compress(self, data: Buffer) -> bytes:
        begins, self.last_mode = self.last_mode == FLUSH_FRAME, CONTINUE
        view = sliceable(data)
        if not len(view):  # after a frame that ended because it was full, no empty frame is needed
            return self._count(self._compressor.compress(b"")) if begins else b""
        pieces = []
        start = 0
        while start < len(view):
            part = view[start : start + self._frame_size - self._content]
            pieces.append(self._count(self._compressor.compress(part)))
            start += len(part)
            self._content += len(part)
            if self._content == self._frame_size or self._compressed >= self._compressed_max:
                pieces.append(self._end_frame())
        return b"".join(pieces)

    def flush(self, mode: int = FLUSH_FRAME) -> bytes:
        self.last_mode = mode
        if mode == FLUSH_FRAME:
            return self._end_frame()
        return self._count(self._compressor.flush(mode)) if self._compressed or self._content else b""

    def _end_frame(self) -> bytes:
        if self._compressor.last_mode == FLUSH_FRAME:
            return b""
        output = self._count(self._compressor.flush(FLUSH_FRAME))
        checksum = int.from_bytes(output[-CHECKSUM_SIZE:], "little") if self.table.checksums else None
        self.table.append(self._compressed, self._content, checksum)
        self._content = self._compressed = 0
        return output

    def _count(self, output: bytes) -> bytes:
        self._compressed += len(output)
        return output

    def _release(self) -> None:
        release(self._compressor)


class TableWriter(CompressWriter):
    """A raw stream that compresses; `close` appends the table of its frames."""

    _has_table = False
    compressor: FrameCompressor

    def attach(self, fp: object, close_fp: bool) -> None:
        """Set the file, as the base does; remove the table of a file opened to append, which `close` writes again."""
        self._refused = True  # until then, closing leaves the file as it is
        super().attach(fp, close_fp)
        if close_fp and self._fp.mode == "ab":
            self._fp.truncate(self.compressor.table.compressed_size)
        self._refused = False

    def write(self, data: Buffer, /) -> int:
        if self._has_table:
            raise ValueError("cannot write: close() has already written the seek table; call close() again to finish")
        return super().write(data)

    def _finish(self) -> None:
        self._end(FLUSH_FRAME)
        if not self._has_table:
            self.is_broken = True
            self._queue(self.compressor.table.to_bytes())
            self._has_table = True
            self.is_broken = False
        self._put()
