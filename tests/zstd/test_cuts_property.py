# SPDX-License-Identifier: Apache-2.0
"""However the input is cut: frames, skippable ones among them, with a dictionary of every kind, give one content."""

from __future__ import annotations

import functools
import io
from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from zstd_data import SAMPLES, SKIPPABLE

relaxed = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])

TEXT = b"".join(SAMPLES[40:60])
KINDS = ("none", "raw digested", "raw undigested", "trained digested", "trained undigested", "prefix", "trained prefix")
EMPTY_SKIPPABLE = SKIPPABLE[:4] + bytes(4)


@functools.cache
def trained(zstd: ModuleType) -> Any:
    return zstd.train_dict(SAMPLES, 2000)


@functools.cache
def dictionary(zstd: ModuleType, kind: str) -> Any:
    if kind == "none":
        return None
    found = trained(zstd) if "trained" in kind else zstd.ZstdDict(TEXT, is_raw=True)
    return found.as_prefix if "prefix" in kind else getattr(found, f"as_{kind.split()[1]}_dict")


@functools.cache
def frame(zstd: ModuleType, kind: str, start: int, size: int, sized: bool) -> bytes:
    """Compress a part of the text, which a raw dictionary and a prefix have whole."""
    content = TEXT[start : start + size]
    if sized:
        return bytes(zstd.compress(content, zstd_dict=dictionary(zstd, kind)))
    options = {zstd.CompressionParameter.checksum_flag: 1}
    return b"".join(zstd.compress_iter([content], options=options, zstd_dict=dictionary(zstd, kind)))


class Cut(io.RawIOBase):
    """A file that gives one of its pieces per read."""

    def __init__(self, pieces: list[bytes]) -> None:
        self._pieces = list(pieces)

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        while self._pieces:
            piece = self._pieces.pop(0)
            if piece:
                return piece
        return b""


def in_pieces(zstd: ModuleType, pieces: list[bytes], found: Any, limit: int) -> bytes:
    decompressor = zstd.ZstdDecompressor(found, multi_frame=True)
    output = []
    for piece in pieces:
        output.append(decompressor.decompress(piece, limit))
        while not decompressor.needs_input:
            output.append(decompressor.decompress(b"", limit))
    assert decompressor.eof
    return b"".join(output)


def by_frame(zstd: ModuleType, frames: list[bytes], found: Any) -> bytes:
    """Decompress each frame with an object of its own."""
    output = []
    for data in frames:
        decompressor = zstd.ZstdDecompressor(found)
        output.append(decompressor.decompress(data))
        assert decompressor.eof
        assert not decompressor.unused_data
    return b"".join(output)


def from_file(zstd: ModuleType, pieces: list[bytes], found: Any, how: int) -> bytes:
    with zstd.ZstdFile(Cut(pieces), zstd_dict=found) as file:
        if how == 0:
            return bytes(file.read())
        if how == 1:
            return b"".join(file)
        output = bytearray()
        room = bytearray(how)
        while True:
            size = file.readinto1(room) if how % 2 else file.readinto(room)
            if not size:
                return bytes(output)
            output += room[:size]


def check(zstd: ModuleType, kind: str, frames: list[bytes], content: bytes, cuts: list[int], limit: int) -> None:
    data = b"".join(frames)
    edges = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    pieces = [data[start:end] for start, end in zip(edges, edges[1:])]
    found = dictionary(zstd, kind)
    assert zstd.decompress(data, found) == content
    assert zstd.decompress(data, found, max_output_size=len(content)) == content
    room = bytearray(len(content))
    assert zstd.decompress_into(data, room, found) == len(content)
    assert room == content
    assert by_frame(zstd, frames, found) == content
    for chunks in (pieces, frames, [data]):
        assert b"".join(zstd.decompress_iter(chunks, found)) == content
        assert b"".join(zstd.decompress_iter(chunks, found, write_size=limit)) == content
        assert in_pieces(zstd, chunks, found, -1) == content
        assert in_pieces(zstd, chunks, found, limit) == content
        for how in (0, 1, limit):
            assert from_file(zstd, chunks, found, how) == content


parts = st.one_of(
    st.sampled_from([(SKIPPABLE, b""), (EMPTY_SKIPPABLE, b"")]),
    st.tuples(st.sampled_from([0, 300, 2000]), st.sampled_from([0, 1, 700, 5000]), st.booleans()),
)


@relaxed
@given(
    st.sampled_from(KINDS),
    st.lists(parts, min_size=1, max_size=6),
    st.lists(st.integers(0, 1 << 16), max_size=8),
    st.sampled_from([1, 2, 700, 701, 4096]),
)
def test_the_result_does_not_depend_on_the_cuts(
    zstd: ModuleType, kind: str, chosen: list[tuple[Any, ...]], cuts: list[int], limit: int
) -> None:
    frames, content = [], b""
    for part in chosen:
        if isinstance(part[0], bytes):
            frames.append(part[0])
        else:
            start, size, sized = part
            frames.append(frame(zstd, kind, start, size, sized))
            content += TEXT[start : start + size]
    check(zstd, kind, frames, content, cuts, limit)


@pytest.mark.parametrize("kind", KINDS)
def test_every_place_to_cut(zstd: ModuleType, kind: str) -> None:
    """Between and inside of two frames and the skippable ones around them, one cut at a time."""
    frames = [SKIPPABLE, frame(zstd, kind, 0, 700, True), EMPTY_SKIPPABLE, frame(zstd, kind, 300, 700, False)]
    content = TEXT[:700] + TEXT[300:1000]
    data = b"".join(frames)
    found = dictionary(zstd, kind)
    for cut in range(len(data) + 1):
        pieces = [data[:cut], data[cut:]]
        assert in_pieces(zstd, pieces, found, -1) == content
        assert from_file(zstd, pieces, found, 0) == content


@pytest.mark.parametrize("kind", KINDS)
def test_an_object_serves_after_an_error(zstd: ModuleType, kind: str) -> None:
    """An error forgets the data, not the dictionary, whatever frames came before it."""
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
        if bad.startswith(good):  # what is in front of the error is returned first
            assert decompressor.decompress(bad) == TEXT[300:1000]
            bad = b""
        with pytest.raises(zstd.ZstdError):
            decompressor.decompress(bad)
        assert decompressor.decompress(good) == TEXT[300:1000]
        assert decompressor.eof
