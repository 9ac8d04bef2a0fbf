# SPDX-License-Identifier: Apache-2.0
"""Read record files by number, in several threads, and asynchronously."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path
from typing import Any

import pytest
from record_files import flip, numbered, record, spans, write_all, written

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
