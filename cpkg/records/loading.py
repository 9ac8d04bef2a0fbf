# SPDX-License-Identifier: Apache-2.0
"""
Finding the frames of a record file: by the index at its end, or by walking over all headers.

A file has an index once a writer has closed it. Without one, and where it is damaged, the headers in front of the
frames tell the same.
"""

from __future__ import annotations

import sys
import zlib
from array import array

from cpkg.records import format as fmt
from cpkg.records.errors import RecordsError
from cpkg.records.layout import MARKED, Frame, Gap, Layout
from cpkg.records.sources import Source, Tail
from cpkg.records.walk import Walk
from purepy.errors import SeekableFormatError
from purepy.zstd_seek_table import SeekTable, read_seek_table


def load(source: Source) -> Layout:
    """
    Return the layout of a file: by its index if there is a sound one, else by walking over all headers.

    Raises RecordsError if it is no record file, or one of a newer version.
    """
    head = source.read_at(0, fmt.FILE_HEADER_SIZE)
    problems = _check_head(source, head)
    layout, why = from_index(source)
    if layout is None:
        layout = walked(source)
        if layout.has_table and not why:
            closed, why = from_index(source)  # its writer may have closed it meanwhile
            if closed is None:
                why = why or "the seek table behind the index is damaged"
            else:
                layout = closed
        if problems and not len(layout) and not layout.gaps:
            raise RecordsError(f"{source.name}: this is no record file: {problems[0]}")
    layout.problems += problems
    if why:
        layout.problems.append(why)
    return layout


def _check_head(source: Source, head: bytes) -> list[str]:
    if len(head) < fmt.FILE_HEADER_SIZE:
        if fmt.file_header().startswith(head):
            return []  # its writer was killed before it had written more
        return ["it does not begin with the header of one"]
    version = fmt.parse_file_header(head)
    if version is None:
        return ["its header is damaged" if head[8:12] == fmt.FILE else "it does not begin with the header of one"]
    if version > fmt.VERSION:
        raise RecordsError(f"{source.name}: version {version} of the format; this package reads {fmt.VERSION}")
    return []


def from_index(source: Source) -> tuple[Layout | None, str]:
    """Return the layout that the index tells, or None and what is wrong with the index ("" if there is none)."""
    try:
        tail = Tail(source)
        table = read_seek_table(tail)
    except SeekableFormatError as exc:
        return None, str(exc) if exc.has_table else ""
    if not len(table):
        return None, "the seek table is empty"
    offset, size, _, content, _ = table.frame(len(table) - 1)
    tail.seek(offset)
    data = tail.read(tail.seek(0, 2) - tail.seek(offset))
    index = fmt.parse_index_frame(data[:size])
    if index is None or content:
        return None, "the index in front of the seek table is damaged"
    if zlib.crc32(data[size:]) != index.table_crc:
        return None, "the seek table is not the one that the index belongs to"
    return _from_table(table, index, offset)


def _from_table(table: SeekTable, index: fmt.Index, end: int) -> tuple[Layout | None, str]:
    layout = Layout()
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
            layout.gaps.append(Gap(covered, offset - fmt.DATA_HEADER_SIZE, first, lost, MARKED, known=True))
            first += lost
        layout.add(Frame(offset, compressed, decompressed, records, first, checksum or 0))
        covered, first = layout.end, layout.total
    if used != len(entries):
        return None, "the index has more frames than the seek table"
    if index.total > first:
        layout.gaps.append(Gap(covered, end, first, index.total - first, MARKED, known=True))
        layout.total = index.total
    layout.end = end
    if index.dictionary:
        for number in range(len(table)):
            offset, size, _, _, _ = table.frame(number)
            if offset == index.dictionary:
                layout.dictionary = (offset, size)
                break
            if offset > index.dictionary:
                return None, "the index names a dictionary that is not there"
    return layout, ""


def find_dictionary(source: Source) -> tuple[int, int] | None:
    """Return where the dictionary of a file without index is, if it stands in front of the records."""
    head = source.read_at(fmt.FILE_HEADER_SIZE, fmt.PREFIX.size)
    other = fmt.parse_skippable(head)
    return (fmt.FILE_HEADER_SIZE, other[0]) if other is not None and other[1] == fmt.DICTIONARY else None


def walked(source: Source) -> Layout:
    """Return the layout that the headers of the whole file tell."""
    layout = Layout()
    extend(layout, source)
    return layout


def extend(layout: Layout, source: Source) -> None:
    """Add what stands behind `layout.end`: the frames that were written since the layout was made."""
    walk = Walk(source, layout.end, source.size(), layout.total)
    before = b""
    for piece in walk:
        if isinstance(piece, Frame):
            layout.add(piece)
            layout.has_table = False
        elif isinstance(piece, Gap):
            layout.gaps.append(piece)
            layout.end = piece.end
            layout.total = piece.first + piece.records
        else:
            kind, offset, length = piece
            layout.has_table = before == fmt.INDEX and not kind
            before = kind
            if kind == fmt.DICTIONARY and layout.dictionary is None:
                layout.dictionary = (offset, length)
            if kind in (fmt.FILE, fmt.DICTIONARY):
                layout.end = offset + length
    layout.torn = walk.torn
