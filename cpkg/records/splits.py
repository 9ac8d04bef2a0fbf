# SPDX-License-Identifier: Apache-2.0
"""Parts of a record file that read independently of each other, for whoever distributes work."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from cpkg.records import format as fmt
from cpkg.records.codec import Decoder, lost, read_dictionary
from cpkg.records.errors import DamagedError
from cpkg.records.layout import Frame, Gap, Layout
from cpkg.records.loading import find_dictionary, from_index, load
from cpkg.records.reader import check_errors
from cpkg.records.sources import WINDOW, Place, Source, Window, open_source
from cpkg.records.walk import Walk


@dataclass(frozen=True)
class Split:
    """
    A stretch of a record file, which can be read alone, in another process or on another machine.

    `place` is the path or URL, `start` and `end` are in bytes. The stretch has all frames whose headers begin in it.
    `first` is the number of its first record and `stop` that of the first one behind it, both None if the file has no
    index and was not searched. `dictionary` is where the file's dictionary is, (offset, size), or None.
    """

    place: str
    start: int
    end: int
    first: int | None = None
    stop: int | None = None
    dictionary: tuple[int, int] | None = None

    def read(self, *, errors: str = "raise", **options: Any) -> Iterator[Any]:
        """
        Iterate over the records of the split; the arguments are those of `records.open`.

        Reads the bytes of the split in large pieces, and no others but the rest of a frame at its end and the
        dictionary. Raises DamagedError as a Reader does.
        """
        return self._read(errors, options, whole=False)

    def batches(self, *, errors: str = "raise", **options: Any) -> Iterator[list[Any]]:
        """Iterate over the records in lists, one for each frame."""
        return self._read(errors, options, whole=True)

    def _read(self, errors: str, options: dict[str, Any], *, whole: bool) -> Iterator[Any]:
        check_errors(errors)
        decoder = Decoder(options)
        source = open_source(self.place)
        try:
            decoder.dictionary = read_dictionary(source, self.dictionary)
            window = Window(source, self.end, WINDOW)
            for piece in self._pieces(window):
                try:
                    if isinstance(piece, Gap):
                        raise lost(piece)
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

    def _pieces(self, source: Source) -> Iterator[Frame | Gap]:
        """Yield what is in the stretch, frames and damage."""
        walk = Walk(source, self.start, self.end, 0 if self.start == 0 else self.first)
        following = self.first
        for piece in walk:
            if isinstance(piece, Frame):
                following = piece.first + piece.records
                yield piece
            elif isinstance(piece, Gap):
                following = piece.first + piece.records
                if self.stop is not None and following > self.stop:
                    piece = piece._replace(records=self.stop - piece.first)  # the rest is the next split's to report
                if not piece.known:
                    yield piece
        if following is not None and self.stop is not None and following < self.stop and walk.torn:
            reason = "the file ends in front of it, or a header is damaged"
            yield Gap(self.end - walk.torn, self.end, following, self.stop - following, reason)


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
    if (count or size or 0) < 1:
        raise ValueError(f"count and size must be 1 or more, not {count or size}")
    source = open_source(place)
    try:
        if count is None:
            count = max(-(-source.size() // (size or 1)), 1)
        if not source.name:
            raise ValueError("splits are of a path or URL, which their readers open again")
        layout, _ = from_index(source)
        if layout is None:
            if not source.is_local:
                return _by_size(source, count)
            layout = load(source)
        return list(_by_frames(source.name, layout, count))
    finally:
        source.close()


def _by_frames(place: str, layout: Layout, count: int) -> Iterator[Split]:
    begun = start = first = 0
    for number in range(1, len(layout)):
        at = layout.offsets[number] - fmt.DATA_HEADER_SIZE
        if at * count >= (begun + 1) * layout.end:
            yield Split(place, start, at, first, layout.firsts[number], layout.dictionary)
            begun = at * count // layout.end
            start, first = at, layout.firsts[number]
    if layout.total > first:
        yield Split(place, start, layout.end, first, layout.total, layout.dictionary)


def _by_size(source: Source, count: int) -> list[Split]:
    size = source.size()
    dictionary = find_dictionary(source)
    bounds = sorted({size * number // count for number in range(count + 1)})
    return [Split(source.name, start, end, dictionary=dictionary) for start, end in zip(bounds, bounds[1:])]
