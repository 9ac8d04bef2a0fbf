# SPDX-License-Identifier: Apache-2.0
"""Writers and readers that are interrupted at each line and by signals continue where they were."""

from __future__ import annotations

import asyncio
import gc
import itertools
import os
import sys
from pathlib import Path
from typing import Any, Callable, NamedTuple

import pytest
from extent import IS_PURE_CODEC, IS_PYPY
from failing import each_raises
from interrupts import Outcome, at_every_line, by_timer, storms
from record_files import numbered, read_all, trained, write_all, written
from seeds import SEED

from cpkg import records

pytestmark = [pytest.mark.once, pytest.mark.usefixtures("threads_of")]
# with the pure codec, most lines are its own, and each call is slow
EVERY = (11 if IS_PYPY else 6) * (10 if IS_PURE_CODEC else 1)
BEFORE = 50
MORE = numbered(BEFORE, BEFORE + 40)

KINDS: dict[str, dict[str, Any]] = {
    "alone": {"frame_size": 300, "threads": 1},
    "threads": {"frame_size": 300, "threads": 3},
    "one frame": {"frame_size": 1 << 20, "threads": 1},
    "dictionary": {"frame_size": 300, "threads": 3, "dictionary": trained(numbered(300), 256)},
}
CALLS: dict[str, tuple[Callable[[records.Writer], Any], int]] = {
    "append": (lambda writer: writer.append(MORE[0]), 1),
    "extend": (lambda writer: writer.extend(MORE), len(MORE)),
    "extend one by one": (lambda writer: writer.extend(iter(MORE)), len(MORE)),
    "flush": (lambda writer: writer.flush(), 0),
    "close": (lambda writer: writer.close(), 0),
}

OF_BOTH = pytest.mark.parametrize("threads_of", ["C", "Python"], indirect=True)


@pytest.fixture(autouse=True)
def quiet_finalizers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ignore exceptions of signals in finalizers, which cannot be caught, and warnings about unclosed files."""
    monkeypatch.setattr(sys, "unraisablehook", lambda *_: None)


class Subject(NamedTuple):
    path: Path
    writer: records.Writer


class Writers:
    """Creates writers with records that wait to be written, and checks them after an interrupted call."""

    def __init__(self, folder: Path, options: dict[str, Any], most: int) -> None:
        self._paths = (folder / f"{number}.rec" for number in itertools.count())
        self._options = options
        self._most = most

    def make(self) -> Subject:
        path = next(self._paths)
        writer = records.open(path, "wb", **self._options)
        writer.extend(numbered(BEFORE))
        return Subject(path, writer)

    def check(self, subject: Subject, outcome: Outcome) -> None:
        """Check that the call either added its records or did not, as `len` shows, and that the writer continues."""
        path, writer = subject
        assert outcome.error is None or outcome.is_interrupted, outcome
        taken = len(writer)
        assert BEFORE <= taken <= BEFORE + self._most
        if writer.closed:
            records.open(path, "ab").close()  # the file is unlocked without another call of `close`
        else:
            writer.append("last")
            taken += 1
        writer.close()
        with records.open(path, "ab") as another:  # the file is not locked
            assert len(another) == taken
        whole: list[Any] = numbered(taken)
        found = read_all(path, threads=1)
        if found and found[-1] == "last":
            whole[-1] = "last"
        assert found == whole
        assert records.verify(path, threads=1).ok
        path.unlink()


@OF_BOTH
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_writer_continues_after_an_interrupt_at_any_line(tmp_path: Path, kind: str, call: str) -> None:
    act, most = CALLS[call]
    writers = Writers(tmp_path, KINDS[kind], most)
    at_every_line(writers.make, lambda subject: act(subject.writer), writers.check, every=EVERY)


@pytest.mark.nightly
@OF_BOTH
@pytest.mark.parametrize("signals", [1, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_a_writer_continues_after_signals(tmp_path: Path, kind: str, signals: int) -> None:
    def act(subject: Subject) -> None:
        for start in range(0, len(MORE), 4):
            subject.writer.extend(MORE[start : start + 4])
            subject.writer.flush()
        subject.writer.close()

    writers = Writers(tmp_path, KINDS[kind], len(MORE))
    by_timer(writers.make, act, writers.check, times=60, signals=signals, seed=SEED)


@OF_BOTH
def test_opening_that_is_interrupted_leaves_no_lock(tmp_path: Path) -> None:
    paths = (tmp_path / f"{number}.rec" for number in itertools.count())

    def make() -> tuple[Path, str]:
        path = next(paths)
        if path.stem > "5":
            written(path, 3)
        return path, "wb" if path.stem > "7" else "ab"

    def check(subject: tuple[Path, str], outcome: Outcome) -> None:
        if outcome.value is not None:
            outcome.value.close()
        try:
            writer = records.open(subject[0], "ab")
        except records.LockedError:  # PyPy frees an unreachable writer later
            gc.collect()
            writer = records.open(subject[0], "ab")
        with writer:
            assert len(writer) in (0, 3)

    at_every_line(make, lambda subject: records.open(*subject), check)


async def collected(reader: records.Reader) -> list[int]:
    return [row["number"] async for row in reader]


READS: dict[str, Callable[[records.Reader], Any]] = {
    "iterating": lambda reader: [row["number"] for row in reader],
    "batches": lambda reader: [row["number"] for batch in reader.batches() for row in batch],
    "numbers": lambda reader: [reader[number]["number"] for number in range(0, 120, 3)],
    "take": lambda reader: [row["number"] for row in reader.take(range(119, 0, -7))],
    "splits": lambda reader: [row["number"] for split in records.splits(reader.name, 3) for row in split.read()],
    "verify": lambda reader: records.verify(reader.name, threads=3),
    "asyncio": lambda reader: asyncio.run(collected(reader)),
}


@OF_BOTH
@pytest.mark.parametrize("call", READS)
@pytest.mark.parametrize("by", ["lines", *storms("signals")])
def test_a_reader_continues_and_leaves_nothing(path: Path, call: str, by: str) -> None:
    if (call, by) == ("asyncio", "signals"):
        pytest.skip("asyncio keeps to itself what a handler raises in a callback of its loop")
    written(path, 120, per_frame=10)
    act = READS[call]
    with records.open(path, threads=1) as plain:
        expected = act(plain)

    def check(reader: records.Reader, outcome: Outcome) -> None:
        assert outcome.is_interrupted or outcome.value == expected
        assert act(reader) == expected
        reader.close()

    def make() -> records.Reader:
        return records.open(path, threads=3)

    if by == "lines":
        at_every_line(make, act, check, every=EVERY)
    else:
        by_timer(make, act, check, times=60, signals=2, seed=SEED)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="os.fork is not available")
@OF_BOTH
def test_a_forked_child_holds_neither_lock_nor_records(path: Path) -> None:
    """The child cannot use the writer, and does not keep the file locked as long as it lives."""
    read, write = os.pipe()
    begun, begin = os.pipe()
    writer = records.open(path, "wb", threads=3, frame_size=300)
    writer.extend(numbered(BEFORE))
    child = os.fork()
    if not child:
        os.close(write)
        uses = (lambda: writer.append(1), lambda: writer.extend([1, 2]), writer.flush, writer.__enter__)
        try:
            each_raises(RuntimeError, *uses, match="forked")
            os.write(begin, b"x")
            os.read(read, 1)  # waits until the parent is done
            writer.__del__()
            writer.close()
            os._exit(0)
        finally:
            os._exit(1)
    os.close(read)
    os.read(begun, 1)  # a child that has not run yet has not released anything
    writer.append("parent's")
    writer.close()
    write_all(path, ["another's"], mode="ab")
    for descriptor in (write, begun, begin):
        os.close(descriptor)
    assert os.waitpid(child, 0)[1] == 0
    with records.open(path) as reader:
        assert reader[BEFORE:] == ["parent's", "another's"]
