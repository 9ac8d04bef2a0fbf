# SPDX-License-Identifier: Apache-2.0
"""The pure ZstdCompressor's errors and output, and failures inside it."""

from __future__ import annotations

import pytest

from purepy.zstd import (
    CompressionParameter,
    ZstdCompressor,
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
