# SPDX-License-Identifier: Apache-2.0
"""The pure codec decompresses libzstd's frames with any parameters, in one piece and in many."""

from __future__ import annotations

import random
from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from zstd_contents import contents
from zstd_oracle import FORMS, in_form, libzstd

SETTINGS = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
forms = pytest.mark.parametrize("form", FORMS)


@st.composite
def option_sets(draw: st.DrawFn) -> dict[str, int]:
    """Draw compression parameters by name: a level from -5 to 22, and often more."""
    options = {"compression_level": draw(st.integers(-5, 22))}
    choices = {
        "window_log": st.integers(10, 20),
        "strategy": st.integers(1, 9),
        "min_match": st.integers(3, 7),
        "target_length": st.integers(0, 4000),
        "enable_long_distance_matching": st.just(1),
        "ldm_min_match": st.integers(4, 64),
        "content_size_flag": st.integers(0, 1),
        "checksum_flag": st.integers(0, 1),
    }
    for name in draw(st.sets(st.sampled_from(sorted(choices)), max_size=4)):
        options[name] = draw(choices[name])
    return options


def options_for(library: ModuleType, names: dict[str, int]) -> dict[Any, int]:
    return {getattr(library.CompressionParameter, name): value for name, value in names.items()}


def compress_in_pieces(library: ModuleType, content: bytes, rng: random.Random, **arguments: Any) -> bytes:
    compressor = library.ZstdCompressor(**arguments)
    parts = []
    at = 0
    while at < len(content):
        step = rng.choice((1, 10, 500, 20_000))
        mode = rng.choice((compressor.CONTINUE, compressor.CONTINUE, compressor.FLUSH_BLOCK))
        parts.append(compressor.compress(content[at : at + step], mode))
        at += step
    return b"".join((*parts, compressor.flush()))


def decompress_in_pieces(codec: ModuleType, frame: bytes, rng: random.Random, **arguments: Any) -> bytes:
    decompressor = codec.ZstdDecompressor(**arguments)
    parts = []
    at = 0
    while not decompressor.eof:
        piece = b""
        if decompressor.needs_input:
            assert at < len(frame)
            step = rng.choice((1, 7, 300, 10_000))
            piece = frame[at : at + step]
            at += step
        limit = rng.choice((-1, -1, 1, 50, 3000, 200_000))
        parts.append(decompressor.decompress(piece, limit))
        assert limit < 0 or len(parts[-1]) <= limit
    assert frame[at:] == b""
    assert decompressor.unused_data == b""
    return b"".join(parts)


@forms
@SETTINGS
@given(content=contents(20_000), names=option_sets(), seed=st.integers(0, 2**32), is_streamed=st.booleans())
def test_any_parameters(form: str, content: bytes, names: dict[str, int], seed: int, is_streamed: bool) -> None:
    library, codec, rng = libzstd(), in_form(form), random.Random(seed)
    options = options_for(library, names)
    if is_streamed:
        frame = compress_in_pieces(library, content, rng, options=options)
    else:
        frame = library.compress(content, options=options)
    assert codec.decompress(frame) == content
    assert codec.get_frame_size(frame + b"more") == len(frame)
    ours, theirs = codec.get_frame_info(frame), library.get_frame_info(frame)
    assert (ours.decompressed_size, ours.dictionary_id) == (theirs.decompressed_size, theirs.dictionary_id)
    assert decompress_in_pieces(codec, frame, rng) == content


@forms
@SETTINGS
@given(data=st.data(), seed=st.integers(0, 2**32), level=st.integers(-5, 19))
def test_dictionaries(form: str, data: st.DataObject, seed: int, level: int) -> None:
    library, codec, rng = libzstd(), in_form(form), random.Random(seed)
    text = data.draw(contents(20_000))
    text += bytes(max(0, 8 - len(text)))
    content = text[rng.randrange(len(text)) :] + data.draw(contents(5000)) + text[: rng.randrange(len(text))]
    theirs, ours = library.ZstdDict(text, is_raw=True), codec.ZstdDict(text, is_raw=True)
    options = options_for(library, {"compression_level": level})
    if data.draw(st.booleans()):
        options.update(options_for(library, {"window_log": data.draw(st.integers(10, 14))}))
    how = data.draw(st.sampled_from(("as_digested_dict", "as_undigested_dict", "as_prefix")))
    frame = compress_in_pieces(library, content, rng, options=options, zstd_dict=getattr(theirs, how))
    zstd_dict = ours.as_prefix if how == "as_prefix" else data.draw(st.sampled_from((ours, ours.as_undigested_dict)))
    assert codec.decompress(frame, zstd_dict) == content
    assert decompress_in_pieces(codec, frame, rng, zstd_dict=zstd_dict) == content
