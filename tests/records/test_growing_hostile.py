# SPDX-License-Identifier: Apache-2.0
"""Reading a file while it is written: whatever comes between two reads, what is read is a beginning of the file."""

from __future__ import annotations

import itertools
import random
import subprocess
import sys
from pathlib import Path

import pytest
from extent import fewer
from record_files import record, write_in_pieces
from seeds import SEED

from cpkg import records
from cpkg._positions import Source
from cpkg.records.reader import Reader


def test_growth_is_seen_when_it_is_asked_for(path: Path) -> None:
    with records.open(path, "wb") as writer, records.open(path) as reader:
        assert len(reader) == 0
        for number in range(10):
            writer.append(record(number))
            assert reader.refresh() == 0
            writer.flush()
            assert reader.refresh() == 1
            assert reader[-1] == record(number)
        assert list(reader) == [record(number) for number in range(10)]
        writer.close()
        assert reader.refresh() == 0
        with records.open(path, "ab") as second:
            second.append(record(10))
        assert reader.refresh() == 1
        assert [row["number"] for row in reader] == list(range(11))


def test_a_reader_beside_a_writer_sees_whole_frames(path: Path) -> None:
    """While another process writes, appends and closes, what is read is always a beginning of what was written."""
    code = f"""
import sys
sys.path[:0] = {sys.path!r}
from cpkg import records
print("ready", flush=True)
sys.stdin.readline()
number = 0
for _ in range(12):
    with records.open(sys.argv[1], "ab", frame_size=400) as writer:
        for _ in range(60):
            writer.append({{"number": number, "text": "t" * (number % 50)}})
            number += 1
            if number % 17 == 0:
                writer.flush()
"""
    records.open(path, "wb").close()
    child = subprocess.Popen(
        [sys.executable, "-I", "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with child:
        assert child.stdout is not None
        assert child.stdin is not None
        child.stdout.readline()
        child.stdin.write("go\n")
        child.stdin.flush()
        seen = 0
        with records.open(path, threads=1) as growing:
            while child.poll() is None or seen == 0:
                with records.open(path, threads=1) as reader:
                    found = [row["number"] for row in reader]
                assert found == list(range(len(found)))
                assert len(found) >= seen
                seen = len(found)
                growing.refresh()
                assert [row["number"] for row in growing] == list(range(len(growing)))
    assert child.returncode == 0
    with records.open(path) as reader:
        assert [row["number"] for row in reader] == list(range(720))


# --- every order of reads and writes --------------------------------------------------------------------------------


class Growing(Source):
    """A file that goes on to later states of itself between any two reads of it, as chance has it."""

    name = "growing"
    is_local = True

    def __init__(self, states: list[bytes], seed: int) -> None:
        self._states = states
        self._chance = random.Random(seed)
        self._often = self._chance.choice((0.05, 0.1, 0.3))
        self.now = self._chance.randrange(len(states) - 1)

    def _data(self) -> bytes:
        while self._chance.random() < self._often:
            self.now = min(self.now + self._chance.choice((1, 1, 2, 3, 5, 9)), len(self._states) - 1)
        return self._states[self.now]

    def size(self) -> int:
        return len(self._data())

    def read_at(self, offset: int, size: int) -> bytes:
        found = b""
        while piece := self._data()[offset + len(found) : offset + size]:
            found += piece
        return found


@pytest.fixture(scope="module")
def states(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    """Each state of a file that is opened, appended to and closed several times: no change of it comes at once."""
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


def numbers(reader: Reader) -> list[int]:
    return [row["number"] for row in reader]


def look_on(states: list[bytes], rounds: int) -> None:
    whole = []
    for state in states:
        source = Growing([state, state], 0)
        whole.append(len(numbers(Reader(source, threads=1, errors="raise", options={}))))
    assert whole == sorted(whole)
    assert whole[-1] == 72
    for seed in range(SEED, SEED + rounds):
        source = Growing(states, seed)
        there = whole[source.now]
        try:
            reader = Reader(source, threads=1, errors="raise", options={})
            assert not reader.layout.problems  # a writer at work is no damage
            for _ in range(5):
                found = numbers(reader)
                assert found == list(range(len(found)))
                assert len(found) >= there
                there = whole[source.now]
                reader.refresh()
        except Exception as exc:
            raise AssertionError(f"seed {seed}") from exc


def test_whatever_is_written_between_two_reads(states: list[bytes]) -> None:
    look_on(states, fewer(500))


class Spliced(Source):
    """A file that has one state, then a second one, and a third from the middle of the read with a given number on."""

    name = "spliced"
    is_local = True

    def __init__(self, state: bytes) -> None:
        self._state, self._length = state, len(state)
        self._left = -1

    def change(self, second: bytes, third: bytes, number: int) -> None:
        self._state, self._third, self._left = second, third, number

    @property
    def is_third(self) -> bool:
        return self._left < 0

    def size(self) -> int:
        """Return the size; that of the first state until something is read of the second."""
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
    """A read may give a part of the index, and behind it frames that stand in its place by now: that is no damage."""
    tried = 0
    ends = [now for now in range(len(states) - 1) if len(states[now + 1]) < len(states[now])]
    for closed, second, third in itertools.product(ends, range(1, 16), range(1, 11)):
        last = min(closed + second + third, len(states) - 1)
        for number in itertools.count():
            source = Spliced(states[closed])
            reader = Reader(source, threads=1, errors="raise", options={})
            source.change(states[min(closed + second, last)], states[last], number)
            reader.refresh()
            if not source.is_third:
                break
            found = numbers(reader)
            assert found == list(range(len(found))), (closed, second, third, number)
            tried += 1
    assert tried > 1000


class Between(Source):
    """A file that is in its second state between two counts of reads of it, and in the third one from then on."""

    name = "growing"
    is_local = True

    def __init__(self, states: tuple[bytes, bytes, bytes], first: int, second: int) -> None:
        self._states = states
        self._bounds = first, first + second
        self.reads = 0

    def _data(self) -> bytes:
        self.reads += 1
        first, second = self._bounds
        return self._states[(self.reads > first) + (self.reads > second)]

    def size(self) -> int:
        return len(self._data())

    def read_at(self, offset: int, size: int) -> bytes:
        return self._data()[offset : offset + size]


@pytest.mark.once
def test_an_index_that_comes_and_goes(states: list[bytes]) -> None:
    """The file is as long as before when its index was written and cut off again: that is no damage."""
    cut = next(now for now in range(9, len(states)) if len(states[now]) < len(states[now - 1]))
    closed = cut - 1
    begun = next(now for now in range(closed) if len(states[now]) == len(states[cut]))
    three = states[begun], states[closed], states[cut]
    for first, second in itertools.product(range(40), range(1, 25)):
        source = Between(three, first, second)
        reader = Reader(source, threads=1, errors="raise", options={})
        assert not reader.layout.problems, (first, second)
        found = numbers(reader)
        assert found == list(range(len(found)))


@pytest.mark.nightly
def test_whatever_is_written_between_two_reads_thousands_of_times(states: list[bytes]) -> None:
    look_on(states, 50_000)
