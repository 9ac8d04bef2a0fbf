# SPDX-License-Identifier: Apache-2.0
"""The pure ZstdCompressor's errors and output, and failures inside it."""

from __future__ import annotations

import pytest

from purepy.zstd import (
    CompressionParameter,
    ZstdCompressor,
    ZstdError,
    compress,
    decompress,
)

FLUSH_BLOCK, FLUSH_FRAME = ZstdCompressor.FLUSH_BLOCK, ZstdCompressor.FLUSH_FRAME


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


def test_breaking_the_pledge_has_the_error_code_of_libzstd() -> None:
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
        with pytest.raises(RuntimeError, match="from inside"):
            compressor.compress(b"abc", FLUSH_BLOCK)
    assert decompress(compressor.compress(b"def", FLUSH_FRAME)) == b"def"


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
