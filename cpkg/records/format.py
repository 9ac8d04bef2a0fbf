# SPDX-License-Identifier: Apache-2.0
"""
The frames of a record file that are not Zstandard's own: docs/records_format.md, as code.

All of them are skippable frames (RFC 8878, section 3.1.2), so that a Zstandard decoder passes over them. Each begins
with a prefix: the magic number, the size of what follows, four letters that say which kind it is, and a CRC-32 of
these letters and of the bytes behind the CRC. Numbers are little-endian.
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

PREFIX: Final = Struct("<II4sI")  # magic number, size of what follows these two, kind, CRC-32
_SIZE_FIELDS_END: Final = 8
_FILE_BODY: Final = Struct("<B3x8s")  # version, token
_DATA_BODY: Final = Struct("<IIQQII8sQ")  # DataHeader
_INDEX_BODY: Final = Struct("<QQII8s")  # Index
INDEX_ENTRY_SIZE: Final = 8

FILE_HEADER_SIZE: Final = PREFIX.size + _FILE_BODY.size
DATA_HEADER_SIZE: Final = PREFIX.size + _DATA_BODY.size

CONTENT_MAX: Final = 1 << 30
"""The most bytes of records in a frame, as in the seekable format's own library."""
DICTIONARY_MAX: Final = 128 << 20
LOST_MAX: Final = 2**32 - 1
"""The most records that can be lost between two frames."""
LOST_SIZE_MAX: Final = 1 << 31
"""The seek table has several entries for a longer stretch without records."""

EMPTY_CHECKSUM: Final = 0x51D8E999
"""The low 32 bits of XXH64 of nothing: what the seek table has for frames without content."""


class DataHeader(NamedTuple):
    """
    The header in front of a frame of records: their numbers and the position.

    `offset` is its own position in the file, `compressed` the size of the Zstandard frame that follows at once,
    `decompressed` that of its content, and `checksum` the low 32 bits of the content's XXH64, as at the end of the
    Zstandard frame. `token` is the file's, `dictionary` the offset of the dictionary if there is one in front of it,
    else 0. `lost` is for records that a repair could not save: nothing follows the header.
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
    """Return the first bytes of a record file."""
    return _frame(FILE, _FILE_BODY.pack(FORMAT_VERSION, token))


def dictionary_frame(content: bytes) -> bytes:
    """Return the frame that holds a dictionary of Zstandard."""
    return _frame(DICTIONARY, content)


def data_header(header: DataHeader) -> bytes:
    """Return the bytes in front of a frame of records, or instead of a frame that is lost."""
    return _frame(LOST if header.lost else DATA, _DATA_BODY.pack(*header[:-1]))


class Index(NamedTuple):
    """
    The index of a file.

    `total` is the number that the next record would have, `dictionary` the offset of the dictionary's frame (0 for
    none), `table_crc` the CRC-32 of the seek table behind the index, `entries` two 32-bit numbers for each frame of
    records: how many it has, and how many are lost in front of it.
    """

    total: int
    dictionary: int
    entries: bytes
    table_crc: int
    token: bytes


def index_frame(index: Index) -> bytes:
    """Return the frame that holds an index."""
    count = len(index.entries) // INDEX_ENTRY_SIZE
    body = _INDEX_BODY.pack(index.total, index.dictionary, count, index.table_crc, index.token)
    return _frame(INDEX, body + index.entries)


def index_size(frames: int) -> int:
    """Return the size of the index of so many frames."""
    return PREFIX.size + _INDEX_BODY.size + frames * INDEX_ENTRY_SIZE


def _body(kind: bytes, data: bytes, at: int = 0, needed: int = 0) -> bytes | None:
    """Return the body of a sound frame of that kind at data[at:], or None; with `needed`, of a frame of that size."""
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
    Return the valid header at data[at:], of records or of a loss, or None.

    `token` is that of the file, whose headers alone count; b"" takes those of any file.
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
    """Return the version and token that a file's first bytes give, or None if they are no header of a record file."""
    body = _body(FILE, data, at)
    if not body or (body[0] == FORMAT_VERSION and len(body) != _FILE_BODY.size):
        return None
    return body[0], body[4:]


def is_begun_file_header(data: bytes) -> bool:
    """Return whether a file is so short that its writer was killed before the header was written."""
    head = PREFIX.pack(SKIPPABLE_MAGIC, FILE_HEADER_SIZE - _SIZE_FIELDS_END, FILE, 0)[:-4]
    return len(data) < FILE_HEADER_SIZE and data[: len(head)] == head[: len(data)]


def parse_skippable(data: bytes) -> tuple[int, bytes] | None:
    """Return the whole size of the skippable frame that begins with `data`, and its kind (b"" if it is not ours)."""
    if len(data) < _SIZE_FIELDS_END or data[1:4] != b"\x2a\x4d\x18" or not 0x50 <= data[0] <= 0x5F:
        return None
    size = int.from_bytes(data[4:_SIZE_FIELDS_END], "little")
    ours = data[:4] == SKIPPABLE_MAGIC.to_bytes(4, "little") and size >= PREFIX.size - _SIZE_FIELDS_END
    return _SIZE_FIELDS_END + size, data[_SIZE_FIELDS_END : _SIZE_FIELDS_END + 4] if ours else b""


def parse_dictionary_frame(data: bytes) -> bytes | None:
    """Return the dictionary in a whole frame, or None if it is damaged."""
    return _body(DICTIONARY, data, needed=len(data))


def parse_index_frame(data: bytes) -> Index | None:
    """Return the content of a whole index frame, or None if it is damaged."""
    body = _body(INDEX, data, needed=len(data)) or b""
    if len(body) < _INDEX_BODY.size:
        return None
    total, dictionary, frames, table_crc, token = _INDEX_BODY.unpack_from(body)
    entries = body[_INDEX_BODY.size :]
    return Index(total, dictionary, entries, table_crc, token) if len(entries) == frames * INDEX_ENTRY_SIZE else None
