# SPDX-License-Identifier: Apache-2.0
"""Join files with `join`; files that were concatenated without it are refused."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from failing import each_raises
from record_files import event, flip, flipped, forget_index, numbered, read_all, spans, trained, write_all, written
from seeds import SEED, noise

from cpkg import records


@pytest.fixture
def two(tmp_path: Path) -> tuple[Path, Path]:
    """Return two files, with records 0 to 30 and 0 to 40."""
    first, second = tmp_path / "a.rec", tmp_path / "b.rec"
    written(first, 30, per_frame=5)
    written(second, 40, per_frame=7)
    return first, second


def read(path: Path) -> list[Any]:
    found = read_all(path)
    assert found == [row for split in records.splits(path, 3) for row in split.read()]
    return found


@pytest.mark.parametrize("which", ["", "a", "b", "ab"])
def test_files_joined_by_other_means_are_refused(two: tuple[Path, Path], path: Path, which: str) -> None:
    """Whichever file has no index, the error suggests two solutions, and both work."""
    for file in two:
        if file.stem in which:
            forget_index(file)
    first, second = (file.read_bytes() for file in two)
    path.write_bytes(first + second)
    way_on = f"another file begins at byte {len(first)}. .*`cpkg records join a.rec b.rec -o OUT`"
    each_raises(
        records.RecordsError,
        lambda: records.open(path),
        lambda: records.open(path, "ab"),
        lambda: records.splits(path, 3),
        lambda: records.verify(path),
        lambda: records.inspect(path),
        lambda: records.repair(path),
        lambda: records.join([path], path, overwrite=True),
        match=way_on,
    )
    assert path.read_bytes() == first + second
    with pytest.raises(FileExistsError):
        records.join(two, path)
    with pytest.raises(TypeError, match="must be a list of files, not str"):  # its letters would be taken for files
        records.join(str(path), path.with_suffix(".out"))
    assert records.join(two, path, overwrite=True) == 70
    assert read(path) == [*numbered(30), *numbered(40)]
    assert records.verify(path).ok
    assert [file.read_bytes() for file in two] == [first, second]


def test_a_joined_file_is_divided_where_the_error_says(two: tuple[Path, Path], path: Path) -> None:
    """With three files, the error names the last one first."""
    sizes = [file.stat().st_size for file in two]
    data = two[0].read_bytes() + two[1].read_bytes() + two[0].read_bytes()
    for size, rows in ((sum(sizes), numbered(30)), (sizes[0], numbered(40)), (0, numbered(30))):
        path.write_bytes(data)
        if size:
            with pytest.raises(records.RecordsError) as caught:
                records.open(path)
            assert re.findall(r"at byte (\d+)", str(caught.value)) == [str(size)]
        path.write_bytes(data[size:])
        assert read(path) == rows
        data = data[:size]


def test_a_file_that_is_read_meets_another_one(two: tuple[Path, Path]) -> None:
    forget_index(two[0])
    with records.open(two[0]) as reader, open(two[0], "ab") as file:
        file.write(two[1].read_bytes())
        file.flush()
        with pytest.raises(records.RecordsError, match="joined files: another file begins"):
            reader.refresh()
        assert list(reader) == numbered(30)


def test_a_header_of_another_file_after_damage_is_damage(two: tuple[Path, Path], path: Path) -> None:
    """With a damaged frame between two files without an index, the records of the first file are read."""
    for file in two:
        forget_index(file)
    frames, data = spans(two[0]), two[0].read_bytes()
    for at in (frames[-1].start + 9, frames[-1].start + 30):
        path.write_bytes(flipped(data, at, 1 << SEED % 8) + two[1].read_bytes())
        assert read_all(path, errors="skip") == numbered(25)
        report = records.verify(path)
        assert (report.records, report.lost, report.torn) == (25, 0, 0)
        assert f"at byte {len(data)}" in report.damage[0].reason
        assert records.repair(path).damage == report.damage
        assert read(path) == numbered(25)


def test_a_file_within_an_unfinished_frame_is_not_cut_off(two: tuple[Path, Path], path: Path) -> None:
    """It may be another file: whatever cuts off the frame refuses, until they are divided as the error says."""
    write_all(path, ["first", noise(20_000)], frame_size=1)
    forget_index(two[1])
    torn = path.read_bytes()[: spans(path)[1].start + 200]
    data = torn + two[1].read_bytes()
    path.write_bytes(data)
    uses = (
        lambda: records.repair(path),
        lambda: records.join([path], path, overwrite=True),
        lambda: records.open(path, "ab"),
    )
    for error in each_raises(records.RecordsError, *uses, match="header of another file"):
        begin, other, end = map(int, re.findall(r"byte (\d+)", str(error)))
        assert (begin, other) == (end, len(torn))
    assert path.read_bytes() == data
    path.write_bytes(data[other:])
    assert read(path) == numbered(40)
    path.write_bytes(data[:end])
    assert records.repair(path).ok
    assert read(path) == ["first"]


def test_dictionaries(tmp_path: Path, path: Path) -> None:
    """Files with the same dictionary, with others and with none are joined to a file with one dictionary."""
    rows = [event(number) for number in range(1500)]
    files = [tmp_path / name for name in ("none", "one", "other")]
    for number, file in enumerate(files):
        own = rows[number * 500 :]
        write_all(file, own, frame_size=500, dictionary=trained(own, 1000 * number) if number else None)
    records.join([*files, files[1]], path)
    assert read(path) == [*rows, *rows[500:], *rows[1000:], *rows[500:]]
    assert records.verify(path).ok


def test_damaged_files_are_not_joined(two: tuple[Path, Path], path: Path) -> None:
    forget_index(two[0])
    flip(two[0], spans(two[0])[2].start + 9)
    with pytest.raises(records.DamagedError, match=f"; repair {re.escape(str(two[0]))} first"):
        records.join(two, path)
    assert not path.exists()


def test_a_torn_file_in_front_of_another_one(two: tuple[Path, Path], path: Path) -> None:
    """Wherever its writer was killed, its complete frames and the other file are kept; their `cat` is refused."""
    first, second = two
    data, frames = first.read_bytes(), spans(first)
    for cut in {28, len(data), *(frame.end + more for frame in frames[::2] for more in (-30, -1, 0, 1, 40, 70))}:
        whole = sum(frame.end <= cut for frame in frames)
        first.write_bytes(data[:cut])
        records.join([first, second], path, overwrite=True)
        with records.open(path) as reader:
            assert list(reader) == [*numbered(5 * whole), *numbered(40)]
            assert len(reader) == 5 * whole + 40
        first.write_bytes(data[:cut] + second.read_bytes())
        with pytest.raises(records.RecordsError, match=f"begins at byte {cut}"):
            records.open(first)
