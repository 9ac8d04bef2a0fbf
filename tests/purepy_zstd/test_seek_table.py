# SPDX-License-Identifier: Apache-2.0
"""The seek table alone: written tables can be read, and damaged or wrong tables raise errors."""

from __future__ import annotations

import io
import json
import struct
from pathlib import Path

import pytest
from odd_files import Counting

from purepy.base.errors import SeekableFormatError, ZstdError
from purepy.zstd.seekable.table import SeekTable, read_seek_table

FRAMES = [(20, 100, 0xDEADBEEF), (12, 0, 0), (9, 0, 1), (1000, 131072, 0xFFFFFFFF)]


def table_of(frames: list[tuple[int, int, int]], checksums: bool) -> SeekTable:
    table = SeekTable(checksums=checksums)
    for compressed, decompressed, checksum in frames:
        table.append(compressed, decompressed, checksum if checksums else None)
    return table


def file_of(table: SeekTable) -> io.BytesIO:
    return io.BytesIO(bytes(table.compressed_size) + table.to_bytes())


@pytest.mark.parametrize("checksums", [False, True])
def test_what_is_written_is_read(checksums: bool) -> None:
    table = table_of(FRAMES, checksums)
    assert (len(table), table.compressed_size, table.decompressed_size) == (4, 1041, 131172)
    again = read_seek_table(file_of(table))
    assert again.checksums == checksums
    assert [again.frame(index) for index in range(4)] == [table.frame(index) for index in range(4)]
    assert again.frame(3) == (41, 1000, 100, 131072, 0xFFFFFFFF if checksums else None)
    assert again.to_bytes() == table.to_bytes()


def test_the_layout_is_that_of_the_format() -> None:
    table = SeekTable(checksums=True)
    table.append(7, 5, 9)
    assert table.to_bytes() == struct.pack("<IIIIIIBI", 0x184D2A5E, 21, 7, 5, 9, 1, 0x80, 0x8F92EAB1)
    assert SeekTable(checksums=False).to_bytes() == struct.pack("<IIIBI", 0x184D2A5E, 9, 0, 0, 0x8F92EAB1)


def test_find_passes_over_empty_frames() -> None:
    table = table_of([(9, 0, 0), *FRAMES], True)
    assert [table.find(position) for position in (0, 99, 100, 131171)] == [1, 1, 4, 4]
    for position in (-1, 131172):
        pytest.raises(IndexError, table.find, position).match("is outside the content")
    pytest.raises(IndexError, table.frame, 5).match("frame 5 does not exist")


def test_many_entries_are_read_from_a_file_that_gives_little_at_a_time() -> None:
    table = table_of([(100, number, number) for number in range(5000)], True)
    file = Counting(file_of(table).getvalue(), 1000)
    assert read_seek_table(file).frame(4999) == table.frame(4999)
    assert file.taken <= len(table.to_bytes()) + 4096


@pytest.mark.parametrize("frame", [(-1, 0, 0), (2**32, 0, 0), (0, 2**32, 0), (9, 9, None)])
def test_values_too_large_for_an_entry_are_refused(frame: tuple[int, int, int | None]) -> None:
    table = SeekTable(checksums=True)
    pytest.raises(ValueError, table.append, *frame)
    assert len(table) == 0


def damaged(change: dict[str, str], cut: int = 0, grow: str = "") -> io.BytesIO:
    """Return a file with changes in hexadecimal notation at positions, and with another end."""
    data = bytearray(file_of(table_of(FRAMES, True)).getvalue())
    for position, new in change.items():
        at = int(position) % len(data)
        data[at : at + len(new) // 2] = bytes.fromhex(new)
    return io.BytesIO(bytes(data[: len(data) - cut]) + bytes.fromhex(grow))


ROWS = json.loads(Path(__file__).with_name("damaged_tables.json").read_text(encoding="utf-8"))
DAMAGED = [
    (io.BytesIO(), "no seek table, or is truncated: the file has 0 bytes"),
    (io.BytesIO(bytes(500)), "no seek table, or is truncated: it ends with the bytes"),
    *((damaged(row.get("change", {}), row.get("cut", 0), row.get("grow", "")), row["text"]) for row in ROWS),
]


@pytest.mark.parametrize(("file", "text"), DAMAGED)
def test_damage_is_reported(file: io.BytesIO, text: str) -> None:
    with pytest.raises(SeekableFormatError, match=text) as caught:
        read_seek_table(file)
    assert isinstance(caught.value, ZstdError)
    assert caught.value.offset is not None


def test_unused_bits_are_ignored() -> None:
    assert len(read_seek_table(damaged({"-5": "83"}))) == 4
