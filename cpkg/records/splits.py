# SPDX-License-Identifier: Apache-2.0
"""Parts of a record file that read independently of each other, to distribute work."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from operator import index
from typing import Any

from cpkg._places import Place
from cpkg.records import format as fmt
from cpkg.records.layout import Layout
from cpkg.records.loading import load
from cpkg.records.reader import Reader, check_errors
from cpkg.records.sources import open_source


@dataclass(frozen=True)
class Split:
    """
    A stretch of a record file, which can be read alone, in another process or on another machine.

    `place` is the absolute path or the URL, `start` and `end` are in bytes. The stretch has all frames whose headers
    begin in it. `first` is the number of its first record and `stop` that of the first one behind it. `layout` is where
    the frames are.
    """

    place: str
    start: int
    end: int
    first: int
    stop: int
    layout: Layout = field(repr=False, compare=False)

    def read(self, *, errors: str = "raise", **options: Any) -> Iterator[Any]:
        """
        Iterate over the records of the split; `errors` and `options` are those of `records.open`.

        Reads the bytes of the split in large pieces, and no others but the dictionary. Raises DamagedError as a Reader
        does.
        """
        return self._read(Reader.iter, errors, options)

    def batches(self, *, errors: str = "raise", **options: object) -> Iterator[list[Any]]:
        """Iterate over the records in lists, one for each frame; `errors` and `options` are those of `records.open`."""
        return self._read(Reader.batches, errors, options)

    def _read(self, way: Callable[[Reader], Iterable[Any]], errors: str, options: dict[str, object]) -> Iterator[Any]:
        check_errors(errors)
        source = open_source(self.place)
        try:
            yield from way(Reader(source, threads=1, errors=errors, options=options, layout=self.layout))
        finally:
            source.close()


def splits(place: Place, count: int | None = None, *, size: int | None = None) -> list[Split]:
    """
    Divide a record file into stretches of about the same size that read independently of each other.

    There are at most `count` of them, or as many as make them about `size` bytes in the file; a frame is never
    divided. `place` is a path or a URL of fsspec. Needs the index alone, if the file has one, else the headers of all
    frames, for which it reads a remote file once. Raises RecordsError if it is not a record file, ValueError for a
    count or size below 1.
    """
    if (count is None) == (size is None):
        raise TypeError("give either count or size")
    wanted = index(size if count is None else count)  # type: ignore[arg-type]
    if wanted < 1:
        raise ValueError(f"count and size must be 1 or more, not {wanted}")
    source = open_source(place)
    try:
        if count is None:
            count = max(-(-source.size() // wanted), 1)
        if not source.place:
            raise ValueError("splits are of a path or URL, which their readers open again")
        return list(_by_frames(source.place, load(source), count))
    finally:
        source.close()


def _by_frames(place: str, layout: Layout, count: int) -> Iterator[Split]:
    begun = start = first = number_before = 0
    for number in range(1, len(layout)):
        at = layout.offsets[number] - fmt.DATA_HEADER_SIZE
        if at * count >= (begun + 1) * layout.end:
            part = layout.part(number_before, number)
            yield Split(place, start, at, first, part.total, part)
            begun = at * count // layout.end
            start, first, number_before = at, part.total, number
    if layout.total > first:
        part = layout.part(number_before, len(layout))
        yield Split(place, start, part.end, first, part.total, part)
