# SPDX-License-Identifier: Apache-2.0
"""
Finding the frames of a record file: by the index at its end, or by walking over all headers.

A file has an index once a writer has closed it. Without one, and where it is damaged, the headers in front of the
frames say the same.
"""

from __future__ import annotations

import sys
import zlib
from array import array
from typing import Final, NamedTuple

from cpkg.records import format as fmt
from cpkg.records.errors import RecordsError
from cpkg.records.layout import MARKED, Frame, Gap, Layout
from cpkg.records.positions import Source
from cpkg.records.sources import Stretch, Tail
from cpkg.records.walk import Joint, Walk
from purepy.base.errors import SeekableFormatError
from purepy.zstd.seekable.table import SeekTable, read_seek_table

_TABLE_HEAD: Final = 8
_TABLE_FOOT: Final = 9
_TABLE_COLUMNS: Final = 3


def load(source: Source) -> Layout:
    """
    Return the layout of a file: by its index if there is a sound one, else by walking over all headers.

    Raises RecordsError if it is no record file, one of a newer version, or several files joined.
    """
    found = _found(source)
    if found.joined is not None:
        raise joined(source.name, found.joined)
    return found.layout


def load_index(source: Source) -> tuple[Layout | None, bytes | None]:
    """Return the layout by the index of a file, None without a sound one, and the token. Raises as `load` does."""
    token, _ = _check_head(source, source.read_at(0, fmt.FILE_HEADER_SIZE))
    found = _by_index(source, token)
    if found is None:
        return None, token
    if found.joined is not None:
        raise joined(source.name, found.joined)
    return found.layout, token


def joined(name: str, at: Joint) -> RecordsError:
    """Return the error about files that were joined, or may have been."""
    if at.doubt is None:
        todo = "run `cpkg records join` or `cpkg records repair` first"
        return RecordsError(f"{name}: these are joined files, another one begins at byte {at.offset}: {todo}")
    return RecordsError(
        f"{name}: these may be joined files: the header of one is at byte {at.offset}, in or behind a damaged frame "
        f"that begins at byte {at.doubt}. If it is part of a record, cut the file where that frame begins; if another "
        "file was appended there, move that into a file of its own"
    )


def parts(source: Source) -> list[tuple[Source, Layout]]:
    """
    Return the record files that were joined to make up a file, in order, each with its layout; or the file alone.

    Raises RecordsError where what looks like another file may be part of a record.
    """
    found = _found(source)
    if found.joined is None:
        return [(source, found.layout)]
    parts: list[tuple[Source, Layout]] = []
    start, size = 0, source.size()
    rest: Source = source
    while found.joined is not None:
        joint = found.joined if not found.layout.indexed else _first_joint(rest, found.joined.offset)
        front = Stretch(source, start, start + joint.offset)
        first = _found(front)
        if first.joined is not None:
            joint = Joint(joint.offset, first.joined.offset)  # one in a frame that the other file cuts short
        if joint.doubt is not None:
            raise joined(source.name, Joint(start + joint.offset, start + joint.doubt))
        parts.append((front, first.layout))
        start += joint.offset
        rest = Stretch(source, start, size)
        found = _found(rest)
    return [*parts, (rest, found.layout)]


def _first_joint(source: Source, last: int) -> Joint:
    """Return where the second one of joined files begins; the index of the last one says that that begins at `last`."""
    token, _ = _check_head(source, source.read_at(0, fmt.FILE_HEADER_SIZE))
    joint = extend(Layout(token or fmt.NO_TOKEN), source, token)
    if joint is not None:
        return joint
    layout = _found(Stretch(source, 0, last)).layout  # the header of the last one is damaged, or in a torn frame
    return Joint(last, None if layout.indexed or layout.end == last else layout.end)


class _Found(NamedTuple):
    """
    The layout of a file, or of one of several that were joined.

    `joined` is where another file begins: the last one, to which the `layout` belongs if it has an index, or the second
    one behind that of the layout. `problem` is the fault of the index, "" if there is none.
    """

    layout: Layout
    joined: Joint | None = None
    problem: str = ""


def _found(source: Source) -> _Found:
    token, problems = _check_head(source, source.read_at(0, fmt.FILE_HEADER_SIZE))
    before = None
    while True:
        found = _by_index(source, token) or _by_headers(source, token)
        # A writer that is at work changes the index between two reads of it, and the file may be as long as before by
        # then: that is no damage, which is there a second time.
        fault = found.problem, found.joined, source.size()
        if not (found.problem or found.joined) or fault == before:
            break
        before = fault
    layout = found.layout
    if problems and not len(layout) and not any(gap.known for gap in layout.gaps):
        raise RecordsError(f"{source.name}: this is no record file: {problems[0]}")
    layout.problems += problems
    if found.problem:
        layout.problems.append(found.problem)
    return found


def _by_headers(source: Source, token: bytes | None) -> _Found:
    """Return the layout that the headers of the whole file give."""
    layout = Layout(token or fmt.NO_TOKEN)
    joined = extend(layout, source, token)
    closed, problem = from_index(source, token)  # its writer may have closed it meanwhile
    if closed is not None and layout.has_table:
        return _Found(closed)
    if layout.has_table and not problem:
        problem = "the seek table behind the index is damaged"
    return _Found(layout, joined, problem)


def _by_index(source: Source, token: bytes | None) -> _Found | None:
    layout, _ = from_index(source, token)
    if layout is not None:
        return _Found(layout)
    begin = _before_table(source)
    if begin:
        last = Stretch(source, begin, source.size())
        head = fmt.parse_file_header(last.read_at(0, fmt.FILE_HEADER_SIZE))
        layout = from_index(last, head[1] if head is not None else None)[0]
        # if the header is damaged, the token shows whether this is another file or one that bytes came into
        if layout is not None and (head is not None or token not in (None, layout.token)):
            return _Found(layout, Joint(begin))
    return None


def _before_table(source: Source) -> int:
    """Return how many bytes a file has before the first that its seek table counts; 0 if unknown."""
    tail = Tail(source)
    try:
        read_seek_table(tail)
    except SeekableFormatError as exc:
        if exc.has_table and exc.offset:
            entries = array("I", tail.read_from(exc.offset)[_TABLE_HEAD:-_TABLE_FOOT])
            if sys.byteorder == "big":
                entries.byteswap()
            return max(exc.offset - sum(entries[0::_TABLE_COLUMNS]), 0)
    return 0


def _check_head(source: Source, head: bytes) -> tuple[bytes | None, list[str]]:
    """Return the token of a file, None if its header is damaged, and the faults of the header."""
    found = fmt.parse_file_header(head)
    if found is None:
        if fmt.is_begun_file_header(head):
            return None, []  # its writer was killed before it wrote more
        return None, ["its header is damaged" if head[8:12] == fmt.FILE else "it does not begin with the header of one"]
    version, token = found
    if version > fmt.FORMAT_VERSION:
        raise RecordsError(f"{source.name}: version {version} of the format; this package reads {fmt.FORMAT_VERSION}")
    return token, []


def from_index(source: Source, token: bytes | None) -> tuple[Layout | None, str]:
    """
    Return the layout from a file's index, or None and the fault of the index ("" if there is no index).

    `token` is the file's, None if it is not known.
    """
    try:
        tail = Tail(source)
        table = read_seek_table(tail)
    except SeekableFormatError as exc:
        return None, str(exc) if exc.has_table else ""
    if not len(table):
        return None, "the seek table is empty"
    offset, size, _, content, _ = table.frame(len(table) - 1)
    data = tail.read_from(offset)
    index = fmt.parse_index_frame(data[:size])
    if index is None or content:
        return None, "the index in front of the seek table is damaged"
    if zlib.crc32(data[size:]) != index.table_crc:
        return None, "the seek table is not the one that the index belongs to"
    if token not in (None, index.token):
        return None, "the index is another file's"
    return _from_table(table, index, offset)


def _from_table(table: SeekTable, index: fmt.Index, end: int) -> tuple[Layout | None, str]:
    layout = Layout(index.token)
    layout.indexed = True
    entries = array("I", index.entries)
    if sys.byteorder == "big":
        entries.byteswap()
    used = 0
    covered = first = 0
    for number in range(len(table) - 1):
        offset, compressed, _, decompressed, checksum = table.frame(number)
        if not decompressed:
            continue
        if used + 2 > len(entries):
            return None, "the seek table has more frames than the index"
        records, lost = entries[used], entries[used + 1]
        used += 2
        if not 0 < records <= decompressed:
            return None, f"the index has a frame with {records} records in {decompressed} bytes"
        if lost:
            layout.gaps.append(Gap(covered, offset - layout.header_size, first, lost, MARKED, known=True))
            first += lost
        layout.add(Frame(offset, compressed, decompressed, records, first, checksum or 0))
        covered, first = offset + compressed, first + records
    if used != len(entries):
        return None, "the index has more frames than the seek table"
    if index.total > first:
        layout.gaps.append(Gap(covered, end, first, index.total - first, MARKED, known=True))
    layout.go_on(end, max(index.total, first))
    if index.dictionary:
        for number in range(len(table)):
            offset, size, _, _, _ = table.frame(number)
            if offset == index.dictionary:
                layout.dictionary = (offset, size)
                break
            if offset > index.dictionary:
                return None, "the index names a dictionary that is not there"
    return layout, ""


def extend(layout: Layout, source: Source, token: bytes | None) -> Joint | None:
    """
    Add the frames behind `layout.end`, which were written after the layout was read.

    `token` is the file's, None if it is not known. Returns where the header of another file follows, if one does.
    """
    walk = Walk(source, layout.end, source.size(), layout.total, token)
    before = b""
    for piece in walk:
        if isinstance(piece, Frame):
            begin = piece.offset - layout.header_size
            if layout.dictionary is None and 0 < walk.dictionary < begin:
                layout.dictionary = (walk.dictionary, begin - walk.dictionary)  # damaged, or the walk had met it
            layout.add(piece)
            layout.has_table = False
        elif isinstance(piece, Gap):
            layout.gaps.append(piece)
            layout.go_on(piece.end, piece.first + piece.records)
        else:
            kind, offset, length = piece
            layout.has_table = before == fmt.INDEX and not kind
            before = kind
            if kind == fmt.DICTIONARY and layout.dictionary is None:
                layout.dictionary = (offset, length)
            if kind in (fmt.FILE, fmt.DICTIONARY):
                layout.go_on(offset + length, layout.total)
    layout.token = walk.token or fmt.NO_TOKEN
    layout.torn = walk.torn
    if walk.inner is not None:
        layout.problems.append(
            f"the header of a record file is at byte {walk.inner}, in the frame that was never finished: part of a "
            "record, or another file that was appended"
        )
    return walk.joined
