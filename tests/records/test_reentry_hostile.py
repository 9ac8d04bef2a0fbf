# SPDX-License-Identifier: Apache-2.0
"""
Writers and readers that are used from inside their own calls: by signal handlers, callbacks and files.

tests/cpkg/test_reentrance_hostile.py tests each pair of calls.
"""

from __future__ import annotations

import io
from functools import partial
from pathlib import Path
from typing import Any, Callable

import pytest
from extent import IS_FULL, IS_THOROUGH
from interrupts import calling_at, points_of
from record_files import read_all, write_all

from cpkg import records

pytestmark = pytest.mark.interpreter
EVERY = 1 if IS_THOROUGH else 11 if IS_FULL else 37
"""One in this many points of a call is tested."""
CALLS: dict[str, Callable[[records.Writer], Any]] = {
    "append": lambda writer: writer.append("inner"),
    "extend": lambda writer: writer.extend(["inner"]),
    "flush": lambda writer: writer.flush(),
    "len": len,
    "close": lambda writer: writer.close(),
    "discard": lambda writer: writer.discard(),
}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("inner", CALLS)
def test_a_default_that_uses_the_writer(path: Path, inner: str, threads: int) -> None:
    def default(value: object) -> object:
        with pytest.raises(RuntimeError, match=r"inside Writer.append\(\)"):
            CALLS[inner](writer)
        return "replaced"

    with records.open(path, "wb", threads=threads, default=default) as writer:
        writer.extend([0, 1])
        writer.append(object())
        writer.append(3)
    assert read_all(path) == [0, 1, "replaced", 3]


@pytest.mark.parametrize("threads", [1, 2])
def test_a_default_that_extends_within_a_batch(path: Path, threads: int) -> None:
    """A refused call adds nothing."""

    def default(value: object) -> object:
        with pytest.raises(RuntimeError, match=r"Writer.extend\(\) was called from inside Writer.extend\(\)"):
            writer.extend([7, 8, 9])
        return "replaced"

    with records.open(path, "wb", threads=threads, default=default) as writer:
        writer.extend([0, object(), 2])
        writer.extend([3, object(), 5])
    assert read_all(path) == [0, "replaced", 2, 3, "replaced", 5]


def test_a_refusal_names_both_calls(path: Path) -> None:
    with records.open(path, "wb", default=lambda value: writer.flush()) as writer:
        with pytest.raises(RuntimeError, match=r"Writer.flush\(\) was called from inside Writer.append\(\)"):
            writer.append(object())
        assert len(writer) == 0
        writer.append(1)
    assert read_all(path) == [1]


@pytest.mark.parametrize("threads", [1, 2])
def test_a_file_that_uses_the_writer(threads: int) -> None:
    class Sink(io.BytesIO):
        refusals = 0

        def write(self, data: Any) -> int:
            try:
                writer.append("inner")
            except (RuntimeError, NameError):  # NameError for the file header, because the writer does not exist yet
                self.refusals += 1
            return super().write(data)

    sink = Sink()
    with records.open(sink, "wb", threads=threads, frame_size=8) as writer:
        writer.extend(list(range(20)))
        writer.flush()
    assert sink.refusals > 2
    assert read_all(io.BytesIO(sink.getvalue())) == list(range(20))


class Source(io.BytesIO):
    """A file that reads a record of its reader from inside its own read()."""

    reader: Any = None
    refusals = 0

    def read(self, size: int | None = -1) -> bytes:
        reader, self.reader = self.reader, None
        if reader is not None:
            with pytest.raises(RuntimeError, match="from inside"):
                reader[0]
            self.refusals += 1
        return super().read(size)


def test_a_file_that_uses_the_reader(path: Path) -> None:
    write_all(path, range(500), frame_size=100)
    source = Source(path.read_bytes())
    with records.open(source, threads=1) as reader:
        source.reader = reader
        assert reader[499] == 499
        source.reader = reader
        assert list(reader) == list(range(500))
    assert source.refusals == 2


def refusal_of(call: Callable[[], object]) -> str:
    """Return the text of the error that refuses a call, or ""."""
    try:
        call()
    except RuntimeError as exc:
        return str(exc)
    return ""


def test_refreshing_from_inside_of_refreshing(path: Path) -> None:
    writer = records.open(path, "wb", threads=1, frame_size=8)
    writer.flush()

    def grown() -> Any:
        reader = records.open(path, threads=1)
        writer.extend(list(range(20)))
        writer.flush()
        return reader

    def act(reader: Any) -> None:
        reader.refresh()

    refusals = set()
    with grown() as reader:
        points = points_of(act, reader)
    for point in points[::EVERY]:
        with grown() as reader:
            calling_at(point, lambda reader=reader: refusals.add(refusal_of(reader.refresh)), act, reader)
            assert len(reader) == len(writer)
            assert list(reader) == list(range(20)) * (len(writer) // 20)
    assert any("from inside" in refusal for refusal in refusals)
    writer.close()


@pytest.mark.parametrize("place", ["path", "file"])
def test_a_handler_that_reads_by_number(path: Path, place: str) -> None:
    """A nested read from a path works; a file object has only one position."""
    write_all(path, range(60), frame_size=8)

    def opened() -> Any:
        return records.open(path if place == "path" else io.BytesIO(path.read_bytes()), threads=1)

    def act(reader: Any) -> Any:
        return reader.take([3, 40, 7])

    with opened() as reader:
        points = points_of(act, reader)
    for point in points[::EVERY]:
        with opened() as reader:
            inner: list[Any] = []
            refusals: list[str] = []
            call = partial(refusal_of, lambda reader=reader, inner=inner: inner.append(reader[50]))
            outcome = calling_at(point, lambda call=call, refusals=refusals: refusals.append(call()), act, reader)
            assert outcome.value == [3, 40, 7]
            assert inner == [50] or (place == "file" and "from inside" in refusals[0])
            assert reader[9] == 9
