# SPDX-License-Identifier: Apache-2.0
"""The streams that a ZstdFile writes through: a raw one that compresses, and the file below that was opened by name."""

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

    After an exception it goes on exactly, or it is broken: the compressor was interrupted, or failed. Then nothing more
    is written but, behind whole frames, the beginning of one more, so that the file reads as cut. `tell` says what the
    compressor has taken, also after an exception. What is on top asks that before it writes the same again; where it
    does not, `repeats` is set, and an interrupt that comes after the data was taken breaks this.
    """

    def __init__(self, compressor: Compressor) -> None:
        self.compressor = compressor
        self._fp: File = None
        self._close_fp = False
        self._pos = 0
        self._output: tuple[Bytes, list[object]] = b"", []
        """What the file has yet to take, and what its write() of that has returned: two facts that change at once."""
        self._unflushed = False  # whether the file is to be flushed once it has all
        self._interrupt: BaseException | None = None  # what the next call raises
        self._refused = False  # whether the last write took nothing
        self._ends_frame = True  # whether what the compressor has given ends where a frame does
        self.drops = False  # whether what is still written is of no use
        self.is_broken = False
        self.repeats = False
        self._lock = RLock()
        self.above: list[object] = []

    def attach(self, fp: object, close_fp: bool) -> None:
        """Take the file that the compressed bytes go to."""
        self._fp = fp
        self._close_fp = close_fp

    def __del__(self) -> None:
        pass

    def leave_to(self, top: object) -> None:
        """
        Let `top` be the one to close this in its finalizer, for as long as it is there.

        In a cycle of garbage its finalizer may come last. A list is emptied when it is gone: a callback that knew this
        object would put it in a cycle.
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
            raise ZstdError("writing was interrupted or failed before, and the file is cut there: write it again")
        interrupt, self._interrupt = self._interrupt, None
        if interrupt is not None:
            raise interrupt

    def write(self, data: Buffer, /) -> int:
        """
        Compress and write; return the size.

        The compressor cannot take data back, so an error of the file after that is raised by the next call, and the
        bytes that the file did not take are written first then: no failure leaves a gap, or writes anything twice.
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
        """Call the compressor, and count what it has taken; broken if that is interrupted anywhere, or fails."""
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
        """Write what was compressed; what fails is tried again by the next call, and an interrupt raised by it."""
        try:
            self._put()
        except BaseException as exc:
            if is_refusal(exc):
                return
            if self.is_broken or not self.repeats:
                raise
            self._interrupt = exc

    def _put(self) -> None:
        """Write what the file has yet to take, whatever interrupted that before."""
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
                if getattr(exc, "characters_written", 0) <= 0:  # not there unless it was set
                    exc.characters_written = 0
                    raise
                returned.append(exc.characters_written)
            except BaseException as exc:
                is_exact = type(self._fp).write in (io.FileIO.write, io.BytesIO.write)
                self.is_broken = not (returned or is_exact or is_refusal(exc))
                raise

    def refuse_within(self) -> None:
        """Raise RuntimeError within one of this thread's own calls."""
        self._turn()

    def begin(self) -> None:
        """
        Begin a frame, unless one has begun, so that even a write of nothing makes one.

        What was written has been taken by then, so that an error of the file is for the next call here too.
        """
        if self.compressor.last_mode == FLUSH_FRAME:
            with self._turn():
                if not self.closed and not self.is_broken:
                    self._take(self.compressor.compress, b"", 0)
                    self._put_or_wait()

    def end(self, mode: int) -> None:
        """End a block or a frame, unless that was the last thing done."""
        with self._turn():
            if not self.drops:
                self._check_usable()
                self._end(mode)

    def finish(self) -> None:
        """End the last frame, and with it the content; what a file does not take is tried again by the next call."""
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
        Take and drop what is still written if this is broken, so that what is on top can be closed.

        Returns whether it is. Waits for another thread's call, during which it counts as broken.
        """
        with self._turn():
            self.drops = self.is_broken
            return self.is_broken

    def close(self) -> None:
        """
        End the frame, unless data is missing from it, and let go of the compressor and the file.

        Data is missing if the last write took nothing: what gathers it closes this whether or not it could be written.
        May be called again, and does then what an interrupt has left.
        """
        with self._turn():
            try:
                if not self.closed and self._fp is not None and not self._refused and not self.is_broken:
                    self._finish()
                elif not self.closed and self.is_broken and self._ends_frame:
                    with Suppressed(OSError, ValueError):  # ValueError: the file is closed
                        self._fp.write(MAGIC)  # what was whole frames reads as cut, too
            finally:
                super().close()  # first: what an interrupt leaves of the rest, the next call does
                release(self.compressor)
                if self._close_fp:
                    self._fp.close()
