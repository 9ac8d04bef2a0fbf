# SPDX-License-Identifier: Apache-2.0
"""Decompression of request bodies, shared by the middlewares of all frameworks."""

from __future__ import annotations

import pytest
from zstd_data import SKIPPABLE

from cpkg import zstd
from cpkg.integrations import _content_coding as coding
from purepy.base.errors import LimitError


@pytest.mark.parametrize(
    ("frame", "content"), [(zstd.compress(b""), b""), (zstd.compress(b"x"), b"x"), (SKIPPABLE, b"")]
)
def test_frames_of_a_body_are_bounded(frame: bytes, content: bytes) -> None:
    """Each frame takes time: with iteration in Python, 13 MB of empty frames blocked an event loop for a minute."""
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


def test_a_body_longer_than_its_content_can_become_is_refused() -> None:
    """Middlewares read one byte beyond the limit, so that a body of whole frames is not cut off unnoticed."""
    frame = zstd.compress(b"x") + SKIPPABLE[:4]
    size = coding.largest_body(1000) - len(frame) - 4
    body = frame + size.to_bytes(4, "little") + bytes(size)
    assert coding.decompress_body(body, 1000) == b"x"
    for too_large in (body + b"\0", zstd.compress(bytes(1001))):
        with pytest.raises(LimitError, match="at most 1000 bytes: send a smaller body, or raise max_request_size"):
            coding.decompress_body(too_large, 1000)
