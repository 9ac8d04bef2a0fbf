# SPDX-License-Identifier: Apache-2.0
"""Reading a file whose frames are decompressed by several threads."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, Callable

from purepy.errors import ZstdError
from purepy.zstd.common import parallel
from purepy.zstd.common.file_readers import StreamReader
from purepy.zstd.common.parallel_decompress import Parameters

_READ_SIZE = 1 << 20


def _chunks(file: Any) -> Iterator[bytes]:
    while True:
        data = file.read(_READ_SIZE)
        if not data:
            return
        yield data


def end_of_file_error(given: int) -> EOFError:
    """Make the error of a file that ends inside a frame, or before one."""
    return EOFError("Compressed file ended before the end-of-stream marker was reached")


class ParallelReader(StreamReader):
    """The content of a file, some of it decompressed ahead by other threads."""

    _pieces: Any = None

    def __init__(self, fp: Any, close_fp: bool, parameters: Parameters) -> None:
        super().__init__(fp, close_fp)
        self._parameters = parameters
        self._start()

    def _start(self) -> None:
        self._pieces = parallel.decompressed_views(self._parameters, _chunks(self._fp), None)
        self._piece: Any = b""
        self._at = 0

    def _let_go(self) -> None:
        pieces, self._pieces = self._pieces, None
        self._piece = b""
        if pieces is not None:
            pieces.close()

    def _next(self) -> Any:
        """Return what is left of the current piece, or the next one; empty at the end."""
        if self._pieces is None:
            raise ValueError("I/O operation on closed file")
        if self._failure is not None:
            raise copy.copy(self._failure)
        if self._at == len(self._piece):
            self._piece, self._at = b"", 0
            try:
                self._piece = next(self._pieces, b"")
            except BaseException as exc:
                kept = isinstance(exc, (ZstdError, EOFError))
                self._failure = copy.copy(exc) if kept else OSError("decompressing was interrupted")  # type: ignore[assignment]
                raise
            if not len(self._piece):
                self._size = self._pos
        return memoryview(self._piece)[self._at :]

    def _taken(self, size: int) -> int:
        self._at += size
        self._pos += size
        return size

    def readinto(self, buffer: Any, /) -> int:
        with self._lock, memoryview(buffer) as view, view.cast("B") as target, self._next() as piece:
            size = min(len(piece), len(target))
            target[:size] = piece[:size]
            return self._taken(size)

    def readall(self) -> bytes:
        with self._lock:
            pieces: list[bytes] = []
            while True:
                with self._next() as piece:
                    if not len(piece):
                        return b"".join(pieces)
                    pieces.append(bytes(piece))
                    self._taken(len(piece))


def reader_maker(module: Any, threads: Any, zstd_dict: Any, options: Any) -> Callable[[Any, bool], Any] | None:
    """Return what makes the raw stream of a file; None if several threads are of no use."""
    parameters = parallel.decompressing(module, threads, zstd_dict, options, end_of_file_error)
    if parameters is None:
        return None

    def make(fp: Any, close_fp: bool) -> ParallelReader:
        return ParallelReader(fp, close_fp, parameters)

    return make
