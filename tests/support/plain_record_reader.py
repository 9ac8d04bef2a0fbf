# SPDX-License-Identifier: Apache-2.0
"""A reader of record files based only on docs/records_format.md; it shares no code with cpkg.records."""

from __future__ import annotations

import struct
import zlib
from collections import namedtuple
from typing import Any, Callable

MAGIC = b"\x5d\x2a\x4d\x18"
SIZE = 64
"""The size of the header of a frame."""
LOST_MAX = 2**32 - 1


class JoinedFilesError(Exception):
    """Another record file begins within the file."""


Header = namedtuple("Header", "kind records compressed first offset content checksum dictionary")
Found = namedtuple("Found", "frames total dictionary")
"""frames: (first number, position, size, number of records, size of content); total: the next number; dictionary."""


def skippable(data: bytes, at: int) -> int:
    """Return the size of the skippable frame at a position, or 0 if no complete skippable frame is there."""
    if len(data) - at < 8 or data[at + 1 : at + 4] != MAGIC[1:] or data[at] >> 4 != 5:
        return 0
    size = 8 + int.from_bytes(data[at + 4 : at + 8], "little")
    return size if at + size <= len(data) else 0


def sound(data: bytes, at: int, kind: bytes) -> bytes:
    """Return the frame of this kind at a position; b"" if there is none, or if it is incomplete or its CRC is wrong."""
    size = skippable(data, at)
    frame = data[at : at + size]
    if size < 16 or frame[:4] != MAGIC or frame[8:12] != kind:
        return b""
    return frame if zlib.crc32(kind + frame[16:]) == int.from_bytes(frame[12:16], "little") else b""


def file_header(data: bytes, at: int) -> bytes | None:
    """Return the token of the file that begins at a position, or None if no file begins there."""
    frame = sound(data, at, b"RecF")
    if not frame:
        return None
    if frame[16] > 1:
        raise ValueError("a newer version")
    return frame[20:28]


def frame_header(data: bytes, at: int, token: bytes | None) -> Header | None:
    for kind in (b"RecD", b"RecX"):
        frame = sound(data, at, kind)
        if len(frame) != 64 or (token is not None and frame[48:56] != token):
            continue
        records, compressed, first, offset, content, checksum = struct.unpack_from("<IIQQII", frame, 16)
        dictionary = int.from_bytes(frame[56:64], "little")
        if (kind == b"RecX" and not compressed) or (kind == b"RecD" and 0 < records <= content):
            return Header(kind, records, compressed, first, offset, content, checksum, dictionary)
    return None


def dictionary_at(data: bytes, at: int) -> bytes:
    return sound(data, at, b"RecZ")[16:] if at else b""


def by_index(data: bytes, token: bytes | None) -> Found | None:
    if data[-4:] != b"\xb1\xea\x92\x8f" or data[-5] != 0x80:
        return None
    count = int.from_bytes(data[-9:-5], "little")
    start = len(data) - 17 - 12 * count
    if start < 0 or data[start : start + 4] != b"\x5e\x2a\x4d\x18" or not count:
        return None
    entries = list(struct.iter_unpack("<III", data[start + 8 : -9]))
    before = start - sum(entry[0] for entry in entries)
    if before > 0 and file_header(data, before) is not None:
        raise JoinedFilesError
    index = sound(data, start - entries[-1][0], b"RecI")
    if before or not index:
        return None
    total, dictionary, frames, crc = struct.unpack_from("<QQII", index, 16)
    if zlib.crc32(data[start:]) != crc or token not in (None, index[40:48]):
        return None
    numbers = list(struct.iter_unpack("<II", index[48:]))
    if len(numbers) != frames or frames != sum(entry[1] > 0 for entry in entries):
        return None
    found, at, following = [], 0, 0
    for size, content, _ in entries:
        if content:
            records, lost = numbers[len(found)]
            found.append((following + lost, at, size, records, content))
            following += lost + records
        at += size
    return Found(found, total, dictionary_at(data, dictionary))


def by_headers(data: bytes, token: bytes | None) -> Found:
    frames: list[tuple[int, int, int, int, int]] = []
    at = following = stop = dictionary = moved = behind = 0
    last = None
    while at < len(data):
        header = frame_header(data, at, token)
        if header and header.offset + moved == at and can_follow(header, following, stop):
            end = at + SIZE + header.compressed
            if end > len(data):
                found = search(data, at + 1, token, header.first + header.records, stop, moved, is_exact=True)
                if found is None:
                    break
                at, moved = found
                continue
            if header.kind == b"RecD":
                frames.append((header.first, at + SIZE, header.compressed, header.records, header.content))
                stop = header.first + header.records
            following, dictionary, last = header.first + header.records, header.dictionary or dictionary, (at, header)
            at = behind = end
            continue
        size, ours = skippable(data, at), data[at : at + 4] == MAGIC
        kind = data[at + 8 : at + 12]
        ours = ours and size >= 16
        if size and (not ours or (kind not in (b"RecD", b"RecX") and sound(data, at, kind))):
            if ours and kind == b"RecF" and at:
                raise JoinedFilesError
            dictionary = at if ours and kind == b"RecZ" else dictionary
            at += size
            behind = at if kind in (b"RecF", b"RecZ") else behind
            continue
        if last and data[last[0] + SIZE + last[1].compressed - 4 :][:4] != struct.pack("<I", last[1].checksum):
            behind = last[0] + SIZE
        found = search(data, behind, token, following, stop, moved)
        if found is None:
            break
        at, moved = found
    return Found(frames, following, dictionary_at(data, dictionary))


def can_follow(header: Header, following: int, stop: int) -> bool:
    """Return whether a header's number is `following` or higher, with at most LOST_MAX records lost from `stop` on."""
    lost = header.records if header.kind == b"RecX" else 0
    return following <= header.first and header.first + lost - stop <= LOST_MAX


def search(
    data: bytes, start: int, token: bytes | None, following: int, stop: int, moved: int, is_exact: bool = False
) -> tuple[int, int] | None:
    """
    Return the position of the next header whose number is `following` or higher, and the bytes by which it has moved.
    """
    other: tuple[int, int] | None = None
    at = data.find(MAGIC, start)
    while at >= 0:
        header = frame_header(data, at, token)
        is_next = header and can_follow(header, following, stop) and not (is_exact and header.first > following)
        if is_next and at + SIZE + header.compressed <= len(data):
            if header.offset + moved == at:
                return at, moved
            if token is not None:
                other = other or (at, at - header.offset)
        at = data.find(MAGIC, at + 1)
    return other


def read(
    data: bytes, decompress: Callable[[bytes, bytes], bytes], unpack: Callable[[bytes], list[Any]]
) -> dict[int, Any]:
    """
    Return the records of a file by number, except lost records.

    `decompress(frame, dictionary)` raises ValueError for a damaged frame, `unpack(content)` returns the objects.
    """
    token = file_header(data, 0)
    found = by_index(data, token) or by_headers(data, token)
    records: dict[int, Any] = {}
    for first, at, size, count, content_size in found.frames:
        try:
            content = decompress(data[at : at + size], found.dictionary)
        except ValueError:
            continue
        values = unpack(content)
        if len(content) == content_size and len(values) == count:
            records.update(enumerate(values, first))
    return records
