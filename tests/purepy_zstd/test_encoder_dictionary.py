# SPDX-License-Identifier: Apache-2.0
"""Dictionaries make output smaller, with the pure encoder and decoder."""

from __future__ import annotations

from types import ModuleType

from zstd_data import SAMPLES, trained

from purepy.zstd import ZstdDict, compress, decompress


def test_dictionaries_of_every_backend_are_taken(zstd: ModuleType) -> None:
    theirs = trained(zstd, SAMPLES, 2000)
    mine = ZstdDict(theirs.dict_content)
    plain = size = 0
    for sample in SAMPLES[::5]:
        frame = compress(sample, zstd_dict=mine)
        assert zstd.decompress(frame, theirs) == decompress(frame, mine) == sample
        assert decompress(zstd.compress(sample, zstd_dict=theirs), mine) == sample
        size += len(frame)
        plain += len(compress(sample))
    assert size < plain * 3 // 4
