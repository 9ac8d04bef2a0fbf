# SPDX-License-Identifier: Apache-2.0
"""Record files for the tests: what is in them, and where."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from cpkg import records
from cpkg._places import PathSource
from cpkg.records.format import DATA_HEADER_SIZE
from cpkg.records.layout import Layout
from cpkg.records.loading import load


def record(number: int) -> dict[str, Any]:
    """A record whose number can be told, of a size that varies."""
    return {"number": number, "name": f"record {number}", "values": [number * 0.5, None, b"\x00" * (number % 5)]}


def written(path: Path, count: int, *, per_frame: int = 0, close: bool = True, **options: Any) -> None:
    """Write records 0 to `count`; `per_frame` cuts frames of so many; without `close` the index is missing."""
    writer = records.open(path, "wb", threads=1, **options)
    for number in range(count):
        writer.append(record(number))
        if per_frame and number % per_frame == per_frame - 1:
            writer.flush()
    writer.close()
    if not close:
        forget_index(path)


def forget_index(path: Path) -> None:
    """Leave a file as a writer that was killed between two frames does."""
    with open(path, "r+b") as file:
        file.truncate(layout_of(path).end)


def layout_of(path: Path) -> Layout:
    """Where the frames of a file are."""
    source = PathSource(path)
    try:
        return load(source)
    finally:
        source.close()


class Span(NamedTuple):
    """Where a frame with its header is, and which records it has."""

    start: int
    end: int
    first: int
    stop: int


def spans(path: Path) -> list[Span]:
    """The frames of a sound file."""
    layout = layout_of(path)
    frames = [layout.frame(number) for number in range(len(layout))]
    return [
        Span(frame.offset - DATA_HEADER_SIZE, frame.offset + frame.compressed, frame.first, frame.first + frame.records)
        for frame in frames
    ]
