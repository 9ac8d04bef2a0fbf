# SPDX-License-Identifier: Apache-2.0
"""Frames made by libzstd 1.5.7 and by hand: between them they use all of the format."""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from zstd_features import EXPECTED, features
from zstd_frames import (
    MAGIC,
    RAW,
    RLE,
    bitstream,
    block,
    coded_literals,
    compressed,
    header,
    raw_literals,
    rle_sequences,
    single_segment,
    weights,
)
from zstd_oracle import libzstd

import purepy.zstd

GOLDEN = json.loads(Path(__file__).with_name("golden.json").read_text(encoding="utf-8"))
LITERALS = raw_literals(b"0123456789")


def rle_literals(byte: bytes, size: int) -> bytes:
    return (1 | 3 << 2 | size << 4).to_bytes(3, "little") + byte


# Two symbols, "\\0" and "\\1", with codes of one bit.
TREE = weights(1)

HANDMADE = {
    "empty": (header() + block(b"", RAW), b""),
    "unused bit": (MAGIC + b"\x10\x38" + block(b"a", RAW), b"a"),
    "single segment": (single_segment(3) + block(b"abc", RAW), b"abc"),
    "single segment, empty": (single_segment(0) + block(b"", RAW), b""),
    "largest blocks": (header() + block(b"a", RLE, 1 << 17, last=False) + block(bytes(1 << 17), RAW), None),
    "odd window": (header(10, mantissa=3) + block(b"a", RLE, 1408), b"a" * 1408),
    "RLE literals": (compressed(rle_literals(b"x", 300) + b"\0"), b"x" * 300),
    "RLE literals of 1 byte": (compressed(bytes((1 | 20 << 3,)) + b"y\0"), b"y" * 20),
    "raw literals of 1 byte": (compressed(bytes((5 << 3,)) + b"hello\0"), b"hello"),
    "raw literals of 2 bytes": (compressed((1 << 2 | 5 << 4).to_bytes(2, "little") + b"hello\0"), b"hello"),
    "no literals": (compressed(b"\0\0"), b""),
    "no sequences in 2 bytes": (compressed(LITERALS + b"\x80\0"), b"0123456789"),
    "one stream": (compressed(coded_literals(8, TREE + b"\xad\1") + b"\0"), bytes((1, 0, 1, 0, 1, 1, 0, 1))),
    "one empty stream": (compressed(coded_literals(0, TREE + b"\1") + b"\0"), b""),
    "four streams": (
        compressed(coded_literals(7, TREE + b"\1\0\1\0\1\0\4\5\6\3", size_format=1) + b"\0"),
        bytes((0, 0, 0, 1, 1, 0, 1)),
    ),
    "an empty fourth stream": (
        compressed(coded_literals(6, TREE + b"\1\0\1\0\1\0\4\5\6\1", size_format=1) + b"\0"),
        bytes((0, 0, 0, 1, 1, 0)),
    ),
    "larger size formats": (
        compressed(coded_literals(7, TREE + b"\1\0\1\0\1\0\4\5\6\3", size_format=2) + b"\0")
        + compressed(coded_literals(7, TREE + b"\1\0\1\0\1\0\4\5\6\3", size_format=3) + b"\0"),
        bytes((0, 0, 0, 1, 1, 0, 1)) * 2,
    ),
    "treeless after raw": (
        header()
        + block(coded_literals(8, TREE + b"\xff\1") + b"\0", last=False)
        + block(b"-", RAW, last=False)
        + block(LITERALS + b"\0", last=False)
        + block(coded_literals(8, b"\0\1", kind=3) + b"\0"),
        b"\1" * 8 + b"-0123456789" + b"\0" * 8,
    ),
    "offset 1 overlaps": (compressed(LITERALS + rle_sequences(1, (1, 0, 30))), b"0" * 34 + b"123456789"),
    "offset 7 overlaps": (
        compressed(LITERALS + rle_sequences(1, (7, 3, 30), (2, 3))),
        b"0123456" * 5 + b"01234" + b"789",
    ),
    "offset 9 overlaps": (
        compressed(LITERALS + rle_sequences(1, (9, 3, 40), (4, 3), (7, 4))),
        (b"012345678" * 20)[: 9 + 74] + b"9",
    ),
    # Repeat offsets, section 3.1.1.5: 1, 4, 8 at first; codes 0 and 1 with their bit give the values 1 to 3.
    "repeat 2": (compressed(LITERALS + rle_sequences(1, (9, 1, 0), (0, 1))), b"012345678" + b"567" + b"9"),
    "repeat 3": (compressed(LITERALS + rle_sequences(1, (9, 1, 0), (1, 1))), b"012345678" + b"123" + b"9"),
    "repeat without literals": (
        header()
        + block(b"0123456789", RAW, last=False)
        + block(b"\0" + rle_sequences(2, (0, 0, 0)), last=False)
        + block(b"\0" + rle_sequences(2, (0, 1, 0), (0, 1), (1, 1))),
        None,
    ),
    "repeat minus 1": (
        header()
        + block(b"0123456789", RAW, last=False)
        + block(b"\0" + rle_sequences(1, (0, 3, 0), (0, 3)), last=False)
        + block(b"\0" + rle_sequences(1, (0, 1, 0), (1, 1))),
        b"0123456789" + b"567" + b"956",
    ),
    "many sequences": (
        header() + block(b"0123456789", RAW, last=False) + block(b"\0" + b"\xff\1\0\x54\0\0\0\1"),
        None,
    ),
    "skippable": (b"\x5f\x2a\x4d\x18\2\0\0\0xy" + compressed(LITERALS + b"\0"), b"0123456789"),
    "two frames": (compressed(LITERALS + b"\0") + single_segment(1) + block(b"!", RAW), b"0123456789!"),
    "window and content size": (
        header(10, descriptor=0x40, more=b"\0\1") + block(b"z", RLE, 512),
        b"z" * 512,
    ),
    "sizes of 4 and 8 bytes": (
        MAGIC + b"\xa0\3\0\0\0" + block(b"abc", RAW) + MAGIC + b"\xe0\3\0\0\0\0\0\0\0" + block(b"abc", RAW),
        b"abcabc",
    ),
    "a checksum": (header(descriptor=4) + block(b"a", RAW) + b"\x5b\x6e\x8c\xa9", b"a"),
    "predefined tables": (
        header()
        + block(b"0123456789", RAW, last=False)
        + block(LITERALS + b"\1\0" + bitstream((0, 6), (0, 5), (0, 6))),
        b"0123456789" + b"678" + b"0123456789",
    ),
}


@pytest.mark.parametrize("golden", GOLDEN, ids=range(len(GOLDEN)))
def test_golden(codec: ModuleType, golden: dict[str, Any]) -> None:
    """Frames that libzstd made decode to what it had compressed."""
    content = codec.decompress(base64.b64decode(golden["frame"]))
    assert len(content) == golden["size"]
    assert hashlib.sha256(content).hexdigest() == golden["sha256"]


@pytest.mark.parametrize("name", HANDMADE)
def test_handmade(codec: ModuleType, name: str) -> None:
    """Frames that no encoder writes, but the format allows, decode to what the specification says."""
    frame, content = HANDMADE[name]
    decoded = codec.decompress(frame)
    if content is not None:
        assert decoded == content
    decompressor = codec.ZstdDecompressor(multi_frame=True)
    assert b"".join(decompressor.decompress(frame[at : at + 1]) for at in range(len(frame))) == decoded
    assert decompressor.eof


@pytest.mark.parametrize("name", HANDMADE)
def test_libzstd_agrees(name: str) -> None:
    """libzstd decodes the handmade frames to the same."""
    library = libzstd()
    frame, _ = HANDMADE[name]
    if library.zstd_version_info < (1, 5, 6) and name == "no sequences in 2 bytes":
        pytest.skip("libzstd refused it before 1.5.6")
    assert library.decompress(frame) == purepy.zstd.decompress(frame)


def test_all_features_are_used() -> None:
    """Features that the frames use are watched, not claimed."""
    used = set()
    for golden in GOLDEN:
        used |= features(purepy.zstd, base64.b64decode(golden["frame"]))
    for frame, _ in HANDMADE.values():
        used |= features(purepy.zstd, frame)
    assert EXPECTED - used == set()
    assert "count of 3 bytes" in used
