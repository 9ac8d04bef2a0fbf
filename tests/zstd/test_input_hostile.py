# SPDX-License-Identifier: Apache-2.0
"""Truncated, corrupted, extended and contradictory input raises the documented error on every path."""

from __future__ import annotations

import io
import itertools
import random
from functools import partial
from types import ModuleType
from typing import Any

import pytest
from counting import calls_of
from extent import IS_PYPY
from zstd_data import FRAME_ABC, RANDOM, TEXT, rle_bomb
from zstd_frames import MAGIC, RAW, block
from zstd_ways import PATHS, Way, fails, file, hinted, into, iterator, limited, one_shot, parts, readinto, stream

from cpkg.zstandard.backend_names import names_over
from purepy.base.errors import ZstdError

DATA = TEXT[:3000] + RANDOM[:500] + bytes(2000) + TEXT[:3000]


def frames(zstd: ModuleType) -> list[bytes]:
    """A frame with a size, a frame without, both with a checksum, and two of them in a row."""
    checked = zstd.compress(DATA, options={zstd.CompressionParameter.checksum_flag: 1})
    compressor = zstd.ZstdCompressor(options={zstd.CompressionParameter.checksum_flag: 1})
    unsized = compressor.compress(DATA[:4000]) + compressor.flush(1) + compressor.compress(DATA[4000:])
    unsized += compressor.flush()
    return [checked, unsized, checked + unsized]


def steps(zstd: ModuleType, size: int) -> range:
    # a prime step hits different parts of the frames
    return range(0, size, 97 if zstd.BACKEND == "pure" else 29 if IS_PYPY else 5)


@pytest.mark.parametrize("path", PATHS)
def test_truncated_anywhere(zstd: ModuleType, path: Way) -> None:
    first, second, both = frames(zstd)
    assert path(zstd, first) == path(zstd, second) == DATA
    assert path(zstd, both) == DATA * 2
    for frame in (first, second):
        for size in steps(zstd, len(frame)):
            fails(zstd, path, frame[:size])
    for size in range(len(first) + 1, len(both), 53 if zstd.BACKEND != "pure" else 997):
        fails(zstd, path, both[:size])


@pytest.mark.parametrize("path", PATHS)
def test_extended(zstd: ModuleType, path: Way) -> None:
    for frame in frames(zstd)[:2]:
        for tail in (b"\0", b"\0" * 9, b"tail", frame[:3], frame[:30], b"\x50\x2a\x4d\x18\xff\xff\xff\xff"):
            fails(zstd, path, frame + tail)


@pytest.mark.parametrize("path", PATHS)
def test_random_garbage(zstd: ModuleType, path: Way) -> None:
    dice = random.Random(3)
    for size in (1, 3, 5, 9, 40, 500):
        for _ in range(20):
            garbage = bytes(dice.randrange(256) for _ in range(size))
            for data in (garbage, FRAME_ABC[:4] + garbage):
                fails(zstd, path, data)


@pytest.mark.parametrize("declared", [True, False])
def test_limit_bounds_output(zstd: ModuleType, declared: bool) -> None:
    parts(zstd, rle_bomb(512, declared=declared), 1 << 20)


def test_many_blocks_and_frames(zstd: ModuleType) -> None:
    frame = bytes.fromhex("28b52ffd 00 58") + b"\0\0\0" * 10_000 + b"\x01\0\0"
    for path in PATHS:
        assert path(zstd, frame) == b""
        assert path(zstd, FRAME_ABC * 3000) == b"abc" * 3000


def test_short_raw_frames_create_no_decompressor(zstd: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Creating a decompressor takes longer than everything else for such a frame; a few MB contain a million."""
    if zstd.BACKEND != "stdlib":
        pytest.skip("the other backends use one decompressor for all frames")
    created = []
    settings = type(zstd.ZstdDecompressor()._settings)
    decompressor = settings.decompressor
    monkeypatch.setattr(settings, "decompressor", lambda self: created.append(self) or decompressor(self))
    frames = zstd.compress(b"") * 500 + FRAME_ABC * 500
    for read in (zstd.decompress, zstd.ZstdDecompressor(multi_frame=True).decompress):
        assert read(frames) == b"abc" * 500
        assert len(created) <= 1  # decompress first tries whether all data is one frame
    created.clear()
    assert zstd.decompress(frames + zstd.compress(bytes(1000))) == b"abc" * 500 + bytes(1000)
    assert len(created) == 2


SHORT_FRAMES = {
    "empty": "28b52ffd2000010000",
    "raw": FRAME_ABC.hex(),
    "rle": "28b52ffd20052b000041",
    "rle, no size": "28b52ffd00582b000041",
    "with a checksum": "28b52ffd240001000099e9d851",
    "empty block and rle": "28b52ffd00580000002b000041",
}


def test_the_work_for_short_frames_and_empty_blocks_is_bounded_per_byte(zstd: ModuleType) -> None:
    """Count calls of Python functions per byte of input."""
    inputs = [bytes.fromhex(frame) * 100 for frame in SHORT_FRAMES.values()]
    inputs.append(bytes.fromhex("28b52ffd0058") + bytes(3) * 500 + b"\1\0\0")
    for data in inputs:
        zstd.decompress(data)  # the first call imports modules and creates what later calls share
        assert calls_of(partial(zstd.decompress, data)) <= 5 * len(data)


# --- impossible sizes, or sizes with a special meaning in libzstd's interface -----------------------------------------

CONTENT = b"abc" * 50
BLOCK = (1 | len(CONTENT) << 3).to_bytes(3, "little") + CONTENT
UNKNOWN = 2**64 - 1
IMPOSSIBLE = [2**64 - 2, 2**64 - 3, 2**63, 2**63 - 1, 2**32, len(CONTENT) + 1, len(CONTENT) - 1]


def declaring(size: int, window: bytes = b"\x58") -> bytes:
    """Return a frame that declares a size in 8 bytes; without a window descriptor, the content size is the window."""
    return MAGIC + bytes([0xC0 if window else 0xE0]) + window + size.to_bytes(8, "little") + BLOCK


def ways(zstd: ModuleType, data: bytes) -> dict[str, Any]:
    """Return the results of every way to decompress the data."""
    return {way.__name__: partial(way, zstd, data) for way in (one_shot, limited, into, stream, iterator)}


def test_the_largest_number_says_that_the_size_is_not_known(zstd: ModuleType) -> None:
    data = declaring(UNKNOWN)
    assert zstd.get_frame_info(data).decompressed_size is None
    assert zstd.get_frame_size(data) == len(data)
    for name, call in ways(zstd, data).items():
        assert call() == CONTENT, name


@pytest.mark.parametrize("behind", [b"", CONTENT], ids=["a frame", "frames"])
@pytest.mark.parametrize("step", [1, 7, 18, 100, 1000])
def test_less_than_is_declared_before_an_empty_block(zstd: ModuleType, step: int, behind: bytes) -> None:
    """libzstd's stream calls accept such a frame; no function of cpkg does."""
    header = MAGIC + b"\x80\x58" + (len(CONTENT) * 2).to_bytes(4, "little")
    data = header + (len(CONTENT) << 3).to_bytes(3, "little") + CONTENT + b"\x01\0\0"
    data += zstd.compress(behind) if behind else b""
    cut = [data[at : at + step] for at in range(0, len(data), step)]
    drop_in = names_over(zstd)["ZstdDecompressor"]

    def fed(decompressor: Any) -> None:
        for piece in cut:
            decompressor.decompress(piece)

    calls = {
        **ways(zstd, data),
        "object": lambda: zstd.ZstdDecompressor().decompress(data),
        "object, limited": lambda: zstd.ZstdDecompressor().decompress(data, 1000),
        "pieces": lambda: fed(zstd.ZstdDecompressor()),
        "several frames": lambda: fed(zstd.ZstdDecompressor(multi_frame=True)),
        "iter": lambda: list(zstd.decompress_iter(cut)),
        "file": lambda: zstd.ZstdFile(io.BytesIO(data)).read(),
        "copy": lambda: zstd.copy_stream(io.BytesIO(data), io.BytesIO(), mode="decompress"),
        "drop-in": lambda: drop_in().decompress(data),
        "drop-in, object": lambda: fed(drop_in().decompressobj()),
        "drop-in, reader": lambda: drop_in().stream_reader(io.BytesIO(data), read_size=step).read(),
        "drop-in, iterator": lambda: list(drop_in().read_to_iter(io.BytesIO(data), read_size=step)),
    }
    for name, call in calls.items():
        with pytest.raises(ZstdError):
            pytest.fail(f"{name}: {call()!r}")


def test_it_is_no_window(zstd: ModuleType) -> None:
    """The window of a single segment is as large as its declared content."""
    data = declaring(UNKNOWN, b"")
    assert zstd.get_frame_info(data).decompressed_size is None
    assert zstd.get_frame_size(data) == len(data)
    for call in ways(zstd, data).values():
        pytest.raises(zstd.ZstdLimitError, call)


@pytest.mark.parametrize("window", [b"\x58", b""], ids=["window", "single segment"])
@pytest.mark.parametrize("size", IMPOSSIBLE)
def test_content_of_another_size_is_an_error(zstd: ModuleType, size: int, window: bytes) -> None:
    data = declaring(size, window)
    assert zstd.get_frame_size(data) == len(data)
    if size == 2**64 - 2:
        pytest.raises(zstd.ZstdError, zstd.get_frame_info, data)
    else:
        assert zstd.get_frame_info(data).decompressed_size == size
    for call in ways(zstd, data).values():
        pytest.raises(zstd.ZstdError, call)


# --- one rule for windows: allowed or not, whichever way the frame is read --------------------------------------------

KiB = 1 << 10
DEFAULT_MAX = (128 << 20) + 1
CONTENTS = (RANDOM[: KiB + 1], b"", b"abc", RANDOM[:KiB], RANDOM[: 3 * KiB])[: 1 if IS_PYPY else 5]


def one_frame(zstd: ModuleType, data: bytes, options: Any, room: int = -1) -> bytes:
    content: bytes = zstd.ZstdDecompressor(options=options).decompress(data, room)
    return content


stream_with_room = partial(one_frame, room=1 << 20)
WINDOW_WAYS = [one_shot, limited, hinted, into, one_frame, stream_with_room, stream, iterator, file, readinto]


def raw_frame(content: bytes, window: tuple[int, int] | None, *, declared: bool, magic: bool = True) -> bytes:
    """Return a frame of raw blocks; `window` is the exponent and mantissa, or None for a single segment."""
    size = len(content).to_bytes(8, "little")
    descriptor = (0xC0 if declared else 0) | (0x20 if window is None else 0)
    header = bytes([descriptor]) + (b"" if window is None else bytes([window[0] - 10 << 3 | window[1]]))
    starts = range(0, max(len(content), 1), KiB)
    body = b"".join(block(content[at : at + KiB], RAW, last=at == starts[-1]) for at in starts)
    return (FRAME_ABC[:4] if magic else b"") + header + (size if declared else b"") + body


def window_of(content: bytes, window: tuple[int, int] | None) -> int:
    return len(content) if window is None else (1 << window[0]) + (window[1] << window[0] - 3)


@pytest.mark.parametrize("way", WINDOW_WAYS)
def test_every_function_has_the_same_limit(zstd: ModuleType, way: Way) -> None:
    key = zstd.DecompressionParameter.window_log_max
    limits = [(None, DEFAULT_MAX), ({key: 0}, 1 << 27), *(({key: log}, 1 << log) for log in (10, 11, 27, 28))]
    windows = [None, (10, 0), (10, 1), (11, 0), (17, 0), (27, 0), (27, 1), (28, 0), (31, 0)]
    for content, window, declared in itertools.product(CONTENTS, windows, (True, False)):
        if window is None and not declared:
            continue
        frame = raw_frame(content, window, declared=declared)
        for options, limit in limits:
            if window_of(content, window) > limit:
                caught = pytest.raises(zstd.ZstdLimitError, way, zstd, frame, options)
                assert caught.value.code == 16
                caught.match("window")
            elif way not in (one_frame, stream) or window is None or window[0] <= 17:  # larger ones take memory
                assert way(zstd, frame, options) == content


def test_frames_without_magic_number(zstd: ModuleType) -> None:
    content = RANDOM[: 3 * KiB]
    for window in (None, (11, 7), (12, 0)):
        frame = raw_frame(content, window, declared=True, magic=False)
        for way in (one_shot, limited, hinted, into, one_frame, stream_with_room, file, readinto):
            assert way(zstd, frame, {1000: 1, 100: 12}) == content
            with pytest.raises(zstd.ZstdLimitError):
                way(zstd, frame, {1000: 1, 100: 11} if window != (11, 7) else {1000: 1, 100: 10})


def test_an_error_has_an_offset(zstd: ModuleType) -> None:
    frame = raw_frame(RANDOM[: 3 * KiB], None, declared=True)
    for way in (one_shot, limited, hinted, into, stream):
        caught = pytest.raises(zstd.ZstdLimitError, way, zstd, FRAME_ABC + frame, {100: 10})
        assert caught.value.offset == len(FRAME_ABC)
