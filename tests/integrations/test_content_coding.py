# SPDX-License-Identifier: Apache-2.0
"""Decompression of request bodies, shared by the middlewares of all frameworks."""

from __future__ import annotations

import pytest
from zstd_data import SKIPPABLE

from cpkg import zstd
from cpkg.integrations import _content_coding as coding


@pytest.mark.parametrize("kind", ["empty", "one byte", "skippable"])
def test_frames_of_a_body_are_bounded(kind: str) -> None:
    """Each frame takes time: with iteration in Python, 13 MB of empty frames blocked an event loop for a minute."""
    content = {"empty": b"", "one byte": b"x", "skippable": b""}[kind]
    frame = SKIPPABLE if kind == "skippable" else zstd.compress(content)
    allowed = coding.FRAMES_MAX
    assert coding.decompress_body(frame * allowed, 1 << 20) == content * allowed
    number = 2 * allowed
    with pytest.raises(zstd.ZstdError, match="the body has more than") as caught:
        coding.decompress_body(frame * number, 1 << 20)
    most = allowed + len(frame) * number // coding.FRAME_SIZE
    assert caught.value.offset == most * len(frame)


def test_content_may_contain_frames() -> None:
    content = zstd.compress(b"x") * 5000
    stored = zstd.compress(content, options={zstd.CompressionParameter.compression_level: -131072})
    assert coding.decompress_body(stored, 1 << 20) == content
