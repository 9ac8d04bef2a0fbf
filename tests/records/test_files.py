# SPDX-License-Identifier: Apache-2.0
"""Write and read record files in every way."""

from __future__ import annotations

import array
import datetime
import enum
import errno
import gc
import io
import os
import sys
import uuid
import zlib
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from failing import each_raises, raising
from record_files import (
    depth_of,
    event,
    flip,
    forget_index,
    nested,
    numbered,
    read_all,
    record,
    spans,
    trained,
    write_all,
    written,
)
from zstd_data import check_trains

import cpkg
from cpkg import msgpack, records, zstd
from cpkg.records import decoding, opening, packing
from cpkg.records.positions import FileTarget, PathTarget
from purepy.base import system
from purepy.base.errors import LimitError
from purepy.zstd.seekable.table import read_seek_table


@dataclass
class Event:
    """A class that `dumps` packs as a map."""

    at: datetime.datetime
    kind: Kind


class Kind(enum.Enum):
    CLICK = "click"


MOMENT = datetime.datetime(2024, 6, 1, 10, 0, 0, 5, tzinfo=datetime.timezone.utc)
OF_DUMPS = [
    Event(MOMENT, Kind.CLICK),
    {"set": {2, 1}, "array": array.array("d", [1.5]), (1, 2): datetime.time(10, 5)},
    *(
        {"at": MOMENT + datetime.timedelta(number), "id": uuid.UUID(int=number), "price": Decimal(number) / 7}
        for number in range(40)
    ),
    datetime.datetime(2024, 6, 1),
    datetime.date(2024, 6, 1),
    datetime.timedelta(1, 2, 3),
    *(None, True, 7, -1.5, "text", b"bytes", [1, [2]], {}, {1: "int", (1, 2): "tuple", None: 0}, [[]] * 3),
]


@pytest.mark.parametrize("threads", [1, 2])
def test_records_are_of_the_types_of_dumps(path: Path, threads: int) -> None:
    """In every way of writing and reading, objects are converted as by `dumps` and `loads`."""
    with records.open(path, "wb", threads=threads, frame_size=1500) as writer:
        writer.append(OF_DUMPS[0])
        writer.extend(OF_DUMPS[1:])
    wanted = [cpkg.loads(cpkg.dumps(each)) for each in OF_DUMPS]
    with records.open(path, threads=threads) as reader:
        assert len(reader._layout) > 1
        assert list(reader) == reader[:] == [row for batch in reader.batches() for row in batch] == wanted
        assert [reader[number] for number in range(len(reader))] == reader.take(range(len(reader))) == wanted
        assert [type(value) for value in reader[2].values()] == [datetime.datetime, uuid.UUID, Decimal]
        assert [row for split in records.splits(path, 3) for row in split.read()] == wanted


def test_hooks_are_called_only_for_other_types(path: Path) -> None:
    with records.open(path, "wb") as writer:
        for add in (writer.append, lambda value: writer.extend([value, value])):
            with pytest.raises(
                TypeError, match=r"'object': convert it first, or pass default= to records.open\(\), a function"
            ):
                add(object())
    with records.open(path, "wb", default=lambda _: msgpack.ExtType(1, b"x")) as writer:
        writer.extend([MOMENT.date(), object(), MOMENT.date()])
    for options in ({}, {"ext_hook": None}):
        assert read_all(path, **options) == [MOMENT.date(), msgpack.ExtType(1, b"x"), MOMENT.date()]
    assert read_all(path, ext_hook=lambda code, data: (code, data)) == [MOMENT.date(), (1, b"x"), MOMENT.date()]


def test_an_object_that_changes_after_it_was_given(path: Path) -> None:
    """A generator may yield the same object repeatedly; each state is packed at once."""

    def rows() -> Any:
        row: dict[str, int] = {}
        for number in range(100):
            row["number"] = number
            yield row

    write_all(path, rows())
    assert [row["number"] for row in read_all(path)] == list(range(100))


def test_records_in_front_of_an_error_are_added(path: Path) -> None:
    class OwnError(Exception):
        pass

    def rows(error: Any) -> Any:
        for number in range(7):
            yield record(number)
        if isinstance(error, Exception):
            raise error
        yield error

    with records.open(path, "wb") as writer:
        for number, given in enumerate((rows(OwnError()), rows(object()), list(rows(object()))), 1):
            with pytest.raises((OwnError, TypeError)):
                writer.extend(given)
            assert len(writer) == 7 * number
        with pytest.raises(TypeError):
            writer.append(object())
    assert read_all(path) == numbered(7) * 3


def test_nesting_is_as_deep_as_for_one_message(path: Path) -> None:
    deep = nested(1024)
    with records.open(path, "wb") as writer:
        writer.extend([deep, deep])
        with pytest.raises(ValueError, match=r"recursion|depth|nest"):
            writer.extend([1, [deep]])
        assert len(writer) == 3
    *found, last = read_all(path)
    assert last == 1
    assert [depth_of(value) for value in found] == [1024, 1024]


def test_options_of_packing_and_unpacking(path: Path) -> None:
    moment = msgpack.Timestamp(7)
    with records.open(path, "wb", default=lambda value: sorted(value), max_total_items=5) as writer:
        writer.extend([{"set": {2, 1}}, moment, [1, 2]])
        with pytest.raises(LimitError):
            writer.extend([1, [1, 2, 3, 4, 5], 2])
    assert read_all(path, timestamp=2, use_list=False) == [{"set": (1, 2)}, 7_000_000_000, (1, 2), 1]
    assert read_all(path, timestamp=0, list_hook=len) == [{"set": 2}, moment, 2, 1]
    with records.open(path, object_hook=lambda pairs: "a map") as reader:
        assert reader[0] == "a map"
        assert next(iter(reader)) == "a map"
    with records.open(path, max_array_len=1) as reader, pytest.raises(LimitError):
        list(reader)


WRONG: dict[tuple[str, type[Exception]], list[dict[str, Any]]] = {
    ("rb", TypeError): [{"nothing": 1}, {"max_memory": "x"}, {"max_memory": 1.5}],
    ("rb", ValueError): [{"errors": "ignore"}, {"threads": -1}],
    ("wb", TypeError): [*({name: 7} for name in ("nothing", "default", "dictionary")), {"buffer": bytearray()}],
    ("wb", ValueError): [{"level": 23}, {"frame_size": 0}, {"fsync": "always"}, {"threads": -1}],
    ("ab", TypeError): [{"threads": "2"}],
    ("ab", ValueError): [{"level": 23}],
    ("rw", ValueError): [{}],
}


@pytest.mark.parametrize(
    ("mode", "arguments", "error"), [(mode, each, error) for (mode, error), cases in WRONG.items() for each in cases]
)
def test_wrong_arguments(path: Path, mode: str, arguments: dict[str, Any], error: type[Exception]) -> None:
    """They create no file, and do not change an existing one."""
    with pytest.raises((error, FileNotFoundError)):
        records.open(path, mode, **arguments)
    assert not path.exists()
    written(path, 1)
    before = path.read_bytes()
    with pytest.raises(error):
        records.open(path, mode, **arguments)
    assert path.read_bytes() == before


def test_places_that_hold_no_records(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        records.open(tmp_path / "missing")
    with pytest.raises(FileNotFoundError, match="no record files"):
        records.open(tmp_path)
    with pytest.raises(TypeError):
        records.open(1.5)  # type: ignore[arg-type]
    other = tmp_path / "other"
    other.write_bytes(b"something else altogether, and long enough for a header")
    for mode in ("rb", "ab"):
        with pytest.raises(records.RecordsError, match="not a cpkg record file"):
            records.open(other, mode)
    assert other.read_bytes().startswith(b"something else")
    with pytest.raises(records.RecordsError, match=r"^not a cpkg record file"):  # a file object without a name
        records.open(io.BytesIO(other.read_bytes()))
    with pytest.raises(records.RecordsError, match="not a regular file"):
        records.open(os.devnull, "wb")
    read, write = os.pipe()
    os.close(write)
    with open(read, "rb") as stream, pytest.raises(records.RecordsError, match="copy it"):
        records.open(stream)
    newer = bytearray(records.format.file_header(b"of a new"))
    newer[16] = 2
    newer[12:16] = zlib.crc32(newer[16:], zlib.crc32(b"RecF")).to_bytes(4, "little")
    other.write_bytes(newer)
    with pytest.raises(records.RecordsError, match="found 2: upgrade"):
        records.open(other)


@pytest.mark.parametrize("closed", [True, False])
@pytest.mark.parametrize("put", [b"", b"ten bytes!!"])
def test_bytes_lost_or_put_into_the_header_of_the_file(path: Path, put: bytes, closed: bool) -> None:
    """No frame is at its stored offset, and the token is unknown: the file is refused, not read as empty."""
    with records.open(path, "wb", frame_size=300) as writer:
        writer.extend(map(record, range(100)))
        writer.flush()
        data = path.read_bytes()
    data = path.read_bytes() if closed else data
    path.write_bytes(data[:20] + put + data[20 if put else 25 :])
    before = path.read_bytes()
    each_raises(
        records.RecordsError,
        lambda: records.open(path),
        lambda: records.open(path, errors="skip"),
        lambda: records.open(path, "ab"),
        lambda: records.splits(path, 3),
        lambda: records.verify(path),
        lambda: records.repair(path),
        match="header damaged",
    )
    assert path.read_bytes() == before


def test_modes(path: Path) -> None:
    written(path, 3)
    before = path.read_bytes()
    records.open(path, "ab").close()
    assert path.read_bytes() == before
    with pytest.raises(FileExistsError):
        records.open(path, "xb")
    write_all(path, ["new"], mode="w")
    with records.open(path, "r") as reader:
        assert list(reader) == ["new"]
    for create in (lambda: records.open(path, "x").close(), path.touch):  # a writer that was killed leaves nothing
        path.unlink()
        create()
        with records.open(path) as reader:
            assert (len(reader), list(reader)) == (0, [])
            with pytest.raises(IndexError):
                reader[0]
        write_all(path, [1], mode="ab")
        assert read_all(path) == [1]


def test_file_objects(path: Path) -> None:
    memory = io.BytesIO()
    write_all(memory, numbered(50), frame_size=300)
    assert not memory.closed
    with records.open(memory) as reader:
        assert list(reader) == numbered(50)
        assert reader[7] == record(7)
    assert records.verify(memory).ok
    path.write_bytes(memory.getvalue())
    with open(path, "rb") as file, records.open(file) as reader:
        assert list(reader) == numbered(50)
    for mode in ("ab", "xb"):
        with pytest.raises(ValueError, match=f"mode '{mode}' needs the path of a local file.*: use mode 'wb'"):
            records.open(memory, mode)  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="repair needs the path of a local file"):
        records.repair(memory)  # type: ignore[arg-type]


def test_frames_of_the_seekable_format(path: Path) -> None:
    """The file has the seekable format: its table lists each frame with the size and checksum of its content."""
    written(path, 60, frame_size=300)
    data = path.read_bytes()
    with open(path, "rb") as file:
        table = read_seek_table(file)
    plain = zstd.decompress(data)
    assert plain == b"".join(msgpack.packb(record(number)) for number in range(60))
    assert table.decompressed_size == len(plain)
    for number in range(len(table)):
        offset, size, position, content, checksum = table.frame(number)
        found = zstd.decompress(data[offset : offset + size])
        assert found == plain[position : position + content]
        if content:
            assert checksum == int.from_bytes(data[offset + size - 4 : offset + size], "little")
            assert zstd.get_frame_info(data[offset : offset + size]).decompressed_size == content
    assert list(msgpack.Unpacker(io.BytesIO(plain))) == numbered(60)


def test_a_record_beyond_the_most_that_a_frame_holds(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records.writer, "_CONTENT_MAX", 1000)
    with records.open(path, "wb", frame_size=400) as writer:
        for size in (300, 990, 5, 380, 700):
            writer.append(bytes(size))
        for give in (writer.append, lambda value: writer.extend([value, 1])):
            with pytest.raises(LimitError, match="1000"):
                give(bytes(1000))
        writer.extend([bytes(300), bytes(990)])
    assert [len(value) for value in read_all(path)] == [300, 990, 5, 380, 700, 300, 990]


def test_writers_that_are_given_up_write_all(path: Path) -> None:
    writer = records.open(path, "wb")
    writer.append(1)
    writer.__del__()
    assert writer.closed
    assert read_all(path) == [1]
    uses = (lambda: writer.append(1), lambda: writer.extend([1, 2]), writer.flush, writer.__enter__)
    each_raises(ValueError, *uses, match="closed")
    writer.close()


@pytest.mark.parametrize("fails", ["write", "flush", "cut"])
def test_a_finalizer_does_not_repeat_an_error(path: Path, monkeypatch: pytest.MonkeyPatch, fails: str) -> None:
    """The caller already knows an error that `close` raised."""
    ignored: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", ignored.append)

    full = raising(OSError(errno.ENOSPC, "No space left on device"))
    with open(path, "wb") as file, monkeypatch.context() as patch:
        writer = records.open(path if fails == "cut" else file, "wb")
        patch.setattr(PathTarget if fails == "cut" else FileTarget, "write" if fails == "cut" else fails, full)
        with pytest.raises(OSError, match="No space"), writer:
            writer.append(1)
        writer.__del__()
        del writer
        gc.collect()
    # garbage of other tests may be collected here and report its own errors
    assert not [each for each in ignored if "No space" in str(each.exc_value)]


def test_a_full_disk_is_named_and_a_handlers_error_is_not(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with records.open(path, "wb", threads=1) as writer:
        writer.append(1)
        for error in (OSError(errno.ENOSPC, "No space left on device"), TimeoutError("mine")):
            with monkeypatch.context() as patch:
                patch.setattr(system, "pwrite", raising(error))
                with pytest.raises(OSError) as caught:
                    writer.flush()
            assert caught.value is error
            assert error.filename == (str(path) if error.errno else None)
    assert read_all(path) == [1]


def test_a_handlers_error_in_the_middle_of_a_batch(path: Path) -> None:
    """The exception is raised after the records of the batch, and is not mistaken for an error of one of them."""
    errors = [TimeoutError("mine")]

    def default(value: object) -> object:
        if errors:
            raise errors.pop()
        return "replaced"

    with records.open(path, "wb", default=default) as writer:
        with pytest.raises(TimeoutError, match="mine"):
            writer.extend([1, object(), 3])
        assert len(writer) == 3
    assert read_all(path) == [1, "replaced", 3]


def test_a_handlers_error_while_a_folder_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_all(tmp_path / "a.rec", [1])
    monkeypatch.setattr(opening, "reader_of", raising(TimeoutError("mine")))
    with pytest.raises(TimeoutError, match="mine"):
        records.open(tmp_path)


def test_a_handlers_error_while_a_file_is_synced(path: Path) -> None:
    class File(io.BytesIO):
        fileno = raising(TimeoutError("mine"))

    writer = records.open(File(), "wb", fsync="flush")
    with pytest.raises(TimeoutError, match="mine"):
        writer.flush()
    writer.discard()


def test_discarding_that_is_interrupted_takes_nothing_more(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = records.open(path, "wb")
    writer.append(1)
    with monkeypatch.context() as patch:
        patch.setattr(PathTarget, "close", raising(KeyboardInterrupt()))
        with pytest.raises(KeyboardInterrupt):
            writer.discard()
    assert not writer.closed  # the file is still locked
    with pytest.raises(ValueError, match="closed"):
        writer.append(2)
    writer.discard()
    assert writer.closed
    records.open(path, "ab").close()


def test_every_backend_reads_what_every_backend_writes(path: Path, msgpack: Any, zstd: Any, monkeypatch: Any) -> None:
    for module in (decoding, packing):
        monkeypatch.setattr(module, "msgpack", msgpack)
        monkeypatch.setattr(module, "zstd", zstd)
    values = numbered(300)
    write_all(path, values, frame_size=2000)
    with records.open(path) as reader:
        assert list(reader) == values
        assert reader[123] == values[123]
    data, frame = path.read_bytes(), spans(path)[2]
    flip(path, frame.end - 20, 0x55)
    assert read_all(path, errors="skip") == values[: frame.first] + values[frame.stop :]
    monkeypatch.undo()
    assert read_all(io.BytesIO(data)) == values


def test_a_dictionary(path: Path, threads_of: str) -> None:
    check_trains()
    plain = path.with_name("plain")
    rows = [event(number) for number in range(2000)]
    for target, dictionary in ((path, trained(rows)), (plain, None)):
        write_all(target, rows, frame_size=200, dictionary=dictionary, threads=2)
    assert path.stat().st_size < plain.stat().st_size * 0.9
    with records.open(path, threads=2) as reader:
        assert list(reader) == rows
        assert reader[1321] == event(1321)
        assert reader._layout.dictionary is not None
    assert records.verify(path).ok
    write_all(path, ["more"], mode="ab")
    forget_index(path)
    with records.open(path) as reader:
        assert reader[2000] == "more"
        assert reader[10] == event(10)
    assert records.repair(path).has_dictionary
    assert [row for split in records.splits(path, 3) for row in split.read()] == [*rows, "more"]


def test_a_dictionary_that_is_given(path: Path) -> None:
    check_trains()
    rows = [event(number) for number in range(1000)]
    dictionary = trained(rows)
    write_all(path, [event(1)], dictionary=dictionary)
    write_all(path, [event(2)], mode="ab", dictionary=dictionary)
    assert read_all(path) == [event(1), event(2)]
    with pytest.raises(ValueError, match=r"already has another dictionary.*: leave out dictionary= to use the dict"):
        records.open(path, "ab", dictionary=trained(rows[:700], 900))
    with pytest.raises(TypeError, match="must be a ZstdDict or None, not int"):
        records.open(path, "wb", dictionary=1000)  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="trained dictionary"):
        records.open(path, "wb", dictionary=zstd.ZstdDict(b"raw content", is_raw=True))
