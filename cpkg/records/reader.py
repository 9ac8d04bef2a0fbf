# SPDX-License-Identifier: Apache-2.0
"""Reading record files: in order, by number, while they grow, and past damage."""

from __future__ import annotations

import contextlib
import operator
import threading
from collections.abc import AsyncIterator, Generator, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any, Final, overload

from cpkg.records.ahead import Decoding, OneFrame
from cpkg.records.codec import Decoder, has_threads_of_c, lost, read_dictionary
from cpkg.records.errors import DamagedError
from cpkg.records.layout import Frame, Gap, Layout
from cpkg.records.loading import extend, load
from cpkg.records.ordered import mapped, thread_count
from cpkg.records.sources import WINDOW, Source, Window
from purepy._cores import python_runs_in_parallel

_ERRORS: Final = ("raise", "skip")
_MOST_BESIDE: Final = 2
"""More threads of C than this find no work: unpacking takes the caller longer."""
_WORTH_THREADS: Final = 2
"""After so many frames threads have decompressed more than it takes to start them."""


class Reader:
    """
    The records of a file, as a sequence.

    Made by `records.open(path)`. Iterate over it, ask for `reader[number]` or a slice, which is a list; `len` is the
    number that the next record would get. A file that somebody writes at the same time is read as far as it was
    written when the reader was opened, or `refresh` was called last. Damage is a DamagedError with the numbers of the
    records that it hides; with `errors="skip"` it is passed over and noted in `damage`. What a repair has marked as
    lost is passed over, and a DamagedError where it is asked for by number. May be used by several threads.
    """

    def __init__(self, source: Source, *, threads: int | None, errors: str, options: dict[str, Any]) -> None:
        check_errors(errors)
        self._decoder = Decoder(options)
        # where threads of Python's run in parallel, these unpack, too
        self._ahead_by_c = not python_runs_in_parallel() and has_threads_of_c()
        if self._ahead_by_c:
            self._threads = thread_count(threads, beside=True, most=_MOST_BESIDE)
        else:
            self._threads = thread_count(threads, alone=not python_runs_in_parallel())
        self._source = source
        self._skip = errors == "skip"
        self._lock = threading.Lock()
        self._layout = load(source)
        self._decoder.dictionary = read_dictionary(source, self._layout.dictionary)
        self._last: _Last | None = None
        self._one: OneFrame | None = None
        self._unused: OneFrame | None = None
        self._closed = False
        self.damage: list[DamagedError] = []
        """The damage that `errors="skip"` has passed over so far."""

    # --- in order -------------------------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[Any]:
        """Iterate over all records from the first one on."""
        return self.iter()

    def iter(self, start: int = 0, stop: int | None = None) -> Iterator[Any]:
        """
        Iterate over the records from number `start` on, up to `stop` (not included) or the end.

        The reader's threads, if it has any, decompress frames in advance. Raises DamagedError in the place of records
        that cannot be read.
        """
        start, stop, _ = slice(start, stop).indices(len(self))
        return chain.from_iterable(self._streams(start, stop))

    def _streams(self, start: int, stop: int) -> Iterator[Iterable[Any]]:
        """Yield iterables that together give the records."""
        with contextlib.closing(self._ready(start, stop)) as frames:
            for piece, result in frames:
                if not isinstance(result, list):
                    skip = max(start - piece.first, 0)
                    if piece.first + piece.records > stop:
                        yield islice(self._each(piece, result, skip), stop - max(start, piece.first))
                    elif self._skip:
                        yield self._each(piece, result, skip)
                    else:
                        # nothing between the caller and the decoder: a generator more takes a tenth of the time on PyPy
                        yield from self._decoder.stretches(piece, result, skip)
                else:
                    yield result[max(start - piece.first, 0) : stop - piece.first]

    def _each(self, frame: Frame, content: bytes, skip: int) -> Iterator[Any]:
        """Unpack a frame's records up to its damage, and note or raise that."""
        try:
            yield from self._decoder.each(frame, content, skip)
        except DamagedError as exc:
            self._note(exc)

    def batches(self, start: int = 0, stop: int | None = None) -> Iterator[list[Any]]:
        """Iterate over the same records in lists, one for each frame."""
        start, stop, _ = slice(start, stop).indices(len(self))
        return self._batches(start, stop)

    def _batches(self, start: int, stop: int) -> Generator[list[Any], None, None]:
        with contextlib.closing(self._ready(start, stop)) as frames:
            for piece, result in frames:
                try:
                    records = result if isinstance(result, list) else self._decoder.records(piece, result)
                except DamagedError as exc:
                    self._note(exc)
                    continue
                first = piece.first
                if first < start or first + len(records) > stop:
                    records = records[max(start - first, 0) : stop - first]
                yield records

    def _ready(self, start: int, stop: int) -> Generator[tuple[Frame, Any], None, None]:
        """Yield frames with their contents or, where threads unpack, with their records."""
        source = self._source
        if not source.is_local:
            source = Window(source, self._layout.end, WINDOW)
        pieces = self._pieces(start, stop)
        frames = self._layout.find(stop - 1) - self._layout.find(start) if self._threads else 0
        if not self._ahead_by_c:
            prepare = self._by_python(pieces, source, self._threads)
        elif frames >= _WORTH_THREADS:
            prepare = self._in_advance(pieces, source)
        else:
            prepare = self._by_python(pieces, source, 0)
        with contextlib.closing(prepare) as prepared:
            for piece, result in prepared:
                if isinstance(result, DamagedError):
                    self._note(result)
                elif isinstance(result, Exception):
                    raise result
                else:
                    yield piece, result

    def _by_python(self, pieces: Iterator[Any], source: Source, threads: int) -> Generator[tuple[Any, Any], None, None]:
        # a window is read from front to back, and not by several threads
        calls = ((piece, source if source.is_local else _read(source, piece)) for piece in pieces)
        return mapped(self._prepared, calls, threads)

    def _in_advance(self, pieces: Iterator[Any], source: Source) -> Generator[tuple[Any, Any], None, None]:
        with contextlib.closing(Decoding(self._decoder, source, self._threads)) as frames:
            for piece in pieces:
                while frames.is_full:
                    yield frames.first()
                    frames.drop()
                frames.put(piece)
            while len(frames):
                yield frames.first()
                frames.drop()

    def _note(self, exc: DamagedError) -> None:
        """Raise an error about damage, or note it."""
        if not self._skip:
            raise exc
        self.damage.append(exc)

    def _pieces(self, start: int, stop: int) -> Iterator[Any]:
        layout = self._layout
        number = max(layout.find(start), 0)
        for piece in layout.pieces(number):
            if piece.first >= stop or start >= stop:
                return
            if piece.first + piece.records <= start or (isinstance(piece, Gap) and piece.known):
                continue
            yield piece

    def _prepared(self, piece: Any, found: Source | bytes) -> tuple[Any, Any]:
        """Do what a thread can do in advance for one frame; errors wait for their turn."""
        if isinstance(piece, Gap):
            return piece, lost(piece)
        try:
            data = found if isinstance(found, bytes) else _read(found, piece)
            content = self._decoder.content(piece, data)
            if python_runs_in_parallel():
                # the caller unpacks what is damaged once more, and gives what is sound of it
                with contextlib.suppress(DamagedError):
                    return piece, self._decoder.records(piece, content)
            return piece, content
        except Exception as exc:
            return piece, exc

    # --- by number ------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return self._layout.total

    @overload
    def __getitem__(self, number: int) -> Any: ...
    @overload
    def __getitem__(self, number: slice) -> list[Any]: ...
    def __getitem__(self, number: int | slice) -> Any:
        """
        Return one record, or those of a slice as a list.

        Reads and decompresses one frame for a record, none for its neighbours. Raises IndexError if there is no such
        record, DamagedError if it cannot be read.
        """
        if isinstance(number, slice):
            start, stop, step = number.indices(len(self))
            if step == 1:
                return list(chain.from_iterable(self._batches(start, stop)))
            return [self[index] for index in range(start, stop, step)]
        index = operator.index(number)
        if index < 0:
            index += len(self)
        if not 0 <= index < len(self):
            raise IndexError(f"record {number} is not among {len(self)}")
        with self._lock:
            try:
                return self._record(index)
            finally:
                self._free()

    def _record(self, index: int) -> Any:
        last = self._last
        if last is None or not last.frame.first <= index < last.frame.first + last.frame.records:
            frame = self._layout.frame(max(self._layout.find(index), 0)) if len(self._layout) else None
            if frame is None or not frame.first <= index < frame.first + frame.records:
                raise self._lost(index)
            self._last = None
            if self._one is None and has_threads_of_c():
                self._one = OneFrame(self._decoder, self._source)
            content = self._one.content(frame) if self._one is not None else None
            if content is None:  # or it says why
                content = self._decoder.content(frame, _read(self._source, frame))
            self._last = last = _Last(frame, content, self._decoder.starts(frame, content))
        at = index - last.frame.first
        return self._decoder.record(last.content, last.starts[at], last.starts[at + 1])

    def _lost(self, index: int) -> DamagedError:
        for gap in self._layout.gaps:
            if gap.first <= index < gap.first + gap.records:
                return lost(gap)
        return DamagedError("no frame holds it", self._layout.end, index, 1)

    # --- asynchronously -------------------------------------------------------------------------------------------

    async def __aiter__(self) -> AsyncIterator[Any]:
        """Iterate over all records without keeping the event loop waiting for the file."""
        import asyncio
        from concurrent.futures import ThreadPoolExecutor

        batches = self._batches(0, len(self))
        end: list[Any] = []
        # a thread of its own, so that a reader that is given up midway can be closed behind its last call
        thread = ThreadPoolExecutor(1, "cpkg-records")
        try:
            coming = thread.submit(next, batches, end)
            while True:
                records = await asyncio.wrap_future(coming)
                if records is end:
                    return
                coming = thread.submit(next, batches, end)
                for record in records:
                    yield record
        finally:
            thread.submit(batches.close)
            thread.shutdown(wait=False)

    # --- the file -------------------------------------------------------------------------------------------------

    def refresh(self) -> int:
        """Look for records that were written since; return how many there are. Whole frames count alone."""
        with self._lock:
            before = len(self)
            layout = self._layout
            known = layout.dictionary
            extend(layout, self._source)
            if known is None and layout.dictionary is not None:
                self._decoder.dictionary = read_dictionary(self._source, layout.dictionary)
                self._unused, self._one = self._one, None  # it has none
                self._free()
            return len(self) - before

    @property
    def layout(self) -> Layout:
        """Where the frames are, for who wants to know."""
        return self._layout

    @property
    def name(self) -> str:
        """The path or URL of the file; empty if it has none."""
        return self._source.name

    def close(self) -> None:
        """Close the file, if the reader has opened it."""
        self._unused, self._one, self._last = self._one, None, None
        if self._lock.acquire(blocking=False):
            try:
                self._free()
            finally:
                self._lock.release()
        # else a record is being read, by another thread or by what a signal has interrupted: it frees the memory
        self._source.close()

    def _free(self) -> None:
        """Free the memory of C that `close` has left; who calls this has the lock."""
        unused, self._unused = self._unused, None
        if unused is not None:
            self._last = None
            unused.close()

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class _Last:
    """The frame that a record was taken from last: its neighbours are often asked for next."""

    __slots__ = ("content", "frame", "starts")

    def __init__(self, frame: Frame, content: Any, starts: Sequence[int]) -> None:
        self.frame = frame
        self.content = content
        self.starts = starts


def check_errors(errors: str) -> None:
    """Refuse what `errors` cannot be."""
    if errors not in _ERRORS:
        raise ValueError(f"errors must be one of {', '.join(_ERRORS)}, not {errors!r}")


def _read(source: Source, piece: Frame | Gap) -> bytes:
    return source.read_at(piece.offset, piece.compressed) if isinstance(piece, Frame) else b""
