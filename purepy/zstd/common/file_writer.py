# SPDX-License-Identifier: Apache-2.0
"""The streams that a ZstdFile writes through: a raw one that compresses, and the file below that was opened by name."""

from __future__ import annotations

import io
import weakref
from _thread import RLock

from purepy._writing import write_some
from purepy.errors import ZstdError
from purepy.zstd.common.locks import Exclusive
from purepy.zstd.common.stream_functions import FLUSH_FRAME, release

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class WriteFile(io.FileIO):
    """
    A file opened by name to be written.

    It has no buffer, since what is written has gone through one, and no finalizer: the collector runs those of a cycle
    of garbage in any order, and what is on top closes this, after what it holds.
    """

    def __del__(self) -> None:
        pass


class CompressWriter(Exclusive, io.RawIOBase):
    """
    Raw stream that compresses what is written to a file, under a writer that gathers small writes.

    One thread at a time does something. It has no finalizer: what is on top closes it. Were it closed by itself in a
    cycle of garbage, the frame would end without what that holds and be taken for whole.
    """

    def __init__(self, compressor: Any) -> None:
        self.compressor = compressor
        self._fp: Any = None
        self._close_fp = False
        self._pos = 0
        self._unwritten: bytes | memoryview = b""
        self._unflushed = False  # whether the file is to be flushed once it has all
        self._failure: BaseException | None = None
        self._refused = False  # whether the last write took nothing
        self._broken = False  # whether the compressor has dropped its frame
        self._lock = RLock()
        self.above: list[Any] = []

    def attach(self, fp: Any, close_fp: bool) -> None:
        """Take the file that the compressed bytes go to."""
        self._fp = fp
        self._close_fp = close_fp

    def __del__(self) -> None:
        pass

    def leave_to(self, top: Any) -> None:
        """
        Let `top` be the one to close this in its finalizer, for as long as it is there.

        In a cycle of garbage its finalizer may come last. What tells that it is gone is a list: a callback that knew
        this object would put it in a cycle.
        """
        above: list[Any] = [True]
        self._watch = weakref.ref(top, lambda _: above.clear())
        self.above = above

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._pos

    def _check_not_closed(self) -> None:
        if self.closed:
            raise ValueError("I/O operation on closed file")

    def write(self, data: Any, /) -> int:
        """
        Compress and write; return the size.

        The compressor cannot take data back, so an error of the file after that is raised by the next call, and the
        bytes that the file did not take are written first then: no failure leaves a gap, or writes anything twice.
        """
        with self._turn():
            self._check_not_closed()
            self._refused = True
            self._settle()
            output = self._compressed(self.compressor.compress, data)
            self._refused = False
            self._put_or_keep(output)
            size: int = memoryview(data).nbytes
            self._pos += size
            return size

    def _settle(self) -> None:
        self._put(b"")
        failure, self._failure = self._failure, None
        if failure is not None and not isinstance(failure, Exception):
            raise failure

    def _compressed(self, call: Any, argument: Any) -> bytes:
        if self._broken:
            raise ZstdError("the compressor failed before, which has ended the frame without its rest")
        self._broken = True
        output: bytes = call(argument)
        self._broken = False
        return output

    def _put_or_keep(self, output: bytes) -> None:
        try:
            self._put(output)
        except BaseException as exc:
            self._failure = exc

    def _put(self, output: bytes | memoryview) -> None:
        output = self._unwritten = b"".join((self._unwritten, output)) if self._unwritten else output
        while output:
            taken = write_some(self._fp, output)
            output = self._unwritten = memoryview(output)[taken:] if taken < len(output) else b""

    def begin(self) -> None:
        """
        Begin a frame, unless one has begun, so that even a write of nothing makes one.

        What was written has been taken by then, so that an error of the file is for the next call here too.
        """
        if self.compressor.last_mode == FLUSH_FRAME:
            with self._turn():
                if not self.closed:
                    self._put_or_keep(self._compressed(self.compressor.compress, b""))

    def end(self, mode: int) -> None:
        """End a block or a frame, unless that was the last thing done."""
        with self._turn():
            self._check_not_closed()
            self._end(mode)

    def _end(self, mode: int) -> None:
        self._settle()
        if self.compressor.last_mode != mode or self._broken:
            self._unflushed = True
            self._put(self._compressed(self.compressor.flush, mode))
        if self._unflushed and hasattr(self._fp, "flush"):
            self._fp.flush()
        self._unflushed = False

    def close(self) -> None:
        """
        End the frame, unless data is missing from it, and let go of the compressor and the file.

        Data is missing if the last write took nothing: what gathers it closes this whether or not it could be written.
        """
        with self._turn():
            if self.closed:
                return
            try:
                if self._fp is not None and not self._refused:
                    self._end(FLUSH_FRAME)
            finally:
                release(self.compressor)
                super().close()
                if self._close_fp:
                    self._fp.close()
