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


@pytest.mark.parametrize("threads", [1, 2])
def test_a_default_that_uses_the_writer(path: Path, threads: int) -> None:
    """Each call from inside of `append`, and `extend` from inside of itself, is refused, and adds nothing."""
    calls: dict[str, list[Any]] = {
        "append": ["inner"],
        "extend": [[7, 8]],
        "flush": [],
        "__len__": [],
        "close": [],
        "discard": [],
    }

    def default(value: object) -> object:
        for name in calls if outer == "append" else ["extend"]:
            with pytest.raises(RuntimeError, match=rf"from inside Writer.{outer}\(\)") as caught:
                getattr(writer, name)(*calls[name])
            assert name == "__len__" or f"Writer.{name}()" in str(caught.value)
        return "replaced"

    with records.open(path, "wb", threads=threads, default=default) as writer:
        outer = "append"
        writer.append(object())
        outer = "extend"
        writer.extend([1, object(), 3])
    assert read_all(path) == ["replaced", 1, "replaced", 3]


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
