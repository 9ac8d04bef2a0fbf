# SPDX-License-Identifier: Apache-2.0
"""From records to a Zstandard frame and back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import Any, Final, NamedTuple

from cpkg import _backend, msgpack, zstd
from cpkg.records import format as fmt
from cpkg.records.errors import DamagedError, RecordsError
from cpkg.records.layout import Frame, Gap
from cpkg.records.sources import Source
from purepy.errors import CodecError, ExtraData, StackError, UnpackException, ZstdError

LEVEL: Final = 3
FRAME_SIZE: Final = 256 << 10
"""So many bytes of records make a frame: a record is found in less than a millisecond, and larger ones gain 1 %."""

_ARRAY32: Final = b"\xdd"
_ARRAY_HEADER: Final = 5
_DEPTH: Final = 1024
_ROWS: Final = 32
"""Fewer records with the same keys, one behind the other, are not worth to be read as rows."""
_ROWS_PATIENCE: Final = 4
"""After so many frames without rows there is no more search for them."""
# What counts over a whole message, or is called with each array: such options go record by record.
_PER_RECORD_PACKING: Final = frozenset(("max_total_bytes", "max_total_items"))
_PER_RECORD_UNPACKING: Final = frozenset(
    ("list_hook", "max_array_len", "max_total_items", "max_total_bytes", "raw_depth", "max_depth")
)
_NOT_PACKING: Final = frozenset(("autoreset", "buffer", "buf_size"))


def has_threads_of_c() -> bool:
    """Tell whether the backend of Zstandard has threads that compress and decompress without Python."""
    return hasattr(_backend.choose("zstd").module, "compressed_ahead")


def batches(options: dict[str, Any]) -> bool:
    """Tell whether several records can be packed by one call under these options."""
    return not _PER_RECORD_PACKING.intersection(options)


def check_packing(options: dict[str, Any]) -> None:
    """Refuse options of Packer that a writer sets itself."""
    wrong = sorted(_NOT_PACKING.intersection(options))
    if wrong:
        raise TypeError(f"a record writer takes no {wrong[0]}")
    msgpack.Packer(**options)


class BatchPacker:
    """Packs several records by one call, under one set of options of `Packer`; used by several threads at once."""

    def __init__(self, options: dict[str, Any]) -> None:
        # kept, because to take options takes PyPy as long as to pack some records
        self._pack = msgpack.Packer(**{**options, "max_depth": options.get("max_depth", _DEPTH) + 1}).pack

    def pack(self, records: Sequence[Any]) -> tuple[bytes, int]:
        """Return bytes, and from where on they are the records, one behind the other."""
        packed = self._pack(records if type(records) is list else list(records))
        first = packed[0]
        return packed, 1 if first < 0xDC else 3 if first == 0xDC else _ARRAY_HEADER


def read_dictionary(source: Source, place: tuple[int, int] | None) -> zstd.ZstdDict | None:
    """Read the dictionary of a file from its offset and size; None if it has none. RecordsError if it is damaged."""
    if place is None:
        return None
    offset, size = place
    content = fmt.parse_dictionary_frame(source.read_at(offset, min(size, fmt.DICTIONARY_MAX)))
    if content is None:
        raise RecordsError(f"{source.name}: the dictionary at byte {offset} is damaged; no record can be read without")
    return zstd.ZstdDict(content)


class Encoded(NamedTuple):
    """A frame that waits to be written: how many records it has, their size, and its bytes."""

    records: int
    size: int
    data: bytes


class Encoder:
    """Compresses the records of a frame; used by several threads at once."""

    def __init__(self, level: int, dictionary: zstd.ZstdDict | None) -> None:
        self._options: dict[int, int] = {
            zstd.CompressionParameter.compression_level: level,
            zstd.CompressionParameter.checksum_flag: 1,
        }
        self.level = level
        self.dictionary = dictionary

    def compressed_ahead(self, threads: int) -> Any:
        """Return a queue of frames that so many threads of C compress; see `has_threads_of_c`."""
        return _backend.choose("zstd").module.compressed_ahead(self._options, self.dictionary, threads)

    def encode(self, content: Any) -> bytes:
        """Return the frame for records packed one behind the other; it has their size and checksum."""
        return zstd.compress(content, options=self._options, zstd_dict=self.dictionary)

    def encoded(self, content: Any, records: int) -> Encoded:
        """Do the same, with what is to be known of the frame."""
        return Encoded(records, len(content), self.encode(content))


class LaidOut:
    """
    The content of a frame in memory of C's threads, with the rows that they have laid out.

    `data` is a buffer of cffi's, `rows` the memory of the rows; both serve another frame when this one is done with.
    """

    __slots__ = ("data", "rows")

    def __init__(self, data: Any, rows: Any) -> None:
        self.data = data
        self.rows = rows

    def __len__(self) -> int:
        return len(self.data)


class Decoder:
    """Decompresses and unpacks frames, under one set of options of `unpackb`; used by several threads at once."""

    def __init__(self, options: dict[str, Any], dictionary: zstd.ZstdDict | None = None) -> None:
        msgpack.unpackb(b"\xc0", **options)  # names of options that do not exist are found here, not in the first frame
        self.dictionary = dictionary
        # all that a writer takes comes back, keys of every type among it
        self._options = {"strict_map_key": False, **options}
        self._tuple_keys = not {"strict_map_key", "tuple_keys"}.intersection(options)
        self._whole = not _PER_RECORD_UNPACKING.intersection(options)
        # where the JIT of PyPy makes many alike records by columns
        self._read_rows = None if options else getattr(_backend.choose("msgpack").module, "read_rows", None)
        self._frames_without_rows = 0

    def new_rows(self) -> Any:
        """Return memory for rows, where records are read by columns."""
        return _backend.choose("msgpack").module.Rows(_ROWS)

    @property
    def reads_rows(self) -> bool:
        """Whether records are read by columns, as far as those of this file have shown."""
        return self._read_rows is not None

    def decompressed_ahead(self, threads: int) -> Any:
        """Return a queue of frames that so many threads of C decompress; see `has_threads_of_c`."""
        return _backend.choose("zstd").module.decompressed_ahead(self.dictionary, threads)

    def content(self, frame: Frame, data: bytes) -> bytes:
        """
        Decompress a frame.

        Raises DamagedError with the numbers of the records if the bytes are not those that were written.
        """
        size = frame.decompressed
        if len(data) != frame.compressed:
            raise damaged(frame, f"it has {len(data)} of {frame.compressed} bytes")
        if size > fmt.CONTENT_MAX or frame.records > size:
            raise damaged(frame, f"it says to hold {frame.records} records of {size} bytes in all")
        content = b""
        try:
            found = zstd.get_frame_info(data).decompressed_size
            if found == size:
                content = zstd.decompress(data, zstd_dict=self.dictionary, max_output_size=size)
                found = len(content)
        except ZstdError as exc:
            raise damaged(frame, str(exc)) from exc
        if found != size:
            raise damaged(frame, f"it holds {found} bytes instead of {size}")
        return content

    def records(self, frame: Frame, content: bytes | LaidOut) -> list[Any]:
        """
        Unpack the records of a frame's content, by one call where that is fastest.

        Raises DamagedError if they are not as many as the frame says. What limits and hooks of the caller's raise
        passes as it is.
        """
        if not self._whole or self._read_rows is not None or isinstance(content, LaidOut):
            return list(self.each(frame, content))
        whole = b"".join((_ARRAY32, frame.records.to_bytes(4, "big"), content))
        try:
            found = self._plain(whole, max_depth=_DEPTH + 1)
        except StackError:
            raise
        except (UnpackException, ExtraData) as exc:
            raise damaged(frame, f"its MessagePack is wrong: {exc}") from exc
        return found if type(found) is list else list(found)

    def each(self, frame: Frame, content: bytes | LaidOut, skip: int = 0) -> Iterator[Any]:
        """
        Unpack the records of a frame's content one after the other, without the first `skip`.

        Takes less time than `records` where each is let go of before the next one: they use the same memory. Raises
        what `records` does.
        """
        return chain.from_iterable(self.stretches(frame, content, skip))

    def stretches(self, frame: Frame, content: bytes | LaidOut, skip: int = 0) -> Iterator[Iterator[Any]]:
        """Yield iterators that together are what `each` returns; each is to be exhausted before the next one."""
        done = end = 0
        for rows, count, end in self._rows(frame, content):  # noqa: B007
            if done + count > skip:
                yield rows if done >= skip else islice(rows, skip - done, None)
            done += count
        if done < frame.records or end < len(content):
            yield self._one_by_one(frame, content.data[:] if isinstance(content, LaidOut) else content, max(skip, done))

    def _one_by_one(self, frame: Frame, content: bytes, skip: int) -> Iterator[Any]:
        unpacker = self._unpacker(content, self._options)
        done = 0
        try:
            for _ in range(skip):
                unpacker.skip()
            try:
                for done, record in enumerate(unpacker, 1):  # noqa: B007
                    yield record
            except TypeError:
                if not self._tuple_keys:
                    raise
                unpacker = self._unpacker(content, {**self._options, "tuple_keys": True})
                for _ in range(skip + done):
                    unpacker.skip()
                for done, record in enumerate(unpacker, done + 1):  # noqa: B007, B020
                    yield record
        except StackError:
            raise
        except UnpackException as exc:
            raise damaged(frame, f"its MessagePack is wrong: {exc}") from exc
        if skip + done != frame.records or unpacker.tell() != len(content):
            raise damaged(frame, f"it holds {skip + done} records instead of {frame.records}")

    def _rows(self, frame: Frame, content: bytes | LaidOut) -> Iterator[tuple[Iterator[Any], int, int]]:
        """Yield the records that a frame begins with, their numbers and ends, as long as many have the same keys."""
        done = end = 0
        if isinstance(content, LaidOut):
            try:
                for found in content.rows.each(content.data):
                    _, count, end = found
                    done += count
                    yield found
            except Exception:
                return  # a value is wrong: the error is raised where it is read alone
            if done == frame.records:
                return
            content = content.data[:]
        while self._read_rows is not None and (left := frame.records - done):
            found = self._read_rows(content, end, left, _ROWS)
            if found is None:
                self._frames_without_rows += 1
                if self._frames_without_rows == _ROWS_PATIENCE:
                    self._read_rows = None
                return
            _, count, end = found
            done += count
            yield found

    def _unpacker(self, content: bytes, options: dict[str, Any]) -> msgpack.Unpacker:
        unpacker = msgpack.Unpacker(**options, max_buffer_size=0)
        unpacker.feed(content)
        return unpacker

    def _plain(self, data: Any, **more: Any) -> Any:
        """Call `unpackb`; once more for arrays among the map keys, which takes longer on PyPy."""
        try:
            return msgpack.unpackb(data, **self._options, **more)
        except TypeError:
            if not self._tuple_keys:
                raise
        return msgpack.unpackb(data, **self._options, **more, tuple_keys=True)

    def decode(self, frame: Frame, data: bytes) -> list[Any]:
        """Return the records of a frame."""
        return self.records(frame, self.content(frame, data))

    def starts(self, frame: Frame, content: Any) -> Sequence[int]:
        """Return where each record begins in a frame's content, and where the last one ends."""
        by_c = getattr(_backend.choose("msgpack").module, "message_starts", None)
        if by_c is not None:
            found: Sequence[int] | None = by_c(content, frame.records)
            if found is not None and found[frame.records] == len(content):
                return found
            content = content[:]  # the errors are the Unpacker's
        unpacker = self._unpacker(content, {})
        starts = [0]
        try:
            for _ in range(frame.records):
                unpacker.skip()
                starts.append(unpacker.tell())
        except CodecError as exc:
            raise damaged(frame, f"its MessagePack is wrong: {exc}") from exc
        if starts[-1] != len(content):
            raise damaged(frame, f"it holds more than {frame.records} records")
        return starts

    def record(self, content: Any, start: int, end: int) -> Any:
        """Unpack one record."""
        return self._plain(content[start:end])


def lost(gap: Gap) -> DamagedError:
    """Return the error about records that no frame holds."""
    return DamagedError(gap.reason, gap.start, gap.first, gap.records)


def damaged(frame: Frame, reason: str) -> DamagedError:
    """Return the error about a frame."""
    return DamagedError(reason, frame.offset, frame.first, frame.records)
