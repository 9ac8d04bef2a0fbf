# SPDX-License-Identifier: Apache-2.0
"""Reading of a file whose frames are decompressed by several threads."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

from purepy.base.reading import read_some
from purepy.zstd.files.readers import StreamReader
from purepy.zstd.threads.arguments import DecompressionPlan
from purepy.zstd.threads.decompress import ParallelDecompressor

if TYPE_CHECKING:
    from purepy.base.types import Bytes

_READ_SIZE = 1 << 20


class ParallelReader(StreamReader):
    """The content of a file, which other threads decompress ahead."""

    _parallel: ParallelDecompressor | None = None  # None if __init__ failed

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

    def _next(self) -> memoryview:
        """Return the rest of the current piece, or the next piece; empty at the end."""
        if self._at == len(self._piece):
            assert self._parallel is not None
            self._piece, self._at = self._parallel.next_piece(self._chunk) or b"", 0
        return memoryview(self._piece)[self._at :]

    def _chunk(self) -> bytes | None:
        """Read from the file; return None at its end."""
        return read_some(self._fp, _READ_SIZE) or None

    def _read_into(self, target: memoryview) -> int:
        with self._next() as piece:
            size = min(len(piece), len(target))
            target[:size] = piece[:size]
            self._at += size
            return size

    def _read_all(self) -> bytes:
        pieces: list[bytes] = []
        while True:
            with self._next() as piece:
                if not len(piece):
                    return b"".join(pieces)
                pieces.append(bytes(piece))
                self._at += len(piece)
