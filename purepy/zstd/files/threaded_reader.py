# SPDX-License-Identifier: Apache-2.0
"""Reading a file whose frames are decompressed by several threads."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, BinaryIO

from purepy.base.errors import ZstdError
from purepy.base.reading import read_some
from purepy.zstd.files.readers import StreamReader
from purepy.zstd.threads.arguments import DecompressionPlan
from purepy.zstd.threads.decompress import ParallelDecompressor

if TYPE_CHECKING:
    from purepy.base.types import Buffer, Bytes

_READ_SIZE = 1 << 20


class ParallelReader(StreamReader):
    """The content of a file, some of it decompressed ahead by other threads."""

    _parallel: ParallelDecompressor | None = None

    def __init__(self, fp: BinaryIO, close_fp: bool, plan: DecompressionPlan) -> None:
        super().__init__(fp, close_fp)
        self._plan = plan
        self._start()

    def _start(self) -> None:
        self._piece: Bytes = b""
        self._at = 0
        self._parallel = ParallelDecompressor(self._plan)

    def _let_go(self) -> None:
        self._piece = b""
        if self._parallel is not None:
            self._parallel.close()
            self._parallel = None

    def _chunk(self) -> bytes | None:
        """Read from the file; None at its end."""
        try:
            return read_some(self._fp, _READ_SIZE) or None
        except Exception:  # of the file, which may be tried again
            self._failure = None
            raise

    def _next(self) -> memoryview:
        """Return what is left of the current piece, or the next one; empty at the end."""
        if self._failure is not None and not self.closed:
            raise copy.copy(self._failure)
        if self._parallel is None:
            raise ValueError("I/O operation on closed file")
        if self._at == len(self._piece):
            self._lose()
            try:
                self._piece, self._at = self._parallel.next_piece(self._chunk) or b"", 0
            except (ZstdError, EOFError) as exc:
                self._failure = copy.copy(exc)
                raise
            if not len(self._piece):
                self._size = self._pos
            self._failure = None
        return memoryview(self._piece)[self._at :]

    def _taken(self, size: int) -> int:
        self._lose()
        self._at += size
        self._pos += size
        self._failure = None
        return size

    def readinto(self, buffer: Buffer, /) -> int:
        before = self._pos
        try:
            with self._lock, memoryview(buffer) as view, view.cast("B") as target, self._next() as piece:
                size = min(len(piece), len(target))
                target[:size] = piece[:size]
                result = self._taken(size)
                return result
        except BaseException:
            if self._pos != before:  # nobody has got the content
                self._lose()
            raise

    def readall(self) -> bytes:
        pieces: list[bytes] = []
        try:
            with self._lock:
                while True:
                    with self._next() as piece:
                        if not len(piece):
                            result = b"".join(pieces)
                            return result
                        pieces.append(bytes(piece))
                        self._taken(len(piece))
        except Exception:
            raise
        except BaseException:
            if pieces:
                self._lose()
            raise
