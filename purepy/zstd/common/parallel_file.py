# SPDX-License-Identifier: Apache-2.0
"""Reading a file whose frames are decompressed by several threads."""

from __future__ import annotations

import copy
import io
from _thread import RLock
from collections.abc import Iterator
from typing import Any, Callable

from purepy.errors import ZstdError
from purepy.zstd.common import parallel
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


class ParallelReader(io.RawIOBase):
    """
    The decompressed content of a file as a raw stream, some of it decompressed ahead; seeking backwards starts over.

    An error of the content is raised again until a seek(), which starts over too.
    """

    _close_fp = False
    _lock: Any = None
    _pieces: Any = None

    def __init__(self, fp: Any, close_fp: bool, parameters: Parameters) -> None:
        self._fp = fp
        self._close_fp = close_fp
        self._parameters = parameters
        self._size = -1
        self._lock = RLock()
        self._start()

    def _start(self) -> None:
        self._pieces = parallel.decompressed_views(self._parameters, _chunks(self._fp), None)
        self._piece: Any = b""
        self._at = 0
        self._pos = 0
        self._failure: Exception | None = None

    def close(self) -> None:
        if self._lock is None:
            super().close()
            return
        with self._lock:
            pieces, self._pieces = self._pieces, None
            try:
                if pieces is not None:
                    pieces.close()
            finally:
                self._piece = b""
                super().close()
                if self._close_fp:
                    self._fp.close()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return bool(self._fp.seekable())

    def tell(self) -> int:
        return self._pos

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

    def _skip(self, size: int | None) -> None:
        """Pass over so many bytes, or all that there are."""
        while size is None or size > 0:
            with self._next() as piece:
                if not len(piece):
                    return
                taken = self._taken(len(piece) if size is None else min(len(piece), size))
            if size is not None:
                size -= taken

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        with self._lock:
            if self.closed:
                raise ValueError("I/O operation on closed file")
            if whence == io.SEEK_CUR:
                offset += self._pos
            elif whence == io.SEEK_END:
                if self._size < 0:
                    self._skip(None)
                offset += self._size
            elif whence != io.SEEK_SET:
                raise ValueError(f"Invalid value for whence: {whence}")
            if offset < self._pos or self._failure is not None:
                self._pieces.close()
                self._fp.seek(0)
                self._start()
            self._skip(offset - self._pos)
            return self._pos


def reader_maker(module: Any, threads: Any, zstd_dict: Any, options: Any) -> Callable[[Any, bool], Any] | None:
    """Return what makes the raw stream of a file; None if several threads are of no use."""
    parameters = parallel.decompressing(module, threads, zstd_dict, options, end_of_file_error)
    if parameters is None:
        return None

    def make(fp: Any, close_fp: bool) -> ParallelReader:
        return ParallelReader(fp, close_fp, parameters)

    return make
