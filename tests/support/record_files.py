# SPDX-License-Identifier: Apache-2.0
"""Record files for the tests: what is in them, and where."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any, Callable, NamedTuple

import plain_record_reader
import pytest

from cpkg import _positions, msgpack, records, zstd
from cpkg._positions import PathSource
from cpkg.records import format as fmt
from cpkg.records.format import DATA_HEADER_SIZE
from cpkg.records.layout import Frame, Layout
from cpkg.records.loading import load
from purepy import _system
from purepy.errors import ZstdError


def record(number: int) -> dict[str, Any]:
    """A record whose number can be told, of a size that varies."""
    return {"number": number, "name": f"record {number}", "values": [number * 0.5, None, b"\x00" * (number % 5)]}


def written(path: Path, count: int, *, per_frame: int = 0, close: bool = True, **options: Any) -> None:
    """Write records 0 to `count`; `per_frame` cuts frames of so many; without `close` the index is missing."""
    writer = records.open(path, "wb", threads=1, **options)
    for number in range(count):
        writer.append(record(number))
        if per_frame and number % per_frame == per_frame - 1:
            writer.flush()
    writer.close()
    if not close:
        forget_index(path)


def file_of(*frames: tuple[bytes, int], close: bool = True) -> bytes:
    """Return a file of frames, each given by its content and how many records it says to have."""
    layout = Layout(b"a token!")
    data = bytearray(fmt.file_header(layout.token))
    layout.go_on(len(data), 0)
    for number, (content, count) in enumerate(frames):
        frame = zstd.compress(content, options={zstd.CompressionParameter.checksum_flag: 1})
        at, checksum = layout.end + layout.header_size, int.from_bytes(frame[-4:], "little")
        layout.add(Frame(at, len(frame), len(content), count, layout.total, checksum))
        data += fmt.data_header(layout.header(layout.frame(number))) + frame
    return bytes(data) + (layout.tail() if close else b"")


def plainly(path: Path) -> dict[int, Any]:
    """Return what the reader finds that was written from the format's page alone, with codecs of ours."""
    return plain_record_reader.read(path.read_bytes(), _decompress, _unpack)


def _decompress(frame: bytes, dictionary: bytes) -> bytes:
    try:
        return zstd.decompress(frame, zstd_dict=zstd.ZstdDict(dictionary) if dictionary else None)
    except ZstdError as exc:
        raise ValueError(str(exc)) from exc


def _unpack(content: bytes) -> list[Any]:
    return list(msgpack.Unpacker(io.BytesIO(content), strict_map_key=False))


def write_in_pieces(patch: pytest.MonkeyPatch, ends: Callable[[int], tuple[int, ...]], look: Callable[[], Any]) -> None:
    """Let record files be written in pieces that end where `ends` says of a size; look behind each, and each cut."""
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

    patch.setattr(_system, "pwrite", write)
    patch.setattr(_positions.os, "ftruncate", cut)


def forget_index(path: Path) -> None:
    """Leave a file as a writer that was killed between two frames does."""
    with open(path, "r+b") as file:
        file.truncate(layout_of(path).end)


def layout_of(path: Path) -> Layout:
    """Where the frames of a file are."""
    source = PathSource(path)
    try:
        return load(source)
    finally:
        source.close()


class Span(NamedTuple):
    """Where a frame with its header is, and which records it has."""

    start: int
    end: int
    first: int
    stop: int


def spans(path: Path) -> list[Span]:
    """The frames of a sound file."""
    layout = layout_of(path)
    frames = [layout.frame(number) for number in range(len(layout))]
    return [
        Span(frame.offset - DATA_HEADER_SIZE, frame.offset + frame.compressed, frame.first, frame.first + frame.records)
        for frame in frames
    ]
