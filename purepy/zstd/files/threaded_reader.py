# SPDX-License-Identifier: Apache-2.0
"""Reading a file whose frames are decompressed by several threads."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, BinaryIO

from purepy.base.errors import ZstdError
from purepy.zstd.files.readers import StreamReader
from purepy.zstd.threads.arguments import DecompressionPlan
from purepy.zstd.threads.decompress import ParallelDecompressor

if TYPE_CHECKING:
    from purepy.base.types import Bytes

_READ_SIZE = 1 << 20


class ParallelReader(StreamReader):
    """The content of a file, some of it decompressed ahead by other threads."""

    _parallel: ParallelDecompressor | None = None  # of one that was never made

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

    def _chunk(self) -> bytes | None:
        """Read from the file; None at its end."""
        assert self._parallel is not None
        try:
            data = self._read_file(_READ_SIZE)
        except BaseException:
            if self._parallel.may_go_on:
                self._failure = None  # what was read is kept
            raise
        self._read.clear()
        return data

    def _next(self) -> memoryview:
        """Return what is left of the current piece, or the next one; empty at the end."""
        if self._at == len(self._piece):
            assert self._parallel is not None
            self.lose()
            try:
                self._piece, self._at = self._parallel.next_piece(self._chunk) or b"", 0
            except (ZstdError, EOFError) as exc:
                self._failure = copy.copy(exc)
                raise
            if not len(self._piece):
                self._size = self._pos
            self._failure = None
        return memoryview(self._piece)[self._at :]

    def _read_into(self, target: memoryview) -> int:
        with self._next() as piece:
            size = min(len(piece), len(target))
            self.lose()
            target[:size] = piece[:size]
            self._at += size
            self._pos += size
            self._failure = None
            return size

    def _read_piece(self) -> bool:
        with self._next() as piece:
            size = len(piece)
            if size:
                self.lose()
                self._kept.append(bytes(piece))
                self._at += size
                self._failure = None
            return size > 0
