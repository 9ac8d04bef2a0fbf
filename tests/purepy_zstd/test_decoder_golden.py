# SPDX-License-Identifier: Apache-2.0
"""Frames from libzstd 1.5.7 and frames built by hand, which together use the whole format."""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from zstd_features import EXPECTED, features
from zstd_frames import RAW, RLE, block, header
from zstd_oracle import libzstd

import purepy.zstd

FOLDER = Path(__file__).parent
GOLDEN = json.loads((FOLDER / "golden.json").read_text(encoding="utf-8"))
# each frame also has the expression that built it with zstd_frames; errors.json describes the other names in it
HANDMADE = {
    row["name"]: (bytes.fromhex(row["frame"]), None if row["content"] is None else bytes.fromhex(row["content"]))
    for row in json.loads((FOLDER / "handmade.json").read_text(encoding="utf-8"))
}
HANDMADE["largest blocks"] = (header() + block(b"a", RLE, 1 << 17, last=False) + block(bytes(1 << 17), RAW), None)


@pytest.mark.parametrize("golden", GOLDEN, ids=range(len(GOLDEN)))
def test_golden(codec: ModuleType, golden: dict[str, Any]) -> None:
    content = codec.decompress(base64.b64decode(golden["frame"]))
    assert len(content) == golden["size"]
    assert hashlib.sha256(content).hexdigest() == golden["sha256"]


@pytest.mark.parametrize("name", HANDMADE)
def test_handmade_frames(codec: ModuleType, name: str) -> None:
    """Frames that no encoder writes but the format allows decode to the content that the specification requires."""
    frame, content = HANDMADE[name]
    decoded = codec.decompress(frame)
    if content is not None:
        assert decoded == content
    decompressor = codec.ZstdDecompressor(multi_frame=True)
    assert b"".join(decompressor.decompress(frame[at : at + 1]) for at in range(len(frame))) == decoded
    assert decompressor.eof


@pytest.mark.parametrize("name", HANDMADE)
def test_libzstd_agrees(name: str) -> None:
    library = libzstd()
    frame, _ = HANDMADE[name]
    if library.zstd_version_info < (1, 5, 6) and name == "no sequences in 2 bytes":
        pytest.skip("libzstd refused it before 1.5.6")
    assert library.decompress(frame) == purepy.zstd.decompress(frame)


def test_all_features_are_used() -> None:
    """The features that the frames use are observed while decoding, not just claimed."""
    used = set()
    for golden in GOLDEN:
        used |= features(purepy.zstd, base64.b64decode(golden["frame"]))
    for frame, _ in HANDMADE.values():
        used |= features(purepy.zstd, frame)
    assert EXPECTED - used == set()
    assert "count of 3 bytes" in used
