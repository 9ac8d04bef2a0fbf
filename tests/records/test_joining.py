# SPDX-License-Identifier: Apache-2.0
"""Files that were joined: refused, until `join` or `repair` has made one file of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from record_files import event, flip, flipped, forget_index, read_all, record, spans, write_all, written
from seeds import SEED

from cpkg import records


@pytest.fixture
def two(tmp_path: Path) -> tuple[Path, Path]:
    """Files with records 0 to 30, and 0 to 40."""
    first, second = tmp_path / "a.rec", tmp_path / "b.rec"
    written(first, 30, per_frame=5)
    written(second, 40, per_frame=7)
    return first, second


BOTH = [*(record(number) for number in range(30)), *(record(number) for number in range(40))]


def read(path: Path) -> list[Any]:
    found = read_all(path)
    assert found == [row for split in records.splits(path, 3) for row in split.read()]
    return found


@pytest.mark.parametrize("which", ["", "a", "b", "ab"])
def test_joined_files_are_refused_until_they_are_repaired(two: tuple[Path, Path], path: Path, which: str) -> None:
    """Whichever of them has no index."""
    for file in two:
        if file.stem in which:
            forget_index(file)
    path.write_bytes(two[0].read_bytes() + two[1].read_bytes())
    for use in (
        lambda: records.open(path),
        lambda: records.open(path, "ab"),
        lambda: records.splits(path, 3),
        lambda: records.verify(path),
        lambda: records.inspect(path),
    ):
        with pytest.raises(records.RecordsError, match=r"these are joined files.*cpkg records join"):
            use()
    assert records.join([path], path, overwrite=True) == 70
    assert read(path) == BOTH
    assert records.verify(path).ok
    path.write_bytes(two[0].read_bytes() + two[1].read_bytes())
    report = records.repair(path)
    assert (report.records, report.lost) == (70, 0)
    assert read(path) == BOTH
    assert records.verify(path).ok


def test_join_leaves_its_sources_and_refuses_what_is_there(two: tuple[Path, Path], path: Path) -> None:
    before = [file.read_bytes() for file in two]
    assert records.join(two, path) == 70
    assert [file.read_bytes() for file in two] == before
    assert read(path) == BOTH
    with pytest.raises(FileExistsError):
        records.join(two, path)


def test_one_flip_hides_its_frame_alone(two: tuple[Path, Path], path: Path) -> None:
    """Also one in the last header of the first file, behind which the second one begins."""
    frames, data = spans(two[0]), two[0].read_bytes()
    for at in (frames[-1].start + 9, frames[-1].start + 30, frames[-1].end - 9, frames[2].start + 17):
        path.write_bytes(flipped(data, at, 1 << SEED % 8)[: frames[-1].end] + two[1].read_bytes())
        report = records.repair(path)
        (hidden,) = (span for span in frames if span.start <= at < span.end)
        sound = [row for number, row in enumerate(BOTH) if not hidden.first <= number < hidden.stop]
        assert read(path) == sound, at
        assert not report.ok


def test_dictionaries(tmp_path: Path, path: Path) -> None:
    """Files with the same one, with others and with none: one file has one dictionary."""
    rows = [event(number) for number in range(1500)]
    files = [tmp_path / name for name in ("none", "one", "other")]
    for number, file in enumerate(files):
        write_all(file, rows[number * 500 :], frame_size=500, dictionary=1000 * number or None)
    records.join([*files, files[1]], path)
    assert read(path) == [*rows, *rows[500:], *rows[1000:], *rows[500:]]
    assert records.verify(path).ok


def test_damaged_files_are_not_joined(two: tuple[Path, Path], path: Path) -> None:
    forget_index(two[0])
    flip(two[0], spans(two[0])[2].start + 9)
    with pytest.raises(records.DamagedError):
        records.join(two, path)
    assert not path.exists()


@pytest.mark.parametrize("way", ["join", "cat and join", "cat and repair"])
def test_a_torn_file_in_front_of_another_one(two: tuple[Path, Path], path: Path, way: str) -> None:
    """Wherever its writer was killed, its whole frames and all of the other file are kept, and nothing else."""
    first, second = two
    data, frames = first.read_bytes(), spans(first)
    with records.open(first) as reader:
        rows = list(reader)
        counts = [0, *(frame.first + frame.records for frame in (reader.layout.frame(n) for n in range(len(frames))))]
    behind = read_all(second)
    for cut in {28, len(data), *(frame.end + more for frame in frames for more in (-30, -1, 0, 1, 40, 70))}:
        whole = sum(frame.end <= cut for frame in frames)
        first.write_bytes(data[:cut] if way == "join" else data[:cut] + second.read_bytes())
        if way == "join":
            records.join([first, second], path, overwrite=True)
        else:
            with pytest.raises(records.RecordsError, match="joined files"):
                records.open(first)
            if way == "cat and join":
                records.join([first], path, overwrite=True)
            else:
                assert records.repair(first).lost == 0
        with records.open(first if way == "cat and repair" else path) as reader:
            assert list(reader) == rows[: counts[whole]] + behind
            assert len(reader) == counts[whole] + len(behind)
