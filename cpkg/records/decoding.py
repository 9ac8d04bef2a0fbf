# SPDX-License-Identifier: Apache-2.0
"""Decode Zstandard frames into records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice, repeat
from operator import index
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, NoReturn, Union

from cpkg import _backend, msgpack, zstd
from cpkg.objects import types_written
from cpkg.objects.dumps_loads import chosen_codecs
from cpkg.records import format as fmt
from cpkg.records.errors import DamagedError, RecordsError, about, numbers
from cpkg.records.layout import Frame, Gap, Layout
from cpkg.records.positions import Source
from cpkg.records.typed_records import Record, TypedRecords
from purepy.base.errors import (
    CodecError,
    ExtraData,
    LimitError,
    StackError,
    UnpackException,
    ZstdError,
    raise_if_from_handler,
)
from purepy.msgpack.interface import HEAVIEST

if TYPE_CHECKING:
    from cpkg._native.cffi_types import CBuffer
    from cpkg._native.msgpack.pypy.rows import Rows
    from cpkg._native.zstd.frame_queue import FrameJob, FrameQueue
    from cpkg.records.typed_records import Decoded
    from purepy.base.types import Keywords

Content = Union[bytes, "CBuffer"]
"""The packed records of one or more frames, one after the other: bytes, or a buffer of C memory if C decompressed."""
_ARRAY32: Final = b"\xdd"
_ARRAY_HEADER: Final = 5
_DEPTH: Final = 1024
_ANY_DEPTH: Final[Keywords] = {"max_depth": fmt.CONTENT_MAX}
"""Options for finding where records begin and end; the depth is limited later, when records become objects."""
_MEMORY: Final = 64 << 20
_EXPANSION: Final = 100
"""By default, the records of a frame may take 64 MiB or 100 times its compressed size, whichever is larger."""
_PLACE: Final = 8
"""Bytes that a list takes per item."""
_ITEM: Final = 64
"""Approximate bytes of memory per unpacked item."""
_LIGHT: Final = 1 << 12
"""The objects in a message of up to this many bytes take little memory, whatever they are."""
_STARTS_MAX: Final = 1 << 16
"""In a frame with more records, their start positions are not kept: they may take more memory than the content."""
_ROWS: Final = 32
"""Reading records as rows pays off from this many consecutive records with the same keys."""
_ROWS_PATIENCE: Final = 4
"""After this many frames in a row that did not consist of rows alone, the search for rows stops for good."""
# Options that would act on an array around all records; with them, records are unpacked one by one.
_PER_RECORD_UNPACKING: Final = frozenset(
    ("list_hook", "max_array_len", "max_total_items", "max_total_bytes", "raw_depth", "max_depth")
)


def read_dictionary(source: Source, offset: int, *, is_required: bool = True) -> zstd.ZstdDict | None:
    """
    Return the dictionary whose frame begins at `offset`, None if `offset` is 0.

    If the dictionary is damaged, raises RecordsError. If `is_required` is false and the dictionary was added by a later
    append, returns None instead, because the records before the dictionary can be read without it.
    """
    if not offset:
        return None
    head = fmt.parse_skippable(source.read_at(offset, fmt.PREFIX.size))
    size = min(head[0], fmt.PREFIX.size + fmt.DICTIONARY_MAX) if head is not None else 0
    content = fmt.parse_dictionary_frame(source.read_at(offset, size))
    if content is None:
        problem = about(source.name, f"the dictionary at byte {offset} is damaged")
        if offset <= fmt.FILE_HEADER_SIZE:
            raise RecordsError(f"{problem}; no record can be read without it")
        if is_required:
            raise RecordsError(
                f"{problem}; the records after the dictionary cannot be read without it. To read those before it, open "
                f'the file with errors="skip", or copy its first {offset} bytes to a separate file'
            )
        return None
    return zstd.ZstdDict(content)


class LaidOut(NamedTuple):
    """
    The content of a frame in memory of C threads, prepared for reading consecutive records with the same keys.

    `data` is a cffi buffer. `rows` has the values of such records, arranged by columns. The memory of both is reused
    for another frame after `Decoding.drop`.
    """

    data: CBuffer
    rows: Rows


class Decoder(Generic[Record]):
    """
    Decompresses and unpacks frames; safe for several threads.

    `options` are `max_memory` and options of `unpackb` or, if `type` is among them, of `cpkg.typed.Decoder`.
    """

    def __init__(self, options: Keywords, dictionary: zstd.ZstdDict | None = None) -> None:
        options = dict(options)
        if options.get("ext_hook") is None:
            options.pop("ext_hook", None)  # None is the default, as in `loads`
        max_memory = options.pop("max_memory", None)
        self._max_memory = None if max_memory is None else index(max_memory)
        self.content_max = fmt.CONTENT_MAX if self._max_memory is None or self._max_memory < 0 else self._max_memory
        """The maximum bytes of content per frame: the caller's `max_memory`, CONTENT_MAX if it is negative or None."""
        self._light = _LIGHT
        self._is_limited = any(name.startswith("max_") for name in options.keys() - {"max_depth", "max_errors"})
        self._typed: TypedRecords[Record] | None = TypedRecords(options) if "type" in options else None
        self.is_typed = self._typed is not None
        if options and self._typed is None:
            try:
                msgpack.unpackb(b"\xc0", **options)  # detect an unknown option here, not in a frame
            except TypeError as exc:
                raise TypeError(str(exc).replace("unpackb()", "records.open()")) from None
        self.dictionary = dictionary
        # a reader accepts everything that a writer accepts, including map keys of any type
        self._options: Keywords = {"strict_map_key": False, **types_written.UNPACKING}
        if self._typed is None:
            self._options |= options
            if "ext_hook" in options:
                self._options["ext_hook"] = types_written.with_ext_hook(options["ext_hook"])
        # Passing options takes as long as unpacking a short record, so this function has none. If it raises an error,
        # `unpackb` is called for the right error.
        self._unpack_short = None if options else chosen_codecs().plain_unpackb
        self._tuple_keys = not {"strict_map_key", "tuple_keys"}.intersection(options)
        limits = self._typed.limits if self._typed is not None else None
        if limits is not None:
            allowed = _MEMORY if self._max_memory is None else self._max_memory
            self._light = fmt.CONTENT_MAX if allowed < 0 else allowed // limits.heaviest
        self._max_depth: int = self._options.get("max_depth", _DEPTH) if limits is None else limits.max_depth
        self._whole = not _PER_RECORD_UNPACKING.intersection(options)
        # on PyPy, the JIT creates many similar records by columns
        backend = _backend.msgpack()
        self._read_rows = None if options else backend.read_rows
        # for values in rows: a row is a map, so a value may be nested one level less
        self._read_other: Any = None
        if self._read_rows is not None and backend.prepare_unpackb is not None:
            self._read_other = backend.prepare_unpackb(**{**self._options, "max_depth": _DEPTH - 1})
        self._frames_without_rows = 0
        self._starts_by_c = backend.message_starts

    def rows_of(self, job: FrameJob, frame: Frame) -> Rows | None:
        """
        Prepare `job` so that its C thread also lays out the rows of the frame; return the memory for the rows.

        Returns None if records are not read by columns, or if there is no memory.
        """
        rows = _backend.msgpack().Rows if self.reads_rows else None
        return rows.of_job(job, frame.records, _ROWS) if rows is not None else None

    @property
    def reads_rows(self) -> bool:
        """
        Whether records with the same keys are read by columns.

        False with any option except `max_memory`, if the backend cannot read rows, and once several frames in a row had
        other records.
        """
        return self._read_rows is not None

    def decompressing_queue(self, threads: int) -> FrameQueue:
        """Return a queue of frames that `threads` C threads (0: the caller) decompress; needs `has_threads_of_c()`."""
        make_queue = _backend.zstd().decompressing_queue
        assert make_queue is not None
        return make_queue(self.dictionary, threads)

    def content(self, frame: Frame, data: bytes) -> bytes:
        """
        Return the decompressed content of a frame; `data` is the compressed frame.

        Raises DamagedError with the numbers of the records if the frame is damaged, LimitError if the content is larger
        than the memory limit for the frame.
        """
        size = frame.decompressed
        if len(data) != frame.compressed:
            raise damaged(frame, f"only {len(data)} of its {frame.compressed} bytes are in the file")
        if size > fmt.CONTENT_MAX or frame.records > size:
            raise damaged(frame, f"its header claims {frame.records} records in {size} bytes of content")
        content = b""
        try:
            info = zstd.get_frame_info(data)
            found = info.decompressed_size
            if found == size:
                if 0 <= self._allowed(frame.compressed) < size:
                    raise self._too_large(frame, f"{size} bytes of content")
                dictionary = self.dictionary if info.dictionary_id else None
                content = zstd.decompress(data, zstd_dict=dictionary, max_output_size=size)
                found = len(content)
        except ZstdError as exc:
            raise damaged(frame, str(exc)) from exc
        if found != size:
            raise damaged(frame, f"it holds {found} bytes instead of {size}")
        return content

    def check_lost(self, layout: Layout) -> None:
        """
        Raise LimitError if a list with a place for each lost record would exceed the memory limit.

        `list(reader)` allocates `len(reader)` items in advance, and any file can claim that 2**32 - 1 records are lost.
        """
        lost = sum(gap.records for gap in layout.gaps)
        allowed = self._allowed(layout.compressed)
        if 0 <= allowed < lost * _PLACE:
            text = f"a list of {layout.records} records and {lost} lost ones takes more than max_memory={allowed}"
            raise _with_advice(LimitError(text))

    def _allowed(self, compressed: int) -> int:
        """Return the memory limit in bytes for the records of a frame with this compressed size; -1 for no limit."""
        return max(_MEMORY, compressed * _EXPANSION) if self._max_memory is None else self._max_memory

    def _too_large(self, frame: Frame, what: str) -> LimitError:
        which = numbers(frame.first, frame.records)
        allowed = f"max_memory={self._allowed(frame.compressed)}"
        return _with_advice(LimitError(f"{which}: a frame of {frame.compressed} bytes has {what} ({allowed})"))

    def _room(
        self, frame: Frame, content: Content, prefix: bytes = b"", max_depth: int = fmt.CONTENT_MAX
    ) -> int | None:
        """
        Return how many bytes of a frame's memory limit are left once all objects in `prefix` + `content` exist.

        Returns None if the objects would exceed the limit, -1 if there is no limit or the content is too small to reach
        it. Objects after one that is nested deeper than `max_depth` do not count, because unpacking ends there.
        """
        allowed = self._allowed(frame.compressed)
        heaviest = HEAVIEST if self._typed is None else self._typed.limits.heaviest
        if allowed < 0 or len(content) * heaviest <= allowed:
            return -1
        data = content[:] if prefix == b"" else b"".join((prefix, content[:]))
        excess: int = _backend.msgpack().find_excess(data, allowed, max_depth)
        return None if excess >= 0 else ~excess

    def records(self, frame: Frame, content: bytes | LaidOut) -> list[Record]:
        """
        Return the records in a frame's content as a list, unpacked with a single call where that is fastest.

        Raises DamagedError if the content is not valid or has another number of records than the frame's header,
        LimitError if the objects exceed the memory limit. Errors of the caller's limits and hooks, and StackError for
        records that are nested too deep, are raised unchanged. A ValidationError gets the record's number in its path.
        """
        prefix = _ARRAY32 + frame.records.to_bytes(4, "big")
        data = content.data if isinstance(content, LaidOut) else content
        room = self._room(frame, data, prefix, self._max_depth + 1)
        if room is None:
            raise self._too_large(frame, "objects that take too much memory")
        if self._typed is not None:
            return self._typed_records(frame, data[:], room)
        if not self._whole or self._read_rows is not None or isinstance(content, LaidOut):
            return list(self.each(frame, content))
        whole = b"".join((prefix, content))
        try:
            found = self._plain(whole, max_depth=_DEPTH + 1)
        except StackError:
            return list(self._one_by_one(frame, content, 0))  # raises an error with the right depth of a record
        except (UnpackException, ExtraData, LimitError) as exc:
            raise self._wrong(frame, exc) from exc
        return found if type(found) is list else list(found)

    def part(self, frame: Frame, content: bytes | LaidOut, start: int, stop: int) -> list[Record]:
        """
        Return the records of a frame from number `start` within it to `stop` (not included).

        Raises the errors of `records`, but only for these records and for the structure of the whole content.
        """
        if stop - start == frame.records:
            return self.records(frame, content)
        data = content.data if isinstance(content, LaidOut) else content
        starts = self.message_starts(data, frame.records)
        if starts is not None and starts[frame.records] == len(data):
            begin, end = starts[start], starts[stop]
        else:
            if self._unpack_short is not None:  # without C and without the caller's code, unpacking all is fastest
                try:
                    return self.records(frame, content)[start:stop]
                except (CodecError, TypeError, ValueError) as exc:
                    raise_if_from_handler(exc)
            begin = self._after(frame, data, 0, start)
            end = self._after(frame, data, begin, stop - start)
            _check_end(frame, self._after(frame, data, end, frame.records - stop), data)
        return self.records(frame._replace(records=stop - start, first=frame.first + start), data[begin:end])

    def each(self, frame: Frame, content: bytes | LaidOut, skip: int = 0) -> Iterator[Record]:
        """
        Return an iterator that unpacks the records of a frame's content one by one, without the first `skip`.

        This is faster than `records` if the caller drops each record before the next, because all records then use the
        same memory. The iterator raises the same errors as `records`; but if all records together exceed the memory
        limit, the limit applies to each record.
        """
        return chain.from_iterable(self.stretches(frame, content, skip))

    def stretches(self, frame: Frame, content: bytes | LaidOut, skip: int = 0) -> Iterator[Iterator[Record]]:
        """Yield iterators that together give the records of `each`; exhaust each iterator before the next."""
        plain = content.data if isinstance(content, LaidOut) else content
        room = self._room(frame, plain, _ARRAY32 + frame.records.to_bytes(4, "big"))
        if self._typed is not None:
            yield self._typed_each(frame, plain[:], None if skip else room, skip)
            return
        if room is None:
            yield self._weighed(frame, plain[:], skip)
            return
        done = end = 0
        for rows, count, end in self._rows(frame, content):  # noqa: B007
            if done + count > skip:
                yield rows if done >= skip else islice(rows, skip - done, None)
            done += count
        if done < frame.records or end < len(plain):
            yield self._one_by_one(frame, plain[:], max(skip, done))

    def _weighed(self, frame: Frame, content: bytes, skip: int) -> Iterator[Record]:
        """Unpack the records after the first `skip` one by one, each within the memory limit for the frame."""
        items = self._allowed(frame.compressed) // _ITEM + 1
        while skip < frame.records:
            try:
                for record in self._one_by_one(frame, content, skip, items):
                    skip += 1
                    yield record
                return
            except LimitError:  # the record has many items: check it by itself
                ((start, end),) = self.pick(frame, content, [skip], count=False)
                skip += 1
                yield self.record(frame, skip - 1, content[start:end])

    def _typed_together(self, frame: Frame, content: bytes, room: int) -> Decoded[Record]:
        """
        Return `(records, position, failure, room)` as `decode_all` does, for all records of a frame.

        The offset in `failure`, the error of the first wrong record or None, counts from the start of that record. If
        the caller set limits other than `max_depth` and `max_memory`, which apply to each record alone, decodes
        nothing: returns `([], 0, None, room)`.
        """
        if self._typed is None or self._is_limited:
            return [], 0, None, room
        made, start, failure, room = self._typed.decode_all(content, frame.records, room)
        offset = getattr(failure, "offset", None)
        if failure is not None and offset is not None:
            failure.offset = offset - start
        return made, start, failure, room

    def _typed_records(self, frame: Frame, content: bytes, room: int) -> list[Record]:
        """Return the records as objects of the caller's type; `room` limits all together (see `decode_all`)."""
        made, _, failure, room = self._typed_together(frame, content, room)
        if len(made) < frame.records or failure is not None:
            for _, number, message in self._messages(frame, content, len(made)):
                record, room = self._typed_record(frame, number, message, room, failure)
                made.append(record)
        return made

    def _typed_each(self, frame: Frame, content: bytes, room: int | None, skip: int) -> Iterator[Record]:
        """
        Return an iterator over the records after the first `skip`, as objects of the caller's type.

        `room` limits all records together (see `decode_all`); -1 is no limit. If the records exceed `room`, or if it is
        None, the memory limit applies to each record. After an error, the iterator continues with the next record.
        """
        made: list[Record] = []
        failure = None
        if room is not None:
            made, _, failure, _ = self._typed_together(frame, content, room)
            if _is_of_room(failure):  # all together exceed the limit: read them one by one, like `_weighed`
                failure = None
        # unlike a generator, `map` can continue with the next record after one that does not have the type
        failures = chain((failure,), repeat(None))
        done = len(made) == frame.records and failure is None
        rest = () if done else self._messages(frame, content, skip + len(made))
        return chain(made, map(self._next_typed, rest, failures))

    def _next_typed(self, message: tuple[Frame, int, bytes], failure: Exception | None) -> Record:
        try:
            return self.record(*message, failure)
        except StopIteration as exc:  # raised by a constructor or hook, it would end the iteration
            raise RuntimeError(f"decoding record {message[0].first + message[1]} raised StopIteration") from exc

    def _typed_record(
        self, frame: Frame, number: int, data: bytes, room: int, failure: Exception | None
    ) -> tuple[Record, int]:
        """
        Return a record as an object of the caller's type, and what is left of `room` (see `decode_all`).

        With a `failure`, which `decode_all` returned for the record, raises the error for it.
        """
        assert self._typed is not None
        try:
            return self._typed.decode_within(data, room, failure)
        except CodecError as exc:
            self._fail(exc, frame, number)

    def _messages(self, frame: Frame, content: bytes, skip: int) -> Iterator[tuple[Frame, int, bytes]]:
        """Yield the frame, the number within the frame and the packed bytes of each record after the first `skip`."""
        unpacker = self._unpacker(content, {**_ANY_DEPTH, "raw_depth": 0})
        for number in range(frame.records):
            try:
                if number < skip:
                    unpacker.skip()
                    continue
                message = frame, number, unpacker.unpack().data
            except UnpackException as exc:
                raise self._wrong(frame, exc) from exc
            yield message
        _check_end(frame, unpacker.tell(), content)

    def _one_by_one(self, frame: Frame, content: bytes, skip: int, items: int = 0) -> Iterator[Record]:
        """
        Unpack the records after the first `skip` one by one.

        Raises LimitError for a record with more than `items` items (0: no limit other than the caller's).
        """
        options = self._options
        if items:
            most = options.get("max_total_items", -1)
            options = {**options, "max_total_items": min(items, most) if most >= 0 else items}
        unpacker = self._unpacker(content, options)
        done, end = skip, frame.records + 1
        try:
            for _ in range(done):
                unpacker.skip()
            try:
                for done, record in zip(range(done + 1, end), unpacker):  # noqa: B007, B020
                    yield record
            except TypeError:
                if not self._tuple_keys:
                    raise
                unpacker = self._unpacker(content, {**options, "tuple_keys": True})
                for _ in range(done):
                    unpacker.skip()
                for done, record in zip(range(done + 1, end), unpacker):  # noqa: B007, B020
                    yield record
        except (UnpackException, LimitError) as exc:
            if items and isinstance(exc, LimitError):
                raise
            raise self._wrong(frame, exc) from exc
        if done < frame.records:
            raise damaged(frame, f"it holds {done} records instead of {frame.records}")
        _check_end(frame, unpacker.tell(), content)

    def _wrong(self, frame: Frame, exc: Exception) -> Exception:
        """
        Return the exception to raise for `exc`, an error of unpacking.

        This is `exc` for a StackError, and for a LimitError if the caller set limits; otherwise a DamagedError.
        """
        if isinstance(exc, StackError) or (isinstance(exc, LimitError) and self._is_limited):
            return exc
        return damaged(frame, f"the MessagePack in it is not valid: {exc}")

    def _rows(self, frame: Frame, content: bytes | LaidOut) -> Iterator[tuple[Iterator[Any], int, int]]:
        """
        Yield `(iterator over records, their number, end)` for runs of records with the same keys.

        The first run begins with the first record of the frame, and each further run where the previous one ends. `end`
        is the position in the content after the run. The caller reads the records after the last run in another way.
        """
        done = end = 0
        if isinstance(content, LaidOut):
            # stops at an invalid value, whose error is raised when the value is read alone
            for found in content.rows.each(content.data, self._read_other):
                _, count, end = found
                done += count
                yield found
            content = content.data[:] if done < frame.records else b""
        read_rows = self._read_rows  # read once, because another thread may set it to None
        while read_rows is not None and (left := frame.records - done):
            found = read_rows(content, end, left, _ROWS, self._read_other)
            if found is None:
                self._frames_without_rows += 1
                if self._frames_without_rows >= _ROWS_PATIENCE:
                    self._read_rows = None
                return
            _, count, end = found
            done += count
            yield found
        self._frames_without_rows = 0

    def _unpacker(self, content: Content, options: Mapping[str, Any]) -> msgpack.Unpacker:
        unpacker = msgpack.Unpacker(**options, max_buffer_size=0)
        unpacker.feed(content)
        return unpacker

    def _plain(self, data: bytes, **more: Any) -> Any:
        """
        Unpack `data` with this decoder's options.

        After a TypeError, which a map key that is an array causes, unpacks again with `tuple_keys` (slower on PyPy),
        unless the caller set `tuple_keys` or `strict_map_key`.
        """
        try:
            return msgpack.unpackb(data, **self._options, **more)
        except TypeError:
            if not self._tuple_keys:
                raise
        return msgpack.unpackb(data, **self._options, **more, tuple_keys=True)

    def starts(self, frame: Frame, content: Content) -> Sequence[int] | None:
        """
        Return the position of each record in a frame's content, and the end of the last.

        Returns None if C cannot find them, if the frame has more than `_STARTS_MAX` records, or if the last record does
        not end where the content ends.
        """
        found = self.message_starts(content, frame.records) if frame.records <= _STARTS_MAX else None
        return found if found is not None and found[frame.records] == len(content) else None

    def message_starts(self, content: Content, count: int) -> Sequence[int] | None:
        """Return the starts of `count` records in a content and the end of the last; None if C cannot find them."""
        return None if self._starts_by_c is None else self._starts_by_c(content, count)

    def put_records(
        self,
        content: Content,
        spans: Iterable[tuple[int, int, int]],
        found: list[Record | None],
        frame_at: Callable[[int], tuple[Frame, int]],
    ) -> None:
        """
        Unpack records into the list `found`; each of `spans` has an index of `found` and a start and end in `content`.

        `frame_at` returns, for an index of `found`, the frame and the record's number in it.
        """
        unpackb: Callable[..., Record] = msgpack.unpackb
        options = self._options
        if self._typed is not None:
            unpackb, options = self._typed.decode, {}
        elif self._unpack_short is not None:
            unpackb, options = self._unpack_short, {}
        for place, start, end in spans:
            data = content[start:end]
            if end - start <= self._light:
                try:
                    found[place] = unpackb(data, **options)
                    continue
                except CodecError as exc:
                    if self._unpack_short is None:
                        self._fail(exc, *frame_at(place))
                except TypeError:
                    if self._typed is not None:
                        raise
            found[place] = self.record(*frame_at(place), data)

    def pick(
        self, frame: Frame, content: Content, places: Sequence[int], *, count: bool = True
    ) -> list[tuple[int, int]]:
        """
        Return the start and end of each record in `places`, as offsets in the content of a frame.

        `places` are their numbers within the frame: one or more, in ascending order, and they may repeat. Raises
        DamagedError if the content up to the last of these records is not valid or, with `count`, if the rest of the
        content is not valid or the frame has another number of records than its header says.
        """
        spans = []
        start = end = 0
        done = places[0]
        try:
            unpacker = self._skipper(content, done)
            for place in places:
                if place >= done:
                    for _ in range(place - done):
                        unpacker.skip()
                    start = unpacker.tell() - _ARRAY_HEADER
                    unpacker.skip()
                    end, done = unpacker.tell() - _ARRAY_HEADER, place + 1
                spans.append((start, end))
            if count:
                end += self._skipper(memoryview(content)[end:], frame.records - done).tell() - _ARRAY_HEADER
        except CodecError as exc:
            raise damaged(frame, f"the MessagePack in it is not valid: {exc}") from exc
        if count:
            _check_end(frame, end, content)
        return spans

    def _skipper(self, content: Content | memoryview, count: int) -> msgpack.Unpacker:
        """
        Return an Unpacker positioned after the first `count` objects of a content.

        Its position also counts the _ARRAY_HEADER bytes that were put before the content.
        """
        unpacker = msgpack.Unpacker(**_ANY_DEPTH, max_buffer_size=0)
        unpacker.feed(_ARRAY32 + count.to_bytes(4, "big"))  # as one array, which a single call skips
        unpacker.feed(content)
        unpacker.skip()
        return unpacker

    def check_count(self, frame: Frame, content: bytes) -> None:
        """Raise DamagedError if the content of a frame is not valid MessagePack or has a wrong number of records."""
        _check_end(frame, self._after(frame, content, 0, frame.records), content)

    def _after(self, frame: Frame, content: Content, at: int, count: int) -> int:
        """Return the position after `count` objects from position `at` on; raise DamagedError if they are not valid."""
        try:
            return at + self._skipper(memoryview(content)[at:], count).tell() - _ARRAY_HEADER
        except CodecError as exc:
            raise damaged(frame, f"the MessagePack in it is not valid: {exc}") from exc

    def record(self, frame: Frame, number: int, data: bytes, failure: Exception | None = None) -> Record:
        """
        Return the record packed in `data`; `number` is its number within the frame.

        With a `failure`, which `decode_all` returned for the record, raises the error for it.
        """
        room = self._room(frame, data, b"", self._max_depth) if len(data) > self._light else -1
        if room is None:
            raise self._too_large(frame, "a record that takes too much memory")
        if self._typed is not None and (room >= 0 or failure is not None):
            return self._typed_record(frame, number, data, room, failure)[0]
        if self._unpack_short is not None and len(data) <= _LIGHT:
            try:
                return self._unpack_short(data)  # type: ignore[no-any-return]
            except (CodecError, TypeError):
                pass
        try:
            found: Record = self._plain(data) if self._typed is None else self._typed.decode(data)
            return found
        except CodecError as exc:
            self._fail(exc, frame, number)

    def _fail(self, exc: CodecError, frame: Frame, number: int) -> NoReturn:
        """
        Raise the error to report for `exc`, which decoding a record raised.

        This is a LimitError with a text if the objects exceed the memory limit, the result of `_wrong` for an error of
        unpacking, and otherwise `exc`. The path of a ValidationError then begins with the record's number in the file.
        """
        if _is_of_room(exc):
            raise self._too_large(frame, "objects that take too much memory") from None
        if isinstance(exc, (UnpackException, ExtraData, LimitError)):
            raise self._wrong(frame, exc) from exc
        for error in getattr(exc, "errors", ()):
            error.path = (frame.first + number, *error.path)
        raise exc


def _is_of_room(failure: Exception | None) -> bool:
    """Return whether `decode_all` or `decode_within` failed because the objects take too much memory."""
    return isinstance(failure, LimitError) and not failure.args


def _check_end(frame: Frame, end: int, content: Content) -> None:
    """Raise DamagedError if the content of a frame continues after its last record."""
    if end != len(content):
        raise damaged(frame, f"it holds more than {frame.records} records")


def _with_advice(error: LimitError) -> LimitError:
    error.advice = "raise max_memory"
    return error


def lost(gap: Gap) -> DamagedError:
    """Return the error for the records of a gap."""
    return DamagedError(gap.reason, gap.start, gap.first, gap.records)


def damaged(frame: Frame, reason: str) -> DamagedError:
    """Return the error for a damaged frame."""
    return DamagedError(reason, frame.offset, frame.first, frame.records)
