# SPDX-License-Identifier: Apache-2.0
"""train_dict and finalize_dict: their arguments, and dictionaries that help whoever uses them."""

from __future__ import annotations

import json
import random
from types import ModuleType
from typing import Any

import pytest

from purepy import zstd as pure
from purepy.zstd import ZstdDict, compress, decompress, finalize_dict, train_dict

_random = random.Random(17)


def record(number: int) -> bytes:
    names = ("alice", "bob", "carol", "dave")
    tags = _random.sample(("red", "green", "blue", "yellow", "black"), 3)
    fields = {"id": number, "name": _random.choice(names), "tags": tags, "score": round(_random.random(), 4)}
    return json.dumps(fields).encode()


SAMPLES = [record(number) for number in range(400)]


def total(module: Any, zstd_dict: Any, level: int = 3) -> int:
    size = 0
    for sample in SAMPLES[::5]:
        frame = module.compress(sample, level, zstd_dict=zstd_dict)
        assert module.decompress(frame, zstd_dict) == sample
        size += len(frame)
    return size


@pytest.fixture(scope="module")
def trained() -> ZstdDict:
    return train_dict(SAMPLES, 2000)


def test_trained_dictionary_makes_small_data_much_smaller(trained: ZstdDict) -> None:
    assert trained.dict_id >= 1 << 15
    assert 256 <= len(trained) <= 2000
    plain = sum(len(compress(sample)) for sample in SAMPLES[::5])
    assert total(pure, trained) < plain // 2


def test_every_backend_takes_the_dictionary(zstd: ModuleType, trained: ZstdDict) -> None:
    # Loading checks the tables; the frame names the dictionary.
    plain = sum(len(zstd.compress(sample)) for sample in SAMPLES[::5])
    for level in (1, 3, 9):
        assert total(zstd, zstd.ZstdDict(trained.dict_content), level) < plain // 2
    frame = zstd.compress(SAMPLES[0], zstd_dict=trained)
    assert zstd.get_frame_info(frame).dictionary_id == trained.dict_id
    assert decompress(frame, trained) == SAMPLES[0]
    assert zstd.decompress(compress(SAMPLES[0], zstd_dict=trained), trained) == SAMPLES[0]


def test_dictionaries_of_every_backend_are_taken(zstd: ModuleType) -> None:
    theirs = zstd.train_dict(SAMPLES, 2000)
    mine = ZstdDict(theirs.dict_content)
    plain = sum(len(compress(sample)) for sample in SAMPLES[::5])
    assert total(pure, mine) < plain // 2
    for sample in SAMPLES[::20]:
        assert zstd.decompress(compress(sample, zstd_dict=mine), theirs) == sample


def test_trained_dictionary_is_as_good_as_those_of_every_backend(zstd: ModuleType, trained: ZstdDict) -> None:
    assert total(pure, trained) < total(pure, ZstdDict(zstd.train_dict(SAMPLES, 2000).dict_content)) * 1.1


def test_finalized_dictionary_has_the_content_and_an_id_of_it(zstd: ModuleType) -> None:
    content = b"".join(SAMPLES[:20])
    raw = ZstdDict(content, is_raw=True)
    made = finalize_dict(raw, SAMPLES, 1 << 16, 3)
    assert made.dict_content.endswith(content)
    assert made.dict_id == zstd.finalize_dict(raw, SAMPLES, 1 << 16, 3).dict_id
    # The tables save more than they would have cost; each frame has four bytes of id.
    named = 4 * len(SAMPLES[::5])
    assert total(zstd, zstd.ZstdDict(made.dict_content)) < total(zstd, zstd.ZstdDict(content, is_raw=True)) + named


@pytest.mark.parametrize("size", [256, 300, 1000])
def test_content_that_does_not_fit_is_cut_at_its_start(size: int) -> None:
    content = b"".join(SAMPLES[:20])
    made = finalize_dict(ZstdDict(content, is_raw=True), SAMPLES, size, 3)
    assert len(made) == size
    assert made.dict_content.endswith(content[-50:])
    assert total(pure, made)


@pytest.mark.parametrize(
    "samples",
    [[b"a"] * 100, [b"12345678"] * 10, [_random.randbytes(100) for _ in range(60)], [bytes(3000)] * 8, SAMPLES[:7]],
    ids=["one byte", "one word", "noise", "zeros", "few"],
)
def test_odd_samples(zstd: ModuleType, samples: list[bytes]) -> None:
    made = train_dict(samples, 1000)
    data = samples[0] * 3
    frame = zstd.compress(data, zstd_dict=zstd.ZstdDict(made.dict_content))
    assert decompress(frame, made) == data
    assert zstd.decompress(compress(data, zstd_dict=made), zstd.ZstdDict(made.dict_content)) == data


def test_flat_literals_can_be_described() -> None:
    flat = [bytes(range(256))] * 10
    made = finalize_dict(ZstdDict(b"contents", is_raw=True), flat, 1000, 1)
    assert decompress(compress(b"data", zstd_dict=made), made) == b"data"


@pytest.mark.parametrize("level", [-5, 0, 1, 19, 100])
def test_finalize_at_any_level(level: int) -> None:
    made = finalize_dict(ZstdDict(b"".join(SAMPLES[:5]), is_raw=True), SAMPLES[:50], 2000, level)
    assert total(pure, made)
