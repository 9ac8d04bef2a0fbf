# SPDX-License-Identifier: Apache-2.0
"""Splits: every record is in exactly one split, and is read only from its bytes, from files and URLs."""

from __future__ import annotations

import pickle
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from record_files import flipped, forget_index, numbered, read_all, record, spans, write_all, written
from seeds import SEED, noise

from cpkg import records
from cpkg.records import format as fmt
from cpkg.records import sources

COUNTS = (1, 2, 3, 7, 50)


@pytest.fixture
def path(path: Path) -> Path:
    written(path, 200, frame_size=600)
    return path


def numbers(split: records.Split, **options: Any) -> list[int]:
    return [row["number"] for row in split.read(**options)]


@pytest.mark.parametrize("indexed", [True, False])
@pytest.mark.parametrize("count", COUNTS)
def test_every_record_is_in_one_split(path: Path, count: int, indexed: bool) -> None:
    if not indexed:
        forget_index(path)
    splits = records.splits(path, count)
    assert len(splits) == min(count, len(spans(path)))
    assert [number for split in splits for number in numbers(split)] == list(range(200))
    for split in splits:
        assert numbers(pickle.loads(pickle.dumps(split))) == list(range(split.first, split.stop))
    sizes = [split.end - split.start for split in splits]
    if count <= 7:
        assert max(sizes) < 2.5 * sum(sizes) / len(sizes)


def test_splits_of_a_size(path: Path) -> None:
    size = path.stat().st_size
    assert [len(records.splits(path, size=each)) for each in (size, size // 2 + 1, 1)] == [1, 2, len(spans(path))]


@pytest.mark.parametrize("indexed", [True, False])
def test_damage_is_reported_only_in_its_split(path: Path, indexed: bool) -> None:
    """A split reads the same records as a Reader; with an index, a damaged header loses nothing."""
    if not indexed:
        forget_index(path)
    frames, data = spans(path), path.read_bytes()
    for broken in (2, len(frames) - 2):
        for at in (frames[broken].start + 9, frames[broken].end - 9):
            path.write_bytes(flipped(data, at, 0x81))
            whole = [row["number"] for row in read_all(path, errors="skip")]
            found, hidden = [], []
            for split in records.splits(path, 4):
                found += numbers(split, errors="skip")
                try:
                    numbers(split)
                except records.DamagedError as exc:
                    hidden.append((exc.first, exc.count))
            span = frames[broken]
            is_hidden = not indexed or at > span.start + 9
            assert found == whole == [n for n in range(200) if not is_hidden or not span.first <= n < span.stop]
            assert hidden == ([(span.first, span.stop - span.first)] if is_hidden else [])


def test_options_reach_the_unpacker(path: Path) -> None:
    (split,) = records.splits(path, 1)
    assert next(split.read(object_hook=len)) == 3
    with pytest.raises(TypeError):
        next(split.read(nothing=1))
    with pytest.raises(ValueError, match="errors"):
        next(split.read(errors="ignore"))


def test_places_without_splits(tmp_path: Path, path: Path) -> None:
    for wrong in ({"count": 0}, {"size": 0}, {"count": -1}):
        with pytest.raises(ValueError, match="1 or more, not"):
            records.splits(path, **wrong)
    for wrong in ({}, {"count": 1, "size": 1}, {"count": "3"}, {"size": "3"}, {"count": 1.5}):
        with pytest.raises(TypeError):
            records.splits(path, **wrong)
    records.open(tmp_path / "empty.rec", "wb").close()
    assert records.splits(tmp_path / "empty.rec", 3) == []
    (tmp_path / "none").write_bytes(b"x" * 100)
    with pytest.raises(records.RecordsError):
        records.splits(tmp_path / "none", 3)


def test_through_fsspec(path: Path) -> None:
    fsspec = pytest.importorskip("fsspec")
    url = "memory://folder/file.rec"
    write_all(url, numbered(200), frame_size=600)
    with records.open(url) as reader:
        assert [*reader, reader[77]] == [*numbered(200), record(77)]
        assert reader.name == url
    assert records.verify(url).ok
    fsspec.filesystem("memory").pipe_file("folder/file.rec", path.read_bytes()[: spans(path)[-1].end])
    splits = records.splits(url, 3)
    assert splits[0].first == 0
    assert [row for split in splits for row in split.read()] == numbered(200)
    for mode in ("ab", "xb"):
        with pytest.raises(ValueError, match="URL"):
            records.open(url, mode)


def test_only_the_bytes_that_are_needed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = pytest.importorskip("fsspec").filesystem("memory")
    url, asked, chance = "memory://folder/needed.rec", [], random.Random(SEED)
    cat_file = type(memory).cat_file

    def noted(self: Any, path: str, start: int, end: int) -> bytes:
        asked.append((start, end))
        return cat_file(self, path, start=start, end=end)

    monkeypatch.setattr(type(memory), "cat_file", noted)
    write_all(path, [{**row, "noise": chance.randbytes(200)} for row in numbered(200)], frame_size=600)
    memory.pipe_file("folder/needed.rec", path.read_bytes())
    frames = spans(path)
    size = path.stat().st_size
    monkeypatch.setattr(sources, "_TAIL_SIZE", 5000)
    splits = records.splits(url, 4)
    assert asked == [(0, fmt.FILE_HEADER_SIZE), (size - 5000, size)]
    for split in splits:
        asked.clear()
        assert numbers(split) == list(range(split.first, split.stop))
        ((start, end),) = asked
        assert split.start < start < end == split.end
    with records.open(url) as reader:
        asked.clear()
        assert reader[100]["number"] == 100
        (span,) = [span for span in frames if span.first <= 100 < span.stop]
        assert asked == [(span.start + fmt.DATA_HEADER_SIZE, span.end)]
        asked.clear()
        assert len(reader[100:101]) == 1
        assert [start for start, _ in asked] == [span.start + fmt.DATA_HEADER_SIZE]
        assert span.end <= asked[0][1] <= span.end + fmt.DATA_HEADER_SIZE
        asked.clear()
        assert len(list(reader)) == 200
        assert len(asked) == 1


def test_a_record_that_holds_its_own_file_so_far(path: Path) -> None:
    """From a URL without an index: headers inside a record have other offsets, so no split begins there."""
    fsspec = pytest.importorskip("fsspec")
    data = noise(20_000)
    values: list[bytes] = [data[at : at + 100] for at in range(0, 20_000, 100)]
    with records.open(path, "wb", frame_size=2000) as writer:
        for _ in range(2):
            writer.extend(values[:200])
            writer.flush()
            values += [data + path.read_bytes() + data]
            writer.append(values[-1])
            writer.flush()
        data = path.read_bytes()
    expected = [*values[:200], values[200], *values[:200], values[201]]
    fsspec.filesystem("memory").pipe_file("folder/own.rec", data)
    for count in (1, 2, 3, 4, 7, 12, 20, 39):
        splits = records.splits("memory://folder/own.rec", count)
        assert splits[0].first == 0
        for errors in ("raise", "skip"):
            assert [row for split in splits for row in split.read(errors=errors)] == expected


def up_to_damage(rows: Iterator[Any]) -> tuple[list[int], bool]:
    """Return the numbers read, and whether a DamagedError ended the iteration."""
    found: list[int] = []
    try:
        found.extend(row["number"] for row in rows)
    except records.DamagedError:
        return found, True
    return found, False


@pytest.mark.parametrize("is_local", [True, False])
@pytest.mark.parametrize(
    ("start", "stop", "put"),
    [
        (20, 21, b"?"),  # of the token
        (0, fmt.FILE_HEADER_SIZE, bytes(fmt.FILE_HEADER_SIZE)),
        (fmt.FILE_HEADER_SIZE, fmt.FILE_HEADER_SIZE, b"what came in between"),
        (2000, 2000, b"what came in between"),
        (2000, 2010, b""),
        (-1, -1, b""),  # no damage
    ],
)
def test_damage_is_to_a_reader_what_it_is_to_splits(
    path: Path, start: int, stop: int, put: bytes, is_local: bool
) -> None:
    """This includes damage without lost records, because later frames may belong to another file."""
    data = path.read_bytes()[: spans(path)[-1].end]
    path.write_bytes(data[:start] + put + data[stop:])
    place = str(path)
    if not is_local:
        place = "memory://folder/damaged.rec"
        pytest.importorskip("fsspec").filesystem("memory").pipe_file("folder/damaged.rec", path.read_bytes())
    for errors in ("raise", "skip"):
        for threads in (1, 3):
            with records.open(place, errors=errors, threads=threads) as reader:
                found = up_to_damage(iter(reader))
                assert up_to_damage(row for batch in reader.batches() for row in batch) == found
                assert reader[-1] == next(reader.iter(-1))  # only damage before a record, or of the record, counts
        assert found[1] is (errors == "raise" and path.read_bytes() != data)
        for count in (1, 3, 7):
            rows = (row for split in records.splits(place, count) for row in split.read(errors=errors))
            assert up_to_damage(rows) == found
