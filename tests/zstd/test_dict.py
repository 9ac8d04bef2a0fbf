# SPDX-License-Identifier: Apache-2.0
"""The documentation of compression.zstd about dictionaries, on every backend."""

from __future__ import annotations

import array
import io
import re
from types import ModuleType
from typing import Any

import pytest
from processes import run_alone, sections
from zstd_data import DICTIONARY, SAMPLES, TEXT, check_trains
from zstd_data import trained as trained_by

from purepy import zstd as pure

_trained: dict[str, Any] = {}


@pytest.fixture
def trained(zstd: ModuleType) -> Any:
    """A dictionary trained once by the backend under test, if it can train."""
    if zstd.BACKEND not in _trained:
        _trained[zstd.BACKEND] = trained_by(zstd, SAMPLES, 3000)
    return _trained[zstd.BACKEND]


def test_train(zstd: ModuleType, trained: Any) -> None:
    assert isinstance(trained, zstd.ZstdDict)
    assert 0 < len(trained) == len(trained.dict_content) <= 3000
    assert trained.dict_id != 0
    assert trained.dict_content[:4] == bytes.fromhex("37a430ec")
    assert re.fullmatch(r"<ZstdDict dict_id=\d+ dict_size=\d+>", repr(trained))


def test_trained_dictionary_helps(zstd: ModuleType, trained: Any) -> None:
    compressed = zstd.compress(SAMPLES[5], zstd_dict=trained)
    assert len(compressed) < len(zstd.compress(SAMPLES[5]))
    assert zstd.get_frame_info(compressed).dictionary_id == trained.dict_id
    assert zstd.decompress(compressed, trained) == SAMPLES[5]
    pytest.raises(zstd.ZstdError, zstd.decompress, compressed)


def test_dict_id_flag(zstd: ModuleType, trained: Any) -> None:
    options = {zstd.CompressionParameter.dict_id_flag: 0}
    compressed = zstd.compress(SAMPLES[5], options=options, zstd_dict=trained)
    assert zstd.get_frame_info(compressed).dictionary_id == 0
    assert zstd.decompress(compressed, trained) == SAMPLES[5]


def test_prefix_is_for_the_first_frame(zstd: ModuleType) -> None:
    prefix = zstd.ZstdDict(TEXT, is_raw=True).as_prefix
    compressor = zstd.ZstdCompressor(zstd_dict=prefix)
    first = compressor.compress(TEXT, compressor.FLUSH_FRAME)
    second = compressor.compress(TEXT, compressor.FLUSH_FRAME)
    assert len(first) < len(second) // 10
    assert zstd.get_frame_info(first).dictionary_id == 0
    assert zstd.decompress(first, prefix) == zstd.decompress(second) == TEXT
    assert zstd.decompress(first + first, prefix) == TEXT * 2
    target = bytearray(len(TEXT) * 2)
    assert zstd.decompress_into(first + first, target, prefix) == len(target)
    assert target == TEXT * 2
    multi = zstd.ZstdDecompressor(prefix, multi_frame=True)
    assert multi.decompress(first + first) == TEXT * 2
    assert multi.eof


def test_identity(zstd: ModuleType, trained: Any) -> None:
    pairs = [trained.as_digested_dict, trained.as_undigested_dict, trained.as_prefix]
    assert pairs == [(trained, 0), (trained, 1), (trained, 2)]
    assert zstd.ZstdDict(trained.dict_content) != trained
    assert zstd.ZstdDict(trained.dict_content, is_raw=True).dict_id == trained.dict_id
    assert hash(trained) == hash(trained)


def test_too_little_to_train_on(zstd: ModuleType) -> None:
    """libzstd crashes in several ways if the first three quarters of the samples have less than 8 bytes."""
    check_trains(zstd)
    done = run_alone(zstd, "zstd", sections(__file__, "programs.txt")["too little to train on"])
    assert done.returncode == 0, (done.returncode, done.stderr)


def test_samples_of_any_buffer(zstd: ModuleType) -> None:
    check_trains(zstd)
    samples = (array.array("H", (i % 5, i % 7, 300) * 20) for i in range(300))
    assert zstd.train_dict(samples, 2000).dict_id != 0


def test_finalize(zstd: ModuleType, trained: Any) -> None:
    check_trains(zstd)
    basis = zstd.ZstdDict(b"".join(SAMPLES[:10]), is_raw=True)
    final = zstd.finalize_dict(basis, samples=SAMPLES, dict_size=4000, level=5)
    assert final.dict_id not in (0, trained.dict_id)
    assert len(final) <= 4000
    assert zstd.decompress(zstd.compress(SAMPLES[3], 5, zstd_dict=final), final) == SAMPLES[3]
    with pytest.raises(zstd.ZstdError):
        zstd.decompress(zstd.compress(SAMPLES[3], zstd_dict=trained), final)


def test_pure_refuses_what_takes_libzstd() -> None:
    """The error names the other backends; the arguments are checked first."""
    content = pure.ZstdDict(DICTIONARY)
    long = {pure.CompressionParameter.enable_long_distance_matching: 1}
    for call in (
        lambda: pure.train_dict(SAMPLES, 1000),
        lambda: pure.finalize_dict(content, SAMPLES, 1000, 3),
        lambda: pure.compress(b"data", options=long),
        lambda: pure.ZstdCompressor(options=long),
        lambda: pure.open(io.BytesIO(), "wb", options=long),
    ):
        pytest.raises(pure.ZstdError, call).match(r"pure backend does not support .*`cpkg backends`")
    pytest.raises(ValueError, pure.train_dict, [], 1000).match("no data")
    for off in (0, 2):
        assert pure.compress(TEXT, options=dict.fromkeys(long, off)) == pure.compress(TEXT)
