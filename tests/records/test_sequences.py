# SPDX-License-Identifier: Apache-2.0
"""Records by many numbers, from several files as one, in other processes; and how much memory they may take."""

from __future__ import annotations

import io
import pickle
import random
from pathlib import Path
from typing import Any

import pytest
from record_files import forget_index, record, spans, written
from shrinking import SEED

from cpkg import records, zstd
from cpkg.records import format as fmt
from purepy.errors import LimitError

ALL = [record(number) for number in range(300)]


@pytest.fixture(params=["file", "files", "folder"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """One file with all of the records, or three: a list of them, or their folder."""
    if request.param == "file":
        written(tmp_path / "all.rec", 300, frame_size=700)
        return tmp_path / "all.rec"
    bounds = (0, 120, 121, 121, 300)
    paths = [tmp_path / f"{number}.rec" for number in range(4)]
    for path, start, stop in zip(paths, bounds, bounds[1:]):
        with records.open(path, "wb", frame_size=700) as writer:
            writer.extend(ALL[start:stop])
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


def test_a_record_that_is_taken_twice_is_two(place: Any) -> None:
    with records.open(place) as reader:
        first, second = reader.take([5, 5])
        first["name"] = "changed"
        assert second == ALL[5]


def test_taking_what_is_damaged(path: Path) -> None:
    written(path, 60, per_frame=20)
    data = bytearray(path.read_bytes())
    data[spans(path)[1].end - 20] ^= 1
    path.write_bytes(data)
    with records.open(path, errors="skip") as reader:
        assert reader.take([59, 0]) == [record(59), record(0)]
        with pytest.raises(records.DamagedError):
            reader.take([0, 25])


def test_a_file_object_does_not_pickle(path: Path) -> None:
    written(path, 3)
    with records.open(io.BytesIO(path.read_bytes())) as reader, pytest.raises(TypeError, match="path or a URL"):
        pickle.dumps(reader)


def test_a_folder_without_record_files(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no record files"):
        records.open(tmp_path)


# --- memory ---------------------------------------------------------------------------------------------------------


def one_frame(path: Path, content: bytes, count: int) -> None:
    """Write a file that has one frame."""
    options = {zstd.CompressionParameter.checksum_flag: 1}
    token, frame = b"a token!", zstd.compress(content, options=options)
    head = fmt.file_header(token)
    checksum = int.from_bytes(frame[-4:], "little")
    header = fmt.DataHeader(count, len(frame), 0, len(head), len(content), checksum, token)
    path.write_bytes(head + fmt.data_header(header) + frame)


@pytest.mark.parametrize("number", [0, -1])
def test_many_records_in_few_bytes_take_little_memory(path: Path, number: int) -> None:
    """One of them is found without the places of all; a list of all of them is refused."""
    one_frame(path, b"\xc0" * 1_000_000, 1_000_000)
    with records.open(path, max_memory=1 << 20) as reader:
        assert reader[number] is None
        assert sum(1 for _ in reader.iter(500_000)) == 500_000
        with pytest.raises(LimitError, match="max_memory"):
            next(reader.batches())
    assert records.verify(path).ok
    with records.open(path, max_memory=-1) as reader:
        assert reader[:] == [None] * 1_000_000


@pytest.mark.parametrize("count", [400_000, 2**32 - 1])
def test_a_record_of_too_many_items(path: Path, count: int) -> None:
    """A limit if they are there, damage if they are not, by whatever way it is read."""
    items = count if count < 1 << 20 else 0
    one_frame(path, b"\x07\xdd" + count.to_bytes(4, "big") + b"\xc0" * items + b"\x08", 3)
    error: Any = LimitError if items else records.DamagedError
    with records.open(path, max_memory=1 << 20) as reader:
        assert reader[0] == 7
        for use in (lambda: reader[1], lambda: list(reader), lambda: reader[:], lambda: reader.take([1])):
            with pytest.raises(error):
                use()
    assert records.verify(path).ok == bool(items)


def test_a_content_beyond_the_limit(path: Path) -> None:
    one_frame(path, b"\xc6\x00\x20\x00\x00" + bytes(1 << 21), 1)
    with records.open(path, max_memory=1 << 20) as reader, pytest.raises(LimitError, match="raise that"):
        reader[0]
    with records.open(path) as reader:
        assert reader[0] == bytes(1 << 21)


def test_repair_needs_to_understand_no_record(path: Path) -> None:
    """One nested deeper than readers take by default is moved as it is."""
    deep: Any = 1
    for _ in range(1500):
        deep = [deep]
    with records.open(path, "wb", max_depth=2000, frame_size=100) as writer:
        for value in ("first", deep, "last"):
            writer.append(value)
            writer.flush()
    frames = spans(path)
    data = bytearray(path.read_bytes())
    data[frames[0].end - 9] ^= 1
    path.write_bytes(data)
    forget_index(path)
    assert records.repair(path).lost == 1
    assert records.verify(path).ok
    with records.open(path, max_depth=2000) as reader:
        assert len(reader) == 3
        assert reader[2] == "last"
        value, depth = reader[1], 0
        while value != 1:
            (value,) = value
            depth += 1
        assert depth == 1500
