# SPDX-License-Identifier: Apache-2.0
"""Writers and readers that are used from inside their own calls: by signal handlers, callbacks and files."""

from __future__ import annotations

import io
import itertools
import os
import sys
from pathlib import Path
from typing import Any, Callable

import interrupts
import pytest
from extent import IS_PYPY, IS_THOROUGH
from record_files import read_all, write_all

from cpkg import records

pytestmark = [pytest.mark.once, pytest.mark.interpreter]
FOLDER = os.path.join("cpkg", "records", "")
EVERY = 1 if IS_THOROUGH else 17 if IS_PYPY else 5
"""One in so many lines is visited. PyPy traces slowly."""
INNER: dict[str, Callable[[records.Writer], Any]] = {
    "append": lambda writer: writer.append("inner"),
    "extend": lambda writer: writer.extend(["inner"]),
    "flush": lambda writer: writer.flush(),
    "len": len,
}
OUTER: dict[str, Callable[[records.Writer], Any]] = {
    "append": lambda writer: writer.append(20),
    "extend": lambda writer: writer.extend([20, 21, 22]),
    "extend one by one": lambda writer: writer.extend(iter([20, 21, 22])),
    "flush": lambda writer: writer.flush(),
    "close": lambda writer: writer.close(),
}
ADDED = {"append": [20], "extend": [20, 21, 22], "extend one by one": [20, 21, 22]}


class Visit:
    """Calls a function at the `number`-th line of record files that a call reaches, as a signal handler would."""

    def __init__(self, call: Callable[[], Any], number: int) -> None:
        self._call = call
        self._left = number
        self.refusal: RuntimeError | None = None
        self.is_done = False

    def __enter__(self) -> Visit:
        self._before = sys.gettrace()
        sys.settrace(self._trace)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(self._before)

    def _trace(self, frame: Any, event: str, argument: Any) -> Any:
        if FOLDER not in frame.f_code.co_filename or frame.f_code.co_name == "__del__":
            return None
        if event == "line" and not interrupts.holds_signals(frame):
            self._left -= 1
            if self._left < 0 and not self.is_done:
                self.is_done = True
                sys.settrace(None)
                try:
                    self._call()
                except RuntimeError as exc:
                    self.refusal = exc
        return None if self.is_done else self._trace


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("inner", INNER)
@pytest.mark.parametrize("outer", OUTER)
def test_a_handler_that_uses_the_writer(tmp_path: Path, outer: str, inner: str, threads: int) -> None:
    """At any line, its call takes place before or after, or is refused and has no effect."""
    refused = 0
    for number in itertools.count(0, 1 if outer == "append" else EVERY):
        path = tmp_path / f"{number}.rec"
        writer = records.open(path, "wb", threads=threads, frame_size=8)
        writer.extend(list(range(20)))
        with Visit(lambda writer=writer: INNER[inner](writer), number) as visit:  # type: ignore[misc]
            OUTER[outer](writer)
        if not visit.is_done:
            break
        if visit.refusal is not None:
            assert "from inside" in str(visit.refusal)
            refused += 1
        writer.close()
        found = read_all(path, threads=1)
        took = inner in ("append", "extend") and visit.refusal is None
        assert found.count("inner") == took
        assert [row for row in found if row != "inner"] == [*range(20), *ADDED.get(outer, [])]
        assert records.verify(path, threads=1).ok
        path.unlink()
    assert refused


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("inner", [*INNER, "close", "discard"])
def test_a_default_that_uses_the_writer(path: Path, inner: str, threads: int) -> None:
    calls = {**INNER, "close": lambda writer: writer.close(), "discard": lambda writer: writer.discard()}

    def default(value: object) -> object:
        with pytest.raises(RuntimeError, match=r"inside Writer.append\(\)"):
            calls[inner](writer)
        return "replaced"

    with records.open(path, "wb", threads=threads, default=default) as writer:
        writer.extend([0, 1])
        writer.append(object())
        writer.append(3)
    assert read_all(path) == [0, 1, "replaced", 3]


@pytest.mark.parametrize("threads", [1, 2])
def test_a_default_that_extends_within_a_batch(path: Path, threads: int) -> None:
    """A call that is refused takes nothing."""

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
            except (RuntimeError, NameError):  # NameError for the file header: there is no writer yet
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


def test_refreshing_from_inside_of_refreshing(path: Path) -> None:
    writer = records.open(path, "wb", threads=1, frame_size=8)
    writer.flush()
    refused = 0
    for number in itertools.count(0, EVERY):
        with records.open(path, threads=1) as reader:
            writer.extend(list(range(20)))
            writer.flush()
            with Visit(reader.refresh, number) as visit:
                reader.refresh()
            if not visit.is_done:
                break
            refused += visit.refusal is not None
            assert len(reader) == len(writer)
            assert list(reader) == list(range(20)) * (len(writer) // 20)
    assert refused
    writer.close()


@pytest.mark.parametrize("place", ["path", "file"])
def test_a_handler_that_reads_by_number(path: Path, place: str) -> None:
    """Reading by a path may come from inside of reading; a file has one position."""
    write_all(path, range(60), frame_size=8)
    for number in itertools.count(0, EVERY):
        with records.open(path if place == "path" else io.BytesIO(path.read_bytes()), threads=1) as reader:
            inner: list[Any] = []
            with Visit(lambda reader=reader, inner=inner: inner.append(reader[50]), number) as visit:  # type: ignore[misc]
                assert reader.take([3, 40, 7]) == [3, 40, 7]
            if not visit.is_done:
                break
            assert inner == [50] or (place == "file" and visit.refusal is not None)
            assert reader[9] == 9
