# SPDX-License-Identifier: Apache-2.0
"""Record files with a dictionary."""

from __future__ import annotations

from pathlib import Path

import pytest
from record_files import event, forget_index, read_all, trained, write_all
from zstd_data import check_trains

from cpkg import records, zstd


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
        assert reader.layout.dictionary is not None
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
    with pytest.raises(ValueError, match=r"already has another dictionary.*: leave out dictionary= to use it, or"):
        records.open(path, "ab", dictionary=trained(rows[:700], 900))
    with pytest.raises(TypeError, match="must be a ZstdDict or None, not int"):
        records.open(path, "wb", dictionary=1000)  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="trained dictionary"):
        records.open(path, "wb", dictionary=zstd.ZstdDict(b"raw content", is_raw=True))
