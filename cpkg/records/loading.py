# SPDX-License-Identifier: Apache-2.0
"""
Find the frames of a record file, from the index at its end or by walking over all headers.

A file has an index once its writer has closed it. If the index is missing or damaged, the headers before the frames
have the same information.
"""

from __future__ import annotations

import sys
import zlib
from array import array
from typing import Final

from cpkg.records import format as fmt
from cpkg.records.errors import RecordsError, about, joined
from cpkg.records.layout import MARKED, Frame, Gap, Layout
from cpkg.records.positions import Source
from cpkg.records.sources import WINDOW, Tail, Window
from cpkg.records.walk import Walk
from purepy.base.errors import SeekableFormatError
from purepy.zstd.seekable.table import SeekTable, read_seek_table

_TABLE_HEAD: Final = 8
_TABLE_FOOT: Final = 9
_TABLE_COLUMNS: Final = 3


def load(source: Source) -> Layout:
    """
    Return the layout of a file, from its index if that is valid, otherwise by walking over all headers.

    Raises RecordsError if it is not a record file, has a newer format version, or consists of joined files.
    """
    token, fault = _check_head(source, source.read_at(0, fmt.FILE_HEADER_SIZE))
    before = None
    while True:
        layout, problem = from_index(source, token)
        if layout is None:
            layout, problem = _by_headers(source, token)
        # A writer may change the index between two reads of it, even without changing the size of the file. Only damage
        # that is found a second time is real.
        seen = problem, source.size()
        if not problem or seen == before:
            break
        before = seen
    if fault and not len(layout) and not any(gap.known for gap in layout.gaps):
        raise RecordsError(about(source.name, f"not a cpkg record file ({fault})"))
    layout.problems += filter(None, (fault, problem))
    return layout


def _check_head(source: Source, head: bytes) -> tuple[bytes, str]:
    """
    Return the token in `head`, the first bytes of a file, and the fault of the header; at least one of them is empty.

    Raises RecordsError for a newer format version.
    """
    found = fmt.parse_file_header(head)
    if found is None:
        if fmt.is_begun_file_header(head):
            return b"", ""  # the writer was killed before it wrote the whole header
        return b"", "header damaged" if head[8:12] == fmt.FILE else "header missing"
    version, token = found
    if version > fmt.FORMAT_VERSION:
        text = f"expected version {fmt.FORMAT_VERSION} of the record format, found {version}: upgrade cpkg"
        raise RecordsError(about(source.name, text))
    return token, ""


def _by_headers(source: Source, token: bytes) -> tuple[Layout, str]:
    """
    Return the layout according to all headers of the file, and the fault of its index ("" for none).

    If a writer closes the file meanwhile, returns the layout from its index and "".
    """
    layout = Layout(token)
    extend(layout, source, token)
    closed, problem = from_index(source, token)  # a writer may have closed the file meanwhile
    if closed is not None and layout.has_table:
        return closed, ""
    if layout.has_table and not problem:
        problem = "the seek table after the index is damaged"
    return layout, problem


def from_index(source: Source, token: bytes) -> tuple[Layout | None, str]:
    """
    Return (layout, fault): the layout from the index of a file, or None without a valid index, and the index's fault.

    The fault is "" if the index is valid or missing. `token` is the token of the file, b"" if unknown. Raises
    RecordsError if the index belongs to a record file that was appended to this one without `join`.
    """
    tail = Tail(source)
    try:
        table = read_seek_table(tail)
    except SeekableFormatError as exc:
        if not exc.has_table:
            return None, ""
        begin = _before_table(tail, exc.offset or 0)
        if begin and fmt.parse_file_header(source.read_at(begin, fmt.FILE_HEADER_SIZE)) is not None:
            raise joined(source.name, begin) from None
        return None, str(exc)
    if not len(table):
        return None, "the seek table is empty"
    offset, size, _, content, _ = table.frame(len(table) - 1)
    data = tail.read_from(offset)
    index = fmt.parse_index_frame(data[:size])
    if index is None or content:
        return None, "the index before the seek table is damaged"
    if zlib.crc32(data[size:]) != index.table_crc:
        return None, "the seek table does not belong to the index"
    if token not in (b"", index.token):
        return None, "the index belongs to another file"
    return _from_table(table, index, offset)


def _before_table(tail: Tail, offset: int) -> int:
    """Return how many bytes precede the frames that the seek table at `offset` lists; 0 if `offset` is 0 (unknown)."""
    entries = array("I")
    if offset:
        data = tail.read_from(offset)[_TABLE_HEAD:-_TABLE_FOOT]
        entries.frombytes(data[: len(data) // 4 * 4])
        if sys.byteorder == "big":
            entries.byteswap()
    return max(offset - sum(entries[0::_TABLE_COLUMNS]), 0)


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
            return None, f"the index has an impossible frame: {records} records in {decompressed} bytes"
        if lost:
            layout.gaps.append(Gap(covered, offset - fmt.DATA_HEADER_SIZE, first, lost, MARKED, known=True))
            first += lost
        layout.add(Frame(offset, compressed, decompressed, records, first, checksum or 0))
        covered, first = offset + compressed, first + records
    if used != len(entries):
        return None, "the index has more frames than the seek table"
    if index.total - first > fmt.LOST_MAX:
        return None, f"the index marks {index.total - first} records as lost at the end, more than {fmt.LOST_MAX}"
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
                return None, "the index names a dictionary that the file does not have"
    return layout, ""


def extend(layout: Layout, source: Source, token: bytes) -> None:
    """
    Add the frames and gaps that a walk over the headers finds from `layout.end` on.

    These are all frames for a new layout, otherwise those that were written since the layout was read. Also updates
    `dictionary`, `token`, `torn`, `foreign`, `has_table` and `problems`. `token` is the token of the file, b"" if
    unknown. Raises RecordsError if another record file was appended without `join`.
    """
    if not source.is_local:  # a request takes longer than reading a frame
        source = Window(source, source.size(), WINDOW)
    walk = Walk(source, layout.end, layout.total, token)
    before = b""
    for piece in walk:
        if isinstance(piece, Frame):
            begin = piece.offset - fmt.DATA_HEADER_SIZE
            if layout.dictionary is None and 0 < walk.dictionary < begin:
                layout.dictionary = (walk.dictionary, begin - walk.dictionary)  # damaged, so the walk missed it
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
    layout.token = walk.token
    layout.torn, layout.foreign = walk.torn, walk.foreign
    if walk.foreign:
        layout.problems.append(
            f"the header of another file or frame begins at byte {walk.foreign}, inside an unfinished frame: it is "
            "either record data or a file that was appended"
        )
