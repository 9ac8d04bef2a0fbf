# SPDX-License-Identifier: Apache-2.0
"""
Encode and parse the skippable frames of a record file, as docs/records_format.md describes them.

A Zstandard decoder ignores skippable frames (RFC 8878, section 3.1.2). Each of these frames begins with a prefix: the
magic number, the number of bytes after this field, four letters for the kind, and a CRC-32 of these letters and of the
bytes after the CRC. Numbers are little-endian. The seek table, another skippable frame, is encoded elsewhere.
"""

from __future__ import annotations

import zlib
from struct import Struct
from typing import Final, NamedTuple

SKIPPABLE_MAGIC: Final = 0x184D2A5D
FORMAT_VERSION: Final = 1
TOKEN_SIZE: Final = 8

FILE: Final = b"RecF"
DICTIONARY: Final = b"RecZ"
DATA: Final = b"RecD"
LOST: Final = b"RecX"
INDEX: Final = b"RecI"

PREFIX: Final = Struct("<II4sI")  # magic number, size of everything after this field, kind, CRC-32
_SIZE_FIELDS_END: Final = 8
_FILE_BODY: Final = Struct("<B3x8s")  # version, token
_DATA_BODY: Final = Struct("<IIQQII8sQ")  # DataHeader
_INDEX_BODY: Final = Struct("<QQII8s")  # Index
INDEX_ENTRY_SIZE: Final = 8

FILE_HEADER_SIZE: Final = PREFIX.size + _FILE_BODY.size
DATA_HEADER_SIZE: Final = PREFIX.size + _DATA_BODY.size

CONTENT_MAX: Final = 1 << 30
"""The maximum bytes of records in a frame, as in the reference library of the seekable format."""
DICTIONARY_MAX: Final = 128 << 20
LOST_MAX: Final = 2**32 - 1
"""The maximum number of lost records between two frames."""
LOST_SIZE_MAX: Final = 1 << 31
"""The maximum bytes without records that one entry of the seek table covers; a longer stretch has several entries."""

EMPTY_CHECKSUM: Final = 0x51D8E999
"""The low 32 bits of XXH64 of no data, which the seek table contains for frames without content."""


class DataHeader(NamedTuple):
    """
    The header before a frame of records.

    `records` is the number of records, `first` the number of the first one. `offset` is the header's own position in
    the file. `compressed` is the size of the Zstandard frame after the header, `decompressed` the size of its content,
    and `checksum` the low 32 bits of the XXH64 of the content, which are also at the end of the Zstandard frame.
    `token` is the token of the file. `dictionary` is the offset of the dictionary's frame if it precedes the header, or
    0. `lost` marks records that a repair could not save: no frame follows then, and the two sizes and `checksum` are 0.
    """

    records: int
    compressed: int
    first: int
    offset: int
    decompressed: int
    checksum: int
    token: bytes
    dictionary: int
    lost: bool = False


def _frame(kind: bytes, body: bytes) -> bytes:
    size = PREFIX.size - _SIZE_FIELDS_END + len(body)
    return PREFIX.pack(SKIPPABLE_MAGIC, size, kind, zlib.crc32(body, zlib.crc32(kind))) + body


def file_header(token: bytes) -> bytes:
    """Return the header with which a record file with this token begins."""
    return _frame(FILE, _FILE_BODY.pack(FORMAT_VERSION, token))


def dictionary_frame(content: bytes) -> bytes:
    """Return the skippable frame that contains the bytes of a Zstandard dictionary."""
    return _frame(DICTIONARY, content)


def data_header(header: DataHeader) -> bytes:
    """Return the bytes of a header, which belong before a frame of records or in place of lost records."""
    return _frame(LOST if header.lost else DATA, _DATA_BODY.pack(*header[:-1]))


class Index(NamedTuple):
    """
    The index of a file.

    `total` is the number that the next record would get, `dictionary` the offset of the dictionary's frame (0 for
    none), `table_crc` the CRC-32 of the seek table after the index, and `token` the token of the file. `entries` has
    two 32-bit numbers for each frame of records: its number of records, and the number of records lost just before it.
    """

    total: int
    dictionary: int
    entries: bytes
    table_crc: int
    token: bytes


def index_frame(index: Index) -> bytes:
    """Return the skippable frame that contains an index."""
    count = len(index.entries) // INDEX_ENTRY_SIZE
    body = _INDEX_BODY.pack(index.total, index.dictionary, count, index.table_crc, index.token)
    return _frame(INDEX, body + index.entries)


def index_size(frames: int) -> int:
    """Return the total size in bytes of the skippable frame with the index of `frames` frames of records."""
    return PREFIX.size + _INDEX_BODY.size + frames * INDEX_ENTRY_SIZE


def _body(kind: bytes, data: bytes, at: int = 0, needed: int = 0) -> bytes | None:
    """Return the body of a valid frame of this kind at data[at:], or None; `needed` is the frame's size, 0 for any."""
    if len(data) - at < PREFIX.size:
        return None
    magic, size, found, crc = PREFIX.unpack_from(data, at)
    size += _SIZE_FIELDS_END
    is_of_kind = magic == SKIPPABLE_MAGIC and found == kind and needed in (0, size)
    if not is_of_kind or not PREFIX.size <= size <= len(data) - at:
        return None
    body = data[at + PREFIX.size : at + size]
    return body if zlib.crc32(body, zlib.crc32(kind)) == crc else None


def parse_data_header(data: bytes, token: bytes = b"", at: int = 0) -> DataHeader | None:
    """
    Return the header at data[at:], of existing or lost records; None if there is no valid one.

    `token` is the token of the file: headers with another token are not valid. b"" accepts headers of any file.
    """
    for kind in (DATA, LOST):
        body = _body(kind, data, at, DATA_HEADER_SIZE)
        if body is not None:
            header = DataHeader(*_DATA_BODY.unpack(body))._replace(lost=kind == LOST)
            # the shortest record has one byte
            possible = not header.compressed if header.lost else 0 < header.records <= header.decompressed
            return header if possible and token in (b"", header.token) else None
    return None


def parse_file_header(data: bytes, at: int = 0) -> tuple[int, bytes] | None:
    """Return the version and token in the file header at data[at:], None if there is no valid file header."""
    body = _body(FILE, data, at)
    if not body or (body[0] == FORMAT_VERSION and len(body) != _FILE_BODY.size):
        return None
    return body[0], body[4:]


def is_begun_file_header(data: bytes) -> bool:
    """Return whether `data`, the first bytes of a file, may be a killed writer's unfinished header; True for b""."""
    head = PREFIX.pack(SKIPPABLE_MAGIC, FILE_HEADER_SIZE - _SIZE_FIELDS_END, FILE, 0)[:-4]
    return len(data) < FILE_HEADER_SIZE and data[: len(head)] == head[: len(data)]


def parse_skippable(data: bytes) -> tuple[int, bytes] | None:
    """
    Return the total size and the kind of the skippable frame with which `data` begins; None for other data.

    The kind is b"" if the magic number is not SKIPPABLE_MAGIC, or if the frame is too small for a kind and a CRC. The
    CRC is not checked, and the frame may be longer than `data`.
    """
    if len(data) < _SIZE_FIELDS_END or data[1:4] != b"\x2a\x4d\x18" or not 0x50 <= data[0] <= 0x5F:
        return None
    size = int.from_bytes(data[4:_SIZE_FIELDS_END], "little")
    ours = data[:4] == SKIPPABLE_MAGIC.to_bytes(4, "little") and size >= PREFIX.size - _SIZE_FIELDS_END
    return _SIZE_FIELDS_END + size, data[_SIZE_FIELDS_END : _SIZE_FIELDS_END + 4] if ours else b""


def parse_dictionary_frame(data: bytes) -> bytes | None:
    """Return the bytes of the dictionary in `data`, a whole frame; None if it is not a valid frame of this kind."""
    return _body(DICTIONARY, data, needed=len(data))


def parse_index_frame(data: bytes) -> Index | None:
    """Return the index in `data`, a whole frame; None if it is not a valid frame of this kind."""
    body = _body(INDEX, data, needed=len(data)) or b""
    if len(body) < _INDEX_BODY.size:
        return None
    total, dictionary, frames, table_crc, token = _INDEX_BODY.unpack_from(body)
    entries = body[_INDEX_BODY.size :]
    return Index(total, dictionary, entries, table_crc, token) if len(entries) == frames * INDEX_ENTRY_SIZE else None
