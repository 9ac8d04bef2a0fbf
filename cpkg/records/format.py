# SPDX-License-Identifier: Apache-2.0
"""
The frames of a record file that are not Zstandard's own: docs/records_format.md, as code.

All of them are skippable frames (RFC 8878, section 3.1.2), so that a Zstandard decoder passes over them. Each begins
with a prefix: the magic number, the size of what follows, four letters that say which kind it is, and a CRC-32 of
these letters and of what stands behind the CRC. Numbers are little-endian.
"""

from __future__ import annotations

import zlib
from struct import Struct
from typing import Final, NamedTuple

SKIPPABLE_MAGIC: Final = 0x184D2A5D
VERSION: Final = 1

FILE: Final = b"RecF"
DICTIONARY: Final = b"RecZ"
DATA: Final = b"RecD"
LOST: Final = b"RecX"
INDEX: Final = b"RecI"

PREFIX: Final = Struct("<II4sI")  # magic number, size of what follows these two, kind, CRC-32
_SIZE_FIELDS_END: Final = 8
_FILE_BODY: Final = Struct("<BBH")  # version, flags, reserved
_DATA_BODY: Final = Struct("<IIQQII")  # records, compressed, first, offset, decompressed, checksum
_INDEX_BODY: Final = Struct("<QQII")  # records, offset of the dictionary, frames, CRC-32 of the seek table
INDEX_ENTRY_SIZE: Final = 8

FILE_HEADER_SIZE: Final = PREFIX.size + _FILE_BODY.size
DATA_HEADER_SIZE: Final = PREFIX.size + _DATA_BODY.size
INDEX_HEADER_SIZE: Final = PREFIX.size + _INDEX_BODY.size
_DATA_SIZE: Final = DATA_HEADER_SIZE - _SIZE_FIELDS_END

CONTENT_MAX: Final = 1 << 30
"""The most bytes of records in a frame, as in the seekable format's own library."""
COMPRESSED_MAX: Final = 2**32 - 1
DICTIONARY_MAX: Final = 128 << 20
LOST_SIZE_MAX: Final = 1 << 31
"""The seek table has several entries for a longer stretch without records."""

HAS_NO_FLAGS: Final = 0
EMPTY_CHECKSUM: Final = 0x51D8E999
"""The low 32 bits of XXH64 of nothing: what the seek table has for frames without content."""


class DataHeader(NamedTuple):
    """
    What stands in front of a frame of records: which records they are and where.

    `offset` is its own position in the file, `compressed` the size of the Zstandard frame that follows at once,
    `decompressed` that of its content, and `checksum` the low 32 bits of the content's XXH64, as at the end of the
    Zstandard frame. `lost` is for records that a repair could not save: nothing follows the header.
    """

    records: int
    compressed: int
    first: int
    offset: int
    decompressed: int
    checksum: int
    lost: bool = False


def _frame(kind: bytes, body: bytes) -> bytes:
    size = PREFIX.size - _SIZE_FIELDS_END + len(body)
    return PREFIX.pack(SKIPPABLE_MAGIC, size, kind, zlib.crc32(body, zlib.crc32(kind))) + body


def file_header() -> bytes:
    """Return the first bytes of a record file."""
    return _frame(FILE, _FILE_BODY.pack(VERSION, HAS_NO_FLAGS, 0))


def dictionary_frame(content: bytes) -> bytes:
    """Return the frame that holds a dictionary of Zstandard."""
    return _frame(DICTIONARY, content)


def data_header(header: DataHeader) -> bytes:
    """Return the bytes in front of a frame of records, or in the place of one that is lost."""
    return _frame(LOST if header.lost else DATA, _DATA_BODY.pack(*header[:6]))


def index_frame(total: int, dictionary: int, entries: bytes, table_crc: int) -> bytes:
    """
    Return the index.

    `total` is the number that the next record would have, `dictionary` the offset of the dictionary's frame (0 for
    none), `entries` two 32-bit numbers for each frame of records: how many it has, and how many are lost before it.
    `table_crc` is the CRC-32 of the seek table behind the index.
    """
    body = _INDEX_BODY.pack(total, dictionary, len(entries) // INDEX_ENTRY_SIZE, table_crc)
    return _frame(INDEX, body + entries)


def _parse(data: bytes, kind: bytes, at: int = 0) -> tuple[int, int] | None:
    """Return the size field and CRC of a frame of that kind, whose start is at data[at:], or None."""
    if len(data) - at < PREFIX.size:
        return None
    magic, size, found, crc = PREFIX.unpack_from(data, at)
    return (size, crc) if magic == SKIPPABLE_MAGIC and found == kind else None


def _is_sound(kind: bytes, crc: int, body: bytes) -> bool:
    return zlib.crc32(body, zlib.crc32(kind)) == crc


def parse_data_header(data: bytes, at: int = 0) -> DataHeader | None:
    """Return the sound header at data[at:], in front of records or of what is lost, or None."""
    for kind in (DATA, LOST):
        found = _parse(data, kind, at)
        if found is not None and len(data) - at >= DATA_HEADER_SIZE:
            size, crc = found
            body = data[at + PREFIX.size : at + DATA_HEADER_SIZE]
            header = DataHeader._make((*_DATA_BODY.unpack(body), kind == LOST))
            # the shortest record has one byte
            possible = not header.compressed if header.lost else 0 < header.records <= header.decompressed
            return header if size == _DATA_SIZE and possible and _is_sound(kind, crc, body) else None
    return None


def parse_file_header(data: bytes) -> int | None:
    """Return the version that a file's first bytes tell, or None if they are not the header of a record file."""
    found = _parse(data, FILE)
    body = data[PREFIX.size : FILE_HEADER_SIZE]
    if found is None or found[0] != FILE_HEADER_SIZE - _SIZE_FIELDS_END or not _is_sound(FILE, found[1], body):
        return None
    version: int = _FILE_BODY.unpack(body)[0]
    return version


def parse_skippable(data: bytes) -> tuple[int, bytes] | None:
    """Return the whole size of the skippable frame that begins with `data`, and its kind (b"" if it is not ours)."""
    if len(data) < _SIZE_FIELDS_END or data[1:4] != b"\x2a\x4d\x18" or not 0x50 <= data[0] <= 0x5F:
        return None
    size = int.from_bytes(data[4:_SIZE_FIELDS_END], "little")
    ours = data[:4] == SKIPPABLE_MAGIC.to_bytes(4, "little") and size >= PREFIX.size - _SIZE_FIELDS_END
    return _SIZE_FIELDS_END + size, data[_SIZE_FIELDS_END : _SIZE_FIELDS_END + 4] if ours else b""


def parse_dictionary_frame(data: bytes) -> bytes | None:
    """Return the dictionary in a whole frame, or None if it is damaged."""
    found = _parse(data, DICTIONARY)
    content = data[PREFIX.size :]
    if found is None or found[0] != len(data) - _SIZE_FIELDS_END or not _is_sound(DICTIONARY, found[1], content):
        return None
    return content


class Index(NamedTuple):
    """The index of a file, as `index_frame` takes it."""

    total: int
    dictionary: int
    entries: bytes
    table_crc: int


def parse_index_frame(data: bytes) -> Index | None:
    """Return what a whole index frame holds, or None if it is damaged."""
    found = _parse(data, INDEX)
    if found is None or len(data) < INDEX_HEADER_SIZE or found[0] != len(data) - _SIZE_FIELDS_END:
        return None
    if not _is_sound(INDEX, found[1], data[PREFIX.size :]):
        return None
    total, dictionary, frames, table_crc = _INDEX_BODY.unpack_from(data, PREFIX.size)
    entries = data[INDEX_HEADER_SIZE:]
    return Index(total, dictionary, entries, table_crc) if len(entries) == frames * INDEX_ENTRY_SIZE else None
