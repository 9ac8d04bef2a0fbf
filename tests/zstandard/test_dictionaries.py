# SPDX-License-Identifier: Apache-2.0
"""Dictionaries of cpkg.zstandard: kinds, preparation, training, and chains of contents."""

from __future__ import annotations

import pickle
from types import SimpleNamespace
from typing import Any

import pytest
from backends import available
from zstd_data import DICTIONARY, SAMPLES, check_trains

from cpkg.zstandard import ZstdError
from cpkg.zstandard.backend_names import names_over

RECORD = b"colour=3 size=5 animal=dog n=77777\n"


def trained_by(zstandard: SimpleNamespace) -> Any:
    """Return a dictionary trained by the backend; for the pure backend, return DICTIONARY."""
    if zstandard.codec.BACKEND == "pure":
        return zstandard.ZstdCompressionDict(DICTIONARY)
    return zstandard.train_dictionary(2000, SAMPLES)


@pytest.mark.parametrize("prepared", ["not", "level", "parameters"])
@pytest.mark.parametrize("kind", ["trained", "raw", "trained as raw"])
def test_round_trips(zstandard: SimpleNamespace, kind: str, prepared: str) -> None:
    """Frames with any kind of dictionary are smaller, and every backend decompresses them with the same one."""
    trained = trained_by(zstandard)
    data = b"".join(SAMPLES[:20]) if kind == "raw" else trained.as_bytes()
    dict_type = zstandard.DICT_TYPE_RAWCONTENT if kind == "trained as raw" else zstandard.DICT_TYPE_AUTO
    dictionary = zstandard.ZstdCompressionDict(data, dict_type)
    assert dictionary.dict_id() == (0 if kind == "raw" else trained.dict_id())
    if prepared == "level":
        dictionary.precompute_compress(level=6)
    elif prepared == "parameters":
        dictionary.precompute_compress(compression_params=zstandard.ZstdCompressionParameters.from_level(6))
    compressor = zstandard.ZstdCompressor(dict_data=dictionary, write_checksum=True)
    packer = compressor.compressobj()
    frames = [compressor.compress(RECORD), compressor.compress(RECORD), packer.compress(RECORD) + packer.flush()]
    assert len(frames[0]) < len(zstandard.compress(RECORD)) * 0.8
    assert frames[0] == frames[1]
    for codec in available("zstd").values():
        names = SimpleNamespace(**names_over(codec))
        decompressor = names.ZstdDecompressor(dict_data=dictionary)
        for frame in frames:
            assert decompressor.decompress(frame, 1000) == RECORD
            assert decompressor.decompressobj().decompress(frame) == RECORD
            assert b"".join(decompressor.read_to_iter(frame)) == RECORD
        with pytest.raises(zstandard.ZstdError):
            names.ZstdDecompressor().decompress(frames[0])


def test_ids(zstandard: SimpleNamespace) -> None:
    check_trains(zstandard.codec)
    dictionary = zstandard.train_dictionary(1024, SAMPLES, dict_id=4711)
    assert dictionary.dict_id() == 4711
    named = zstandard.ZstdCompressor(dict_data=dictionary).compress(RECORD)
    assert zstandard.get_frame_parameters(named).dict_id == 4711
    unnamed = zstandard.ZstdCompressor(dict_data=dictionary, write_dict_id=False).compress(RECORD)
    assert zstandard.get_frame_parameters(unnamed).dict_id == 0
    pytest.raises(zstandard.ZstdError, zstandard.decompress, named).match("Dictionary mismatch")


def test_pure_does_not_train() -> None:
    with pytest.raises(ZstdError, match=r"cannot train dict: .*pure backend does not support"):
        names_over(available("zstd")["pure"])["train_dictionary"](1024, SAMPLES)


def test_pickling(zstandard: SimpleNamespace) -> None:
    check_trains(zstandard.codec)
    dictionary = zstandard.train_dictionary(1024, SAMPLES, k=200, d=8)
    again = pickle.loads(pickle.dumps(dictionary))
    assert (again.as_bytes(), again.k, again.d, len(again)) == (dictionary.as_bytes(), 200, 8, len(dictionary))


def test_chain(zstandard: SimpleNamespace) -> None:
    """Each content is the dictionary of the next frame."""
    contents = [b"first " * 50, b"first second " * 50, b"second third " * 50, b"tiny", b"after a tiny one " * 5]
    frames = [zstandard.compress(contents[0])]
    for before, content in zip(contents, contents[1:]):
        compressor = zstandard.ZstdCompressor(dict_data=zstandard.ZstdCompressionDict(before))
        frames.append(compressor.compress(content))
    decompressor = zstandard.ZstdDecompressor()
    for length, content in enumerate(contents, 1):
        assert decompressor.decompress_content_dict_chain(frames[:length]) == content
    with pytest.raises(zstandard.ZstdError, match="chunk 1 did not decompress full frame"):
        decompressor.decompress_content_dict_chain([frames[0], frames[1][:-1]])


def test_the_stdlib_backend_digests_once(zstandard: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    codec = zstandard.ZstdCompressor._codec
    if codec.BACKEND != "stdlib":
        pytest.skip("other backends keep tables, which tests/zstd/test_digests.py counts")
    created: list[object] = []
    new = codec.ZstdCompressor._new
    monkeypatch.setattr(codec.ZstdCompressor, "_new", lambda self: created.append(self) or new(self))
    compressor = zstandard.ZstdCompressor(dict_data=zstandard.ZstdCompressionDict(b"content of a dictionary" * 10))
    frames = {compressor.compress(b"the content of a frame" * 10) for _ in range(3)}
    assert len(frames) == len(created) == 1
