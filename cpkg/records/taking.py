# SPDX-License-Identifier: Apache-2.0
"""Group many record numbers by frames, so that several frames are read and decompressed at a time."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Final

from cpkg.records.layout import Layout

_CONTENT: Final = 512 << 10
"""The maximum bytes of records to decompress at a time, except for a larger single frame."""
_RECORDS: Final = 1 << 14
"""The maximum number of records in the frames of a bunch, except for a single frame with more."""


class Bunch:
    """
    Frames of a file that are read and decompressed together, and the wanted records in them.

    `frames` has the numbers of the frames in the layout; `numbers` has, in one flat list, the offset, size and content
    size of each. `before` has a pair for each frame: the numbers of records and of bytes of content in the frames of
    the bunch before it; a last pair has the totals. `places` has the positions of the wanted records in the caller's
    list, `picks` the number of each within the bunch, which counts only the records of its frames.
    """

    __slots__ = ("before", "frames", "numbers", "picks", "places")

    def __init__(self) -> None:
        self.frames: list[int] = []
        self.numbers: list[int] = []
        self.before: list[tuple[int, int]] = [(0, 0)]
        self.places: list[int] = []
        self.picks: list[int] = []

    def by_frame(self) -> Iterator[tuple[int, list[int], list[int]]]:
        """Yield each frame's number, its wanted records' positions in the caller's list, and their numbers in it."""
        done = 0
        for frame, (begin, _), (end, _) in zip(self.frames, self.before, self.before[1:]):
            start = done
            while done < len(self.picks) and self.picks[done] < end:
                done += 1
            yield frame, self.places[start:done], [pick - begin for pick in self.picks[start:done]]


def bunches(layout: Layout, wanted: Sequence[int]) -> Iterator[Bunch]:
    """
    Yield bunches of the frames with the wanted records, in the order of the file.

    `wanted` has record numbers of 0 or more, in any order. Raises KeyError with the number of a record that is in no
    frame.
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
    Return an iterator over (position in the caller's list, start, end) of each wanted record.

    `starts` has the starts of all records in the content of the bunch, and the end of the last. Returns None instead of
    an iterator if the records in the content do not fit the numbers of records in `bunch.before`.
    """
    for records, content in bunch.before:
        if starts[records] != content:
            return None
    return ((place, starts[pick], starts[pick + 1]) for place, pick in zip(bunch.places, bunch.picks))
