# SPDX-License-Identifier: Apache-2.0
"""A caller's buffer must not change after the returned size, although libzstd itself writes whole words there."""

from __future__ import annotations

import functools
import io
import random
from functools import partial
from types import ModuleType
from typing import Callable

import pytest
from zstd_data import FRAME_ABC, FRAME_ABC_UNSIZED, PAYLOADS, RANDOM, SKIPPABLE, TEXT

FILL = bytes(range(251, 0, -1))


def filled(size: int) -> bytearray:
    return bytearray((FILL * (size // len(FILL) + 1))[:size])


def check(buffer: bytearray, content: bytes, count: int) -> None:
    assert count == len(content)
    assert buffer[:count] == content
    assert buffer[count:] == filled(len(buffer))[count:]


def payloads() -> list[bytes]:
    dice = random.Random(6)
    mixed = b"".join(
        dice.choice((TEXT[at : at + 900], RANDOM[at : at + 300], bytes(500))) for at in range(0, 60000, 900)
    )
    return [*PAYLOADS.values(), b"ab", TEXT[:6355], TEXT[:1000] + RANDOM[:100], mixed, mixed[:131_072] + TEXT]


@functools.cache
def compressed(zstd: ModuleType, data: bytes, kind: str = "sized") -> bytes:
    parameter = zstd.CompressionParameter
    options = {"sized": {}, "unsized": {parameter.content_size_flag: 0}, "checked": {parameter.checksum_flag: 1}}
    frame: bytes = zstd.compress(data, options=options[kind])
    return frame


def by_file(method: str, zstd: ModuleType, frames: bytes, buffer: bytearray) -> int:
    with zstd.open(io.BytesIO(frames)) as file:
        total = 0
        with memoryview(buffer) as view:
            while total < len(buffer):
                size = getattr(file, method)(view[total:])
                if not size:
                    break
                total += size
                assert view[total:] == filled(len(buffer))[total:]
    return total


@pytest.mark.parametrize("data", [FRAME_ABC[:-1], FRAME_ABC * 9, b"no frame"], ids=["truncated", "too long", "text"])
def test_the_buffer_is_free_after_an_error(zstd: ModuleType, data: bytes) -> None:
    buffer = bytearray(10)
    caught = pytest.raises(zstd.ZstdError, zstd.decompress_into, data, buffer)
    buffer.append(1)  # BufferError if the exception's frames still hold the buffer
    assert caught.value.__traceback__ is not None


KINDS = ["sized", "unsized", "checked"]
Way = Callable[[ModuleType, bytes, bytearray], int]
WAYS: dict[str, Way] = {
    "one_shot": lambda zstd, frames, buffer: zstd.decompress_into(frames, buffer),
    "readinto": partial(by_file, "readinto"),
    "readinto1": partial(by_file, "readinto1"),
}
ways = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)


@ways
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_written_after_the_content(zstd: ModuleType, kind: str, way: Way) -> None:
    for data in payloads():
        frame = compressed(zstd, data, kind)
        for room in (0, 1, 64, 200_000):
            buffer = filled(len(data) + room)
            check(buffer, data, way(zstd, frame, buffer))


@ways
def test_nothing_is_written_after_several_frames(zstd: ModuleType, way: Way) -> None:
    """Earlier frames leave room that the last one must not use; empty frames write nothing."""
    parts = [TEXT[:6355], b"", RANDOM[:1000], TEXT[:300], b"x", b"", bytes(5000)]
    frames = b"".join(compressed(zstd, part, KINDS[index % 3]) + SKIPPABLE for index, part in enumerate(parts))
    buffer = filled(200_000)
    check(buffer, b"".join(parts), way(zstd, frames, buffer))
    buffer = filled(50)
    check(buffer, b"abc" * 3, way(zstd, FRAME_ABC + FRAME_ABC_UNSIZED + FRAME_ABC, buffer))


def test_nothing_is_written_after_the_frames_before_an_error(zstd: ModuleType) -> None:
    broken = bytearray(compressed(zstd, TEXT[:6355], "checked"))
    broken[-1] ^= 1
    for first in (b"abc", TEXT[:3000]):
        with zstd.open(io.BytesIO(compressed(zstd, first) + bytes(broken))) as file:
            buffer = filled(200_000)
            check(buffer, first, file.readinto1(buffer))
            pytest.raises(zstd.ZstdError, file.readinto1, buffer)


@pytest.mark.parametrize("level", [-5, 1, 9])
def test_nothing_is_written_after_the_frame(zstd: ModuleType, level: int) -> None:
    if zstd.BACKEND == "pure" and level != 1:
        pytest.skip("writes nothing but what has been compressed, at any level")
    for data in payloads():
        expected = zstd.compress(data, level)
        for room in (0, 7, 5000):
            buffer = filled(len(expected) + room)
            check(buffer, expected, zstd.compress_into(data, buffer, level))


def test_too_small_a_room_stays_as_it_is(zstd: ModuleType) -> None:
    """A frame fits if it is not larger than the buffer, even if the codec would prefer more room."""
    for data in payloads():
        size = len(zstd.compress(data))
        for room in {0, 1, size // 2, size - 1}:
            buffer = filled(room)
            caught = pytest.raises(zstd.ZstdError, zstd.compress_into, data, buffer)
            assert caught.value.code == 70
            assert buffer == filled(room)
    assert zstd.decompress(zstd.compress(TEXT)) == TEXT


def test_part_of_a_larger_buffer(zstd: ModuleType) -> None:
    """Memory before the view does not change either, nor does memory between the bytes of the view."""
    frame = zstd.compress(TEXT[:6355])
    buffer = filled(400_000)
    with memoryview(buffer) as view:
        assert zstd.decompress_into(frame, view[1000:300_000]) == 6355
        assert view[1000:7355] == TEXT[:6355]
        view[1000:7355] = filled(len(buffer))[1000:7355]
        assert zstd.compress_into(TEXT[:6355], view[1000:300_000]) == len(frame)
        view[1000 : 1000 + len(frame)] = filled(len(buffer))[1000 : 1000 + len(frame)]
    assert buffer == filled(len(buffer))
