# SPDX-License-Identifier: Apache-2.0
"""Verify, inspect, repair and join record files."""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Iterator
from contextlib import closing, nullcontext
from dataclasses import dataclass, field
from itertools import count
from typing import BinaryIO, Callable, Final, NamedTuple

from cpkg._places import Place
from cpkg.records import format as fmt
from cpkg.records.decoding import Decoder, lost, read_dictionary
from cpkg.records.errors import DamagedError, RecordsError, about, numbers
from cpkg.records.layout import MARKED, Frame, Gap, Layout, new_token
from cpkg.records.loading import load
from cpkg.records.packing import LEVEL, FrameCompressor
from cpkg.records.positions import Source
from cpkg.records.settings import AHEAD, thread_count
from cpkg.records.sources import open_source, open_target
from cpkg.records.walk import Walk
from purepy.base.crew import mapped
from purepy.base.locks import Lock
from purepy.base.new_files import replacing

_ANY: Final[dict[str, object]] = {"max_memory": -1}
"""No memory limit: frames are checked and copied without creating objects."""
_LARGE: Final = 64 << 20
"""Frames with more bytes of content are checked one at a time: a file of a few megabytes may have a hundred of them."""

Progress = Callable[[int, int], object]
"""A function `(done, total)` to call with the progress: in bytes by `verify` and `repair`, in files by `join`."""


class Damage(NamedTuple):
    """
    Damage at byte `offset` of a record file, which affects `records` records from number `first` on.

    `records` is 0 if no record number is missing. `reason` describes the damage. `lost` is whether the records
    cannot be read. It is False if only the header before a frame is wrong: the header is damaged and the index has the
    same data, or the header has another position or record number than its place in the file.
    """

    offset: int
    first: int
    records: int
    reason: str
    lost: bool

    def __str__(self) -> str:
        state = "" if self.lost else " (can be read)"
        return f"{numbers(self.first, self.records)}{state} (at byte {self.offset}): {self.reason}"


@dataclass
class Report:
    """
    The state of the record file `name`.

    `records` is the number of records in frames, without those of the frames that `verify` found damaged. (If a
    dictionary at the start of the file is damaged, frames are not checked, and all records in them are lost.) `total`
    is the number that the next record would get, and `marked` the number of records marked as lost by an earlier
    repair. The file has `size` bytes. Its frames of records, `frames` in number, have `compressed` bytes without their
    headers, and contain `decompressed` bytes of MessagePack; damaged frames are included. `indexed` is whether the file
    has a valid index, `has_dictionary` whether it has a dictionary, which may be damaged. `torn` is the number of bytes
    of an unfinished frame at the end. `damage` lists damaged and missing frames and wrong headers of frames. `problems`
    describes other faults: of the file header, the dictionary, the index, a header that marks lost records, or the end
    of the file.
    """

    name: str
    size: int
    records: int = 0
    total: int = 0
    marked: int = 0
    frames: int = 0
    compressed: int = 0
    decompressed: int = 0
    indexed: bool = False
    has_dictionary: bool = False
    torn: int = 0
    damage: list[Damage] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether there is no damage, problem or torn byte; a missing index and records marked as lost do not count."""
        return not (self.damage or self.problems or self.torn)

    @property
    def lost(self) -> int:
        """The number of lost records in `damage`, which does not list those that an earlier repair marked as lost."""
        return sum(damage.records for damage in self.damage if damage.lost)


class _Checked(NamedTuple):
    report: Report
    layout: Layout
    bad: set[int]
    is_misled: bool
    """Whether a header in the file is damaged, or contradicts the index or its own position."""
    damaged_dictionary: RecordsError | None


def verify(place: Place, *, threads: int | None = None, progress: Progress | None = None) -> Report:
    """
    Read the whole record file at `place` and report all damage.

    Compares headers, index and frames, decompresses all frames in `threads` (see `records.open`), compares checksums
    and counts records. If a dictionary at the start of the file is damaged, reports all records as lost, without
    checking the frames. After each frame, `progress(done, size)` is called with the bytes of the file checked so far
    and in total. Raises RecordsError if the file is not a record file, has a newer format version or consists of joined
    files, OSError if it cannot be read.
    """
    source = open_source(place)
    try:
        return _check(source, load(source), threads, progress).report
    finally:
        source.close()


def inspect(place: Place) -> Report:
    """
    Return a Report on the file at `place` from its index or, if that is not valid, its headers; decompresses no frames.

    Raises the errors of `verify`.
    """
    source = open_source(place)
    try:
        layout = load(source)
        report = _begin(source, layout)
        report.damage = [Damage(g.start, g.first, g.records, g.reason, True) for g in layout.gaps if not g.known]
        return report
    finally:
        source.close()


def _begin(source: Source, layout: Layout) -> Report:
    return Report(
        source.name,
        source.size(),
        records=layout.records,
        total=layout.total,
        marked=sum(gap.records for gap in layout.gaps if gap.known),
        frames=len(layout),
        compressed=layout.compressed,
        decompressed=layout.decompressed,
        indexed=layout.indexed,
        has_dictionary=layout.dictionary is not None,
        torn=layout.torn,
        problems=list(layout.problems),
    )


def _check(source: Source, layout: Layout, threads: int | None, progress: Progress | None) -> _Checked:
    report = _begin(source, layout)
    decoder: Decoder[object] = Decoder(_ANY)
    frames = range(len(layout))
    bad: set[int] = set()
    is_misled = False
    damaged_dictionary = None
    try:
        decoder.dictionary = read_dictionary(source, layout.dictionary_at)
    except RecordsError as exc:
        damaged_dictionary = exc
        report.problems.append(str(exc))
        if layout.dictionary_at <= fmt.FILE_HEADER_SIZE:  # no frame precedes the dictionary
            report.damage = _unreadable(layout)
            bad.update(frames)
            frames = range(0)
    large = Lock()

    def examined(number: int) -> tuple[int, Frame, fmt.DataHeader | None, DamagedError | None]:
        frame = layout.frame(number)
        size = fmt.DATA_HEADER_SIZE
        data = source.read_at(frame.offset - size, size + frame.compressed)
        error = None
        try:
            with large if frame.decompressed > _LARGE else nullcontext():
                decoder.check_count(frame, decoder.content(frame, data[size:]))
        except DamagedError as exc:
            error = exc
        return number, frame, fmt.parse_data_header(data, layout.token), error

    workers = thread_count(threads)
    for number, frame, header, error in mapped(examined, frames, workers, AHEAD * workers):
        if error is not None:
            bad.add(number)
            report.damage.append(Damage(frame.offset, frame.first, frame.records, error.reason, True))
        elif header != layout.header(frame):
            is_misled = True
            if layout.indexed:
                reason = "its header is damaged; the index has the same data"
            else:
                reason = "its header names another position or record: bytes before it were lost or inserted"
            report.damage.append(Damage(frame.offset, frame.first, frame.records, reason, False))
        if progress is not None:
            progress(frame.offset + frame.compressed, report.size)
    for gap in layout.gaps:
        if not gap.known:
            report.damage.append(Damage(gap.start, gap.first, gap.records, gap.reason, True))
        elif not _is_marked(source, layout, gap):
            is_misled = True
            what = f"the header that marks {numbers(gap.first, gap.records)} as lost"
            report.problems.append(f"{what} is damaged (after byte {gap.start}); the index has the same data")
    report.damage.sort()
    report.records -= sum(layout.frame(number).records for number in bad)
    return _Checked(report, layout, bad, is_misled, damaged_dictionary)


def _unreadable(layout: Layout) -> list[Damage]:
    """Return the damage if no frame can be read without the dictionary: one Damage per run of records between gaps."""
    found: list[Damage] = []
    first = 0
    for gap in (*layout.gaps, Gap(0, 0, layout.total, 0, "")):
        if gap.first > first:
            reason = "the dictionary is damaged"
            found.append(Damage(layout.dictionary_at, first, gap.first - first, reason, True))
        first = gap.first + gap.records
    return found


def _is_marked(source: Source, layout: Layout, gap: Gap) -> bool:
    """Return whether headers in the file mark as lost all records that the index lists as lost in `gap`."""
    walk = Walk(source, gap.start, gap.first, layout.token, gap.end)
    found = [piece for piece in walk if isinstance(piece, Gap)]
    return all(piece.known for piece in found) and sum(piece.records for piece in found) == gap.records


def repair(path: str | os.PathLike[str], *, threads: int | None = None, progress: Progress | None = None) -> Report:
    """
    Repair the record file at `path`, and return the report that `verify` would have returned before the repair.

    `threads` and `progress` are the same as in `verify`; the calls of `progress` end before anything is written.

    If only the index is missing or wrong, or the last frame is unfinished, cuts off that frame and writes the index, in
    place. If there is other damage, the intact frames are copied to a new file, which replaces the old one when it is
    complete. Nothing is compressed again, records keep their numbers, and lost records are marked as lost. Damaged
    frames are dropped; copy the file first if you want to examine them. An undamaged file with an index is not
    changed.

    Raises RecordsError if the file is not a record file, has a newer format version, consists of joined files, has a
    damaged dictionary, has the header of another file or frame in the unfinished frame, or has lost more than 2**32 - 1
    records in a row; LockedError if a writer has the file open; OSError if it cannot be read or written. After an
    OSError, an index or unfinished frame may have been cut off; after the other errors the file is unchanged.
    """
    with closing(open_target(path, "rb")) as target, closing(open_source(path)) as source:
        report, layout, bad, is_misled, damaged_dictionary = _check(source, load(source), threads, progress)
        if damaged_dictionary is not None:  # the frames are intact, and the dictionary may exist elsewhere
            raise damaged_dictionary
        layout.check_torn(source.name)
        if bad or is_misled or any(not gap.known for gap in layout.gaps) or not _is_begun(source):
            with replacing(path, held=(source, target)) as file:
                copy = _Copy(file, [(source, layout)])
                copy.add(source, layout, bad)
                copy.finish()
        elif not layout.indexed or layout.torn or layout.problems:
            target.cut(layout.end)
            if not layout.end:
                layout.token = new_token()
                target.write(0, fmt.file_header(layout.token))
                layout.go_on(fmt.FILE_HEADER_SIZE, 0)
            target.write(layout.end, layout.tail())
            target.sync()
    return report


def join(
    places: Iterable[Place], path: str | os.PathLike[str], *, overwrite: bool = False, progress: Progress | None = None
) -> int:
    """
    Write the records of the files at `places` to one file, in order, and return its total number of records.

    The total includes lost records. The new file gets the first dictionary that one of the files has; the frames of a
    file with a different dictionary are compressed again. Other frames are copied unchanged and unchecked, and an
    unfinished frame at the end of a file is left out (`inspect(place).torn` is its size in bytes). The new file appears
    when it is complete, so with `overwrite` it may replace one of the old files. After each file, `progress(done,
    total)` is called with the number of copied files and the number of all files.

    Raises FileExistsError if `path` exists and `overwrite` is false; DamagedError if frames are missing from a file or
    a frame to compress again is damaged (repair the file first); RecordsError if `verify` raises it for a place, if a
    file has a damaged dictionary or the header of another file or frame in its unfinished frame, or if more than
    2**32 - 1 records in a row are lost; OSError if a file cannot be read or written; TypeError if `places` is one path
    instead of several.
    """
    if isinstance(places, (str, bytes, os.PathLike)):
        raise TypeError(f"the first argument of join must be a list of files, not {type(places).__name__}")
    sources = []
    try:
        for place in places:
            sources.append(open_source(place))  # noqa: PERF401 (after an error, open sources must be closed)
        found = [(source, load(source)) for source in sources]
        for source, layout in found:
            layout.check_torn(source.name)
            for gap in layout.gaps:
                if not gap.known:
                    raise lost(gap)
        with replacing(path, overwrite=overwrite, held=sources) as file:
            copy = _Copy(file, found)
            for number, (source, layout) in enumerate(found):
                copy.add(source, layout)
                if progress is not None:
                    progress(number + 1, len(found))
            copy.finish()
        return copy.layout.total
    except DamagedError as exc:
        exc.advice = f"repair {source.name or 'the file'} first"
        raise
    finally:
        for source in sources:
            source.close()


def _is_begun(source: Source) -> bool:
    """Return whether a file is empty or begins with a complete or unfinished header of a record file."""
    head = source.read_at(0, fmt.FILE_HEADER_SIZE)
    return fmt.parse_file_header(head) is not None or fmt.is_begun_file_header(head)


class _Copy:
    """Writes a new record file from the frames of other files, in order."""

    def __init__(self, file: BinaryIO, found: list[tuple[Source, Layout]]) -> None:
        self._file = file
        self._stop = 0  # the record number after the last frame
        self.layout = layout = Layout(new_token())
        file.write(fmt.file_header(layout.token))
        layout.go_on(fmt.FILE_HEADER_SIZE, 0)
        dictionaries = (read_dictionary(source, old.dictionary_at) for source, old in found)
        self._dictionary = next((dictionary for dictionary in dictionaries if dictionary is not None), None)
        self._encoder = FrameCompressor(LEVEL, self._dictionary)
        if self._dictionary is not None:
            data = fmt.dictionary_frame(self._dictionary.dict_content)
            layout.dictionary = (layout.end, len(data))
            file.write(data)

    def add(self, source: Source, old: Layout, bad: Container[int] = ()) -> None:
        """Append the frames of a file, except the frames numbered in `bad`, and mark all missing records as lost."""
        new, base = self.layout, self.layout.total
        decoder: Decoder[object] = Decoder(_ANY, read_dictionary(source, old.dictionary_at))
        own = decoder.dictionary
        again = own is not None and own.dict_content != getattr(self._dictionary, "dict_content", None)
        for piece in _sound(old, bad):
            first = base + piece.first
            if isinstance(piece, Gap):
                if first + piece.records - self._stop > fmt.LOST_MAX:
                    lost = f"more than {fmt.LOST_MAX} records in a row are lost"
                    text = f"{lost}, more than a repaired file can mark: copy the other records to a new file"
                    raise RecordsError(about(source.name, text))
                header = fmt.DataHeader(piece.records, 0, first, new.end, 0, 0, new.token, new.dictionary_at, True)
                self._file.write(fmt.data_header(header))
                new.go_on(new.end + fmt.DATA_HEADER_SIZE, first + piece.records)
                continue
            data = source.read_at(piece.offset, piece.compressed)
            if again:
                data = self._encoder.encode(decoder.content(piece, data))
            frame = piece._replace(offset=new.end + fmt.DATA_HEADER_SIZE, compressed=len(data), first=first)
            self._file.write(fmt.data_header(new.header(frame)))
            self._file.write(data)
            new.add(frame)
            self._stop = first + piece.records
        new.go_on(new.end, base + old.total)

    def finish(self) -> None:
        """Write the index and the seek table."""
        self._file.write(self.layout.tail())


def _sound(layout: Layout, bad: Container[int]) -> Iterator[Frame | Gap]:
    """Yield the frames whose numbers are not in `bad`, and one gap (without offsets) for each run of lost records."""
    lost: Gap | None = None
    numbers = count()
    for piece in layout.pieces():
        if isinstance(piece, Frame) and next(numbers) not in bad:
            if lost is not None:
                yield lost
                lost = None
            yield piece
        elif piece.records:
            first = piece.first if lost is None else lost.first
            lost = Gap(0, 0, first, piece.first + piece.records - first, MARKED, True)
    if lost is not None:
        yield lost
