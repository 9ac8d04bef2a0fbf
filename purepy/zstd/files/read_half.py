# SPDX-License-Identifier: Apache-2.0
"""The reading half of ZstdFile: an io.BufferedReader, or its replacement, reads a raw stream, which decompresses."""

from __future__ import annotations

import io

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from purepy.base.types import Buffer, File

READ_METHODS = ("peek", "read", "read1", "readinto", "readinto1", "readline")
"""On CPython, a file sets these methods of its buffer as its own attributes, unless a subclass overrides them."""


class ReadHalf(io.BufferedIOBase):
    """The methods of a file for reading; `_is_reading` is true if this file is open for reading."""

    __slots__ = ()

    if TYPE_CHECKING:
        _buffer: File
        _is_reading: bool

        def _check_not_closed(self) -> None: ...

    def _check_can_read(self) -> None:
        if not self._is_reading:
            self._check_not_closed()
            raise io.UnsupportedOperation("File not open for reading")

    def read(self, size: int | None = -1, /) -> bytes:
        """Read up to `size` bytes of content, or the rest for None or -1 (ValueError if smaller); b"" at the end."""
        self._check_can_read()
        content: bytes = self._buffer.read(-1 if size is None else size)
        return content

    def read1(self, size: int = -1, /) -> bytes:
        """Read up to `size` bytes (128 KiB by default) with as few reads of the file as possible; b"" at the end."""
        self._check_can_read()
        content: bytes = self._buffer.read1(size)
        return content

    def readinto(self, buffer: Buffer, /) -> int:
        """Fill a writable buffer, as far as content is left; return the number of bytes stored, 0 at the end."""
        self._check_can_read()
        size: int = self._buffer.readinto(buffer)
        return size

    def readinto1(self, buffer: Buffer, /) -> int:
        """Store content in a writable buffer, with few reads of the file; return the number of bytes, 0 at the end."""
        self._check_can_read()
        size: int = self._buffer.readinto1(buffer)
        return size

    def readline(self, size: int | None = -1, /) -> bytes:
        """Read one line, at most `size` bytes of it; b"" at the end."""
        self._check_can_read()
        line: bytes = self._buffer.readline(-1 if size is None else size)
        return line

    def peek(self, size: int = 0, /) -> bytes:
        """Return some of the next bytes without moving, at least one unless at the end; `size` has no effect."""
        self._check_can_read()
        content: bytes = self._buffer.peek(size)
        return content

    def __iter__(self) -> Iterator[bytes]:
        self._check_can_read()
        return self._lines()

    def _lines(self) -> Iterator[bytes]:
        # A generator keeps the file open for a loop that holds no other reference to it. `yield from` would close the
        # reader when a loop is left early.
        for line in self._buffer:  # noqa: UP028
            yield line

    def __next__(self) -> bytes:
        line = self.readline()
        if line:
            return line
        raise StopIteration

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        """
        Move by `offset` from `whence` (as for any file), at most to the content's ends; return the position. The file
        must be open for reading.

        Without a seek table, seeking backwards beyond the buffered content decompresses again from the start of the
        file, and seeking from the end first decompresses the rest of the file.
        """
        self._check_can_read()
        return int(self._buffer.seek(offset, whence))
