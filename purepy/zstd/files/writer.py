# SPDX-License-Identifier: Apache-2.0
"""The streams through which a ZstdFile writes: a raw stream that compresses, and a file that the ZstdFile opened."""

from __future__ import annotations

import io
import weakref

from purepy.base.errors import Suppressed, ZstdError, is_refusal
from purepy.base.locks import Exclusive, RLock
from purepy.base.uninterrupted import call_and_keep
from purepy.base.writing import taken_by
from purepy.zstd.format.locks import release
from purepy.zstd.format.rules import FLUSH_FRAME, MAGIC

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, TypeVar

    from purepy.base.types import Buffer, Bytes, Compressor, File

    _Argument = TypeVar("_Argument")


class WriteFile(io.FileIO):
    """
    A file that a ZstdFile opens for writing, if the caller passes a path.

    It has no buffer, because the data has already passed through a buffer. It has no finalizer, because the collector
    runs the finalizers of a cycle of garbage in any order: the object above closes this file after writing what that
    object holds.
    """

    def __del__(self) -> None:
        pass


class CompressWriter(Exclusive, io.RawIOBase):
    """
    A raw stream that compresses data into a file, below a writer that collects small writes.

    Its methods run one at a time. The stream has no finalizer; the object above closes it. If the stream closed itself
    in a cycle of garbage, the frame would end without the data that the object above holds, and look complete.

    After an exception the stream either continues exactly or is broken: the compressor failed or was interrupted, or it
    is unknown what the file took. A broken stream writes nothing more, with one exception: after complete frames, close
    writes the beginning of another frame, so that the file reads as truncated. `tell` returns how much content the
    compressor has taken, also after an exception, and the object above checks it before it repeats a write. If that
    object does not check, `repeats` is set, and an exception after the data was taken breaks the stream.
    """

    def __init__(self, compressor: Compressor) -> None:
        self.compressor = compressor
        self._fp: File = None
        self._close_fp = False
        self._pos = 0
        self._output: tuple[Bytes, list[object]] = b"", []
        """The bytes that the file has not taken yet, and a list for the result of writing them; replaced together."""
        self._unflushed = False  # whether to flush the file once it has taken everything
        self._interrupt: BaseException | None = None  # raised by the next call
        self._refused = False  # whether the last write took nothing
        self._ends_frame = True  # whether the compressor's output so far ends at the end of a frame
        self.drops = False  # whether further writes are dropped
        self.is_broken = False
        self.repeats = False
        self._lock = RLock()
        self.above: list[object] = []

    def attach(self, fp: object, close_fp: bool) -> None:
        """Set the file that receives the compressed bytes, and whether close() closes it as well."""
        self._fp = fp
        self._close_fp = close_fp

    def __del__(self) -> None:
        pass

    def leave_to(self, top: object) -> None:
        """
        Leave closing to `top` and the finalizer of `top`, for as long as `top` exists.

        In a cycle of garbage, the finalizer of `top` may run last. The list `above` is not empty while `top` exists: a
        callback empties it. The callback does not refer to this object, because that would create a reference cycle.
        """
        above: list[object] = [True]
        self._watch = weakref.ref(top, lambda _: above.clear())
        self.above = above

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._pos

    def _check_usable(self) -> None:
        if self.closed:
            raise ValueError("I/O operation on closed file")
        if self.is_broken:
            raise ZstdError("an earlier write failed or was interrupted, so the file is incomplete: write it again")
        interrupt, self._interrupt = self._interrupt, None
        if interrupt is not None:
            raise interrupt

    def write(self, data: Buffer, /) -> int:
        """
        Compress `data` and write the result; return the size of `data`. If `drops` is set, only return this size.

        The compressor cannot give data back, so an error of the file after compression is not raised here. The next
        call writes the bytes that the file did not take, and raises the error if it persists: no failure leaves a gap
        or writes anything twice.
        """
        before = self._pos
        try:
            with self._turn():
                size: int = memoryview(data).nbytes
                if self.drops:
                    return size
                self._refused = True
                self._check_usable()
                if self._output[0]:
                    self._put()
                self._take(self.compressor.compress, data, size)
                if self._output[0]:
                    self._put_or_wait()
                return size
        except BaseException:
            if self.repeats and self._pos != before:
                self.is_broken = True
            raise

    def _take(self, call: Callable[[_Argument], bytes], argument: _Argument, size: int) -> None:
        """
        Call `call(argument)`, a method of the compressor; queue its output and count `size` bytes of data as taken.

        The stream is broken if the call fails or is interrupted.
        """
        self.is_broken = True
        output = call(argument)
        if output:
            self._queue(output)
        self._pos += size
        compressor = self.compressor
        self._ends_frame = getattr(compressor, "ends_frame", compressor.last_mode == FLUSH_FRAME)
        self._refused = False
        self.is_broken = False

    def _queue(self, output: bytes) -> None:
        waiting = self._output[0]
        self._output = b"".join((waiting, output)) if waiting else output, []

    def _put_or_wait(self) -> None:
        """
        Write the compressed data; if that fails, the next call writes the rest.

        An error of the file is not raised here: the next call raises it if it persists. Any other exception is raised,
        or left to the next call if `repeats` is set and the stream is not broken.
        """
        try:
            self._put()
        except BaseException as exc:
            if is_refusal(exc):
                return
            if self.is_broken or not self.repeats:
                raise
            self._interrupt = exc

    def _put(self) -> None:
        """Write the compressed data that the file has not taken yet, also after an interrupted write."""
        while True:
            output, returned = self._output
            if not output:
                return
            if returned:
                try:
                    taken = taken_by(self._fp, returned[0], len(output))
                except OSError as exc:
                    if is_refusal(exc):
                        self._output = output, []
                    raise
                self._output = memoryview(output)[taken:] if taken < len(output) else b"", []
                continue
            try:
                call_and_keep(returned, self._fp.write, output)
            except BlockingIOError as exc:
                if getattr(exc, "characters_written", 0) <= 0:  # the attribute is missing unless it was set
                    exc.characters_written = 0
                    raise
                returned.append(exc.characters_written)
            except BaseException as exc:
                is_exact = type(self._fp).write in (io.FileIO.write, io.BytesIO.write)
                self.is_broken = not (returned or is_exact or is_refusal(exc))
                raise

    def refuse_within(self) -> None:
        """Raise RuntimeError if the calling thread is already inside a call of this object."""
        self._turn()

    def begin(self) -> None:
        """
        Begin a frame unless a frame has begun, so that even a write of no bytes creates a frame.

        Does nothing if the stream is closed or broken.

        As after write(), an error of the file is left to the next call, because the written data has been taken.
        """
        if self.compressor.last_mode == FLUSH_FRAME:
            with self._turn():
                if not self.closed and not self.is_broken:
                    self._take(self.compressor.compress, b"", 0)
                    self._put_or_wait()

    def end(self, mode: int) -> None:
        """End a block or frame, as `mode` states, unless that was done last; write all output and flush the file."""
        with self._turn():
            if not self.drops:
                self._check_usable()
                self._end(mode)

    def finish(self) -> None:
        """End the last frame; subclasses may write more after it. After an error, the next call writes the rest."""
        with self._turn():
            if not self.drops:
                self._check_usable()
                self._finish()

    def _finish(self) -> None:
        self._end(FLUSH_FRAME)

    def _end(self, mode: int) -> None:
        if self._output[0]:
            self._put()
        if self.compressor.last_mode != mode:
            self._unflushed = True
            self._take(self.compressor.flush, mode, 0)
            self._put()
        if self._unflushed and hasattr(self._fp, "flush"):
            self._fp.flush()
        self._unflushed = False

    def give_up(self) -> bool:
        """
        Drop further writes if the stream is broken, so that the object above can be closed; return `is_broken`.

        Waits for a call in another thread, during which the stream counts as broken.
        """
        with self._turn():
            self.drops = self.is_broken
            return self.is_broken

    def close(self) -> None:
        """
        End the frame, unless data is missing from it; release the compressor, and close the file if `close_fp` is set.

        Data is missing if the stream is broken, or if the last write failed before it took its data: the object above
        closes the stream even then. A further call completes what an interrupt has prevented.
        """
        with self._turn():
            try:
                if not self.closed and self._fp is not None and not self._refused and not self.is_broken:
                    self._finish()
                elif not self.closed and self.is_broken and self._ends_frame:
                    with Suppressed(OSError, ValueError):  # ValueError: the file is closed
                        self._fp.write(MAGIC)  # so that even complete frames read as truncated
            finally:
                super().close()  # first: if an interrupt prevents the rest, the next call does it
                release(self.compressor)
                if self._close_fp:
                    self._fp.close()
