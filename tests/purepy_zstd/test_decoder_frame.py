# SPDX-License-Identifier: Apache-2.0
"""Information about frames without decoding them, and dictionaries that are not well-formed."""

from __future__ import annotations

import pytest
from zstd_frames import MAGIC, RAW, RESERVED, RLE, block, compressed, header, raw_literals
from zstd_oracle import libzstd

from purepy.base.errors import ZstdError, ZstdLimitError
from purepy.zstd import get_frame_info, get_frame_size

TEN = compressed(raw_literals(b"0123456789") + b"\0")
FRAMES = {
    "window": TEN,
    "two blocks and a checksum": header(descriptor=4) + block(b"a", RLE, 9, last=False) + block(b"b", RAW) + bytes(4),
    "skippable": b"\x53\x2a\x4d\x18\3\0\0\0abc",
    "sizes": MAGIC + b"\x60\0\0" + block(b"a", RLE, 256),
    "dictionary of 1": MAGIC + b"\x21\x07\0" + block(b"", RAW),
    "dictionary of 2": MAGIC + b"\x22\x07\x01\0" + block(b"", RAW),
    "dictionary of 4": MAGIC + b"\x23\x07\x01\x02\x03\0" + block(b"", RAW),
    "everything": MAGIC + b"\xc7\x38\1\2\3\4\5\0\0\0\0\0\0\1" + block(b"", RAW) + bytes(4),
}


@pytest.mark.parametrize("name", FRAMES)
def test_as_libzstd_says(name: str) -> None:
    library = libzstd()
    frame = FRAMES[name]
    ours, theirs = get_frame_info(frame), library.get_frame_info(frame)
    assert ours.decompressed_size == theirs.decompressed_size
    # From 1.5.6 on libzstd returns the number in a skippable frame's magic number as a dictionary id.
    assert ours.dictionary_id == (0 if name == "skippable" else theirs.dictionary_id)
    assert get_frame_size(frame + b"more") == library.get_frame_size(frame + b"more") == len(frame)


def test_values() -> None:
    assert repr(get_frame_info(FRAMES["sizes"])) == "FrameInfo(decompressed_size=256, dictionary_id=0)"
    assert repr(get_frame_info(FRAMES["window"])) == "FrameInfo(decompressed_size=None, dictionary_id=0)"
    assert repr(get_frame_info(FRAMES["skippable"])) == "FrameInfo(decompressed_size=0, dictionary_id=0)"
    info = get_frame_info(memoryview(FRAMES["everything"])[:18])
    assert (info.decompressed_size, info.dictionary_id) == ((1 << 56) + 5, 0x04030201)


@pytest.mark.parametrize("name", FRAMES)
def test_truncated(name: str) -> None:
    frame = FRAMES[name]
    for size in range(len(frame)):
        with pytest.raises(ZstdError, match="Unable to find a Zstandard frame's size") as caught:
            get_frame_size(frame[:size])
        assert caught.value.offset is not None
        assert caught.value.offset <= size
    for size in range(6 if name != "skippable" else 8):
        pytest.raises(ZstdError, get_frame_info, frame[:size]).match("Unable to find a Zstandard frame's header")


def test_bad_frames() -> None:
    for data, code, text in (
        (b"garbage", 10, "expected a frame's magic number, found the bytes 67 61 72 62"),
        (header(descriptor=8), 14, "reserved bit of the frame header descriptor"),
        (header(32), 16, "window log 32"),
    ):
        with pytest.raises(ZstdError, match=text) as caught:
            get_frame_info(data)
        assert caught.value.code == code
        assert isinstance(caught.value, ZstdLimitError) == (code == 16)
        assert isinstance(caught.value.__cause__, ZstdError)
    pytest.raises(ZstdError, get_frame_size, header() + block(b"", RESERVED)).match("block has the reserved type")
    pytest.raises(TypeError, get_frame_info, "text")
