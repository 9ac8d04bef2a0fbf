# SPDX-License-Identifier: Apache-2.0
"""Write record files: divide records into frames by size, compress the frames, and write them in order."""

from __future__ import annotations

import os
import sys
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
from purepy.base.locks import Exclusive, RLock, calls_of

_BATCH_MAX: Final = 1024
_MEAN_SIZE: Final = 1 << 10
_CONTENT_MAX: Final = fmt.CONTENT_MAX


class Writer(Exclusive):
    """
    Append records to a file.

    Returned by `records.open(path, "wb")` ("xb", "ab"). Records are packed when added, collected until they have
    `frame_size` bytes, compressed by `threads` (2 or more work in the background), and written in order. Records added
    before a `flush` are in the file, even if the process is killed later; but at a URL there is no file before `close`.
    `close` writes the index; a file without an index can also be read and appended to.

    If a call raises, its record was not added (for `extend`: the current record and later ones); records added before
    are kept, and later calls write them. So a writer continues after a full disk, and after a signal at any point.
    But if writing to a file object or URL failed or was interrupted, it is unknown how much was written: all later
    calls that write raise OSError. Several threads may append. A call from inside another call of the same writer (by a
    signal handler, `default` or the caller's file) raises RuntimeError, and the other call continues. A forked child
    cannot use its parent's writer.
    """

    def __init__(self, target: Target, layout: Layout, settings: WriterSettings) -> None:
        self._closed = True  # until the file header is written
        self._is_close_tried = False
        self._is_forked = self._is_discarded = False
        self._target = target
        self._batch = BatchPacker(settings.options) if batches(settings.options) else None
        self._layout = layout
        self._frame_size = settings.frame_size
        self._most = -1  # `_frame_size`, or -1 if `append` must check more, for example because the writer is closed
        self._fsync = settings.fsync
        self._lock = RLock()
        encoder = FrameCompressor(settings.level, settings.dictionary)
        self._frames = Encoding(encoder, settings.threads, settings.frame_size)
        self._mean = _MEAN_SIZE  # mean size of a record in the last frame
        # The counts: the number of ended frames, and for the current frame the number of records, and their bytes in
        # `_frames` and in the buffer. A single assignment adds a record or ends a frame, so any data beyond these
        # counts belongs to an unfinished call.
        self._whole = len(layout), 0, 0, 0
        self._has_rest = layout.indexed or bool(layout.torn)  # index or torn frame after the last frame
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

        Raises the errors of packing (TypeError, OverflowError, ...), LimitError for a record of more than 1 GiB, and
        OSError if an earlier frame cannot be written. The record is not added then. Raises ValueError once closed.
        """
        lock = self._lock
        if lock._is_owned():  # the same check as in `_turn`, which is slower
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

        The items of a list or tuple are packed in batches, in half the time, unless `max_total_items` or
        `max_total_bytes` is set. The items of another iterable are packed one by one, as it may yield the same object
        with changed content. Raises the errors of `append` and of the iterable; records before the error are added.
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
        """Return how many records to pack at once, 1 to _BATCH_MAX, so that they fill about a quarter of a frame."""
        _, count, added, size = self._whole
        mean = (added + size) // count if count else self._mean
        return max(min(self._frame_size // 4 // max(mean, 1), _BATCH_MAX), 1)

    def _extend_batch(self, records: Sequence[object]) -> None:
        failure = None
        batch = self._batch
        if len(records) > 1 and batch is not None:
            try:
                packed, start = batch.pack(records)
            except (MemoryError, RecursionError):
                pass  # packing one by one needs less memory
            except Exception as exc:
                if isinstance(exc, RuntimeError) and len(list(calls_of(sys._getframe(), self))) > 1:
                    raise RuntimeError(self._reentered()) from None  # Packer refused a nested call
                failure = exc  # a record fails: add the records before it one by one, then raise its error
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
        if failure is not None:  # no record failed, so a signal handler raised the error
            try:
                raise failure
            finally:
                del failure  # avoid a reference cycle of the error and its traceback

    def _settled(self) -> tuple[int, int, int, int]:
        """Undo an unfinished call that a signal interrupted; return the counts, `_whole`."""
        ended, _, _, size = self._whole
        self._frames.settle(len(self._layout), ended)
        self._most = self._frame_size
        if len(self._buffer) > size:  # done last: until then it shows `append` that there is something to undo
            del self._buffer[size:]
        return self._whole

    def _with_room(self) -> tuple[int, int, int, int]:
        """Make room for a record: end the current frame if it is full. Return the new counts, `_whole`."""
        self._check()
        _, _, added, size = self._settled()
        if added + size >= self._frame_size:
            self._cut()
        return self._whole

    def _add_buffer(self) -> int:
        """Move records from the buffer, where `append` packs them, into the frame; return the frame's size in bytes."""
        ended, count, added, size = self._whole
        if size:
            self._frames.add(ended, added, bytes(self._buffer))
            self._whole = ended, count, added + size, 0
            self._settled()
        return added + size

    def _divide(self, before: int) -> None:
        """
        Move the last record, which begins at `before` in the buffer and made the frame too large, to a new frame.

        Drops the record and raises LimitError if it is too large for any frame.
        """
        last = bytes(self._buffer[before:])  # a copy, because PyPy 8 cannot shrink a buffer that has a view
        del self._buffer[before:]
        if len(last) > _CONTENT_MAX:
            raise LimitError(
                f"a record of {len(last)} bytes exceeds the maximum size of a frame ({_CONTENT_MAX} bytes): "
                "divide it into several records"
            )
        self._cut()
        self._buffer += last
        self._whole = self._whole[0], 1, 0, len(last)

    # --- frames ---------------------------------------------------------------------------------------------------

    def _check(self) -> None:
        if self._is_forked:
            raise RuntimeError("a record writer cannot be used in a forked child process: write to another file there")
        if self.closed or self._is_discarded:
            raise ValueError('I/O operation on a closed record file: to add to a path, open it with mode "ab"')
        self._closed = False  # an interrupted `close` has not unlocked the file yet

    def _cut(self, *, final: bool = False) -> None:
        """
        End the current frame; write earlier frames if too many are waiting.

        With `final`, no frame is expected to follow soon: a single waiting frame is compressed in this thread.
        """
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
        """Wait for the first ended frame, write it, and add it to the layout."""
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
        """Write after the last frame, over any older bytes; a caller that was interrupted may repeat the call."""
        if self._has_rest:
            self._target.cut(self._layout.end)
        self._has_rest = True
        self._has_changed = True
        self._is_synced = False
        self._target.write(self._layout.end, data)

    # --- the file -------------------------------------------------------------------------------------------------

    def flush(self) -> None:
        """
        Write all records to the file, which ends the current frame.

        Then they survive the end of this process (except at a URL) and, with `fsync="flush"`, a system crash. Frames
        much smaller than `frame_size` compress worse, so flush only when records must be safe, not after each record.
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
        Write the remaining records and the index, close the file if the writer opened it, and unlock it.

        If the call raises, the file stays open and no record is lost; call it again. (After a failed `write` of a file
        object or URL, each call raises OSError.) A file with an index to which nothing was added is not changed.
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
            self._target.close()  # a repeated call does nothing, or raises the same error

    def discard(self) -> None:
        """Close the file without writing an index or the records not yet written, which are lost; cancel an upload."""
        with self._turn():
            self._is_discarded = True
            self._frames.close()
            self._close()
            self._target.discard()

    def _close(self) -> None:
        self._most = -1  # first, because `append` checks only this
        self._closed = True

    @property
    def closed(self) -> bool:
        """Whether the file is closed; False if an exception in `close` left it locked."""
        return self._closed and not self._target.is_locked

    @property
    def name(self) -> str:
        """The path or URL of the file, or the `name` of a file object; "" if it has none."""
        return self._target.name

    def __len__(self) -> int:
        """Return the number that the next record gets: the number of all old, added and lost records."""
        with self._turn():
            ended, count, _, _ = self._whole
            written = len(self._layout)
            return self._layout.total + self._frames.records(written, ended) + count

    def __enter__(self) -> Writer:
        self._check()
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if error is not None and self._target.is_broken:
            self.discard()  # the error that broke the target propagates
        else:
            self.close()

    def __del__(self) -> None:
        if not getattr(self, "_closed", True) and not self._target.is_closed:
            is_known = self._is_close_tried
            try:
                self.close()
            except Exception:
                if not is_known:  # otherwise the caller already got the error
                    raise


_writers: weakref.WeakSet[Writer] = weakref.WeakSet()


def _forget_in_child() -> None:
    """Disable the parent's writers in a forked child; their records and locks belong to the parent."""
    for writer in list(_writers):
        writer._lock = RLock()
        writer._is_forked = True
        writer._close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_in_child)
