# SPDX-License-Identifier: Apache-2.0
"""Records by many numbers: which frames have them, and how those are read and decompressed several at a time."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Final

from cpkg.records.layout import Layout

_CONTENT: Final = 512 << 10
"""Bytes of records that are decompressed at a time, a frame of more alone."""
_RECORDS: Final = 1 << 14
"""Records that are found at a time."""


class Bunch:
    """
    Consecutive frames of a file that one call of C reads and decompresses, and the records wanted of them.

    `frames` are their numbers in the layout, `numbers` three for each: offset, size and size of the content. `before`
    says how many records and bytes of content there are before each of them, and before the end. `places` are those in
    the caller's list, `picks` the record for each, counted from the bunch's first one.
    """

    __slots__ = ("before", "frames", "numbers", "picks", "places")

    def __init__(self) -> None:
        self.frames: list[int] = []
        self.numbers: list[int] = []
        self.before: list[tuple[int, int]] = [(0, 0)]
        self.places: list[int] = []
        self.picks: list[int] = []

    def by_frame(self) -> Iterator[tuple[int, list[int], list[int]]]:
        """Yield each frame's number, the places in the caller's list, and the records, counted from its first one."""
        done = 0
        for frame, (begin, _), (end, _) in zip(self.frames, self.before, self.before[1:]):
            start = done
            while done < len(self.picks) and self.picks[done] < end:
                done += 1
            yield frame, self.places[start:done], [pick - begin for pick in self.picks[start:done]]


def bunches(layout: Layout, wanted: Sequence[int]) -> Iterator[Bunch]:
    """
    Yield the frames that have records of these numbers, in the order of the file.

    Raises KeyError with the number of a record that no frame has.
    """
    firsts, (offsets, sizes, contents, counts) = layout.firsts, layout.columns()
    bunch = Bunch()
    at = first = stop = base = end = content = 0
    for place in sorted(range(len(wanted)), key=wanted.__getitem__):
        number = wanted[place]
        if number >= stop:
            at = bisect_right(firsts, number, at) - 1
            if at < 0:
                raise KeyError(number)
            more, records, first = contents[at], counts[at], firsts[at]
            stop = first + records
            if number >= stop:
                raise KeyError(number)
            if bunch.frames and (content + more > _CONTENT or end + records > _RECORDS):
                yield bunch
                bunch, end, content = Bunch(), 0, 0
            bunch.frames.append(at)
            bunch.numbers += (offsets[at], sizes[at], more)
            base, end, content = end - first, end + records, content + more
            bunch.before.append((end, content))
        bunch.places.append(place)
        bunch.picks.append(base + number)
    if bunch.frames:
        yield bunch


def spans(bunch: Bunch, starts: Sequence[int]) -> Iterator[tuple[int, int, int]] | None:
    """
    Yield for each record that is wanted its place in the caller's list, and where it begins and ends in the content.

    `starts` are where the records of the content begin, and the end. Returns None if they are not as many in each
    frame as should be.
    """
    for records, content in bunch.before:
        if starts[records] != content:
            return None
    return ((place, starts[pick], starts[pick + 1]) for place, pick in zip(bunch.places, bunch.picks))
