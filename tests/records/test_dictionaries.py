# SPDX-License-Identifier: Apache-2.0
"""Record files with a dictionary: trained from their first records, or given."""

from __future__ import annotations

from pathlib import Path

import pytest
from record_files import event, forget_index, read_all, write_all
from zstd_data import check_trains

from cpkg import msgpack, records, zstd


@pytest.mark.once
@pytest.mark.parametrize("frame_size", [200, 256 << 10])
@pytest.mark.parametrize("threads", [1, 3])
def test_a_flush_before_it_is_trained(path: Path, threads: int, frame_size: int) -> None:
    """Those few records go without it, and the rest has one."""
    check_trains()
    rows = [event(number) for number in range(8000)]
    with records.open(path, "wb", frame_size=frame_size, dictionary=1000, threads=threads) as writer:
        writer.extend(rows[:5])
        writer.flush()
        writer.extend(rows[5:])
    data = path.read_bytes()
    with records.open(path) as reader:
        frames = [reader.layout.frame(number) for number in range(len(reader.layout))]
        assert list(reader) == rows
    used = [zstd.get_frame_info(data[frame.offset :][: frame.compressed]).dictionary_id for frame in frames]
    assert not used[0]
    assert all(used[1:])


@pytest.mark.parametrize("threads", [1, 2])
def test_a_dictionary_trained_from_the_first_records(path: Path, threads: int) -> None:
    check_trains()
    plain = path.with_name("plain")
    for target, dictionary in ((path, 1000), (plain, None)):
        write_all(
            target, [event(number) for number in range(2000)], frame_size=200, dictionary=dictionary, threads=threads
        )
    assert path.stat().st_size < plain.stat().st_size * 0.9
    with records.open(path) as reader:
        assert list(reader) == [event(number) for number in range(2000)]
        assert reader[1321] == event(1321)
        assert reader.layout.dictionary is not None
    assert records.verify(path).ok
    write_all(path, ["more"], mode="ab")
    forget_index(path)
    with records.open(path) as reader:
        assert reader[2000] == "more"
        assert reader[10] == event(10)
    assert records.repair(path).has_dictionary
    rows = [row for split in records.splits(path, 3) for row in split.read()]
    assert rows[:2000] == [event(number) for number in range(2000)]


def test_a_dictionary_that_is_given(path: Path) -> None:
    check_trains()
    samples = [msgpack.packb(event(number)) for number in range(1000)]
    dictionary = zstd.train_dict(samples, 1000)
    write_all(path, [event(1)], dictionary=dictionary)
    write_all(path, [event(2)], mode="ab", dictionary=dictionary)
    assert read_all(path) == [event(1), event(2)]
    other = zstd.train_dict(samples[:700], 900)
    with pytest.raises(ValueError, match="dictionary of its own"):
        records.open(path, "ab", dictionary=other)
    with pytest.raises(ValueError, match="tables"):
        records.open(path, "wb", dictionary=zstd.ZstdDict(b"raw content", is_raw=True))


def test_too_little_to_train_from(path: Path) -> None:
    with records.open(path, "wb", dictionary=1000) as writer:
        writer.append(1)
        writer.flush()
        writer.append(2)
    with records.open(path) as reader:
        assert list(reader) == [1, 2]
        assert reader.layout.dictionary is None
