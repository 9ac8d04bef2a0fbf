# SPDX-License-Identifier: Apache-2.0
"""However the input is divided, frames, skippable frames and frames with any dictionary give the same content."""

from __future__ import annotations

import functools
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from zstd_data import SAMPLES, SKIPPABLE
from zstd_data import trained as trained_by
from zstd_ways import in_parts

TEXT = b"".join(SAMPLES[40:60])
KINDS = ("none", "raw digested", "raw undigested", "trained digested", "trained undigested", "prefix", "trained prefix")


@functools.cache
def trained(zstd: ModuleType) -> Any:
    return trained_by(zstd, SAMPLES, 2000)


@functools.cache
def dictionary(zstd: ModuleType, kind: str) -> Any:
    if kind == "none":
        return None
    found = trained(zstd) if "trained" in kind else zstd.ZstdDict(TEXT, is_raw=True)
    return found.as_prefix if "prefix" in kind else getattr(found, f"as_{kind.split()[1]}_dict")


@functools.cache
def frame(zstd: ModuleType, kind: str, start: int, size: int, sized: bool) -> bytes:
    """Compress a part of the text; a raw dictionary and a prefix contain the whole text."""
    content = TEXT[start : start + size]
    if sized:
        return bytes(zstd.compress(content, zstd_dict=dictionary(zstd, kind)))
    options = {zstd.CompressionParameter.checksum_flag: 1}
    return b"".join(zstd.compress_iter([content], options=options, zstd_dict=dictionary(zstd, kind)))


def cut_file(pieces: list[bytes]) -> Any:
    """Return a file that returns one of its pieces per read."""
    rest = filter(None, pieces)
    return SimpleNamespace(read=lambda size: next(rest, b""))


def from_file(zstd: ModuleType, pieces: list[bytes], found: Any, room: bytearray) -> bytes:
    with zstd.ZstdFile(cut_file(pieces), zstd_dict=found) as file:
        read = file.readinto1 if len(room) % 2 else file.readinto
        return b"".join(bytes(room[:size]) for size in iter(lambda: read(room), 0))


@pytest.mark.parametrize("kind", KINDS)
def test_every_place_to_divide_the_data(zstd: ModuleType, kind: str) -> None:
    frames = [SKIPPABLE, frame(zstd, kind, 0, 700, True), SKIPPABLE[:4] + bytes(4), frame(zstd, kind, 300, 700, False)]
    content = TEXT[:700] + TEXT[300:1000]
    data = b"".join(frames)
    found = dictionary(zstd, kind)
    assert zstd.decompress(data, found, max_output_size=len(content)) == content
    room = bytearray(len(content))
    assert (zstd.decompress_into(data, room, found), room) == (len(content), content)
    limits = [-1, 64, 699, 700, 4096]
    for cut in range(0, len(data) + 1, 11 if zstd.BACKEND == "pure" else 1):
        pieces, limit = [data[:cut], data[cut:]], limits[cut % len(limits)]
        size = 64 if limit < 0 else limit
        decompressor = zstd.ZstdDecompressor(found, multi_frame=True)
        assert b"".join(in_parts(decompressor, pieces, limit)) == content
        assert decompressor.eof
        assert b"".join(zstd.decompress_iter(pieces, found, write_size=size)) == content
        assert from_file(zstd, pieces, found, bytearray(size)) == content
        with zstd.ZstdFile(cut_file(pieces), zstd_dict=found) as file:
            assert (file.read() if cut % 2 else b"".join(file)) == content


@pytest.mark.parametrize("kind", KINDS)
def test_an_object_serves_after_an_error(zstd: ModuleType, kind: str) -> None:
    """An error discards the data but not the dictionary, whatever frames came before."""
    found = dictionary(zstd, kind)
    good = frame(zstd, kind, 300, 700, True)
    corrupt = good[:-9] + b"\xff" * 9
    for multi_frame, bad in (
        (False, b"no frame"),
        (False, corrupt),
        (True, b"no frame"),
        (True, corrupt),
        (True, SKIPPABLE + corrupt),
        (True, good + b"no frame"),
        (True, good + corrupt),
    ):
        decompressor = zstd.ZstdDecompressor(found, multi_frame=multi_frame)
        if bad.startswith(good):  # the content before the error is returned first
            assert decompressor.decompress(bad) == TEXT[300:1000]
            bad = b""
        pytest.raises(zstd.ZstdError, decompressor.decompress, bad)
        assert decompressor.decompress(good) == TEXT[300:1000]
        assert decompressor.eof
