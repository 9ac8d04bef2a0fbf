# SPDX-License-Identifier: Apache-2.0
"""Typed records: every way of reading them, with the number of the record in errors."""

from __future__ import annotations

import pickle
import sys
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Dict, List, Optional, Set

import pytest
from bombs import on_one_way
from failing import each_raises
from record_files import forget_index, nested, read_all, write_all

from cpkg import records, typed
from cpkg.records import reader as reader_module
from purepy.base.errors import LimitError, StackError


@dataclass
class Place:
    lat: float
    lon: float


@dataclass
class Event:
    id: int
    name: str
    home: Optional[Place] = None
    tags: List[str] = field(default_factory=list)


COUNT = 250
EVENTS = [
    Event(n, f"name {n}", Place(n / 4, -n) if n % 3 else None, ["tag", "täg"][: n % 3] * (n % 7)) for n in range(COUNT)
]


@pytest.fixture(params=[300, 4000, 1 << 18])
def file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / "events.rec"
    write_all(path, EVENTS, frame_size=request.param, dataclass=True)
    return path


@pytest.mark.parametrize("threads", [1, 3])
def test_every_way_to_read(file: Path, threads: int) -> None:
    with records.open(file, type=Event, threads=threads) as opened, pickle.loads(pickle.dumps(opened)) as copy:
        for reader in (opened, copy):
            assert list(reader) == EVENTS
            assert list(reader.iter(7, 201)) == reader[7:201] == EVENTS[7:201]
            assert [event for batch in reader.batches() for event in batch] == EVENTS
            assert [reader[number] for number in (0, 1, -1, 77, 78)] == [EVENTS[n] for n in (0, 1, -1, 77, 78)]
            assert reader.take(range(COUNT - 1, -1, -7)) == EVENTS[::-7]
            assert type(reader[0].home or Place(0, 0)) is Place
    for split in records.splits(file, 3):
        assert list(split.read(type=Event)) == EVENTS[split.first : split.stop]
    forget_index(file)
    with records.open([file, file], type=Event, threads=threads) as shards:
        assert list(shards) == EVENTS * 2
        assert shards.take([COUNT, 0]) == [EVENTS[0]] * 2


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("frame_size", [100, 1 << 18])
def test_the_number_of_a_record_that_is_wrong(path: Path, frame_size: int, threads: int) -> None:
    """The records before it are returned, and it is not skipped like damage."""
    rows: list[Any] = [{"id": n, "name": "x", "home": {"lat": 1.5, "lon": 2}} for n in range(60)]
    rows[41] = {"id": 41, "name": 7, "home": {"lat": 1, "lon": "east"}}
    write_all(path, rows, frame_size=frame_size)
    for errors in ("raise", "skip"):
        with records.open(path, type=Event, threads=threads, errors=errors, all_errors=True) as reader:
            events = iter(reader)
            assert [next(events).id for _ in range(41)] == list(range(41))
            uses = [partial(next, events), partial(reader.take, [0, 41]), partial(reader.take, [41])]
            uses += [partial(reader.__getitem__, wanted) for wanted in (41, slice(40, 50))]
            for error in each_raises(typed.ValidationError, *uses):
                assert str(error).split("\n") == [
                    "$[41].name: expected str, found int (at byte 10)",
                    "$[41].home.lon: expected float, found str (at byte 26)",
                ]
                assert error.path == (41, "name")
            assert reader.take([40, 42]) == [*reader[40:41], *reader[42:43]]
            assert not reader.damage
    for split in records.splits(path, 4):
        if split.first is not None and split.stop is not None and split.first <= 41 < split.stop:
            with pytest.raises(typed.ValidationError, match=r"\$\[41\]"):
                list(split.read(type=Event))


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("frame_size", [100, 1 << 18])
@pytest.mark.parametrize("errors", ["raise", "skip"])
def test_an_iterator_continues_after_a_record_that_is_wrong(
    path: Path, errors: str, frame_size: int, threads: int
) -> None:
    write_all(path, ["x" if n % 7 == 3 else n for n in range(60)], frame_size=frame_size)

    def found(numbers: Any) -> list[Any]:
        every: list[Any] = []
        while True:
            try:
                every.append(next(numbers))
            except typed.ValidationError as exc:
                every.append(exc.path)
            except StopIteration:
                return every

    expected = [(n,) if n % 7 == 3 else n for n in range(60)]
    with records.open(path, type=int, threads=threads, errors=errors) as reader:
        assert found(iter(reader)) == expected
        assert found(reader.iter(2, 59)) == expected[2:59]
    with records.open([path, path], type=int, threads=threads, errors=errors) as shards:
        assert found(iter(shards)) == expected * 2


@pytest.mark.parametrize("wrong", ["x", -1, -2, -3])
@pytest.mark.parametrize(("threads", "has_gil"), [(1, True), (3, True), (3, False)])
def test_code_of_callers_runs_once_for_each_record(
    path: Path, monkeypatch: pytest.MonkeyPatch, threads: int, has_gil: bool, wrong: Any
) -> None:
    """This also holds for a frame with a wrong record, whose error replaces the record."""
    monkeypatch.setattr(reader_module, "python_runs_in_parallel", lambda: not has_gil)
    write_all(path, [{"x": wrong if n == 41 else n} for n in range(60)])
    error: Any = {-2: KeyError, -3: (StopIteration, RuntimeError)}.get(wrong, typed.ValidationError)
    with records.open(path, type=Counted, threads=threads) as reader:
        for rows in (iter(reader), reader.iter(0, 50), reader.iter(3)):
            Counted.calls.clear()
            before = [next(rows).x for _ in range(38)]
            with pytest.raises(error) as caught:
                before.extend(row.x for row in rows)
            assert before == list(range(before[0], 41))
            check_place(caught.value, wrong)
            assert wrong != -3 or str(caught.value) == "decoding record 41 raised StopIteration"
            assert [next(rows).x for _ in range(8)] == list(range(42, 50))
            assert len(set(Counted.calls)) == len(Counted.calls)
        uses = (lambda: reader[:], lambda: reader[41], lambda: reader.take(range(60)), lambda: list(reader.batches()))
        for use in uses:
            Counted.calls.clear()
            with pytest.raises(error) as caught:
                use()
            check_place(caught.value, wrong)
            assert len(set(Counted.calls)) == len(Counted.calls)


def check_place(error: BaseException, wrong: Any) -> None:
    """Check that an error names record 41, and its value or its beginning."""
    if isinstance(error, typed.ValidationError):
        assert (error.path, error.offset) == (((41, "x"), 3) if wrong == "x" else ((41,), 0))


@dataclass
class Counted:
    x: int
    calls: ClassVar[List[int]] = []

    def __post_init__(self) -> None:
        self.calls.append(self.x)
        if self.x < 0:
            raise {-1: ValueError, -2: KeyError, -3: StopIteration}[self.x](self.x)


def test_options_and_limits(path: Path) -> None:
    deep = nested(50)
    write_all(path, [{"x": "5"}, {"x": [1] * 1000}, {"x": deep}, {"x": [None] * 20_000}])
    with records.open(path, type=Dict[str, int], strict=False) as reader:
        assert reader[0] == {"x": 5}
    cases: Any = (
        ({"max_array_len": 999}, 1, LimitError),
        ({"max_total_items": 999}, 1, LimitError),
        ({"max_depth": 40}, 2, StackError),
        ({"max_memory": 50_000}, 3, LimitError),
    )
    for options, number, error in cases:
        with records.open(path, type=Dict[str, Any], **options) as reader:
            assert reader[0] == {"x": "5"}
            each_raises(
                error, partial(reader.__getitem__, number), partial(list, reader), partial(reader.take, [0, number])
            )
    assert [row["x"] for row in read_all(path, type=Dict[str, Any], max_depth=52, max_memory=-1)][2] == deep
    with pytest.raises(TypeError, match=r"records\.open\(\).*use_list"):
        records.open(path, type=Event, use_list=False)
    with pytest.raises(TypeError):
        records.open(path, type=3)


@pytest.mark.parametrize("options", [{}, {"strict": False}, {"max_map_len": 5}])
def test_what_a_type_makes_counts_as_memory(path: Path, options: Dict[str, Any]) -> None:
    """Default values, which are not in the bytes of a record, count for all records of a frame and for each record."""
    for count in (3, 300):
        max_memory = 500 * count  # their headers weigh 144 each
        write_all(path, [*[[{}]] * count, [{}] * count])
        with records.open(path, type=List[Defaults], max_memory=max_memory, **options) as reader:
            assert reader[0] == reader.take([0])[0] == [Defaults()]
            rows = iter(reader)
            assert [next(rows) for _ in range(count)] == [[Defaults()]] * count
            uses = [partial(reader.__getitem__, wanted) for wanted in (slice(None), -1)]
            uses += [partial(next, rows), partial(reader.take, [len(reader) - 1])]
            each_raises(LimitError, *uses, match=f"objects that take too much memory .max_memory={max_memory}")
        write_all(path, [[{}]] * count)
        # each record alone is within the limit, a list of all is not
        with records.open(path, type=List[Defaults], max_memory=max_memory, **options) as reader:
            assert len(list(reader)) == count
            with pytest.raises(LimitError, match=f"objects that take too much memory .max_memory={max_memory}"):
                reader[:]
        assert len(read_all(path, type=List[Defaults], max_memory=max_memory * 6, **options)) == count


@dataclass
class Defaults:
    a: Set[int] = field(default_factory=set)
    b: Set[int] = field(default_factory=set)


@pytest.mark.skipif(sys.implementation.name == "pypy", reason="another order of probes needs other keys")
def test_a_record_does_not_allow_keys_of_the_next_one_to_collide(path: Path) -> None:
    write_all(path, [dict.fromkeys(range(100_000), 1), dict.fromkeys(on_one_way(16_000), 1)], frame_size=1 << 21)
    with records.open(path, type=Dict[int, int]) as reader:
        rows = iter(reader)
        assert len(next(rows)) == 100_000
        with pytest.raises(Exception, match="colliding"):
            next(rows)


def test_more_records_than_the_index_says(path: Path) -> None:
    """Every way of reading reports damage, and never silently returns fewer records."""
    write_all(path, [1, 2, 3])
    for number in (2, 4):
        with records.open(path, type=int) as reader:
            reader._layout._records[0] = number
            each_raises(records.DamagedError, partial(list, reader), partial(next, reader.batches()))
