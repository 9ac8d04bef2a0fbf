# SPDX-License-Identifier: Apache-2.0
"""Create record files for tests, and find their frames."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, Callable, NamedTuple

import plain_record_reader
import pytest
import zstd_data

from cpkg import _backend, msgpack, records, zstd
from cpkg.records import format as fmt
from cpkg.records import positions
from cpkg.records.format import DATA_HEADER_SIZE
from cpkg.records.layout import Frame, Layout
from cpkg.records.loading import load
from cpkg.records.positions import PathSource
from purepy.base import system
from purepy.base.errors import ZstdError


def record(number: int) -> dict[str, Any]:
    """Return a record that contains its number, of varying size."""
    return {"number": number, "name": f"record {number}", "values": [number * 0.5, None, b"\x00" * (number % 5)]}


def numbered(*bounds: int) -> list[dict[str, Any]]:
    """Return the records with the numbers of a range."""
    return [record(number) for number in range(*bounds)]


def nested(depth: int) -> Any:
    """Return 1 inside `depth` nested lists."""
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def depth_of(value: Any) -> int:
    """Return the depth of nested lists around 1; lists of such depth cannot be compared."""
    depth = 0
    while value != 1:
        (value,) = value
        depth += 1
    return depth


def event(number: int) -> dict[str, Any]:
    """Return a record that is suitable for training a dictionary."""
    return {"user": f"user{number % 97}", "action": ("login", "logout", "buy")[number % 3], "amount": number % 1009}


def trained(rows: Iterable[Any], size: int = 1000) -> zstd.ZstdDict:
    """Return a dictionary trained from records, or a ready dictionary with the backend `pure`, which cannot train."""
    found: zstd.ZstdDict = zstd_data.trained(_backend.zstd(), [msgpack.packb(row) for row in rows], size)
    return found


def written(path: Path, count: int, *, per_frame: int = 0, close: bool = True, **options: Any) -> None:
    """Write `count` records from 0 on, with `per_frame` in each frame if it is not 0; without `close`, no index."""
    writer = records.open(path, "wb", threads=1, **options)
    for number in range(count):
        writer.append(record(number))
        if per_frame and number % per_frame == per_frame - 1:
            writer.flush()
    writer.close()
    if not close:
        forget_index(path)


def write_all(place: Any, rows: Iterable[Any], *, mode: Any = "wb", **options: Any) -> None:
    """Write rows into a record file."""
    with records.open(place, mode, **options) as writer:
        writer.extend(rows)


def read_all(place: Any, **options: Any) -> list[Any]:
    """Return all records of a file, in order."""
    with records.open(place, **options) as reader:
        return list(reader)


def readable(reader: records.Reader) -> dict[int, Any]:
    """Return the records that can be read by number."""
    found = {}
    for number in range(len(reader)):
        with suppress(records.DamagedError):
            found[number] = reader[number]
    return found


def file_of(*frames: tuple[bytes, int], close: bool = True) -> bytes:
    """Return a file of frames, each given as (content, number of records in the header); without `close`, no index."""
    layout = Layout(b"a token!")
    data = bytearray(fmt.file_header(layout.token))
    layout.go_on(len(data), 0)
    for number, (content, count) in enumerate(frames):
        frame = zstd.compress(content, options={zstd.CompressionParameter.checksum_flag: 1})
        at, checksum = layout.end + DATA_HEADER_SIZE, int.from_bytes(frame[-4:], "little")
        layout.add(Frame(at, len(frame), len(content), count, layout.total, checksum))
        data += fmt.data_header(layout.header(layout.frame(number))) + frame
    return bytes(data) + (layout.tail() if close else b"")


def plainly(path: Path) -> dict[int, Any]:
    """Return the records that plain_record_reader finds in a file; it decompresses and unpacks with our codecs."""
    return plain_record_reader.read(path.read_bytes(), _decompress, _unpack)


def _decompress(frame: bytes, dictionary: bytes) -> bytes:
    try:
        return zstd.decompress(frame, zstd_dict=zstd.ZstdDict(dictionary) if dictionary else None)
    except ZstdError as exc:
        raise ValueError(str(exc)) from exc


def _unpack(content: bytes) -> list[Any]:
    return list(msgpack.Unpacker(io.BytesIO(content), strict_map_key=False))


def write_in_pieces(patch: pytest.MonkeyPatch, ends: Callable[[int], tuple[int, ...]], look: Callable[[], Any]) -> None:
    """Divide each write to a record file at `ends(its size)`; call `look` after each piece and each truncation."""
    pwrite, ftruncate = os.pwrite, os.ftruncate

    def write(descriptor: int, data: Any, offset: int) -> int:
        done = 0
        for end in ends(len(data)):
            if end > done:
                done += pwrite(descriptor, data[done:end], offset + done)
                look()
        return done

    def cut(descriptor: int, size: int) -> None:
        ftruncate(descriptor, size)
        look()

    patch.setattr(system, "pwrite", write)
    patch.setattr(positions.os, "ftruncate", cut)


def flipped(data: bytes, at: int, bits: int = 1) -> bytes:
    """Return data with bits of one byte flipped."""
    at %= len(data)
    return data[:at] + bytes([data[at] ^ bits]) + data[at + 1 :]


def flip(path: Path, at: int, bits: int = 1) -> None:
    """Flip bits of one byte of a file."""
    path.write_bytes(flipped(path.read_bytes(), at, bits))


def forget_index(path: Path) -> None:
    """Remove the index, as if the writer was killed between two frames."""
    with open(path, "r+b") as file:
        file.truncate(layout_of(path).end)


def layout_of(path: Path) -> Layout:
    """Return the layout of a file."""
    source = PathSource(path)
    try:
        return load(source)
    finally:
        source.close()


class Span(NamedTuple):
    """The position of a frame and its header, and the numbers of its records."""

    start: int
    end: int
    first: int
    stop: int


def spans(path: Path) -> list[Span]:
    """Return the frames of an undamaged file."""
    layout = layout_of(path)
    frames = [layout.frame(number) for number in range(len(layout))]
    return [
        Span(frame.offset - DATA_HEADER_SIZE, frame.offset + frame.compressed, frame.first, frame.first + frame.records)
        for frame in frames
    ]
