# SPDX-License-Identifier: Apache-2.0
"""Verify and repair record files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Callable, NamedTuple

from cpkg._files import replacing
from cpkg.records import format as fmt
from cpkg.records.codec import Decoder, read_dictionary
from cpkg.records.errors import DamagedError, RecordsError, numbers
from cpkg.records.layout import MARKED, Frame, Gap, Layout
from cpkg.records.loading import load
from cpkg.records.ordered import mapped, thread_count
from cpkg.records.sources import PathSource, Place, Source, open_source
from cpkg.records.targets import PathTarget

Progress = Callable[[int, int], Any]
"""Called with the bytes done and the bytes in all."""


class Damage(NamedTuple):
    """
    Something that is not as it was written: `records` records from number `first` on, at `offset`.

    `lost` is whether they cannot be read; where the index makes up for a header, they can.
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
    The state of a record file.

    `records` can be read, of `total` numbers; `marked` of these were lost before an earlier repair. `frames` of
    `compressed` bytes hold `decompressed` bytes of MessagePack, in a file of `size` bytes. `indexed` is whether it has
    its index, `torn` how many bytes at its end are of a frame that was never finished, `damage` what is wrong with
    frames and `problems` what is wrong with header, dictionary and index.
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
        """Whether all is as it was written; a file that was never closed only lacks its index."""
        return not (self.damage or self.problems or self.torn)

    @property
    def lost(self) -> int:
        """The number of records that are damaged beyond reading, apart from those marked before."""
        return sum(damage.records for damage in self.damage if damage.lost)


class _Checked(NamedTuple):
    report: Report
    layout: Layout
    bad: set[int]
    has_moved: bool


def verify(place: Place, *, threads: int | None = None, progress: Progress | None = None) -> Report:
    """
    Read a whole record file and report what is not as it was written.

    Compares headers, index and frames with each other, decompresses each frame, compares checksums and counts
    records. Raises RecordsError if it is no record file, OSError if it cannot be read.
    """
    source = open_source(place)
    try:
        return _check(source, threads, progress).report
    finally:
        source.close()


def inspect(place: Place) -> Report:
    """Report what the index of a file tells, or else its headers; no frame is decompressed."""
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


def _check(source: Source, threads: int | None, progress: Progress | None) -> _Checked:
    layout = load(source)
    report = _begin(source, layout)
    decoder = Decoder({})
    try:
        decoder.dictionary = read_dictionary(source, layout.dictionary)
    except RecordsError as exc:
        report.problems.append(str(exc))
        return _Checked(report, layout, set(), False)
    bad = set()
    has_moved = False

    def examined(number: int) -> tuple[int, Frame, fmt.DataHeader | None, DamagedError | None]:
        frame = layout.frame(number)
        data = source.read_at(frame.offset - fmt.DATA_HEADER_SIZE, fmt.DATA_HEADER_SIZE + frame.compressed)
        error = None
        try:
            content = decoder.content(frame, data[fmt.DATA_HEADER_SIZE :])
            decoder.starts(frame, content)
        except DamagedError as exc:
            error = exc
        return number, frame, fmt.parse_data_header(data), error

    calls = ((number,) for number in range(len(layout)))
    for number, frame, header, error in mapped(examined, calls, thread_count(threads)):
        if error is not None:
            bad.add(number)
            report.damage.append(Damage(frame.offset, frame.first, frame.records, error.reason, True))
        elif header != frame.header:
            has_moved = True
            if layout.indexed:
                reason = "its header is damaged; the index says the same"
            else:
                reason = "its header tells another place or number: bytes were lost or came in between in front of it"
            report.damage.append(Damage(frame.offset, frame.first, frame.records, reason, False))
        if progress is not None:
            progress(frame.offset + frame.compressed, report.size)
    report.damage += [Damage(g.start, g.first, g.records, g.reason, True) for g in layout.gaps if not g.known]
    report.damage.sort()
    report.records -= sum(layout.frame(number).records for number in bad)
    return _Checked(report, layout, bad, has_moved)


def repair(path: str | os.PathLike[str], *, threads: int | None = None, progress: Progress | None = None) -> Report:
    """
    Make a record file whole again; return what was wrong with it, which is what `verify` reports.

    Cuts a torn tail off and writes the index, in place. If more is wrong, the frames that are sound go to a new file
    that takes the old one's place when it is complete: nothing is compressed again, records keep their numbers, and
    those that are lost are marked as such. What a damaged frame still holds is dropped: copy the file before if
    somebody is to look at it. A file without fault stays as it is.

    Raises RecordsError if it is no record file or its dictionary is damaged, LockedError if a writer has it, OSError
    if it cannot be written; it is unchanged then.
    """
    target = PathTarget(path, "rb")
    try:
        source = PathSource(path)
        try:
            report, layout, bad, has_moved = _check(source, threads, progress)
            if has_dictionary_damage(report):
                raise RecordsError(report.problems[-1])
            if bad or has_moved or any(not gap.known for gap in layout.gaps) or not _has_header(source):
                _rewrite(path, source, layout, bad)
            elif not layout.indexed or layout.torn or layout.problems:
                target.cut(layout.end)
                if not layout.end:
                    target.write(0, fmt.file_header())
                    layout.end = fmt.FILE_HEADER_SIZE
                target.write(layout.end, layout.tail())
                target.sync()
        finally:
            source.close()
        return report
    finally:
        target.close()


def has_dictionary_damage(report: Report) -> bool:
    """Tell whether no record can be read because the dictionary is damaged."""
    return any("the dictionary at byte" in problem for problem in report.problems)


def _has_header(source: Source) -> bool:
    head = source.read_at(0, fmt.FILE_HEADER_SIZE)
    return fmt.file_header().startswith(head)


def _rewrite(path: str | os.PathLike[str], source: Source, layout: Layout, bad: set[int]) -> None:
    with replacing(path) as file:
        file.write(fmt.file_header())
        new = Layout()
        new.end = fmt.FILE_HEADER_SIZE
        if layout.dictionary is not None:
            offset, size = layout.dictionary
            new.dictionary = (new.end, size)
            file.write(source.read_at(offset, size))
            new.end += size
        for piece in _sound(layout, bad):
            frame = piece if isinstance(piece, Frame) else Frame(0, 0, 0, piece.records, piece.first, 0)
            frame = frame._replace(offset=new.end + fmt.DATA_HEADER_SIZE)
            header = frame.header
            if isinstance(piece, Gap):
                file.write(fmt.data_header(header._replace(lost=True)))
                new.end, new.total = frame.offset, frame.first + frame.records
            else:
                file.write(fmt.data_header(header))
                file.write(source.read_at(piece.offset, piece.compressed))
                new.add(frame)
        file.write(new.tail())


def _sound(layout: Layout, bad: set[int]) -> Iterator[Frame | Gap]:
    """Yield frames that are not among `bad`, and in the place of all else gaps that join."""
    lost: Gap | None = None
    for number, piece in enumerate_frames(layout):
        if isinstance(piece, Frame) and number not in bad:
            if lost is not None:
                yield lost
                lost = None
            yield piece
        elif piece.records:
            first = piece.first if lost is None else lost.first
            lost = Gap(0, 0, first, piece.first + piece.records - first, MARKED, True)
    if lost is not None:
        yield lost


def enumerate_frames(layout: Layout) -> Iterator[tuple[int, Frame | Gap]]:
    """Yield what a file has, each frame with its number, each gap with that of the frame behind it."""
    number = 0
    for piece in layout.pieces():
        yield number, piece
        number += isinstance(piece, Frame)
