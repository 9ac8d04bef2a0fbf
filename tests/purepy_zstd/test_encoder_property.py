# SPDX-License-Identifier: Apache-2.0
"""Every backend reads the pure encoder's frames: with any level, options, dictionary, and order of calls."""

from __future__ import annotations

import random

import pytest
from backends import available
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from zstd_contents import contents
from zstd_data import DICTIONARY_HEADER

from purepy.zstd import CompressionParameter, ZstdCompressor, ZstdDict

PARAMETER = CompressionParameter
MODES = (ZstdCompressor.CONTINUE, ZstdCompressor.FLUSH_BLOCK, ZstdCompressor.FLUSH_FRAME)
SETTINGS = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
BACKENDS = list(available("zstd").values())


LEVELS = st.one_of(st.integers(-7, 12), st.sampled_from((-131072, -50, 13, 15, 16, 17, 18, 19, 20, 21, 22)))
MATCHING = st.fixed_dictionaries(
    {},
    optional={
        PARAMETER.compression_level: LEVELS,
        PARAMETER.window_log: st.integers(10, 20),
        PARAMETER.hash_log: st.integers(6, 18),
        PARAMETER.chain_log: st.integers(6, 18),
        PARAMETER.search_log: st.integers(1, 7),
        PARAMETER.min_match: st.integers(3, 7),
        PARAMETER.target_length: st.sampled_from((0, 1, 5, 100, 5000, 131072)),
        PARAMETER.strategy: st.integers(1, 9),
        PARAMETER.checksum_flag: st.integers(0, 1),
        PARAMETER.content_size_flag: st.integers(0, 1),
        PARAMETER.dict_id_flag: st.integers(0, 1),
    },
)


@SETTINGS
@given(data=contents(), options=MATCHING, pieces=st.lists(st.tuples(st.integers(0, 30_000), st.sampled_from(MODES))))
def test_any_order_of_calls(data: bytes, options: dict[int, int], pieces: list[tuple[int, int]]) -> None:
    compressor = ZstdCompressor(options=options)
    written = b""
    at = 0
    for size, mode in pieces:
        piece = data[at : at + size]
        at += size
        written += compressor.compress(piece, mode)
        if mode == ZstdCompressor.FLUSH_BLOCK:
            # Flushed data can be read without the data that follows.
            for zstd in BACKENDS:
                assert zstd.ZstdDecompressor(multi_frame=True).decompress(written) == data[:at]
    written += compressor.compress(data[at:]) + compressor.flush()
    assert [zstd.decompress(written) for zstd in BACKENDS] == [data] * len(BACKENDS)


@SETTINGS
@given(
    data=contents(20_000),
    content=contents(20_000),
    options=MATCHING,
    kind=st.sampled_from(("raw", "formatted", "prefix")),
    at_once=st.booleans(),
)
def test_dictionaries(data: bytes, content: bytes, options: dict[int, int], kind: str, at_once: bool) -> None:
    content += b"at least eight"
    zstd_dict = ZstdDict(content, is_raw=True)
    if kind == "formatted":
        zstd_dict = ZstdDict(DICTIONARY_HEADER + content)
    argument = zstd_dict.as_prefix if kind == "prefix" else zstd_dict
    compressor = ZstdCompressor(options=options, zstd_dict=argument)
    # Data that resembles the dictionary, before and after data that may not.
    data = content[len(content) // 2 :] + data + content
    if at_once:
        frame = compressor.compress(data, ZstdCompressor.FLUSH_FRAME)
    else:
        frame = compressor.compress(data[: len(data) // 3], ZstdCompressor.FLUSH_BLOCK)
        frame += compressor.compress(data[len(data) // 3 :]) + compressor.flush()
    assert [zstd.decompress(frame, argument) for zstd in BACKENDS] == [data] * len(BACKENDS)


@pytest.mark.parametrize("level", [1, 3, 5, 6, 9])
def test_long_streams_in_small_windows(level: int) -> None:
    seed = random.Random(level)
    words = [seed.randbytes(seed.randrange(2, 30)) for _ in range(400)]
    data = b"".join(seed.choices(words, k=10_000))
    for window_log in (10, 13, 17):
        content = data[: 12 << window_log]
        options = {PARAMETER.compression_level: level, PARAMETER.window_log: window_log, PARAMETER.checksum_flag: 1}
        compressor = ZstdCompressor(options=options)
        frame = b"".join(compressor.compress(content[at : at + 3000]) for at in range(0, len(content), 3000))
        frame += compressor.flush()
        assert [zstd.decompress(frame) for zstd in BACKENDS] == [content] * len(BACKENDS)
        assert len(frame) < len(content)
