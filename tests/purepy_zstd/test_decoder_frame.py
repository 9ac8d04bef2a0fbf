# SPDX-License-Identifier: Apache-2.0
"""Information about frames without decoding them, and dictionaries that are not well-formed."""

from __future__ import annotations

from types import ModuleType

import pytest
from zstd_frames import (
    MAGIC,
    RAW,
    RESERVED,
    RLE,
    block,
    compressed,
    forward_bits,
    header,
    raw_literals,
    rle_sequences,
    weights,
)
from zstd_oracle import libzstd

from purepy.base.errors import ZstdError, ZstdLimitError
from purepy.zstd import get_frame_info, get_frame_size
from purepy.zstd.format.rules import DICTIONARY_MAGIC

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
    with pytest.raises(ZstdError, match="block has the reserved type"):
        get_frame_size(header() + block(b"", RESERVED))
    pytest.raises(TypeError, get_frame_info, "text")


# Section 5: magic number, id, a tree of one bit, three tables with two codes each, repeat offsets, content.
TABLE = forward_bits((0, 4), (17, 5), (31, 5))
ID = (77).to_bytes(4, "little")
REPEATS = b"".join(number.to_bytes(4, "little") for number in (1, 4, 8))
DICTIONARY = DICTIONARY_MAGIC + ID + weights(1) + TABLE * 3 + REPEATS + b"content of a dictionary"


def test_dictionary(codec: ModuleType) -> None:
    """A dictionary built by hand works for frames that name it and for frames that name none."""
    zstd_dict = codec.ZstdDict(DICTIONARY)
    assert codec.decompress(TEN, zstd_dict) == b"0123456789"
    frame = header(descriptor=1, more=b"\x4d") + block(b"a", RAW)
    assert codec.decompress(frame, zstd_dict) == b"a"
    with pytest.raises(ZstdError, match="needs the dictionary with the id 78; the dictionary given has the id 77"):
        codec.decompress(header(descriptor=1, more=b"\x4e") + block(b"a", RAW), zstd_dict)


@pytest.mark.parametrize(
    ("content", "text", "offset"),
    [
        (DICTIONARY_MAGIC + ID, "Huffman tree description is missing", 8),
        (DICTIONARY_MAGIC + ID + weights(13) + TABLE * 3 + REPEATS, "Huffman weight 13 of symbol 0", 8),
        (DICTIONARY_MAGIC + ID + weights(1) + b"\x04\0" + bytes(40), "FSE accuracy log 9 exceeds the maximum of 8", 10),
        (DICTIONARY_MAGIC + ID + weights(1) + TABLE * 2 + b"\1", "FSE table description is truncated", 15),
        (DICTIONARY_MAGIC + ID + weights(1) + TABLE * 3 + REPEATS[:11], "repeat offsets are truncated", 16),
        (
            DICTIONARY_MAGIC + ID + weights(1) + TABLE * 3 + REPEATS + bytes(7),
            "repeat offset 8 is out of range for a content of 7",
            24,
        ),
        (
            DICTIONARY_MAGIC + ID + weights(1) + TABLE * 3 + bytes(12) + bytes(9),
            "repeat offset 0 is out of range for a content of",
            16,
        ),
    ],
)
def test_corrupt_dictionary(codec: ModuleType, content: bytes, text: str, offset: int) -> None:
    zstd_dict = codec.ZstdDict(content)
    with pytest.raises(ZstdError, match="Dictionary is corrupted: " + text) as caught:
        codec.decompress(TEN, zstd_dict)
    assert (caught.value.code, caught.value.offset) == (30, offset)
    # As a prefix, it is content like any other.
    assert codec.decompress(TEN, zstd_dict.as_prefix) == b"0123456789"


def test_dictionary_out_of_reach(codec: ModuleType) -> None:
    """The dictionary is history until the output is longer than the window (section 5), as in libzstd's encoder."""
    zstd_dict = codec.ZstdDict(b"raw content of 26 characters"[:26], is_raw=True)
    start = header(10) + block(b"x", RLE, 1000, last=False)
    # 24 more bytes fill the window; the match then reaches 1024 + 26 bytes back, to the dictionary's first byte.
    section = rle_sequences(1, (20, 10, 0), (29, 10), (0, 2))
    frame = start + block(raw_literals(bytes(24)) + section)
    assert codec.decompress(frame, zstd_dict) == b"x" * 1000 + bytes(24) + b"raw"
    beyond = start + block(raw_literals(bytes(25)) + rle_sequences(1, (20, 10, 0), (29, 10), (1, 2)))
    pytest.raises(ZstdError, codec.decompress, beyond, zstd_dict).match("exceeds the 1024 bytes of available history")
