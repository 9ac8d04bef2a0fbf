# SPDX-License-Identifier: Apache-2.0
"""One rule for windows: a header's window is allowed or not, whichever way the frame is read."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest
from extent import IS_PYPY
from zstd_data import FRAME_ABC, RANDOM
from zstd_ways import Way, file, hinted, into, iterator, limited, one_shot, readinto
from zstd_ways import stream as many

KiB = 1 << 10
DEFAULT_MAX = (128 << 20) + 1
CONTENTS = (RANDOM[: KiB + 1], b"", b"abc", RANDOM[:KiB], RANDOM[: 3 * KiB])[: 1 if IS_PYPY else 5]


def stream(zstd: ModuleType, data: bytes, options: Any) -> bytes:
    content: bytes = zstd.ZstdDecompressor(options=options).decompress(data)
    return content


def stream_with_room(zstd: ModuleType, data: bytes, options: Any) -> bytes:
    content: bytes = zstd.ZstdDecompressor(options=options).decompress(data, 1 << 20)
    return content


WAYS = [one_shot, limited, hinted, into, stream, stream_with_room, many, iterator, file, readinto]


def raw_frame(content: bytes, window: tuple[int, int] | None, *, declared: bool, magic: bool = True) -> bytes:
    """Return a frame of raw blocks; `window` is the exponent and mantissa, or None for a single segment."""
    size = len(content).to_bytes(8, "little")
    descriptor = (0xC0 if declared else 0) | (0x20 if window is None else 0)
    header = bytes([descriptor]) + (b"" if window is None else bytes([window[0] - 10 << 3 | window[1]]))
    blocks = [content[at : at + KiB] for at in range(0, len(content), KiB)] or [b""]
    body = b"".join(
        (len(block) << 3 | (number == len(blocks) - 1)).to_bytes(3, "little") + block
        for number, block in enumerate(blocks)
    )
    return (FRAME_ABC[:4] if magic else b"") + header + (size if declared else b"") + body


def window_of(content: bytes, window: tuple[int, int] | None) -> int:
    return len(content) if window is None else (1 << window[0]) + (window[1] << window[0] - 3)


@pytest.mark.parametrize("way", WAYS)
def test_every_function_has_the_same_limit(zstd: ModuleType, way: Way) -> None:
    key = zstd.DecompressionParameter.window_log_max
    for content in CONTENTS:
        for window in (None, (10, 0), (10, 1), (11, 0), (17, 0), (27, 0), (27, 1), (28, 0), (31, 0)):
            for declared in (True, False):
                if window is None and not declared:
                    continue
                frame = raw_frame(content, window, declared=declared)
                for options, limit in (
                    (None, DEFAULT_MAX),
                    ({key: 0}, 1 << 27),
                    ({key: 10}, 1 << 10),
                    ({key: 11}, 1 << 11),
                    ({key: 27}, 1 << 27),
                    ({key: 28}, 1 << 28),
                ):
                    if window_of(content, window) <= limit:
                        if way not in (stream, many) or window is None or window[0] <= 17:  # larger ones take memory
                            assert way(zstd, frame, options) == content
                    else:
                        with pytest.raises(zstd.ZstdLimitError, match="window") as caught:
                            way(zstd, frame, options)
                        assert caught.value.code == 16


def test_frames_without_magic_number(zstd: ModuleType) -> None:
    content = RANDOM[: 3 * KiB]
    for window in (None, (11, 7), (12, 0)):
        frame = raw_frame(content, window, declared=True, magic=False)
        for way in (one_shot, limited, hinted, into, stream, stream_with_room, file, readinto):
            assert way(zstd, frame, {1000: 1, 100: 12}) == content
            with pytest.raises(zstd.ZstdLimitError):
                way(zstd, frame, {1000: 1, 100: 11} if window != (11, 7) else {1000: 1, 100: 10})


def test_an_error_has_an_offset(zstd: ModuleType) -> None:
    frame = raw_frame(RANDOM[: 3 * KiB], None, declared=True)
    for way in (one_shot, limited, hinted, into, many):
        with pytest.raises(zstd.ZstdLimitError) as caught:
            way(zstd, FRAME_ABC + frame, {100: 10})
        assert caught.value.offset == len(FRAME_ABC)
