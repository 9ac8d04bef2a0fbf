# SPDX-License-Identifier: Apache-2.0
"""Read record files by number, in several threads, and asynchronously."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path
from typing import Any

import pytest
from record_files import file_of, flip, numbered, record, spans, write_all, written

import purepy.base.crew
from cpkg import records


def test_numbers_and_slices(path: Path) -> None:
    written(path, 100, frame_size=300)
    everything = numbered(100)
    chance = random.Random(3)
    with records.open(path) as reader:
        for number in [0, 99, -1, -100, *(chance.randrange(-100, 100) for _ in range(50))]:
            assert reader[number] == everything[number]
        for _ in range(50):
            start, stop = chance.randrange(-120, 120), chance.choice([None, chance.randrange(-120, 120)])
            step = chance.choice([None, 1, 2, 7, -1, -3])
            assert reader[start:stop:step] == everything[start:stop:step]
            assert list(reader.iter(start, stop)) == everything[start:stop]
        for number in (100, -101, 10**30):
            with pytest.raises(IndexError):
                reader[number]
        with pytest.raises(TypeError):
            reader["x"]


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
        assert (reader[:2], reader[3:], list(reader.iter(0, 2)), list(reader.batches(1, 2))) == (
            [1, 2],
            [4],
            [1, 2],
            [[2]],
        )
        with pytest.raises((TypeError, ValueError)):
            reader[1:3]


def test_a_record_is_nobody_elses(path: Path) -> None:
    """Reading a record twice gives two independent objects."""
    written(path, 3)
    with records.open(path) as reader:
        first, second = reader.take([1, 1])
        reader[1]["name"] = first["name"] = "changed"
        assert reader[1] == second == record(1)


@pytest.mark.parametrize("has_threads", [True, False])
def test_asynchronously(path: Path, has_threads: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """This also works if the system has no threads, as in browsers."""
    written(path, 100, frame_size=300)

    def refuse(*_: Any) -> None:
        raise RuntimeError("can't start new thread")

    if not has_threads:
        monkeypatch.setattr(purepy.base.crew, "start_new_thread", refuse)

    async def everything() -> list[Any]:
        with records.open(path) as reader:
            return [row async for row in reader]

    async def the_first() -> Any:
        with records.open(path) as reader:
            iterator = reader.__aiter__()
            found = await iterator.__anext__()
            await iterator.aclose()
            return found

    assert asyncio.run(everything()) == numbered(100)
    assert asyncio.run(the_first()) == record(0)


def test_asynchronously_an_error_arrives(path: Path) -> None:
    written(path, 40, frame_size=300)
    flip(path, spans(path)[1].end - 3)

    async def main() -> list[Any]:
        found: list[Any] = []

        async def look() -> None:
            async for row in reader:
                found.append(row)  # noqa: PERF401

        with records.open(path) as reader, pytest.raises(records.DamagedError):
            await look()
        return found

    assert asyncio.run(main()) == numbered(spans(path)[0].stop)


def test_two_threads_take_the_last_frame_that_is_kept(path: Path) -> None:
    """Another thread may take the kept frame after this one has seen it."""

    class Kept(list[Any]):
        def __bool__(self) -> bool:
            return True

    write_all(path, numbered(10))
    with records.open(path) as reader:
        reader._idle = Kept()
        assert reader[3] == numbered(10)[3]
        assert reader.take([1, 2]) == numbered(10)[1:3]
