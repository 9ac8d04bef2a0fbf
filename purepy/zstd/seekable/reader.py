# SPDX-License-Identifier: Apache-2.0
"""The raw stream through which a SeekableZstdFile reads: it checks frames against the entries of a table."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, BinaryIO, Callable

from purepy.base.errors import SeekableFormatError, ZstdError
from purepy.base.reading import read_some
from purepy.zstd.files.readers import READ_SIZE, ContentReader
from purepy.zstd.format.error_codes import located, moved, truncated_file_error
from purepy.zstd.format.locks import release
from purepy.zstd.format.rules import CHECKSUM_FLAG, CHECKSUM_SIZE, MAGIC
from purepy.zstd.seekable.table import SeekTable

if TYPE_CHECKING:
    from purepy.base.types import Compressor, Decompressor

_PIECE = 128 << 10


class TableReader(ContentReader):
    """The content of a file whose frames are listed in a table; to reach a position, only its frame is decompressed."""

    _frame: _FrameReader | None = None

    def __init__(
        self,
        fp: BinaryIO,
        close_fp: bool,
        table: SeekTable,
        decompressor: Callable[[], Decompressor],
        hasher: Callable[[], Compressor],
    ) -> None:
        super().__init__(fp, close_fp)
        self._table = table
        self._decompressor = decompressor
        self._hasher = hasher
        self._checked = 0  # the number of the frame before which empty frames were last checked

    def _let_go(self) -> None:
        frame, self._frame = self._frame, None
        if frame is not None:
            frame.close()

    def _content_size(self) -> int:
        return self._table.decompressed_size

    def _go_to(self, position: int) -> None:
        self._pos = min(max(position, 0), self._table.decompressed_size)
        self._failure = None

    def _read_into(self, target: memoryview) -> int:
        content = self._next(self._pos, len(target))
        target[: len(content)] = content
        return len(content)

    def _read_all(self) -> bytes:
        pieces: list[bytes] = []
        position = self._pos
        while piece := self._next(position, _PIECE):
            pieces.append(piece)
            position += len(piece)
        return b"".join(pieces)

    def _next(self, position: int, size: int) -> bytes:
        """Return up to `size` bytes of content from a position; b"" at the end."""
        if position >= self._table.decompressed_size:
            if not len(self._table) and not self._fp.seek(0, io.SEEK_END):
                raise truncated_file_error()  # the file is empty: it has no frame, not even an empty one
            self._check_empty(len(self._table))
            return b""
        return self._content(position, size)

    def _content(self, position: int, size: int) -> bytes:
        frame, self._frame = self._frame, None  # after an exception, the frame is not read any further
        if frame is not None and not frame.position <= position < frame.end:
            frame.close()
            frame = None
        if frame is None:
            index = self._table.find(position)
            if self._table.frame(index)[2] == position:
                self._check_empty(index)
            frame = _FrameReader(self._fp, self._table, index, self._decompressor(), self._hasher)
        try:
            frame.skip_to(position)
            content = frame.read(size)
        except BaseException:
            frame.close()
            raise
        if frame.position == frame.end:
            frame.close()
        else:
            self._frame = frame
        return content

    def _check_empty(self, index: int) -> None:
        """Check the frames directly before frame `index` that are empty in the table; raise an error if one is not."""
        first = index
        while first > self._checked and not self._table.frame(first - 1)[3]:
            first -= 1
        for number in range(first, index):
            if not self._table.frame(number)[1]:
                continue  # an entry without a frame
            frame = _FrameReader(self._fp, self._table, number, self._decompressor(), self._hasher)
            try:
                frame.check_end()
            finally:
                frame.close()
        self._checked = index


class _FrameReader:
    """A frame that is being decompressed and checked against its entry in the table."""

    def __init__(
        self,
        fp: BinaryIO,
        table: SeekTable,
        index: int,
        decompressor: Decompressor,
        make_hasher: Callable[[], Compressor],
    ) -> None:
        self._fp = fp
        self._index = index
        self._start, size, self.position, content, self._checksum = table.frame(index)
        self._offset = self._start
        self._compressed_end = self._start + size
        self.end = self.position + content
        self._decompressor = decompressor
        self._make_hasher = make_hasher
        self._hasher: Compressor | None = None
        self._tail = b""

    def close(self) -> None:
        """Release the decompressor and the hasher."""
        release(self._decompressor)
        if self._hasher is not None:
            release(self._hasher)

    def skip_to(self, position: int) -> None:
        """Decompress and drop the content before a position."""
        while self.position < position:
            self.read(min(position - self.position, _PIECE))

    def read(self, size: int) -> bytes:
        """Return up to `size` bytes of content, at least one; after the last byte, `check_end` checks the frame."""
        while True:
            content: bytes = self._decompress(min(size, self.end - self.position))
            if content:
                break
        self.position += len(content)
        if self._hasher is not None:
            self._hasher.compress(content)
        if self.position == self.end:
            self.check_end()
        return content

    def _decompress(self, size: int) -> bytes:
        data = b""
        if self._decompressor.needs_input:
            data = self._more()
            if not data:
                raise self._lie(
                    f"the frame has {self.end - self.position} fewer bytes of content than the table states"
                )
        return self._content_of(data, size)

    def _content_of(self, data: bytes, size: int) -> bytes:
        try:
            content: bytes = self._decompressor.decompress(data, size)
        except ZstdError as exc:
            moved(exc, self._start)
            raise
        return content

    def _more(self) -> bytes:
        wanted = min(self._compressed_end - self._offset, READ_SIZE)
        if not wanted:
            return b""
        self._fp.seek(self._offset)  # others may use the file as well
        data = read_some(self._fp, wanted)
        if not data:
            raise truncated_file_error()
        if self._offset == self._start and self._checksum is not None and not _has_checksum(data):
            self._hasher = self._make_hasher()
        self._offset += len(data)
        self._tail = (self._tail + data)[-CHECKSUM_SIZE:]
        return bytes(data)

    def check_end(self) -> None:
        """Read the rest of the frame; raises SeekableFormatError if its sizes or checksum differ from the table."""
        while not (self._decompressor.eof and self._offset == self._compressed_end):
            data = self._more() if self._decompressor.needs_input else b""
            if not data and self._decompressor.needs_input:
                raise self._lie("the frame does not end where the table states")
            if self._content_of(data, 1):
                raise self._lie("the frame has more content than the table states")
        if self._checksum is None:
            return
        found = self._tail if self._hasher is None else self._hasher.flush()[-CHECKSUM_SIZE:]
        if int.from_bytes(found, "little") != self._checksum:
            raise self._lie("the frame's content does not have the checksum that the table states")

    def _lie(self, what: str) -> SeekableFormatError:
        text = f"the seek table does not fit frame {self._index}, at byte {self._start}: {what}"
        return located(SeekableFormatError(text), self._start)


def _has_checksum(data: bytes) -> bool:
    """Return whether the frame at the start of `data` ends with its own checksum."""
    return len(data) > len(MAGIC) and data[:4] == MAGIC and bool(data[4] & CHECKSUM_FLAG)
