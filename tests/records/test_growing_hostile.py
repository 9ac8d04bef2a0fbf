# SPDX-License-Identifier: Apache-2.0
"""Read a file while it is written: whatever happens between two reads, the records are a prefix of the file."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import pytest
from extent import IS_THOROUGH, fewer
from record_files import numbered, record, write_all, write_in_pieces
from seeds import SEED

from cpkg import records
from cpkg.records.positions import Source
from cpkg.records.reader import Reader


@pytest.mark.parametrize("threads", [1, 2])
def test_growth_is_seen_when_it_is_asked_for(path: Path, threads: int) -> None:
    with records.open(path, "wb", threads=threads) as writer, records.open(path, threads=threads) as reader:
        for number in range(10):
            assert len(reader) == number
            writer.append(record(number))
            assert reader.refresh() == 0
            writer.flush()
            assert reader.refresh() == 1
            assert reader[-1] == record(number)
        writer.close()
        assert reader.refresh() == 0
        write_all(path, [record(10)], mode="ab")
        assert reader.refresh() == 1
        assert list(reader) == numbered(11)


class Local(Source):
    """A source that looks like a local file to a reader."""

    name = "growing"
    is_local = True

    def _data(self) -> bytes:
        raise NotImplementedError

    def size(self) -> int:
        return len(self._data())

    def read_at(self, offset: int, size: int) -> bytes:
        return self._data()[offset : offset + size]


class Growing(Local):
    """A file that randomly changes to later states between any two reads."""

    def __init__(self, states: list[bytes], seed: int) -> None:
        self._states = states
        self._chance = random.Random(seed)
        self._often = self._chance.choice((0.05, 0.1, 0.3))
        self.now = self._chance.randrange(len(states) - 1)

    def _data(self) -> bytes:
        while self._chance.random() < self._often:
            self.now = min(self.now + self._chance.choice((1, 1, 2, 3, 5, 9)), len(self._states) - 1)
        return self._states[self.now]

    def read_at(self, offset: int, size: int) -> bytes:
        found = b""
        while piece := self._data()[offset + len(found) : offset + size]:
            found += piece
        return found


@pytest.fixture(scope="module")
def states(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    """Return all intermediate states of a file that is opened, appended to and closed several times."""
    path = tmp_path_factory.mktemp("states") / "file.rec"
    seen: list[bytes] = []
    with pytest.MonkeyPatch.context() as patch:
        write_in_pieces(patch, lambda size: (20, size // 2, size), lambda: seen.append(path.read_bytes()))
        for start in range(0, 72, 12):
            with records.open(path, "ab", threads=1, frame_size=150 if start % 24 else 400) as writer:
                for number in range(start, start + 12):
                    writer.append({"number": number, "text": "t" * (number % 50)})
                    if number % 5 == 0:
                        writer.flush()
    return seen


def opened(source: Source) -> Reader:
    return Reader(source, threads=1, errors="raise", options={})


def count_of(reader: Reader, *where: int) -> int:
    """Check that the records are a prefix of the file; return their number."""
    found = [row["number"] for row in reader]
    assert found == list(range(len(found))), where
    return len(found)


@pytest.mark.parametrize("rounds", [fewer(120), pytest.param(50_000, marks=pytest.mark.nightly)])
def test_whatever_is_written_between_two_reads(states: list[bytes], rounds: int) -> None:
    whole = [count_of(opened(Growing([state, state], 0))) for state in states]
    assert whole == sorted(whole)
    assert whole[-1] == 72
    for seed in range(SEED, SEED + rounds):
        source = Growing(states, seed)
        there = whole[source.now]
        try:
            reader = opened(source)
            assert not reader._layout.problems  # a writer at work is not damage
            for _ in range(5):
                assert count_of(reader) >= there
                there = whole[source.now]
                reader.refresh()
        except Exception as exc:
            raise AssertionError(f"seed {seed}") from exc


class Spliced(Local):
    """A file that changes from a first state to a second, and to a third in the middle of the read with this number."""

    def __init__(self, state: bytes) -> None:
        self._state, self._length = state, len(state)
        self._left = -1

    def change(self, second: bytes, third: bytes, number: int) -> None:
        self._state, self._third, self._left = second, third, number

    @property
    def is_third(self) -> bool:
        return self._left < 0

    def size(self) -> int:
        """Return the size; it is the size of the first state until the second is read."""
        return self._length

    def read_at(self, offset: int, size: int) -> bytes:
        data = self._state
        if self._left == 0:
            self._state = self._third
            data += self._third[len(data) :]
        if self._left >= 0:
            self._left -= 1
            self._length = len(self._state)
        return data[offset : offset + size]


@pytest.mark.once
def test_one_read_of_two_states(states: list[bytes]) -> None:
    """A read may return a part of the index and then frames that replaced it meanwhile; this is not damage."""
    tried, step = 0, 1 if IS_THOROUGH else 2
    ends = [now for now in range(len(states) - 1) if len(states[now + 1]) < len(states[now])]
    for closed, second, third in itertools.product(ends, range(1, 16, step), range(1, 11, step)):
        last = min(closed + second + third, len(states) - 1)
        for number in itertools.count():
            source = Spliced(states[closed])
            reader = opened(source)
            source.change(states[min(closed + second, last)], states[last], number)
            reader.refresh()
            if not source.is_third:
                break
            count_of(reader, closed, second, third, number)
            tried += 1
    assert tried > 1000 // step**2


class Between(Local):
    """A file that has its second state between two given reads, and its third state afterwards."""

    def __init__(self, states: tuple[bytes, bytes, bytes], first: int, second: int) -> None:
        self._states = states
        self._bounds = first, first + second
        self.reads = 0

    def _data(self) -> bytes:
        self.reads += 1
        first, second = self._bounds
        return self._states[(self.reads > first) + (self.reads > second)]


@pytest.mark.once
def test_an_index_that_comes_and_goes(states: list[bytes]) -> None:
    """An index is written and removed again, so that the size is the same as before; this is not damage."""
    cut = next(now for now in range(9, len(states)) if len(states[now]) < len(states[now - 1]))
    closed = cut - 1
    begun = next(now for now in range(closed) if len(states[now]) == len(states[cut]))
    three = states[begun], states[closed], states[cut]
    for first, second in itertools.product(range(40), range(1, 25, 1 if IS_THOROUGH else 3)):
        source = Between(three, first, second)
        reader = opened(source)
        assert not reader._layout.problems, (first, second)
        count_of(reader, first, second)
