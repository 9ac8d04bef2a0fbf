# SPDX-License-Identifier: Apache-2.0
"""Many records by number, several files as one sequence, other processes, and memory limits."""

from __future__ import annotations

import io
import os
import pickle
import random
import threading
import zipfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from record_files import depth_of, file_of, flip, forget_index, nested, numbered, spans, trained, write_all, written
from seeds import SEED

from cpkg import records
from cpkg.records import checking, taking
from cpkg.records.decoding import Decoder
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
                numbers = [chance.randrange(-300, 300) for _ in range(count)]
                assert sequence.take(numbers) == [ALL[number] for number in numbers]
                assert sequence.__getitems__(numbers) == [ALL[number] for number in numbers]
            start, stop = sorted(chance.choices(range(301), k=2))
            assert sequence[start:stop] == list(sequence.iter(start, stop)) == ALL[start:stop]
            assert [row for batch in sequence.batches(start, stop) for row in batch] == ALL[start:stop]
            assert sequence[-1] == sequence[299] == ALL[299]
            for wrong in (300, -301):
                with pytest.raises(IndexError):
                    sequence[wrong]
                with pytest.raises(IndexError):
                    sequence.take([0, wrong])
    with pytest.raises(ValueError, match="closed"):
        reader.take([7])


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


@pytest.mark.skipif(not hasattr(os, "fork"), reason="os.fork is not available")
@pytest.mark.parametrize("threads", [1, 3])
def test_taking_in_a_forked_child(path: Path, threads: int) -> None:
    """A child uses a Reader that was in use before, like a DataLoader."""
    written(path, 300, frame_size=300)
    numbers = list(range(299, -1, -3))
    with records.open(path, threads=threads) as reader:
        assert reader.take(numbers) == [ALL[number] for number in numbers]
        child = os.fork()
        if not child:
            os._exit(0 if reader.take(numbers) == [ALL[number] for number in numbers] and reader[7] == ALL[7] else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.parametrize("kind", ["memory", "file", "member"])
def test_a_file_object_does_not_pickle(path: Path, kind: str) -> None:
    """Its name is not a path: the name of an archive member may also be the name of another file."""
    written(path, 3)
    with zipfile.ZipFile(path.with_suffix(".zip"), "w") as archive:
        archive.write(path, path)
    with zipfile.ZipFile(path.with_suffix(".zip")) as archive, ExitStack() as stack:
        opened = {
            "memory": lambda: io.BytesIO(path.read_bytes()),
            "file": lambda: open(path, "rb"),  # noqa: SIM115 (the stack closes it)
            "member": lambda: archive.open(archive.namelist()[0]),
        }
        file = stack.enter_context(opened[kind]())
        with records.open(file) as reader:
            assert len(reader) == 3
            with pytest.raises(TypeError, match="path or URL"):
                pickle.dumps(reader)
            with pytest.raises(ValueError, match="path or URL"):
                records.splits(file, 2)


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


def test_a_folder_without_record_files(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no record files"):
        records.open(tmp_path)


# --- memory ---------------------------------------------------------------------------------------------------------


def one_frame(path: Path, content: bytes, count: int) -> None:
    """Write a file with one frame."""
    path.write_bytes(file_of((content, count), close=False))


def test_many_records_in_few_bytes_take_little_memory(path: Path) -> None:
    """One record is found without the positions of all; a list of all records is refused."""
    one_frame(path, b"\xc0" * 300_000, 300_000)
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
    one_frame(path, b"\xc0" * 299_999 + b"\xc1", 300_000)
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
    one_frame(path, b"\x07\xdd" + count.to_bytes(4, "big") + b"\xc0" * items + b"\x08", 3)
    error: Any = LimitError if items else records.DamagedError
    with records.open(path, max_memory=1 << 20, **options) as reader:
        if items:
            assert reader[0] == 7
        wrong = int(items > 0)
        for use in (lambda: reader[wrong], lambda: list(reader), lambda: reader[:], lambda: reader.take([wrong])):
            with pytest.raises(error):
                use()
    assert records.verify(path).ok == bool(items)


def test_a_content_beyond_the_limit(path: Path) -> None:
    one_frame(path, b"\xc6\x00\x20\x00\x00" + bytes(1 << 21), 1)
    with records.open(path, max_memory=1 << 20) as reader:
        for use in (lambda: reader[0], lambda: list(reader), lambda: reader[:], lambda: reader.take([0])):
            with pytest.raises(LimitError, match=r"2097157 bytes of content .*raise max_memory"):
                use()
    with records.open(path) as reader:
        assert reader[0] == bytes(1 << 21)
    write_all(path, ["x" * 40, ["y"] * 50, "z"], frame_size=1)
    with records.open(path, max_memory=42) as reader:
        rows = iter(reader)
        assert next(rows) == reader[0] == reader.take([0])[0] == "x" * 40
        for use in (lambda: next(rows), lambda: reader[1], lambda: reader.take([1])):
            with pytest.raises(LimitError, match=r"103 bytes of content .max_memory=42"):
                use()


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
