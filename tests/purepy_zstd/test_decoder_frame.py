# SPDX-License-Identifier: Apache-2.0
"""Frames from libzstd 1.5.7 and built by hand, which use the whole format: content, information, windows, checksums."""

from __future__ import annotations

import base64
import hashlib
import json
import random
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from zstd_features import EXPECTED, features
from zstd_frames import MAGIC, RAW, RESERVED, RLE, block, compressed, header, raw_literals, rle_sequences
from zstd_oracle import libzstd

import purepy.zstd
from purepy.base.errors import ZstdError, ZstdLimitError
from purepy.zstd import get_frame_info, get_frame_size
from purepy.zstd.format import xxh64

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
    used = set()
    for golden in GOLDEN:
        used |= features(purepy.zstd, base64.b64decode(golden["frame"]))
    for frame, _ in HANDMADE.values():
        used |= features(purepy.zstd, frame)
    assert EXPECTED - used == set()
    assert "count of 3 bytes" in used


# --- information about frames without decoding them -------------------------------------------------------------------

FRAMES = {
    "window": compressed(raw_literals(b"0123456789") + b"\0"),
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


# --- windows of streams -----------------------------------------------------------------------------------------------


def long_frame(window_log: int, size: int) -> tuple[bytes, int]:
    """Return a frame of about `size` bytes, whose content repeats at a distance of one window, and its exact size."""
    window = 1 << window_log
    most = min(window, 1 << 17)
    rng = random.Random(window_log)
    seed = bytes(rng.randrange(256) for _ in range(1024))
    parts = [header(window_log), block(seed, RAW, last=False)]
    total = 1024
    while total < window:
        parts.append(block(raw_literals(b"") + rle_sequences(1, (0, 10, 45), (3, 10), (508, 9)), last=False))
        total += 1023
    while total < size:
        count = most // 1024
        # The offset is the whole window.
        value = window + 3
        code = value.bit_length() - 1
        extra = [(value - (1 << code), code)]
        fields = [*extra, (508, 9)] * count
        parts.append(block(raw_literals(b"") + rle_sequences(count, (0, code, 45), *fields), last=False))
        total += 1023 * count
    parts.append(block(b"", RAW))
    return b"".join(parts), total


def test_large_output_is_held_back_block_by_block(codec: ModuleType) -> None:
    frame = header(17) + block(b"x", RLE, 1 << 17, last=False) * 400 + block(b"", RAW)
    decompressor = codec.ZstdDecompressor()
    total = len(decompressor.decompress(frame, 1000))
    while not decompressor.eof:
        total += len(decompressor.decompress(b"", 100_000))
        if decompressor._decoder is not None:
            assert len(decompressor._decoder._window.data) <= 4 << 17
    assert total == 400 << 17


@pytest.mark.parametrize("window_log", [10, 11, 14, 17, 18])
def test_window_moves(codec: ModuleType, window_log: int) -> None:
    """Matches can refer back by a whole window after any number of moves, and the window's memory stays bounded."""
    frame, total = long_frame(window_log, 6 << window_log)
    decompressor = codec.ZstdDecompressor()
    output = b""
    limit = (6 << window_log - 2) + min(1 << window_log, 1 << 17) + 1024
    for at in range(0, len(frame), 100):
        output += decompressor.decompress(frame[at : at + 100])
        if decompressor._decoder is not None:
            assert len(decompressor._decoder._window.data) <= limit
    assert decompressor.eof
    assert len(output) == total
    window = 1 << window_log
    start = -(-(window - 1024) // 1023) * 1023 + 1024
    assert output[start:] == output[start - window : -window]


# --- XXH64 in both forms, compared with values from the xxHash library ------------------------------------------------

# The lengths cover every branch: no stripe, stripes, and each kind of rest.
DATA = bytes(index * 167 + 13 & 255 for index in range(200))
KNOWN = json.loads((FOLDER / "xxh64.json").read_text(encoding="utf-8"))


@pytest.fixture(params=["jit", "wide"])
def form(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xxh64, "_stripes", getattr(xxh64, f"_stripes_{request.param}"))


@pytest.mark.usefixtures("form")
@pytest.mark.parametrize(("size", "expected"), KNOWN)
def test_known_values(size: int, expected: str) -> None:
    assert f"{xxh64.xxh64(DATA[:size]):016X}" == expected


@pytest.mark.usefixtures("form")
@pytest.mark.parametrize("step", [1, 7, 31, 32, 33, 100])
def test_in_pieces(step: int) -> None:
    """Pieces of any size and type give the hash of the whole, and intermediate digests change nothing."""
    state = xxh64.XXH64()
    for at in range(0, len(DATA), step):
        state.update(memoryview(DATA)[at : at + step])
        assert state.digest() == xxh64.xxh64(DATA[: at + step])
