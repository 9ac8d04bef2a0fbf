# SPDX-License-Identifier: Apache-2.0
"""Records in order and by number, of one file or several, in threads and asynchronously, and memory limits."""

from __future__ import annotations

import asyncio
import functools
import io
import pickle
import random
import threading
import zipfile
from pathlib import Path
from typing import Any

import pytest
from failing import each_raises, raising
from record_files import depth_of, file_of, flip, forget_index, nested, numbered, spans, trained, write_all, written
from seeds import SEED

import purepy.base.crew
from cpkg import records
from cpkg.records import checking, taking
from cpkg.records.decoding import Decoder
from cpkg.records.positions import PathSource
from purepy.base.errors import LimitError

ALL = numbered(300)


@pytest.fixture(params=["file", "files", "folder"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """Return one file with all records, or three files: as a list, or as a folder."""
    if request.param == "file":
        written(tmp_path / "all.rec", 300, frame_size=700)
        return tmp_path / "all.rec"
    bounds = (0, 120, 121, 121, 300)
    paths = [tmp_path / f"{number}.rec" for number in range(4)]
    for path, start, stop in zip(paths, bounds, bounds[1:]):
        write_all(path, ALL[start:stop], frame_size=700)
    (tmp_path / "notes.txt").write_text("no record file")
    return paths if request.param == "files" else tmp_path


@pytest.mark.parametrize("threads", [1, 3])
def test_one_sequence_however_it_is_asked_for(place: Any, threads: int) -> None:
    chance = random.Random(SEED)
    with records.open(place, threads=threads) as reader, pickle.loads(pickle.dumps(reader)) as copy:
        assert repr(copy) == repr(reader)
        for sequence in (reader, copy):
            assert len(sequence) == 300
            assert list(sequence) == ALL
            for count in (0, 1, 5, 400):
                numbers = [*[-300, -1, 0, 299][:count], *(chance.randrange(-300, 300) for _ in range(count))]
                assert sequence.take(numbers) == sequence.__getitems__(numbers) == [ALL[number] for number in numbers]
                assert [sequence[number] for number in numbers[:40]] == [ALL[number] for number in numbers[:40]]
            for _ in range(20):
                start, stop = chance.randrange(-350, 350), chance.choice([None, chance.randrange(-350, 350)])
                step = chance.choice([None, 1, 2, 7, -1, -3])
                assert sequence[start:stop:step] == ALL[start:stop:step]
                assert list(sequence.iter(start, stop)) == ALL[start:stop]
                assert [row for batch in sequence.batches(start, stop) for row in batch] == ALL[start:stop]
            for wrong, error in ((300, IndexError), (-301, IndexError), (10**30, IndexError), ("x", TypeError)):
                for use in (sequence.__getitem__, lambda number, take=sequence.take: take([0, number])):
                    with pytest.raises(error):
                        use(wrong)
    with pytest.raises(ValueError, match="closed"):
        reader.take([7])
    if isinstance(reader, records.Reader):
        with pytest.raises(ValueError, match="closed"):
            reader.refresh()


@pytest.mark.parametrize("has_dictionary", [False, True])
@pytest.mark.parametrize("frame_size", [1, 300, 3000])
def test_taking_by_several_frames_at_a_time(
    path: Path, monkeypatch: pytest.MonkeyPatch, frame_size: int, has_dictionary: bool
) -> None:
    """The result is the same however many frames a call decompresses, and wherever the file is."""
    written(path, 300, frame_size=frame_size, dictionary=trained(ALL, 500) if has_dictionary else None)
    chance = random.Random(SEED)
    for content, most in ((1, 1 << 14), (2000, 1 << 14), (1 << 19, 7), (1 << 19, 1 << 14)):
        monkeypatch.setattr(taking, "_CONTENT", content)
        monkeypatch.setattr(taking, "_RECORDS", most)
        numbers = [chance.randrange(-300, 300) for _ in range(chance.choice((1, 20, 500)))]
        for place, threads in ((path, 1), (path, 3), (io.BytesIO(path.read_bytes()), 1)):
            with records.open(place, threads=threads) as reader:
                for _ in range(2):
                    assert reader.take(numbers) == [ALL[number] for number in numbers]
                assert reader[numbers[0]] == ALL[numbers[0]]


def test_taking_with_options(path: Path) -> None:
    """Options of unpacking apply; an exception of a hook is not changed, and the next call works."""
    written(path, 300, frame_size=700)
    seen: list[Any] = []

    def hook(record: Any) -> Any:
        seen.append(record)
        if len(seen) == 9:
            raise KeyError("the ninth")
        return record

    with records.open(path, object_hook=hook) as reader:
        with pytest.raises(KeyError, match="the ninth"):
            reader.take(range(0, 300, 7))
        assert reader.take([299, 0]) == [ALL[299], ALL[0]]
    large = ["x" * 10_000, {"y": list(range(5000))}, {(1, 2): 3}]
    write_all(path, [1, *large, 2], frame_size=700)
    with records.open(path) as reader:
        assert reader.take([4, 3, 2, 1, 0]) == [2, *large[::-1], 1]
    with records.open(path, max_memory=30_000) as reader:
        assert reader.take([0, 4]) == [1, 2]
        with pytest.raises(LimitError, match="max_memory"):
            reader.take([0, 2, 4])
    with records.open(path, max_array_len=10) as reader, pytest.raises(LimitError, match="max_array_len"):
        reader.take([0, 2, 4])


def test_a_file_object_does_not_pickle(path: Path) -> None:
    """Its name is not a path: the name of an archive member may also be the name of another file."""
    written(path, 3)
    with zipfile.ZipFile(path.with_suffix(".zip"), "w") as archive:
        archive.write(path, "file.rec")
    with (
        zipfile.ZipFile(path.with_suffix(".zip")) as archive,
        archive.open("file.rec") as member,
        path.open("rb") as file,
    ):
        for each in (io.BytesIO(path.read_bytes()), file, member):
            with records.open(each) as reader:
                assert len(reader) == 3
                with pytest.raises(TypeError, match="path or URL"):
                    pickle.dumps(reader)
                with pytest.raises(ValueError, match="path or URL"):
                    records.splits(each, 2)


def test_a_place_is_that_of_the_time_of_opening(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder, rows in ((tmp_path, ["right"]), (tmp_path / "sub", ["wrong", "wrong"])):
        folder.mkdir(exist_ok=True)
        write_all(folder / "a.rec", rows)
    monkeypatch.chdir(tmp_path)
    readers = records.open("a.rec"), records.open(["a.rec"])
    splits = records.splits("a.rec", 1)
    monkeypatch.chdir(tmp_path / "sub")
    for reader in readers:
        with reader, pickle.loads(pickle.dumps(reader)) as copy:
            assert list(copy) == ["right"]
    assert [row for split in splits for row in split.read()] == ["right"]


def test_files_are_closed_if_one_of_them_cannot_be_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    places = [path.with_name("first.rec"), path]
    for place in places:
        write_all(place, [1])
    with records.open(path) as reader, records.open(places) as shards:
        pickled = [pickle.dumps(each) for each in (reader, shards)]
    path.write_bytes(bytes(500))
    close, closed = PathSource.close, []
    monkeypatch.setattr(PathSource, "close", lambda source: closed.append(source.name) or close(source))
    for act in (lambda: records.open(places), *(functools.partial(pickle.loads, data) for data in pickled)):
        with pytest.raises(records.RecordsError, match="not a cpkg record file"):
            act()
    assert sorted(closed) == sorted(map(str, [path, *places, *places]))


@pytest.mark.parametrize("step", [1, 2])
def test_a_slice_unpacks_only_its_records(path: Path, threads_of: str, step: int) -> None:
    written(path, 100, per_frame=50)
    seen: list[int] = []
    with records.open([path], object_hook=lambda row: seen.append(row["number"]), threads=2) as shards:
        for start, stop in ((10, 13), (48, 52), (3, 99)):
            for rows in (shards, shards._readers[0]):
                seen.clear()
                assert len(rows[start:stop:step]) == len(range(start, stop, step))
                assert seen == list(range(start, stop, step))


@pytest.mark.parametrize("wrong", [b"\xa1\xff", b"\x81\x81\x01\x02\x03"])
def test_a_slice_without_a_record_that_is_wrong(path: Path, wrong: bytes) -> None:
    path.write_bytes(file_of((b"\x01\x02" + wrong + b"\x04", 4)))
    with records.open(path) as reader:
        assert [reader[:2], list(reader.iter(0, 2)), reader[3:], *reader.batches(1, 2)] == [[1, 2], [1, 2], [4], [2]]
        with pytest.raises((TypeError, ValueError)):
            reader[1:3]


def test_a_record_is_nobody_elses(path: Path) -> None:
    """Reading a record twice gives two independent objects."""
    written(path, 3)
    with records.open(path) as reader:
        first, second = reader.take([1, 1])
        reader[1]["name"] = first["name"] = "changed"
        assert reader[1] == second == ALL[1]


@pytest.mark.parametrize("has_threads", [True, False])
def test_asynchronously(path: Path, has_threads: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if the system has no threads, as in browsers; an iteration may end early or with an error."""
    written(path, 40, frame_size=300)
    flip(path, spans(path)[1].end - 3)
    found: list[Any] = []
    if not has_threads:
        monkeypatch.setattr(purepy.base.crew, "start_new_thread", raising(RuntimeError("can't start new thread")))

    async def main() -> None:
        with records.open(path, errors="skip") as reader:
            assert [row async for row in reader] == list(reader)
        with records.open(path) as reader:
            iterator = reader.__aiter__()
            found.append(await iterator.__anext__())
            await iterator.aclose()
            async for row in reader:
                found.append(row)  # noqa: PERF401

    with pytest.raises(records.DamagedError):
        asyncio.run(main())
    assert found == [ALL[0], *numbered(spans(path)[0].stop)]


def test_two_threads_take_the_last_frame_that_is_kept(path: Path) -> None:
    """Another thread may take the kept frame after this one has seen it."""

    class Kept(list[Any]):
        def __bool__(self) -> bool:
            return True

    write_all(path, ALL[:10])
    with records.open(path) as reader:
        reader._idle = Kept()
        assert [reader[3], *reader.take([1, 2])] == [ALL[3], ALL[1], ALL[2]]


def test_many_records_in_few_bytes_take_little_memory(path: Path) -> None:
    """One record is found without the positions of all; a list of all records is refused."""
    path.write_bytes(file_of((b"\xc0" * 300_000, 300_000), close=False))
    with records.open(path, max_memory=1 << 20) as reader:
        assert reader[-1] is None
    with records.open(path, max_memory=1 << 20) as reader:
        assert reader[0] is None
        assert sum(1 for _ in reader.iter(150_000)) == 150_000
        with pytest.raises(LimitError, match="max_memory"):
            next(reader.batches())
    assert records.verify(path).ok
    with records.open(path, max_memory=-1) as reader:
        assert reader[:] == [None] * 300_000
    path.write_bytes(file_of((b"\xc0" * 299_999 + b"\xc1", 300_000), close=False))
    with records.open(path, max_memory=1 << 20, errors="skip") as reader:
        assert sum(1 for _ in reader) == 299_999
        assert [damage.count for damage in reader.damage] == [300_000]


@pytest.mark.parametrize(
    ("count", "options"),
    [(400_000, {}), (400_000, {"max_str_len": 9}), (400_000, {"max_total_items": 2**32}), (2**32 - 1, {})],
)
def test_a_record_of_too_many_items(path: Path, count: int, options: dict[str, Any]) -> None:
    """Every way of reading raises LimitError if the items exist, and reports a damaged frame if they do not."""
    items = count if count < 1 << 20 else 0
    content = b"\x07\xdd" + count.to_bytes(4, "big") + b"\xc0" * items + b"\x08"
    path.write_bytes(file_of((content, 3), close=False))
    error: Any = LimitError if items else records.DamagedError
    with records.open(path, max_memory=1 << 20, **options) as reader:
        if items:
            assert reader[0] == 7
        wrong = int(items > 0)
        each_raises(error, lambda: reader[wrong], lambda: [*reader], lambda: reader[:], lambda: reader.take([wrong]))
    assert records.verify(path).ok == bool(items)


def test_a_content_beyond_the_limit(path: Path) -> None:
    path.write_bytes(file_of((b"\xc6\x00\x20\x00\x00" + bytes(1 << 21), 1), close=False))
    with records.open(path, max_memory=1 << 20) as reader:
        uses = (lambda: reader[0], lambda: list(reader), lambda: reader[:], lambda: reader.take([0]))
        each_raises(LimitError, *uses, match=r"2097157 bytes of content .*raise max_memory")
    with records.open(path) as reader:
        assert reader[0] == bytes(1 << 21)
    write_all(path, ["x" * 40, ["y"] * 50, "z"], frame_size=1)
    with records.open(path, max_memory=42) as reader:
        rows = iter(reader)
        assert next(rows) == reader[0] == reader.take([0])[0] == "x" * 40
        uses = (lambda: next(rows), lambda: reader[1], lambda: reader.take([1]))
        each_raises(LimitError, *uses, match=r"103 bytes of content .max_memory=42")


def test_large_frames_are_checked_one_at_a_time(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """This holds for any number of threads, because a file of a few kilobytes may have many frames of 1 GiB."""
    written(path, 300, frame_size=300)
    check_count, lock = Decoder.check_count, threading.RLock()
    is_alone: list[bool] = []

    def checked(decoder: Decoder, *arguments: Any) -> None:
        is_alone.append(lock._is_owned())  # type: ignore[attr-defined]
        check_count(decoder, *arguments)

    monkeypatch.setattr(Decoder, "check_count", checked)
    monkeypatch.setattr(checking, "Lock", lambda: lock)
    for large, expected in ((checking._LARGE, False), (100, True)):
        monkeypatch.setattr(checking, "_LARGE", large)
        is_alone.clear()
        assert records.verify(path, threads=3).ok
        assert set(is_alone) == {expected}


def test_repair_needs_to_understand_no_record(path: Path) -> None:
    """A record nested deeper than the default limit of readers is copied unchanged."""
    with records.open(path, "wb", max_depth=2000, frame_size=100) as writer:
        for value in ("first", nested(1500), "last"):
            writer.append(value)
            writer.flush()
    frames = spans(path)
    flip(path, frames[0].end - 9)
    forget_index(path)
    assert records.repair(path).lost == 1
    assert records.verify(path).ok
    with records.open(path, max_depth=2000) as reader:
        assert len(reader) == 3
        assert reader[2] == "last"
        assert depth_of(reader[1]) == 1500
