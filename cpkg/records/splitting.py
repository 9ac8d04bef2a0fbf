# SPDX-License-Identifier: Apache-2.0
"""Divide a record file into parts that can be read independently, to distribute work."""

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
    A part of a record file that can be read independently, in another process or on another machine.

    `place` is the absolute path or the URL of the file. The split has all frames whose headers begin from byte `start`
    up to `end` (not included). `first` is the number of its first record, `stop` the number of the first record after
    it; some of these records may be lost. `layout` has the positions of the frames.
    """

    place: str
    start: int
    end: int
    first: int
    stop: int
    layout: Layout = field(repr=False, compare=False)

    def read(self, *, errors: str = "raise", **options: Any) -> Iterator[Any]:
        """
        Iterate over the records of the split; `errors` and `options` (without `threads`) are those of `records.open`.

        Reads only the bytes of the split, in large pieces, and the dictionary. Raises DamagedError for damage, unless
        `errors="skip"`. Wrong arguments and a missing file raise their errors at the first record, not before.
        """
        return self._read(Reader.iter, errors, options)

    def batches(self, *, errors: str = "raise", **options: object) -> Iterator[list[Any]]:
        """Iterate over lists of records, one per frame; `errors`, `options` and exceptions are those of `read`."""
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
    Divide a record file into splits of about the same size that can be read independently.

    Returns at most `count` splits, or splits of about `size` bytes of the file; frames are not divided. `place` is a
    path or a URL for fsspec. Only the file header and the index are read if the file has a valid index; otherwise all
    headers are read, which means reading a remote file once. Raises RecordsError if the file is not a record file,
    OSError if it cannot be read, TypeError unless exactly one of `count` and `size` is given, ValueError if that
    argument is below 1 or if `place` is a file object or descriptor.
    """
    if (count is None) == (size is None):
        raise TypeError("pass either count or size")
    wanted = index(size if count is None else count)  # type: ignore[arg-type]
    if wanted < 1:
        raise ValueError(f"count and size must be 1 or more, not {wanted}")
    source = open_source(place)
    try:
        if count is None:
            count = max(-(-source.size() // wanted), 1)
        if not source.place:
            raise ValueError("splits need a path or URL, because each reader opens the file again")
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
    if layout.total > first or (layout.gaps and not layout.total):
        part = layout.part(number_before, len(layout))
        yield Split(place, start, part.end, first, part.total, part)
