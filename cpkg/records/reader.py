# SPDX-License-Identifier: Apache-2.0
"""Read record files: in order, by number, while they grow, and past damage."""

from __future__ import annotations

import contextlib
import operator
from bisect import bisect_left
from collections.abc import AsyncIterator, Callable, Generator, Iterable, Iterator, Sequence
from itertools import chain, islice, repeat
from typing import TYPE_CHECKING, Any, Final, Generic, overload

from cpkg.records.decoding import Content, Decoder, lost, read_dictionary
from cpkg.records.errors import DamagedError
from cpkg.records.layout import Frame, Gap, Layout
from cpkg.records.loading import extend, load
from cpkg.records.positions import Source
from cpkg.records.reading_ahead import Decoding, OneFrame
from cpkg.records.settings import AHEAD, has_threads_of_c, thread_count
from cpkg.records.sources import WINDOW, Window, open_source
from cpkg.records.taking import Bunch, bunches, spans
from cpkg.records.typed_records import Record
from purepy.base.cores import python_runs_in_parallel
from purepy.base.crew import Crew, mapped
from purepy.base.errors import CodecError, raise_if_from_handler
from purepy.base.locks import Exclusive, RLock

if TYPE_CHECKING:
    from typing_extensions import TypeAlias

    from cpkg import zstd
    from cpkg._places import Place
    from cpkg.records.reading_ahead import Prepared

    _Call: TypeAlias = "tuple[Frame | Gap, Source | bytes, bool]"

_ERRORS: Final = ("raise", "skip")
_MOST_BESIDE: Final = 2
"""By default, at most this many C threads help; more would wait for the caller, which unpacks more slowly."""
_KNOWN_MAX: Final = 1 << 16
"""Without C, the second request for a record of a frame finds all its records, if the frame has at most this many."""
_WORTH_THREADS: Final = 2
"""Starting threads pays off if at least this many frames or bunches follow the first one."""


class Reader(Exclusive, Generic[Record]):
    """
    The records of a file, as a sequence.

    Returned by `records.open(path)`. Iterate over it, or use `reader[number]` or a slice, which returns a list. `len`
    is the number that the next record would get. If the file is being written, the reader sees the records that existed
    when it was opened or when `refresh` was called last. Damage raises DamagedError with the numbers of the lost
    records; with `errors="skip"`, iterating skips the damage and adds the error to `damage`. Records that a repair
    marked as lost are always skipped. Slices skip what iterating skips. Lost records that are requested by number, also
    by `take`, raise DamagedError in all cases. Several threads may use a reader.
    """

    def __init__(
        self,
        source: Source,
        *,
        threads: int | None,
        errors: str,
        options: dict[str, object],
        layout: Layout | None = None,
    ) -> None:
        check_errors(errors)
        self._arguments = threads, errors, options
        self._decoder: Decoder[Record] = Decoder(options)
        # Python threads also unpack if they run in parallel. Code of the caller's types runs only in the caller's
        # thread, once for each record, so that the records before a faulty one are returned.
        self._unpacks_ahead = python_runs_in_parallel() and not self._decoder.is_typed
        self._ahead_by_c = not self._unpacks_ahead and has_threads_of_c()
        if self._ahead_by_c:
            self._threads = thread_count(threads, most=_MOST_BESIDE + 1)
        else:
            self._threads = thread_count(threads, alone=not self._unpacks_ahead)
        self._source = source
        self._skip = errors == "skip"
        self._lock = RLock()  # held by `refresh`
        self._is_part = layout is not None
        self._layout = load(source) if layout is None else layout
        self._decoder.check_lost(self._layout)
        self._decoder.dictionary = self._read_dictionary()
        self._idle: list[_Last] = []  # `pop` takes one for use, so that no lock is needed
        self._counted: set[int] = set()
        """The offsets of frames whose number of records was checked in Python."""
        self._closed = False
        self.damage: list[DamagedError] = []
        """The damage that was skipped so far, with `errors="skip"`."""

    def _read_dictionary(self) -> zstd.ZstdDict | None:
        return read_dictionary(self._source, self._layout.dictionary_at, is_required=not self._skip)

    # --- in order -------------------------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[Record]:
        """Iterate over all records."""
        return self.iter()

    def iter(self, start: int = 0, stop: int | None = None) -> Iterator[Record]:
        """
        Iterate over the records from number `start` on, up to `stop` (not included) or the end.

        Negative numbers count from the end. Threads, if there are any, decompress frames in advance. If Python has no
        GIL and there is no `type`, they also unpack. The threads end with the iterator: at its end, by `close()`, or
        when it is garbage collected. Raises DamagedError for records that cannot be read, unless `errors="skip"`.
        """
        start, stop, _ = slice(start, stop).indices(len(self))
        return records_of(self._streams(start, stop))

    def _streams(self, start: int, stop: int) -> Iterator[Iterable[Record]]:
        """Yield iterables that together give the records from number `start` up to `stop` (not included)."""
        with contextlib.closing(self._ready(start, stop)) as frames:
            for piece, result in frames:
                if not isinstance(result, list):
                    skip = max(start - piece.first, 0)
                    if piece.first + piece.records > stop:
                        yield self._first(self._each(piece, result, skip), stop - max(start, piece.first))
                    elif self._skip:
                        yield self._each(piece, result, skip)
                    else:
                        # return the decoder's iterators directly: another generator costs a tenth of the time on PyPy
                        yield from self._decoder.stretches(piece, result, skip)
                else:
                    yield result

    def _first(self, records: Iterator[Record], count: int) -> Iterator[Record]:
        if self._decoder.is_typed:  # islice would end at a record that does not have the type
            return map(operator.itemgetter(1), zip(range(count), records))
        return islice(records, count)

    def _each(self, frame: Frame, content: bytes, skip: int) -> Iterator[Record]:
        """
        Return an iterator over the records of a frame after the first `skip`.

        It ends at damage, which it raises or, with `errors="skip"`, adds to `damage`.
        """
        records = self._decoder.each(frame, content, skip)
        if not self._skip:
            return records

        def each(_: None) -> Record:
            try:
                return next(records)
            except DamagedError as exc:
                self._note(exc)
                raise StopIteration from None

        # a generator would end at a record that does not have the type
        return map(each, repeat(None)) if self._decoder.is_typed else self._noting(records)

    def _noting(self, records: Iterator[Record]) -> Iterator[Record]:
        try:
            yield from records
        except DamagedError as exc:
            self._note(exc)

    def batches(self, start: int = 0, stop: int | None = None) -> Iterator[list[Record]]:
        """Iterate over lists of the records from number `start` to `stop` (not included) or the end, one per frame."""
        start, stop, _ = slice(start, stop).indices(len(self))
        return self._batches(start, stop)

    def _batches(self, start: int, stop: int) -> Generator[list[Record], None, None]:
        with contextlib.closing(self._ready(start, stop)) as frames:
            for piece, result in frames:
                first, last = max(start - piece.first, 0), min(stop - piece.first, piece.records)
                try:
                    records = result if isinstance(result, list) else self._decoder.part(piece, result, first, last)
                except DamagedError as exc:
                    self._note(exc)
                    continue
                yield records

    def _ready(self, start: int, stop: int) -> Generator[tuple[Frame, Any], None, None]:
        """
        Yield (frame, content) for each frame with wanted records; if threads unpack and want all, (frame, records).

        Damage is raised or, with `errors="skip"`, added to `damage`.
        """
        source = self._source
        if self._is_part or not source.is_local:
            after = self._layout.find(stop - 1) + 1
            end = self._layout.offsets[after] if after < len(self._layout) else self._layout.end
            source = Window(source, end, WINDOW)
        pieces = self._pieces(start, stop)
        frames = self._layout.find(stop - 1) - self._layout.find(start) if self._threads > 1 else 0
        if self._ahead_by_c and frames >= _WORTH_THREADS:
            prepare = self._in_advance(pieces, source)
        else:
            local = source if source.is_local else None  # only this thread reads a Window, from front to back
            calls = (
                (piece, local or _read(source, piece), start <= piece.first <= stop - piece.records) for piece in pieces
            )
            is_alone = self._ahead_by_c or self._threads == 1
            prepare = (self._prepared(call) for call in calls) if is_alone else self._by_threads(calls)
        with contextlib.closing(prepare) as prepared:
            for piece, result in prepared:
                if not isinstance(result, Exception):
                    yield piece, result
                elif isinstance(result, DamagedError):
                    self._note(result)
                else:
                    raise result

    def _in_advance(
        self, pieces: Iterator[Frame | Gap] | Iterator[Bunch], source: Source, *, are_wanted: bool = False
    ) -> Generator[Prepared, None, None]:
        with contextlib.closing(Decoding(self._decoder, source, self._threads - 1)) as frames:
            if are_wanted:
                frames.begin()
            for piece in pieces:
                while frames.is_full:
                    yield frames.first()
                    frames.drop()
                frames.put(piece)
            while len(frames):
                yield frames.first()
                frames.drop()

    def _by_threads(self, calls: Iterator[_Call]) -> Generator[tuple[Frame | Gap, object], None, None]:
        if not self._unpacks_ahead:  # the caller has more work than the threads, which start with the second frame
            yield from map(self._prepared, islice(calls, 1))
        yield from mapped(self._prepared, calls, self._threads, AHEAD * self._threads)

    def _note(self, exc: DamagedError) -> None:
        """Add an error about damage to `damage` with `errors="skip"`; raise it otherwise."""
        if not self._skip:
            raise exc
        exc.advice = None  # the caller already follows it
        self.damage.append(exc)

    def _pieces(self, start: int, stop: int) -> Iterator[Frame | Gap]:
        layout = self._layout
        if start >= stop and layout.total:
            return
        for piece in layout.pieces(max(layout.find(start), 0)):
            if piece.first >= stop and (piece.first > stop or stop < layout.total):
                return
            # damage without lost records counts as well, because the frames after it may belong to another file; but a
            # caller that starts at the record after the damage has seen the damage
            if 0 < start >= piece.first + piece.records or (isinstance(piece, Gap) and piece.known):
                continue
            yield piece

    def _prepared(self, call: _Call) -> tuple[Frame | Gap, object]:
        """
        Read and decompress a frame; return it with its content, its records or an error.

        Returns records if threads unpack, all records are wanted and none is faulty. The error is not raised here but
        by the caller, in the order of the frames.
        """
        piece, found, all_wanted = call
        if isinstance(piece, Gap):
            return piece, lost(piece)
        try:
            data = found if isinstance(found, bytes) else found.read_at(piece.offset, piece.compressed)
            content = self._decoder.content(piece, data)
            if self._unpacks_ahead and all_wanted:
                # after an error, the caller unpacks the frame again and returns the records before the error
                with contextlib.suppress(CodecError):
                    return piece, self._decoder.records(piece, content)
            return piece, content
        except Exception as exc:
            raise_if_from_handler(exc)
            return piece, exc

    # --- by number ------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return self._layout.total

    @overload
    def __getitem__(self, number: int) -> Record: ...
    @overload
    def __getitem__(self, number: slice) -> list[Record]: ...
    def __getitem__(self, number: int | slice) -> Record | list[Record]:
        """
        Return one record, or the records of a slice as a list.

        Reads and decompresses the frame of the record, and keeps it for neighbouring records. Raises IndexError if
        there is no such record, DamagedError if it cannot be read, even with `errors="skip"`. A slice, with any step,
        skips and raises what iterating over its records does.
        """
        if isinstance(number, slice):
            wanted = range(*number.indices(len(self)))
            if wanted.step == 1:
                return list(chain.from_iterable(self._batches(wanted.start, wanted.stop)))
            if not self._skip and not self._layout.gaps:
                return self.take(wanted)
            records = self._stepped(ascending(wanted))
            return records if wanted.step > 0 else records[::-1]
        index = index_of(number, self._layout.total)
        last = self._taken()
        frame, starts = last.frame, last.starts
        if frame is not None and starts is not None and last.first <= index < last.stop:  # a shortcut for `_record`
            at = index - last.first
            found = self._decoder.record(frame, at, last.content[starts[at] : starts[at + 1]])
        else:
            found = self._record(index, last)
        self._give_back(last)
        return found

    def _stepped(self, wanted: range) -> list[Record]:
        """Return the records with these numbers, in ascending order; skip and raise what iterating over them does."""
        found: list[Record] = []
        for piece in self._pieces(*((wanted.start, wanted[-1] + 1) if wanted else (0, 0))):
            inside = within(wanted, piece.first, piece.first + piece.records)
            try:
                if isinstance(piece, Frame):
                    found += [self[index] for index in inside]
                elif inside or not piece.records:
                    raise lost(piece)
            except DamagedError as exc:
                self._note(exc)
        return found

    def _taken(self) -> _Last:
        try:
            return self._idle.pop()
        except IndexError:
            return _Last()

    def _give_back(self, last: _Last) -> None:
        self._idle.append(last)
        if self._closed:
            self.close()

    def take(self, numbers: Iterable[int]) -> list[Record]:
        """
        Return the records with these numbers, in the given order; numbers may repeat and be negative.

        Reads and decompresses each frame once, several together or in advance. Raises the errors of `reader[number]`.
        """
        total = len(self)
        wanted = [operator.index(number) for number in numbers]
        if wanted and not 0 <= min(wanted) <= max(wanted) < total:
            wanted = [index_of(number, total) for number in wanted]
        try:
            work = list(bunches(self._layout, wanted))
        except KeyError as exc:
            raise self._lost(exc.args[0]) from None
        found: list[Any] = [None] * len(wanted)
        with contextlib.closing(self._contents(work)) as contents:
            for bunch, content in contents:
                starts = self._decoder.message_starts(content, bunch.before[-1][0]) if content is not None else None
                where = spans(bunch, starts) if starts is not None else None
                if where is None or content is None:
                    self._take_by_frame(bunch, found)
                else:
                    self._decoder.put_records(content, where, found, lambda place: self._found_at(wanted[place]))
        return found

    __getitems__ = take  # PyTorch's DataLoader and Grain request batches with this name

    def _contents(self, work: list[Bunch]) -> Generator[tuple[Bunch, Content | None], None, None]:
        """Yield each bunch with its content, or with None if C cannot decompress it."""
        if self._ahead_by_c and self._threads > 1 and len(work) > _WORTH_THREADS:
            yield from self._in_advance(iter(work), self._source, are_wanted=True)
            return
        last = self._taken()
        last.forget()
        one = self._one_of(last)
        for bunch in work:
            yield bunch, one.content(bunch) if one is not None else None
        self._give_back(last)

    def _found_at(self, number: int) -> tuple[Frame, int]:
        frame = self._frame_of(number)
        return frame, number - frame.first

    def _take_by_frame(self, bunch: Bunch, found: list[Record | None]) -> None:
        last = self._taken()
        for at, places, inside in bunch.by_frame():
            frame = self._layout.frame(at)
            self._load(frame, last)
            picked = self._pick(frame, last, inside)
            for place, number, (start, end) in zip(places, inside, picked):
                found[place] = self._decoder.record(frame, number, last.content[start:end])
        self._give_back(last)

    def _frame_of(self, index: int) -> Frame:
        frame = self._layout.frame(max(self._layout.find(index), 0)) if len(self._layout) else None
        if frame is None or not frame.first <= index < frame.first + frame.records:
            raise self._lost(index)
        return frame

    def _one_of(self, last: _Last) -> OneFrame | None:
        """Return `last.one`, the C memory for a frame, created if needed; None if the backend cannot provide it."""
        if has_threads_of_c() and (last.one is None or not last.one.is_here):
            last.one = OneFrame(self._decoder, self._source)
        return last.one

    def _load(self, frame: Frame, last: _Last) -> None:
        """Decompress a frame, and store it with its content in `last`."""
        last.forget()
        one = self._one_of(last)
        content: Content | None = one.content(frame) if one is not None else None
        if content is None:  # decompress with `Decoder.content`, which also raises the right error
            content = self._decoder.content(frame, _read(self._source, frame))
        starts = self._decoder.starts(frame, content)
        last.content = content
        last.frame, last.first, last.stop = frame, frame.first, frame.first + frame.records
        last.starts = starts

    def _pick(self, frame: Frame, last: _Last, places: Sequence[int]) -> Iterable[tuple[int, int]]:
        """
        Return the start and end of each record in `places`, as offsets in the frame's content, `last.content`.

        `places` are numbers of records within the frame. If `last.starts` is None, raises DamagedError if the content
        is not valid up to the last of them; the first such call for a frame checks all content and the record count.
        """
        if last.starts is not None:
            starts = last.starts
            return ((starts[place], starts[place + 1]) for place in places)
        spans = self._decoder.pick(frame, last.content, places, count=frame.offset not in self._counted)
        self._counted.add(frame.offset)
        return spans

    def _record(self, index: int, last: _Last) -> Record:
        frame = last.frame
        if frame is None or not frame.first <= index < frame.first + frame.records:
            frame = self._frame_of(index)
            self._load(frame, last)
        elif last.starts is None and frame.records <= _KNOWN_MAX:  # more records of this frame are likely to follow
            spans = self._decoder.pick(frame, last.content, range(frame.records))
            last.starts = [start for start, _ in spans] + [spans[-1][1]]
        place = index - frame.first
        ((start, end),) = self._pick(frame, last, [place])
        return self._decoder.record(frame, place, last.content[start:end])

    def _lost(self, index: int) -> DamagedError:
        for gap in self._layout.gaps:
            if gap.first <= index < gap.first + gap.records:
                return lost(gap)
        return DamagedError("no frame holds it", self._layout.end, index, 1)

    # --- asynchronously -------------------------------------------------------------------------------------------

    async def __aiter__(self) -> AsyncIterator[Record]:
        """Iterate over all records; a separate thread reads and unpacks them, so the event loop is not blocked."""
        import asyncio

        from purepy.zstd.aio.work import Work

        batches = self._batches(0, len(self))
        end: list[Record] = []
        # one separate thread: if the iteration ends early, it closes `batches` after its last call
        thread = Crew(1)
        try:
            coming = Work(next, batches, end).start(thread)
            while (records := await asyncio.shield(coming)) is not end:
                coming = Work(next, batches, end).start(thread)
                for record in records:
                    yield record
        finally:
            Work(batches.close, done=lambda _: thread.stop()).start(thread)

    # --- the file -------------------------------------------------------------------------------------------------

    def refresh(self) -> int:
        """
        Find the records written since the file was opened or last refreshed, and return by how many `len` has grown.

        Only complete frames count; at a URL, nothing new is found. Raises RecordsError if another record file was
        appended without `join`, and LimitError if a list of all records would exceed `max_memory`.
        """
        with self._turn():
            before = len(self)
            layout = self._layout
            known = layout.dictionary
            extend(layout, self._source, layout.token if layout.end else b"")
            self._decoder.check_lost(layout)
            if known is None and layout.dictionary is not None:
                self._decoder.dictionary = self._read_dictionary()
                self._drop_idle()  # they lack the dictionary
            return len(self) - before

    @property
    def torn(self) -> int:
        """The number of bytes of an unfinished frame or index at the end of the file, as of opening or `refresh`."""
        return self._layout.torn

    @property
    def name(self) -> str:
        """The path or URL of the file, or the `name` of a file object; "" if it has none."""
        return self._source.name

    def close(self) -> None:
        """Close the file, if the reader opened it."""
        self._closed = True
        self._drop_idle()
        self._source.close()

    def _drop_idle(self) -> None:
        with contextlib.suppress(IndexError):
            while True:
                self._idle.pop().close()

    def __repr__(self) -> str:
        """Return a text that is equal for readers of the same name and length; checkpoints of Grain compare it."""
        return f"<cpkg.records.Reader of {self.name or self._source!r}: {len(self)} records>"

    def __reduce__(self) -> tuple[Callable[..., Reader[Record]], tuple[object, ...]]:
        """
        Pickle the path or URL and the options; the copy opens the file again. Raises TypeError if there is neither.
        """
        if not self._source.place:
            raise TypeError("cannot pickle a Reader of a file object or descriptor: open the file by its path or URL")
        return reader_of, (self._source.place, *self._arguments)

    def __enter__(self) -> Reader[Record]:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def reader_of(place: Place, threads: int | None, errors: str, options: dict[str, object]) -> Reader:
    """Return a Reader of the record file at a place; closes the file if it cannot be read."""
    source = open_source(place)
    try:
        return Reader(source, threads=threads, errors=errors, options=options)
    except BaseException:
        source.close()
        raise


def records_of(streams: Iterator[Iterable[Any]]) -> Iterator[Any]:
    """Return an iterator over the records in all items of `streams`, a generator; its `close` closes the generator."""
    records: Any = _Records.from_iterable(streams)
    records.streams = streams
    return records  # type: ignore[no-any-return]


class _Records(chain):  # type: ignore[type-arg]
    """The iterators that `records_of` returns."""

    streams: Generator[Iterable[Any], None, None]

    def close(self) -> None:
        """End the iteration and its threads."""
        self.streams.close()
        self.__class__ = _NoRecords


class _NoRecords(_Records):
    """The class of a `_Records` object after `close`: it yields nothing more."""

    def __next__(self) -> Any:
        raise StopIteration


class _Last:
    """A frame from which a record was read, kept because its other records are often requested next."""

    __slots__ = ("content", "first", "frame", "one", "starts", "stop")

    def __init__(self) -> None:
        self.first = self.stop = 0
        self.frame: Frame | None = None
        self.content: Content = b""
        self.starts: Sequence[int] | None = None
        self.one: OneFrame | None = None

    def forget(self) -> None:
        """Drop the frame and its content, so that the C memory can be reused."""
        self.frame, self.content, self.starts = None, b"", None

    def close(self) -> None:
        """Drop the content, and free the C memory."""
        self.forget()
        if self.one is not None:
            self.one.close()


def ascending(numbers: range) -> range:
    """Return a range with the same numbers in ascending order."""
    return numbers if numbers.step > 0 else numbers[::-1]


def within(numbers: range, start: int, stop: int) -> range:
    """Return the numbers of an ascending range from `start` up to `stop` (not included), as a range."""
    return numbers[bisect_left(numbers, start) : bisect_left(numbers, stop)]


def index_of(number: int, total: int) -> int:
    """Return the index of record `number`; a negative number counts from the end. Raises IndexError if out of range."""
    index = operator.index(number)
    if index < 0:
        index += total
    if not 0 <= index < total:
        raise IndexError(f"no record {number}: there are {total} records")
    return index


def check_errors(errors: str) -> None:
    """Raise ValueError for an invalid argument `errors`."""
    if errors not in _ERRORS:
        raise ValueError(f"errors must be one of {', '.join(_ERRORS)}, not {errors!r}")


def _read(source: Source, piece: Frame | Gap) -> bytes:
    return source.read_at(piece.offset, piece.compressed) if isinstance(piece, Frame) else b""
