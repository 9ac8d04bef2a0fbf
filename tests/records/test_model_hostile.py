# SPDX-License-Identifier: Apache-2.0
"""
Random writers, kills, damage and repairs: all readers agree with a list, including one based only on the format's page.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import Any

import interrupts
import pytest
from extent import fewer
from plain_record_reader import JoinedFilesError
from record_files import plainly, readable, spans, trained
from seeds import SEED

from cpkg import records
from cpkg.records import format as fmt

DICTIONARY = trained([number, "x" * (number % 60), {"n": number % 7}] for number in range(1000))


class Model:
    """A file and its expected content: number -> record, flushed ones and ones added since."""

    def __init__(self, path: Path, chance: random.Random) -> None:
        self.path = path
        self.chance = chance
        self.safe: dict[int, Any] = {}
        self.total = 0
        self._made = 0
        self._nested = b""

    def value(self) -> Any:
        """Return a unique record, sometimes one that contains a record file with uncompressed frames."""
        self._made += 1
        if self.chance.random() < 0.03:
            noise = self.chance.randbytes(150)
            return [self._made, noise + self.path.read_bytes()[:4000] + noise]
        return [self._made, "x" * self.chance.randrange(60), {"n": self._made % 7}]

    def write(self) -> None:
        """Append records; the writer is closed, killed, or interrupted and then closed."""
        options = {"frame_size": self.chance.choice([50, 400, 20_000]), "threads": self.chance.choice([1, 1, 3])}
        writer = records.open(self.path, "ab", **options, dictionary=self.chance.choice([None, None, DICTIONARY]))
        assert len(writer) == self.total
        given = dict(self.safe)
        for _ in range(self.chance.randrange(8)):
            rows = [self.value() for _ in range(self.chance.choice([1, 1, 5, 60]))]
            before = len(writer)
            if self.chance.random() < 0.2:
                self._interrupted(writer, rows)
            elif len(rows) == 1:
                writer.append(rows[0])
            else:
                writer.extend(iter(rows) if self.chance.random() < 0.5 else rows)
            assert 0 <= len(writer) - before <= len(rows)
            given.update(enumerate(rows[: len(writer) - before], before))
            if self.chance.random() < 0.3:
                writer.flush()
                self.safe, self.total = dict(given), len(writer)
        if self.chance.random() < 0.6:
            total = len(writer)
            writer.close()
            self.safe, self.total = given, total
        else:  # like a kill: written data is in the file, and perhaps a part of a frame
            writer._target.close()
            writer._closed = True
            if self.chance.random() < 0.5 and not records.inspect(self.path).indexed:
                with open(self.path, "ab") as file:
                    file.write(b"\x5d\x2a\x4d\x18\x38\x00\x00\x00RecD"[: self.chance.randrange(13)])
            with records.open(self.path) as reader:
                assert len(reader) >= self.total
                self.safe = {number: given[number] for number in range(len(reader)) if number in given}
                self.total = len(reader)

    def _interrupted(self, writer: records.Writer, rows: list[Any]) -> None:
        left = self.chance.randrange(150)

        def trace(frame: Any, event: str, argument: Any) -> Any:
            nonlocal left
            if "records" not in frame.f_code.co_filename or frame.f_code.co_name == "__del__":
                return None
            left -= event == "line"
            if left < 0 and not interrupts.holds_signals(frame):
                sys.settrace(None)
                raise interrupts.Interrupt
            return trace

        kept = sys.gettrace()
        sys.settrace(trace)
        try:
            writer.extend(rows)
        except interrupts.Interrupt:
            pass
        finally:
            sys.settrace(kept)

    def damage(self) -> None:
        """Flip a bit, which loses the records of at most one frame, and perhaps repair the file."""
        frames, data = spans(self.path), bytearray(self.path.read_bytes())
        at = self.chance.randrange(len(data))
        data[at] ^= 1 << self.chance.randrange(8)
        self.path.write_bytes(data)
        hidden = {n for span in frames if span.start <= at < span.end for n in range(span.first, span.stop)}
        try:
            found = self._found()
        except records.RecordsError as exc:
            if frames and "dictionary" not in str(exc):  # otherwise the bit was in the header of a file without frames
                raise
            raise Hopeless from None
        assert set(self.safe) - hidden <= set(found)
        assert all(self.safe[number] == value for number, value in found.items())
        report = records.repair(self.path)
        assert report.records == len(found)
        self.safe = found
        with records.open(self.path) as reader:
            self.total = len(reader)
        assert records.verify(self.path).ok

    def join(self) -> None:
        """Append the file to itself, which is refused unless there is a torn frame, then join it with `join`."""
        data, report = self.path.read_bytes(), records.inspect(self.path)
        self.path.write_bytes(data + data)
        if report.torn:
            assert records.inspect(self.path).damage
            assert self._found() == self.safe
        elif len(data) > fmt.FILE_HEADER_SIZE:
            with pytest.raises(records.RecordsError, match="joined files"):
                records.open(self.path)
            with pytest.raises(JoinedFilesError):
                plainly(self.path)
        self.path.write_bytes(data)
        records.join([self.path, self.path], self.path, overwrite=True)
        self.safe.update({self.total + number: value for number, value in list(self.safe.items())})
        self.total *= 2

    def _found(self) -> dict[int, Any]:
        with records.open(self.path, errors="skip", threads=self.chance.choice([1, 3])) as reader:
            by_number = readable(reader)
            assert list(reader) == list(by_number.values())
        return by_number

    def look(self) -> None:
        """Compare the results of all ways of reading."""
        found = self._found()
        assert found == self.safe
        assert plainly(self.path) == found
        count = self.chance.randrange(1, 6)
        assert [row for split in records.splits(self.path, count) for row in split.read()] == list(found.values())
        with records.open(self.path) as reader:
            assert len(reader) == self.total
            numbers = self.chance.choices(sorted(found), k=20) if found else []
            assert reader.take(numbers) == [found[number] for number in numbers]


class Hopeless(Exception):
    """Raised if nothing in the file can be read any more, as an error reports."""


def run(folder: Path, seed: int) -> None:
    chance = random.Random(seed)
    model = Model(folder / f"{seed}.rec", chance)
    records.open(model.path, "wb").close()
    try:
        for _ in range(8):
            chance.choices([model.write, model.damage, model.join], [8, 3, 1])[0]()
            model.look()
    except Hopeless:
        pass
    except Exception as exc:
        raise AssertionError(f"seed {seed}") from exc
    model.path.unlink()


@pytest.mark.parametrize("rounds", [fewer(10), pytest.param(3000, marks=pytest.mark.nightly)])
def test_all_readers_agree_with_a_list(tmp_path: Path, rounds: int) -> None:
    for seed in range(SEED, SEED + rounds):
        run(tmp_path, seed)
