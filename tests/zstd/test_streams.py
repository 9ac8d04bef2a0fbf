# SPDX-License-Identifier: Apache-2.0
"""The documentation of compression.zstd about ZstdCompressor and ZstdDecompressor, on every backend."""

from __future__ import annotations

import random
from types import ModuleType

import pytest
from zstd_data import FRAME_ABC, PAYLOADS, TEXT, ZEROS

from purepy.zstd.format.header import read_header


def test_modes(zstd: ModuleType) -> None:
    compressor = zstd.ZstdCompressor()
    assert compressor.last_mode == compressor.FLUSH_FRAME
    compressor.compress(b"a")
    assert compressor.last_mode == compressor.CONTINUE
    compressor.compress(b"a", mode=compressor.FLUSH_BLOCK)
    assert compressor.last_mode == compressor.FLUSH_BLOCK
    compressor.flush()
    assert compressor.last_mode == compressor.FLUSH_FRAME


def test_flush_block_makes_all_data_readable(zstd: ModuleType) -> None:
    compressor, decompressor = zstd.ZstdCompressor(), zstd.ZstdDecompressor()
    for line in TEXT.splitlines(keepends=True)[:50]:
        assert decompressor.decompress(compressor.compress(line, compressor.FLUSH_BLOCK)) == line
    assert not decompressor.eof
    assert decompressor.decompress(compressor.flush()) == b""
    assert decompressor.eof


def test_compressor_makes_many_frames(zstd: ModuleType) -> None:
    compressor = zstd.ZstdCompressor()
    frames = [compressor.compress(payload, compressor.FLUSH_FRAME) for payload in PAYLOADS.values()]
    assert frames == [zstd.compress(payload) for payload in PAYLOADS.values()]
    assert zstd.decompress(b"".join(frames)) == b"".join(PAYLOADS.values())
    assert zstd.decompress(compressor.flush()) == b""


def test_pledged_size(zstd: ModuleType) -> None:
    compressor = zstd.ZstdCompressor()
    compressor.set_pledged_input_size(2**64 - 3)
    compressor.set_pledged_input_size(len(TEXT))
    frame = compressor.compress(TEXT[:1000]) + compressor.compress(TEXT[1000:]) + compressor.flush()
    assert zstd.get_frame_info(frame).decompressed_size == len(TEXT)
    assert zstd.decompress(frame) == TEXT
    # a pledge applies to one frame
    assert zstd.get_frame_info(compressor.compress(TEXT) + compressor.flush()).decompressed_size is None
    compressor.set_pledged_input_size(5)
    compressor.set_pledged_input_size(None)
    assert zstd.get_frame_info(compressor.compress(TEXT) + compressor.flush()).decompressed_size is None
    compressor.set_pledged_input_size(0)
    assert zstd.get_frame_info(compressor.compress(b"") + compressor.flush()).decompressed_size == 0


def test_decompressor_flags(zstd: ModuleType) -> None:
    decompressor = zstd.ZstdDecompressor()
    assert (decompressor.eof, decompressor.needs_input, decompressor.unused_data) == (False, True, b"")
    assert decompressor.decompress(b"") == b""
    assert decompressor.decompress(FRAME_ABC[:6]) == b""
    assert (decompressor.eof, decompressor.needs_input, decompressor.unused_data) == (False, True, b"")
    assert decompressor.decompress(FRAME_ABC[6:] + b"more") == b"abc"
    assert (decompressor.eof, decompressor.needs_input, decompressor.unused_data) == (True, False, b"more")
    assert decompressor.unused_data == b"more"
    for data in (b"", b"abc"):
        pytest.raises(EOFError, decompressor.decompress, data).match("Already at the end of a Zstandard frame")


@pytest.mark.parametrize("max_length", [0, 1, 2, 100, 131072, 150_000])
def test_max_length(zstd: ModuleType, max_length: int) -> None:
    frame = zstd.compress(ZEROS)
    decompressor = zstd.ZstdDecompressor()
    pieces = [decompressor.decompress(frame + b"tail", max_length)]
    while not decompressor.eof and len(pieces) < 4:
        assert not decompressor.needs_input
        assert decompressor.unused_data == b""
        pieces.append(decompressor.decompress(b"", max_length))
    assert max(map(len, pieces)) <= max_length
    if not decompressor.eof:
        pieces.append(decompressor.decompress(b""))
    assert b"".join(pieces) == ZEROS
    assert decompressor.eof
    assert decompressor.unused_data == b"tail"


def test_max_length_many_empty_calls(zstd: ModuleType) -> None:
    """libzstd treats the 17th call in a row without progress as an error, which callers cannot know."""
    decompressor = zstd.ZstdDecompressor()
    for _ in range(40):
        assert decompressor.decompress(b"") == b""
    decompressor.decompress(FRAME_ABC, 0)
    for _ in range(40):
        assert decompressor.decompress(b"", 0) == b""
        assert not decompressor.needs_input
    assert decompressor.decompress(b"") == b"abc"


def test_input_is_copied_before_it_is_kept(zstd: ModuleType) -> None:
    frame = zstd.compress(TEXT)
    for size, limit in ((len(frame), 10), (12, -1)):
        data = bytearray(frame[:size])
        decompressor = zstd.ZstdDecompressor()
        first = decompressor.decompress(data, limit)
        data[:] = bytes(size)
        assert first + decompressor.decompress(frame[size:]) == TEXT


def test_nothing_asked_for_after_a_frame(zstd: ModuleType) -> None:
    decompressor = zstd.ZstdDecompressor(multi_frame=True)
    for _ in range(2):
        assert decompressor.decompress(FRAME_ABC) == b"abc"
        assert (decompressor.eof, decompressor.needs_input) == (True, True)
        for limit in (0, -1, 5, 0):
            assert decompressor.decompress(b"", limit) == b""
            assert (decompressor.eof, decompressor.needs_input) == (True, True)
    assert decompressor.decompress(FRAME_ABC[:5]) == b""
    assert decompressor.decompress(b"", 0) == b""
    assert (decompressor.eof, decompressor.needs_input) == (False, False)


def test_an_error_in_a_later_piece_has_an_offset(zstd: ModuleType) -> None:
    """Its offset counts from the start of the stream, across frames and pieces; the stream restarts after it."""
    good, content = zstd.compress(b"good" * 100), random.Random(1).randbytes(1 << 19)
    broken = bytearray(zstd.compress(content))
    at = read_header(bytes(broken), 0, 18, 0, False).size
    while at < len(broken) // 2:
        at += 3 + (int.from_bytes(broken[at : at + 3], "little") >> 3)
    broken[at] |= 6  # the reserved block type
    pieces = [bytes(broken[start : start + 1000]) for start in range(0, len(broken), 1000)]
    found = []
    for before in (b"", good):
        stream = zstd.ZstdDecompressor(multi_frame=True)
        stream.decompress(before)
        caught = pytest.raises(zstd.ZstdError, list, map(stream.decompress, pieces))
        found.append(caught.value.offset - len(before))
        assert stream.decompress(good) == b"good" * 100
    assert found[0] == found[1]
    assert at - 1000 <= found[0] <= at + 3


@pytest.mark.parametrize("magic", [b"BAD!", b"\x28\xb5\x2fX", b"\x50\x2a\x4dX", b"\x28\xb5XY"])
@pytest.mark.parametrize(("front", "multi_frame"), [(0, False), (0, True), (1, True), (2, True)])
def test_a_wrong_magic_number_in_two_pieces(zstd: ModuleType, magic: bytes, front: int, multi_frame: bool) -> None:
    """The error's offset is the start of the number, wherever the number is divided."""
    frames = zstd.compress(b"abc") * front
    data = frames + magic + b"more"
    for cut in range(len(data)):
        decompressor = zstd.ZstdDecompressor(multi_frame=multi_frame)
        with pytest.raises(zstd.ZstdError) as caught:
            [decompressor.decompress(part) for part in (data[:cut], data[cut:], b"")]
        assert caught.value.offset == len(frames)


@pytest.mark.parametrize("size", [2, 4])
def test_code_of_a_size_that_was_not_pledged(zstd: ModuleType, size: int) -> None:
    compressor = zstd.ZstdCompressor()
    compressor.set_pledged_input_size(3)
    with pytest.raises(zstd.ZstdError, match=r"1 bytes (more|less) than pledged$") as caught:
        compressor.compress(bytes(size - 1)) + compressor.compress(b"x") + compressor.flush()
    assert caught.value.code == 72
