# SPDX-License-Identifier: Apache-2.0
"""ZstdCompressor's arguments, modes, pledges and failures: what `compression.zstd` does, and where it differs."""

from __future__ import annotations

import copy
import gc
import pickle

import pytest
from threads import run_threads
from zstd_dissect import dissect

from purepy.zstd import (
    CompressionParameter,
    DecompressionParameter,
    ZstdCompressor,
    ZstdDict,
    ZstdError,
    compress,
    compress_into,
    decompress,
)

CONTINUE, FLUSH_BLOCK, FLUSH_FRAME = ZstdCompressor.CONTINUE, ZstdCompressor.FLUSH_BLOCK, ZstdCompressor.FLUSH_FRAME


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


def test_defaults_and_zeros() -> None:
    data = b"levels " * 1000
    parameter = CompressionParameter
    assert compress(data) == compress(data, 3) == compress(data, 0) == compress(data, options={})
    assert compress(data, True) == compress(data, 1)
    zeros = {key: 0 for key in parameter if key not in (parameter.content_size_flag, parameter.dict_id_flag)}
    assert compress(data, options=zeros) == compress(data)


def test_modes() -> None:
    compressor = ZstdCompressor()
    assert compressor.last_mode == FLUSH_FRAME
    assert compressor.compress(b"abc") == b""
    assert compressor.last_mode == CONTINUE
    assert compressor.flush(FLUSH_BLOCK) == b"\x28\xb5\x2f\xfd\x00\x58\x18\x00\x00abc"
    assert compressor.last_mode == FLUSH_BLOCK
    assert compressor.flush(FLUSH_BLOCK) == b""
    assert compressor.flush() == b"\x01\x00\x00"
    assert compressor.last_mode == FLUSH_FRAME
    assert compressor.flush() == compress(b"") == b"\x28\xb5\x2f\xfd\x20\x00\x01\x00\x00"
    for mode in (3, -1):
        with pytest.raises(ValueError, match="mode argument wrong value"):
            compressor.compress(b"", mode)
        with pytest.raises(ValueError, match="mode argument wrong value"):
            compressor.flush(mode)
    with pytest.raises(ValueError, match="mode argument wrong value"):
        compressor.flush(CONTINUE)
    with pytest.raises(TypeError):
        compressor.compress(b"", "2")  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        compressor.compress("text")
    with pytest.raises(AttributeError):
        compressor.last_mode = 1  # type: ignore[misc]


@pytest.mark.parametrize("size", [-1, 2**64 - 2, 2**64])
def test_pledge_out_of_range(size: int) -> None:
    with pytest.raises(ValueError, match="size argument should be a positive int less than 18446744073709551614"):
        ZstdCompressor().set_pledged_input_size(size)


@pytest.mark.parametrize("size", ["1", 1.5])
def test_pledge_of_wrong_type(size: object) -> None:
    with pytest.raises(TypeError):
        ZstdCompressor().set_pledged_input_size(size)  # type: ignore[arg-type]


def test_pledge_is_written_and_holds_for_one_frame() -> None:
    compressor = ZstdCompressor()
    compressor.set_pledged_input_size(2**64 - 3)
    compressor.set_pledged_input_size(6)
    frame = compressor.compress(b"abc") + compressor.compress(b"def") + compressor.flush()
    assert dissect(frame).content_size == 6
    frame = compressor.compress(b"abc") + compressor.flush()
    assert dissect(frame).content_size is None
    compressor.set_pledged_input_size(6)
    compressor.set_pledged_input_size(None)
    assert dissect(compressor.compress(b"abc") + compressor.flush()).content_size is None


def test_pledge_inside_a_frame() -> None:
    compressor = ZstdCompressor()
    compressor.compress(b"abc")
    with pytest.raises(ValueError, match="must be called when last_mode == FLUSH_FRAME"):
        compressor.set_pledged_input_size(3)


def test_frame_in_one_call_needs_no_pledge() -> None:
    for pledge in (3, 300):
        compressor = ZstdCompressor()
        compressor.set_pledged_input_size(pledge)
        assert decompress(compressor.compress(b"x" * 20, FLUSH_FRAME)) == b"x" * 20


def test_going_against_the_pledge_changes_nothing() -> None:
    compressor = ZstdCompressor()
    compressor.set_pledged_input_size(6)
    out = compressor.compress(b"abc")
    for call in (lambda: compressor.compress(b"defg"), compressor.flush):
        with pytest.raises(ZstdError, match="Src size is incorrect") as caught:
            call()
        assert (caught.value.code, caught.value.name) == (72, "Src size is incorrect")
        assert compressor.last_mode == CONTINUE
    out += compressor.compress(b"def", FLUSH_FRAME)
    assert decompress(out) == b"abcdef"


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


def test_input_of_any_shape() -> None:
    import array

    values = array.array("i", range(1000))
    assert decompress(compress(values)) == values.tobytes()
    with pytest.raises(BufferError):
        compress(memoryview(values)[::2])
    assert decompress(compress(bytearray(b"abc" * 100))) == b"abc" * 100


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
    with pytest.raises(TypeError):
        compress_into(data, bytes(1000))


def test_neither_copied_nor_pickled_but_subclassed() -> None:
    compressor = ZstdCompressor()
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        with pytest.raises(TypeError):
            pickle.dumps(compressor, protocol)
    with pytest.raises(TypeError):
        copy.copy(compressor)
    with pytest.raises(TypeError):
        copy.deepcopy(compressor)
    sub = type("Sub", (ZstdCompressor,), {})
    assert decompress(sub().compress(b"abc", FLUSH_FRAME)) == b"abc"


def test_threads_share_a_compressor() -> None:
    compressor = ZstdCompressor(1)
    frames: list[bytes] = []

    def run() -> None:
        frames.extend(compressor.compress(b"thread " * 50, FLUSH_FRAME) for _ in range(20))

    assert run_threads(run, run, run, run) == []
    assert len(frames) == 80
    assert all(decompress(frame) == b"thread " * 50 for frame in frames)


@pytest.mark.parametrize("key", [CompressionParameter.checksum_flag, CompressionParameter.content_size_flag])
@pytest.mark.parametrize("value", [0, 1])
def test_flags(key: CompressionParameter, value: int) -> None:
    frame = dissect(compress(b"flags" * 10, options={key: value}))
    if key == CompressionParameter.checksum_flag:
        assert frame.checksum == bool(value)
    else:
        assert frame.content_size == (50 if value else None)


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


def test_dictionary_that_is_corrupted() -> None:
    broken = ZstdDict(b"\x37\xa4\x30\xec" + b"\x01\0\0\0" + b"\xff" * 100)
    with pytest.raises(ZstdError, match="Dictionary is corrupted"):
        compress(b"data", zstd_dict=broken)
    # As a prefix it is content like any other.
    assert decompress(compress(b"data", zstd_dict=broken.as_prefix), broken.as_prefix) == b"data"


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
