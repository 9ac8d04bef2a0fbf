# SPDX-License-Identifier: Apache-2.0
"""Parts of a record file that read independently of each other, for whoever distributes work."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from operator import index
from typing import Any

from cpkg._places import Place
from cpkg.records.decoding import Decoder, lost, read_dictionary
from cpkg.records.errors import DamagedError
from cpkg.records.layout import Frame, Gap, Layout
from cpkg.records.loading import joined, load, load_index
from cpkg.records.positions import Source
from cpkg.records.reader import check_errors
from cpkg.records.sources import WINDOW, Window, open_source
from cpkg.records.walk import Walk


@dataclass(frozen=True)
class Split:
    """
    A stretch of a record file, which can be read alone, in another process or on another machine.

    `place` is the path or URL, `start` and `end` are in bytes. The stretch has all frames whose headers begin in it.
    `first` is the number of its first record and `stop` that of the first one behind it, both None if the file has no
    index and was not searched. `token` is the file's, `layout` where the frames are, None if the reader is to find
    them.
    """

    place: str
    start: int
    end: int
    first: int | None = None
    stop: int | None = None
    token: bytes | None = field(default=None, repr=False)
    layout: Layout | None = field(default=None, repr=False, compare=False)

    def read(self, *, errors: str = "raise", **options: Any) -> Iterator[Any]:
        """
        Iterate over the records of the split; `errors` and `options` are those of `records.open`.

        Reads the bytes of the split in large pieces, and no others but the rest of a frame at its end and the
        dictionary. Raises DamagedError as a Reader does.
        """
        return self._read(errors, options, whole=False)

    def batches(self, *, errors: str = "raise", **options: object) -> Iterator[list[Any]]:
        """Iterate over the records in lists, one for each frame; `errors` and `options` are those of `records.open`."""
        return self._read(errors, options, whole=True)

    def _read(self, errors: str, options: dict[str, object], *, whole: bool) -> Iterator[Any]:
        check_errors(errors)
        decoder = Decoder(options)
        source = open_source(self.place)
        try:
            window = Window(source, self.end, WINDOW)
            for piece, dictionary in self._pieces(window):
                try:
                    if isinstance(piece, Gap):
                        raise lost(piece)
                    if dictionary and decoder.dictionary is None:
                        decoder.dictionary = read_dictionary(source, dictionary)
                    content = decoder.content(piece, window.read_at(piece.offset, piece.compressed))
                    if whole:
                        yield decoder.records(piece, content)
                    else:
                        yield from decoder.each(piece, content)
                except DamagedError:
                    if errors == "raise":
                        raise
        finally:
            source.close()

    def _pieces(self, source: Source) -> Iterator[tuple[Frame | Gap, int]]:
        """Yield the frames and damage of the stretch, each with the position of the dictionary then in force."""
        if self.layout is not None:
            for piece in self.layout.pieces():
                if isinstance(piece, Frame) or not piece.known:
                    yield piece, self.layout.dictionary_at
            return
        walk = Walk(source, self.start, self.end, None if self.start else 0, self.token)
        for found in walk:
            if isinstance(found, Frame) or (isinstance(found, Gap) and not found.known):
                yield found, walk.dictionary
        if walk.joined is not None:
            raise joined(self.place, walk.joined)


def splits(place: Place, count: int | None = None, *, size: int | None = None) -> list[Split]:
    """
    Divide a record file into stretches of about the same size that read independently of each other.

    There are at most `count` of them, or as many as make them about `size` bytes in the file; a frame is never
    divided. `place` is a path or a URL of fsspec. Needs the index alone, if the file has one. A local file without
    one is searched for its frames; a remote one is divided by size, and each split finds its frames when it is read.
    Raises RecordsError if it is no record file, ValueError for a count or size below 1.
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
        if not source.name:
            raise ValueError("splits are of a path or URL, which their readers open again")
        layout, token = load_index(source)
        if layout is None:
            if token and not source.is_local:  # headers of version 1 do not prove whose they are
                return _by_size(source, count, token)
            layout = load(source)
        return list(_by_frames(source.name, layout, count))
    finally:
        source.close()


def _by_frames(place: str, layout: Layout, count: int) -> Iterator[Split]:
    begun = start = first = number_before = 0
    for number in range(1, len(layout)):
        at = layout.offsets[number] - layout.header_size
        if at * count >= (begun + 1) * layout.end:
            part = layout.part(number_before, number)
            yield Split(place, start, at, first, layout.firsts[number], layout.token, part)
            begun = at * count // layout.end
            start, first, number_before = at, layout.firsts[number], number
    if layout.total > first:
        part = layout.part(number_before, len(layout))
        yield Split(place, start, layout.end, first, layout.total, layout.token, part)


def _by_size(source: Source, count: int, token: bytes) -> list[Split]:
    size = source.size()
    bounds = sorted({size * number // count for number in range(count + 1)})
    return [Split(source.name, start, end, token=token) for start, end in zip(bounds, bounds[1:])]
