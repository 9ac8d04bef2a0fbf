# SPDX-License-Identifier: Apache-2.0
"""Writing record files: frames are cut by size, compressed by threads, and written in order."""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterable, Sequence
from typing import Final

from cpkg import msgpack
from cpkg.records import format as fmt
from cpkg.records.layout import Frame, Layout
from cpkg.records.packing import BatchPacker, FrameCompressor, batches
from cpkg.records.positions import Target
from cpkg.records.settings import WriterSettings
from cpkg.records.writing_ahead import Encoding
from purepy.base.errors import LimitError
from purepy.base.locks import Exclusive, RLock

_BATCH_MAX: Final = 1024
_MEAN_SIZE: Final = 1 << 10
_CONTENT_MAX: Final = fmt.CONTENT_MAX


class Writer(Exclusive):
    """
    Append records to a file.

    Made by `records.open(path, "wb")` ("xb", "ab"). Records are packed when they are given, gathered until they are
    `frame_size` bytes, compressed by `threads` while the caller goes on, and written in order. What `flush` has
    returned for is in the file: a process that is killed loses none of it. `close` writes the index; a file that was
    never closed can be read and appended to without.

    A call that raises has not taken its record (`extend`: the record that it came to), and what was taken before is
    kept and written by the next call: after a full disk, and after a signal at any point, the writer goes on where it
    was. One over a file object or URL whose `write` was interrupted is broken, and says so. Several threads may append.
    A call from inside another call of the same writer (a signal handler, `default`, the caller's file) is a
    RuntimeError, and the other call continues. A forked child cannot use its parent's writer.
    """

    def __init__(self, target: Target, layout: Layout, settings: WriterSettings) -> None:
        self._closed = True  # until the file is begun
        self._is_close_tried = False
        self._is_forked = self._is_discarded = False
        self._target = target
        self._batch = BatchPacker(settings.options) if batches(settings.options) else None
        self._layout = layout
        self._frame_size = settings.frame_size
        self._most = -1  # `_frame_size`, but -1 where `append` has to look closer: while it is closed, for example
        self._fsync = settings.fsync
        self._lock = RLock()
        encoder = FrameCompressor(settings.level, settings.dictionary)
        self._frames = Encoding(encoder, settings.threads, settings.frame_size)
        self._mean = _MEAN_SIZE  # of a record in the last frame
        # How many frames have ended, and the frame at hand: how many records it has, and how many bytes of them are in
        # `_frames` and in the buffer. Anything beyond that belongs to a call that has not returned: one assignment
        # takes a record, or ends a frame.
        self._whole = len(layout), 0, 0, 0
        self._has_rest = layout.indexed or bool(layout.torn)  # bytes behind the last frame: an index, or torn ones
        self._has_changed = not layout.indexed
        self._is_synced = False
        if not layout.end:
            header = fmt.file_header(layout.token)
            self._put(header)
            layout.go_on(len(header), 0)
        if settings.dictionary is not None and layout.dictionary is None:
            data = fmt.dictionary_frame(settings.dictionary.dict_content)
            self._put(data)
            layout.dictionary = (layout.end, len(data))
        self._buffer = bytearray()
        self._pack = msgpack.Packer(buffer=self._buffer, **settings.options).pack
        self._closed = False
        _writers.add(self)

    # --- records --------------------------------------------------------------------------------------------------

    def append(self, record: object) -> None:
        """
        Add one record.

        Raises what packing does (TypeError, OverflowError, ...), LimitError for a record beyond 1 GiB, OSError if an
        earlier frame cannot be written; the record is not added then.
        """
        lock = self._lock
        if lock._is_owned():  # as `_turn` does it, which takes longer
            raise RuntimeError(self._reentered())
        with lock:
            buffer = self._buffer
            ended, count, added, size = self._whole
            if added + size >= self._most or len(buffer) != size:
                ended, count, added, size = self._with_room()
            self._pack(record)
            end = len(buffer)
            if added + end > _CONTENT_MAX:
                self._divide(size)
                return
            self._whole = ended, count + 1, added, end

    def extend(self, records: Iterable[object]) -> None:
        """
        Add many records.

        Those of a list or tuple are packed many at a time, which takes half of the time. Those of any other iterable
        are packed one by one as they come, because it may give one object many times. Raises what `append` does and
        what the iterable raises; the records in front of it are added.
        """
        if isinstance(records, (list, tuple)):
            at = 0
            while at < len(records):
                piece = records[at : at + self._batch_size()]
                self._extend_batch(piece)
                at += len(piece)
        else:
            append = self.append
            for record in records:
                append(record)

    def _batch_size(self) -> int:
        """Return how many records to pack at once, so that they fill about a quarter of a frame."""
        _, count, added, size = self._whole
        mean = (added + size) // count if count else self._mean
        return max(min(self._frame_size // 4 // max(mean, 1), _BATCH_MAX), 1)

    def _extend_batch(self, records: Sequence[object]) -> None:
        failure = None
        batch = self._batch
        if len(records) > 1 and batch is not None:
            if batch.locks and batch.is_packing():  # else `Packer` would refuse, and its records be added one by one
                raise RuntimeError(self._reentered())
            try:
                packed, start = batch.pack(records)
            except (MemoryError, RecursionError):
                pass  # one by one they take less
            except Exception as exc:
                failure = exc  # one of them fails: it is found, and those in front of it are added, one by one
            else:
                lock = self._lock
                if lock._is_owned():  # as in `append`
                    raise RuntimeError(self._reentered())
                with lock:
                    ended, count, added, size = self._with_room()
                    more = len(packed) - start
                    if added + size + more <= _CONTENT_MAX:
                        added = self._add_buffer()
                        self._frames.add(ended, added, packed, start)
                        self._whole = ended, count + len(records), added + more, 0
                        return
        for record in records:
            self.append(record)
        if failure is not None:  # no record has failed: a signal handler has raised it
            try:
                raise failure
            finally:
                del failure  # no cycle of an error and the frames that it went through

    def _settled(self) -> tuple[int, int, int, int]:
        """Undo what a signal has interrupted; return `_whole`."""
        ended, _, _, size = self._whole
        self._frames.settle(len(self._layout), ended)
        self._most = self._frame_size
        if len(self._buffer) > size:  # at last: by this `append` knows that there is something to undo
            del self._buffer[size:]
        return self._whole

    def _with_room(self) -> tuple[int, int, int, int]:
        """Return `_whole` of a frame that is not full."""
        self._check()
        _, _, added, size = self._settled()
        if added + size >= self._frame_size:
            self._cut()
        return self._whole

    def _add_buffer(self) -> int:
        """Put what was packed one by one into the frame; return how many bytes that has now."""
        ended, count, added, size = self._whole
        if size:
            self._frames.add(ended, added, bytes(self._buffer))
            self._whole = ended, count, added + size, 0
            self._settled()
        return added + size

    def _divide(self, before: int) -> None:
        """Give the last record, with which the buffer became too large for a frame, one of its own."""
        last = bytes(self._buffer[before:])  # PyPy 8 would not shrink a buffer that has a view
        del self._buffer[before:]
        if len(last) > _CONTENT_MAX:
            raise LimitError(f"a record of {len(last)} bytes exceeds the most that a frame holds ({_CONTENT_MAX})")
        self._cut()
        self._buffer += last
        self._whole = self._whole[0], 1, 0, len(last)

    # --- frames ---------------------------------------------------------------------------------------------------

    def _check(self) -> None:
        if self._is_forked:
            raise RuntimeError("a record writer cannot be used in a forked child: open the file there")
        if self.closed or self._is_discarded:
            raise ValueError("I/O operation on a closed record file")
        self._closed = False  # what interrupted `close` came before others could write

    def _cut(self, *, final: bool = False) -> None:
        """Make a frame of what was gathered, and write those in front of it that are ready."""
        self._check()
        self._settled()
        while self._frames.is_full:
            self._write_first()
        ended, count, added, size = self._whole
        if count:
            self._mean = (added + size) // count
            self._frames.end(ended, self._add_buffer(), count)
            self._whole = ended + 1, 0, 0, 0
        self._settled()
        self._frames.hand_over(final=final)

    def _write_first(self) -> None:
        """Write the frame that was handed over first, and take note of it when it is in the file."""
        records, size, data = self._frames.first()
        layout = self._layout
        checksum = int.from_bytes(data[-4:], "little")
        frame = Frame(layout.end + fmt.DATA_HEADER_SIZE, len(data), size, records, layout.total, checksum)
        self._put(fmt.data_header(layout.header(frame)) + data)
        layout.add(frame)
        self._has_rest = False
        self._settled()

    def _write_all(self) -> None:
        while len(self._frames):
            self._write_first()

    def _put(self, data: bytes) -> None:
        """Write behind the last frame, over any older bytes; an interrupted caller may repeat it."""
        if self._has_rest:
            self._target.cut(self._layout.end)
        self._has_rest = True
        self._has_changed = True
        self._is_synced = False
        self._target.write(self._layout.end, data)

    # --- the file -------------------------------------------------------------------------------------------------

    def flush(self) -> None:
        """
        Write all records to the file, as a frame of their own.

        When it has returned they outlast this process, and with `fsync="flush"` the system, too. Frames that are much
        smaller than `frame_size` compress worse: flush when records have to be safe, not after each.
        """
        with self._turn():
            self._drain()
            if self._fsync == "flush":
                self._target.sync()

    def _drain(self) -> None:
        self._cut(final=True)
        self._write_all()
        self._target.flush()

    def close(self) -> None:
        """
        Write the last frame and the index, and let others write.

        If it raises, the file stays open and nothing is lost: it can be called again. A file to which nothing was
        added stays as it is.
        """
        with self._turn():
            self._is_close_tried = True
            if not self._closed:
                self._drain()
                if self._has_changed:
                    self._put(self._layout.tail())
                    self._has_changed = False
                    self._target.flush()
                if self._fsync != "never" and not self._is_synced:
                    self._target.sync()
                    self._is_synced = True
                self._frames.close()
                self._close()
            self._target.close()  # again: nothing, or the error that it was

    def discard(self) -> None:
        """Close the file as it is: records that were not written are lost, and an upload leaves nothing behind."""
        with self._turn():
            self._is_discarded = True
            self._frames.close()
            self._close()
            self._target.discard()

    def _close(self) -> None:
        self._most = -1  # first: `append` looks at this alone
        self._closed = True

    @property
    def closed(self) -> bool:
        """Whether `close` has done its work: not where an exception has left the file locked."""
        return self._closed and not self._target.is_locked

    @property
    def name(self) -> str:
        """The path of the file; empty if it has none."""
        return self._target.name

    def __len__(self) -> int:
        """Return the number of records: those that were there, and those added."""
        with self._turn():
            ended, count, _, _ = self._whole
            written = len(self._layout)
            return self._layout.total + self._frames.records(written, ended) + count

    def __enter__(self) -> Writer:
        self._check()
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if error is not None and self._target.is_broken:
            self.discard()  # the error that broke it goes on
        else:
            self.close()

    def __del__(self) -> None:
        if not getattr(self, "_closed", True) and not self._target.is_closed:
            is_known = self._is_close_tried
            try:
                self.close()
            except Exception:
                if not is_known:  # else the caller has had the error
                    raise


_writers: weakref.WeakSet[Writer] = weakref.WeakSet()


def _forget_in_child() -> None:
    """Have the writers of a process be nobody's in its forked child: its records and its lock are the parent's."""
    for writer in list(_writers):
        writer._lock = RLock()
        writer._is_forked = True
        writer._close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_in_child)
