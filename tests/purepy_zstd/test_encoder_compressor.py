# SPDX-License-Identifier: Apache-2.0
"""What is the pure ZstdCompressor's own: texts of its errors, its bytes, failures inside of it, its memory."""

from __future__ import annotations

import gc

import pytest

from purepy.zstd import (
    CompressionParameter,
    DecompressionParameter,
    ZstdCompressor,
    ZstdError,
    compress,
    compress_into,
    decompress,
)

FLUSH_BLOCK, FLUSH_FRAME = ZstdCompressor.FLUSH_BLOCK, ZstdCompressor.FLUSH_FRAME


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"level": 3, "options": {}}, TypeError, "Only one of level or options should be used"),
        ({"level": "3"}, TypeError, "invalid type for level, expected int"),
        ({"level": 23}, ValueError, r"illegal compression level 23; the valid range is \[-131072, 22\]"),
        ({"level": -131073}, ValueError, "illegal compression level -131073"),
        ({"level": 1 << 70}, ValueError, "illegal compression level; the valid range"),
        ({"options": 5}, TypeError, "must be dict, not int"),
        ({"options": {"level": 1}}, TypeError, "integer"),
        ({"options": {100: "1"}}, TypeError, "integer"),
        ({"options": {9999: 1}}, ValueError, r"invalid compression parameter 'unknown parameter \(key 9999\)'"),
        ({"options": {CompressionParameter.window_log: 99}}, ValueError, r"'window_log'.* 99; .*\[10, 31\]"),
        ({"options": {CompressionParameter.strategy: 10}}, ValueError, r"'strategy'.*\[1, 9\]"),
        ({"options": {CompressionParameter.compression_level: 30}}, ValueError, "illegal compression level 30"),
        ({"options": {CompressionParameter.window_log: 1 << 70}}, OverflowError, "too large to convert to C int"),
        ({"options": {CompressionParameter.checksum_flag: 2}}, ValueError, r"'checksum_flag'.* 2; .*\[0, 1\]"),
        ({"options": {CompressionParameter.nb_workers: -1}}, ValueError, r"'nb_workers'.*\[0, 0\]"),
        ({"options": {DecompressionParameter.window_log_max: 20}}, TypeError, "DecompressionParameter"),
        ({"options": {CompressionParameter.nb_workers: 2}}, ValueError, r"'nb_workers'.*\[0, 0\]"),
        ({"zstd_dict": b"dictionary"}, TypeError, "zstd_dict argument should be a ZstdDict object"),
        ({"zstd_dict": (1, 2)}, TypeError, "zstd_dict argument should be a ZstdDict object"),
    ],
)
def test_wrong_arguments(arguments: dict, error: type, text: str) -> None:
    with pytest.raises(error, match=text):
        ZstdCompressor(**arguments)


def test_zeros_are_the_defaults() -> None:
    data = b"levels " * 1000
    parameter = CompressionParameter
    zeros = {key: 0 for key in parameter if key not in (parameter.content_size_flag, parameter.dict_id_flag)}
    assert compress(data, options=zeros) == compress(data)


def test_the_bytes_of_flushed_blocks() -> None:
    compressor = ZstdCompressor()
    assert compressor.compress(b"abc") == b""
    assert compressor.flush(FLUSH_BLOCK) == b"\x28\xb5\x2f\xfd\x00\x58\x18\x00\x00abc"
    assert compressor.flush() == b"\x01\x00\x00"
    assert compressor.flush() == compress(b"") == b"\x28\xb5\x2f\xfd\x20\x00\x01\x00\x00"


def test_frame_in_one_call_needs_no_pledge() -> None:
    for pledge in (3, 300):
        compressor = ZstdCompressor()
        compressor.set_pledged_input_size(pledge)
        assert decompress(compressor.compress(b"x" * 20, FLUSH_FRAME)) == b"x" * 20


def test_going_against_the_pledge_has_the_code_of_libzstd() -> None:
    compressor = ZstdCompressor()
    compressor.set_pledged_input_size(6)
    with pytest.raises(ZstdError) as caught:
        compressor.compress(b"abcdefg")
    assert (caught.value.code, caught.value.name) == (72, "Src size is incorrect")


def test_other_failures_reset(monkeypatch: pytest.MonkeyPatch) -> None:
    compressor = ZstdCompressor()
    compressor.compress(b"abc")

    def fail(*_: object, **__: object) -> None:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr("purepy.zstd.encoder.frame_encoder.encode_block", fail)
        with pytest.raises(MemoryError):
            compressor.flush()
    assert compressor.last_mode == FLUSH_FRAME
    assert decompress(compressor.compress(b"def", FLUSH_FRAME)) == b"def"


def test_call_from_inside_of_a_call_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    compressor = ZstdCompressor()

    def come_back(*_: object, **__: object) -> None:
        compressor.compress(b"again")

    with monkeypatch.context() as patch:
        patch.setattr("purepy.zstd.encoder.frame_encoder.encode_block", come_back)
        with pytest.raises(RuntimeError, match="inside one of its own calls"):
            compressor.compress(b"abc", FLUSH_BLOCK)
    assert decompress(compressor.compress(b"def", FLUSH_FRAME)) == b"def"


def test_compress_into_is_whole_or_nothing() -> None:
    data = bytes(range(256)) * 4
    frame = compress(data)
    buffer = bytearray(len(frame))
    assert compress_into(data, buffer) == len(frame)
    assert buffer == frame
    short = bytearray(len(frame) - 1)
    with pytest.raises(ZstdError, match="Destination buffer is too small") as caught:
        compress_into(data, short)
    assert caught.value.code == 70
    assert not any(short)


@pytest.mark.parametrize(
    "options",
    [
        {CompressionParameter.strategy: strategy, CompressionParameter.min_match: min_match}
        for strategy in range(1, 10)
        for min_match in (3, 5, 7)
    ]
    + [
        {CompressionParameter.hash_log: 6, CompressionParameter.chain_log: 6},
        {CompressionParameter.search_log: 10, CompressionParameter.strategy: 5},
        {CompressionParameter.target_length: 131072, CompressionParameter.strategy: 1},
        {CompressionParameter.window_log: 10, CompressionParameter.strategy: 4},
        {CompressionParameter.window_log: 31, CompressionParameter.hash_log: 30, CompressionParameter.chain_log: 30},
    ],
)
def test_options_of_the_match_finder(options: dict[int, int]) -> None:
    data = (b"To be, or not to be, that is the question: " + bytes(range(60))) * 40
    frame = compress(data, options=options)
    assert decompress(frame) == data
    assert len(frame) < len(data)


@pytest.mark.once
@pytest.mark.parametrize("level", [1, 3, 5])
def test_memory_follows_the_window_not_the_input(level: int) -> None:
    tracemalloc = pytest.importorskip("tracemalloc", reason="this interpreter does not trace memory")
    parameter = CompressionParameter
    window = 1 << 16
    piece = bytes(range(256)) * 256
    compressor = ZstdCompressor(options={parameter.compression_level: level, parameter.window_log: 16})
    compressor.compress(piece)
    gc.collect()
    tracemalloc.start()
    try:
        for _ in range(10):
            compressor.compress(piece)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # Twice the window and blocks, and the lists of one block's sequences.
    assert peak < 2 * window + 4 * window + (1 << 20)
