# SPDX-License-Identifier: Apache-2.0
"""The documentation of compression.zstd about ZstdCompressor and ZstdDecompressor, on every backend."""

from __future__ import annotations

import copy
import pickle
import random
from types import ModuleType

import pytest
from zstd_data import FRAME_ABC, FRAME_ABC_UNSIZED, PAYLOADS, SKIPPABLE, TEXT, ZEROS

from purepy.zstd.format.header import read_header


@pytest.mark.parametrize("payload", PAYLOADS.values(), ids=PAYLOADS)
@pytest.mark.parametrize("step", [997, 50_000, 1 << 20])
def test_round_trip_in_pieces(zstd: ModuleType, payload: bytes, step: int) -> None:
    compressor, decompressor = zstd.ZstdCompressor(), zstd.ZstdDecompressor()
    compressed = b"".join(compressor.compress(payload[i : i + step]) for i in range(0, len(payload), step))
    compressed += compressor.flush()
    content = b"".join(decompressor.decompress(compressed[i : i + step]) for i in range(0, len(compressed), step))
    assert content == payload
    assert decompressor.eof


def test_modes(zstd: ModuleType) -> None:
    kind = zstd.ZstdCompressor
    assert (kind.CONTINUE, kind.FLUSH_BLOCK, kind.FLUSH_FRAME) == (0, 1, 2)
    compressor = kind()
    assert compressor.last_mode == compressor.FLUSH_FRAME
    compressor.compress(b"a")
    assert compressor.last_mode == compressor.CONTINUE
    compressor.compress(b"a", mode=compressor.FLUSH_BLOCK)
    assert compressor.last_mode == compressor.FLUSH_BLOCK
    compressor.flush()
    assert compressor.last_mode == compressor.FLUSH_FRAME
    with pytest.raises(AttributeError):
        compressor.last_mode = 0


@pytest.mark.parametrize("mode", [-1, 3, 100])
def test_wrong_modes(zstd: ModuleType, mode: int) -> None:
    compressor = zstd.ZstdCompressor()
    with pytest.raises(ValueError, match="mode"):
        compressor.compress(b"", mode)
    with pytest.raises(ValueError, match="mode"):
        compressor.flush(mode)
    with pytest.raises(ValueError, match="mode"):
        compressor.flush(compressor.CONTINUE)
    with pytest.raises(TypeError):
        compressor.compress(b"", b"mode")
    with pytest.raises(TypeError):
        compressor.flush(1.0)


def test_flush_block_lets_a_reader_have_everything(zstd: ModuleType) -> None:
    compressor, decompressor = zstd.ZstdCompressor(), zstd.ZstdDecompressor()
    for line in TEXT.splitlines(keepends=True)[:50]:
        assert decompressor.decompress(compressor.compress(line, compressor.FLUSH_BLOCK)) == line
    assert not decompressor.eof
    assert decompressor.decompress(compressor.flush()) == b""
    assert decompressor.eof


def test_flush_block_of_nothing_gives_nothing(zstd: ModuleType) -> None:
    compressor = zstd.ZstdCompressor()
    assert compressor.flush(compressor.FLUSH_BLOCK) == b""
    assert compressor.compress(b"123", compressor.FLUSH_BLOCK) != b""
    assert compressor.flush(compressor.FLUSH_BLOCK) == b""


def test_compressor_makes_many_frames(zstd: ModuleType) -> None:
    compressor = zstd.ZstdCompressor()
    frames = [compressor.compress(payload, compressor.FLUSH_FRAME) for payload in PAYLOADS.values()]
    assert frames == [zstd.compress(payload) for payload in PAYLOADS.values()]
    assert zstd.decompress(b"".join(frames)) == b"".join(PAYLOADS.values())
    assert zstd.decompress(compressor.flush()) == b""


def test_streamed_frame_has_no_size(zstd: ModuleType) -> None:
    compressor = zstd.ZstdCompressor()
    assert zstd.get_frame_info(compressor.compress(TEXT) + compressor.flush()).decompressed_size is None


def test_pledged_size(zstd: ModuleType) -> None:
    compressor = zstd.ZstdCompressor()
    compressor.set_pledged_input_size(2**64 - 3)
    compressor.set_pledged_input_size(len(TEXT))
    frame = compressor.compress(TEXT[:1000]) + compressor.compress(TEXT[1000:]) + compressor.flush()
    assert zstd.get_frame_info(frame).decompressed_size == len(TEXT)
    assert zstd.decompress(frame) == TEXT
    # it holds for one frame
    assert zstd.get_frame_info(compressor.compress(TEXT) + compressor.flush()).decompressed_size is None
    compressor.set_pledged_input_size(5)
    compressor.set_pledged_input_size(None)
    assert zstd.get_frame_info(compressor.compress(TEXT) + compressor.flush()).decompressed_size is None
    compressor.set_pledged_input_size(0)
    assert zstd.get_frame_info(compressor.compress(b"") + compressor.flush()).decompressed_size == 0


@pytest.mark.parametrize("size", [-1, 2**64 - 2, 2**64 - 1, 2**64, -(2**200)])
def test_pledged_size_out_of_range(zstd: ModuleType, size: int) -> None:
    with pytest.raises(ValueError, match="should be a positive int less than 18446744073709551614"):
        zstd.ZstdCompressor().set_pledged_input_size(size)


def test_pledged_size_between_frames_only(zstd: ModuleType) -> None:
    compressor = zstd.ZstdCompressor()
    for bad in ("5", 1.5):
        with pytest.raises(TypeError):
            compressor.set_pledged_input_size(bad)
    compressor.compress(b"abc")
    with pytest.raises(ValueError, match="last_mode == FLUSH_FRAME"):
        compressor.set_pledged_input_size(3)


@pytest.mark.parametrize("pledged", [2, 5, 4000])
def test_wrong_pledge(zstd: ModuleType, pledged: int) -> None:
    compressor = zstd.ZstdCompressor()
    compressor.set_pledged_input_size(pledged)

    def compress() -> None:
        compressor.compress(b"a")
        compressor.compress(b"bc")
        compressor.flush()

    with pytest.raises(zstd.ZstdError, match="Src size is incorrect"):
        compress()


def test_wrong_type_changes_nothing(zstd: ModuleType) -> None:
    compressor = zstd.ZstdCompressor()
    output = compressor.compress(b"abc")
    for bad in ("abc", None, 5):
        with pytest.raises(TypeError):
            compressor.compress(bad)
    assert zstd.decompress(output + compressor.flush()) == b"abc"


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
        with pytest.raises(EOFError, match="Already at the end of a Zstandard frame"):
            decompressor.decompress(data)
    for name in ("eof", "needs_input", "unused_data"):
        with pytest.raises(AttributeError):
            setattr(decompressor, name, 1)


def test_decompressor_reads_one_frame(zstd: ModuleType) -> None:
    decompressor = zstd.ZstdDecompressor()
    assert decompressor.decompress(SKIPPABLE + FRAME_ABC) == b""
    assert decompressor.eof
    assert decompressor.unused_data == FRAME_ABC


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
    """libzstd takes the 17th call in a row without progress for an error; a caller cannot know that."""
    decompressor = zstd.ZstdDecompressor()
    for _ in range(40):
        assert decompressor.decompress(b"") == b""
    decompressor.decompress(FRAME_ABC, 0)
    for _ in range(40):
        assert decompressor.decompress(b"", 0) == b""
        assert not decompressor.needs_input
    assert decompressor.decompress(b"") == b"abc"


def test_more_input_while_some_is_left(zstd: ModuleType) -> None:
    frame = zstd.compress(TEXT)
    decompressor = zstd.ZstdDecompressor()
    pieces = [decompressor.decompress(bytearray(frame[i : i + 100]), 50) for i in range(0, len(frame), 100)]
    while not decompressor.eof:
        pieces.append(decompressor.decompress(b"", 5000))
    assert b"".join(pieces) == TEXT


def test_input_is_copied_before_it_is_kept(zstd: ModuleType) -> None:
    frame = zstd.compress(TEXT)
    for size, limit in ((len(frame), 10), (12, -1)):
        data = bytearray(frame[:size])
        decompressor = zstd.ZstdDecompressor()
        first = decompressor.decompress(data, limit)
        data[:] = bytes(size)
        assert first + decompressor.decompress(frame[size:]) == TEXT


def test_one_byte_at_a_time(zstd: ModuleType) -> None:
    frame = zstd.compress(TEXT[:5000], options={zstd.CompressionParameter.checksum_flag: 1})
    decompressor = zstd.ZstdDecompressor()
    content = b"".join(decompressor.decompress(frame[i : i + 1]) for i in range(len(frame)))
    assert content == TEXT[:5000]
    assert decompressor.eof


def test_error_resets_the_object(zstd: ModuleType) -> None:
    decompressor = zstd.ZstdDecompressor()
    for _ in range(3):
        with pytest.raises(zstd.ZstdError, match="Unknown frame descriptor"):
            decompressor.decompress(b"garbage, no frame")
        assert (decompressor.eof, decompressor.needs_input) == (False, True)
    assert decompressor.decompress(FRAME_ABC) == b"abc"


def test_truncated_is_no_error_but_no_eof(zstd: ModuleType) -> None:
    for frame in (FRAME_ABC, FRAME_ABC_UNSIZED, zstd.compress(TEXT)):
        decompressor = zstd.ZstdDecompressor()
        decompressor.decompress(frame[:-1])
        assert not decompressor.eof
        assert decompressor.needs_input


def test_constructor_arguments(zstd: ModuleType) -> None:
    for bad in (123, b"abcd1234", {1: 2}, ()):
        with pytest.raises(TypeError):
            zstd.ZstdCompressor(zstd_dict=bad)
        with pytest.raises(TypeError):
            zstd.ZstdDecompressor(zstd_dict=bad)
    for bad in (123, b"abc", [], "abc"):
        with pytest.raises(TypeError):
            zstd.ZstdCompressor(options=bad)
        with pytest.raises(TypeError):
            zstd.ZstdDecompressor(options=bad)
    with pytest.raises(TypeError):
        zstd.ZstdCompressor(3, {})
    with pytest.raises(ValueError, match="valid range"):
        zstd.ZstdCompressor(100)
    zstd.ZstdDecompressor(None, {})
    zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: 20})


def test_decompress_arguments(zstd: ModuleType) -> None:
    decompressor = zstd.ZstdDecompressor()
    for arguments in ((), ("text",), (None,), (b"", "5"), (b"", 1.0), (b"", None)):
        with pytest.raises(TypeError):
            decompressor.decompress(*arguments)
    assert decompressor.decompress(data=FRAME_ABC, max_length=-5) == b"abc"


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


def test_offset_counts_the_whole_stream(zstd: ModuleType) -> None:
    decompressor = zstd.ZstdDecompressor(multi_frame=True)
    decompressor.decompress(FRAME_ABC)
    assert decompressor.decompress(FRAME_ABC + b"garbage, no frame") == b"abc"
    with pytest.raises(zstd.ZstdError) as info:
        decompressor.decompress(b"")
    assert info.value.offset == 2 * len(FRAME_ABC)


@pytest.mark.parametrize("name", ["ZstdCompressor", "ZstdDecompressor"])
def test_streams_do_not_pickle(zstd: ModuleType, name: str) -> None:
    stream = getattr(zstd, name)()
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        with pytest.raises(TypeError, match="pickle"):
            pickle.dumps(stream, protocol)
    with pytest.raises(TypeError):
        copy.copy(stream)
    with pytest.raises(TypeError):
        copy.deepcopy(stream)


def test_streams_have_subclasses(zstd: ModuleType) -> None:
    compressor = type("Sub", (zstd.ZstdCompressor,), {})()
    frame = compressor.compress(b"abc", compressor.FLUSH_FRAME)
    assert type("Sub", (zstd.ZstdDecompressor,), {})().decompress(frame) == b"abc"


@pytest.mark.parametrize("limit", [2**63 - 1, 2**63, 2**64, 2**70, -(2**63) - 1, -(2**70)])
def test_max_length_beyond_64_bits(zstd: ModuleType, limit: int) -> None:
    """Is as good as none, on every backend."""
    assert zstd.ZstdDecompressor().decompress(zstd.compress(b"abc" * 100), max_length=limit) == b"abc" * 100


def test_an_error_in_a_later_piece_says_where(zstd: ModuleType) -> None:
    """Its offset counts from the stream's begin, over frames and pieces; the stream begins anew behind it."""
    good, content = zstd.compress(b"good" * 100), random.Random(1).randbytes(1 << 19)
    broken = bytearray(zstd.compress(content))
    at = read_header(bytes(broken), 0, 18, 0, False).size
    while at < len(broken) // 2:
        at += 3 + (int.from_bytes(broken[at : at + 3], "little") >> 3)
    broken[at] |= 6  # a reserved kind of block
    pieces = [bytes(broken[start : start + 1000]) for start in range(0, len(broken), 1000)]
    found = []
    for before in (b"", good):
        stream = zstd.ZstdDecompressor(multi_frame=True)
        stream.decompress(before)
        with pytest.raises(zstd.ZstdError) as caught:
            list(map(stream.decompress, pieces))
        found.append(caught.value.offset - len(before))
        assert stream.decompress(good) == b"good" * 100
    assert found[0] == found[1]
    assert at - 1000 <= found[0] <= at + 3
