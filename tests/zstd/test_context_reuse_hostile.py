# SPDX-License-Identifier: Apache-2.0
"""No call affects the next: after random calls, good and bad, a fixed set returns the same as in a new process."""

from __future__ import annotations

import hashlib
import inspect
import io
import random
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest
from extent import IS_PYPY
from processes import run_alone
from zstd_data import FRAME_ABC, FRAME_ABC_UNSIZED, FRAME_LIAR, RANDOM, SKIPPABLE, TEXT
from zstd_ways import drip, file, limited

CALLS = 300 if IS_PYPY else 1500
"""How many random calls the test of a backend makes, pure a fifth; the nightly test makes eighty times as many."""

SMALL = TEXT[:3000]
DICTS = (TEXT[2000:3500], RANDOM[:500])
PARAMETERS = [100, 101, 102, 103, 104, 105, 106, 107, 130, 160, 161, 162, 163, 164, 200, 201, 202]
STRANGE = [10, 131, 400, 401, 402, 500, 1000, 1001, 1002, 1004, 1005, 1006, 1007, 1010, 1015, 1017, 1, -1, 2**31 - 1]
VALUES = [-131072, -7, -1, 0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 14, 17, 30, 64, 1000, 1 << 20, 2**31 - 1]


def options(dice: random.Random) -> Any:
    kind = dice.random()
    if kind < 0.3:
        return None
    keys = PARAMETERS if kind < 0.8 else PARAMETERS + STRANGE * 2
    return {dice.choice(keys): dice.choice(VALUES[3:13] if kind < 0.6 else VALUES) for _ in range(dice.randrange(4))}


def reading_options(dice: random.Random) -> Any:
    if dice.random() < 0.6:
        return None
    return {dice.choice([100, 100, 100, *STRANGE]): dice.choice(VALUES) for _ in range(dice.randrange(1, 3))}


class Failing(Exception):
    pass


class World:
    """A source of random calls; each call may raise only errors that a caller must expect."""

    def __init__(self, zstd: ModuleType, seed: int) -> None:
        self.zstd = zstd
        self.dice = random.Random(seed)
        self.dicts = [zstd.ZstdDict(content, is_raw=True) for content in DICTS]
        self.left: list[Any] = []
        compressor = zstd.ZstdCompressor()
        self.frames = [
            FRAME_ABC,
            FRAME_ABC_UNSIZED,
            FRAME_LIAR,
            SKIPPABLE,
            b"garbage, no frame",
            b"",
            zstd.compress(SMALL, options={201: 1}),
            compressor.compress(SMALL, 1) + compressor.flush(),
            zstd.compress(SMALL, zstd_dict=self.dicts[0]),
            zstd.compress(SMALL, zstd_dict=self.dicts[0].as_prefix),
            zstd.compress(SMALL, options={10: 1}),
        ]

    def dictionary(self) -> Any:
        if self.dice.random() < 0.5:
            return None
        found = self.dice.choice(self.dicts)
        return self.dice.choice([found, found.as_digested_dict, found.as_undigested_dict, found.as_prefix])

    def data(self) -> bytes:
        start = self.dice.randrange(len(SMALL))
        return SMALL[start : start + self.dice.choice([0, 1, 50, 1000, 3000])]

    def frame(self) -> bytes:
        frame = self.dice.choice(self.frames)
        kind = self.dice.random()
        if kind < 0.2:
            return frame[: self.dice.randrange(len(frame) + 1)]
        if kind < 0.4 and frame:
            broken = bytearray(frame)
            broken[self.dice.randrange(len(broken))] ^= 1 << self.dice.randrange(8)
            return bytes(broken)
        return frame + (self.dice.choice(self.frames) if kind < 0.5 else b"")

    def chunks(self, data: bytes) -> Iterator[bytes]:
        while data:
            size = self.dice.choice([1, 7, 100, 5000])
            yield data[:size]
            data = data[size:]
            if self.dice.random() < 0.03:
                raise Failing

    def consume(self, iterator: Iterator[bytes]) -> None:
        for number, _ in enumerate(iterator):
            if number == 2 and self.dice.random() < 0.3:
                if self.dice.random() < 0.5:
                    self.left.append(iterator)  # abandoned, and dropped some calls later
                return

    def compress(self) -> None:
        self.zstd.compress(self.data(), options=options(self.dice), zstd_dict=self.dictionary())

    def compress_into(self) -> None:
        buffer = bytearray(self.dice.choice([0, 10, 500, 5000]))
        self.zstd.compress_into(self.data(), buffer, options=options(self.dice), zstd_dict=self.dictionary())

    def compress_iter(self) -> None:
        data = self.data()
        size = self.dice.choice([None, len(data), len(data) + 1, 0])
        chosen = options(self.dice)
        self.consume(self.zstd.compress_iter(self.chunks(data), options=chosen, zstd_dict=self.dictionary(), size=size))

    def compressor(self) -> None:
        compressor = self.zstd.ZstdCompressor(options=options(self.dice), zstd_dict=self.dictionary())
        for _ in range(self.dice.randrange(5)):
            if self.dice.random() < 0.2 and compressor.last_mode == 2:
                compressor.set_pledged_input_size(self.dice.choice([0, 10, 3000]))
            try:
                compressor.compress(self.data(), self.dice.randrange(3))
            except self.zstd.ZstdError:
                compressor.flush()
        if self.dice.random() < 0.3:
            self.left.append(compressor)

    def write_file(self) -> None:
        file = self.zstd.open(io.BytesIO(), "w", options=options(self.dice), zstd_dict=self.dictionary())
        file.write(self.data())
        file.flush(self.dice.choice([1, 2]))
        file.write(self.data())
        if self.dice.random() < 0.7:
            file.close()

    def decompress(self) -> None:
        limit = self.dice.choice([None, None, 0, 10, 3000, 2**40, 2**64])
        hint = self.dice.choice([None, 0, 100, 2**40])
        found = self.dictionary()
        self.zstd.decompress(self.frame(), found, reading_options(self.dice), max_output_size=limit, size_hint=hint)

    def decompress_into(self) -> None:
        buffer = bytearray(self.dice.choice([0, 3, 2999, 3000, 10_000]))
        self.zstd.decompress_into(self.frame(), buffer, self.dictionary(), reading_options(self.dice))

    def decompress_iter(self) -> None:
        found = self.dictionary()
        self.consume(
            self.zstd.decompress_iter(self.chunks(self.frame()), found, reading_options(self.dice), write_size=500)
        )

    def decompressor(self) -> None:
        decompressor = self.zstd.ZstdDecompressor(
            self.dictionary(), reading_options(self.dice), multi_frame=self.dice.random() < 0.5
        )
        for chunk in self.chunks(self.frame() + self.frame()):
            try:
                decompressor.decompress(chunk, self.dice.choice([-1, 0, 1, 100]))
            except self.zstd.ZstdError:
                if self.dice.random() < 0.5:
                    decompressor.decompress(FRAME_ABC)
        if self.dice.random() < 0.3:
            self.left.append(decompressor)

    def read_file(self) -> None:
        chosen = reading_options(self.dice)
        with self.zstd.open(io.BytesIO(self.frame()), options=chosen, zstd_dict=self.dictionary()) as file:
            file.read(self.dice.choice([1, 100, -1]))

    def step(self) -> bool:
        """Make a call; return whether it succeeded."""
        writing = self.compress, self.compress_into, self.compress_iter, self.compressor, self.write_file
        reading = self.decompress, self.decompress_into, self.decompress_iter, self.decompressor, self.read_file
        if len(self.left) > 5:
            del self.left[self.dice.randrange(3) :]
        try:
            self.dice.choice(writing + reading)()
        except (ValueError, EOFError, Failing, self.zstd.ZstdError):
            return False
        return True


def fixed(zstd: Any, text: bytes, frame: bytes) -> Any:
    """Make the fixed calls; yield their results. A fresh process also runs the source of this function."""
    raw = zstd.ZstdDict(text[:600], is_raw=True)
    compressor, with_dict = zstd.ZstdCompressor(), zstd.ZstdCompressor(1, zstd_dict=raw)
    streamed = compressor.compress(text[:900], 1) + compressor.compress(text[:50]) + compressor.flush()
    again = compressor.compress(b"hello world", 2)
    buffer = bytearray(3000)
    small = zstd.compress(b"hello world", zstd_dict=raw)
    yield zstd.compress(b"hello world")
    yield zstd.compress(text[:1000], 5)
    yield zstd.compress(text[:1000], options={101: 10, 201: 1})
    yield small
    yield zstd.compress(text[300:700], zstd_dict=raw.as_digested_dict)
    yield zstd.compress(text[300:700], zstd_dict=raw.as_prefix)
    yield streamed + again
    yield with_dict.compress(text[:500], 2)
    yield b"".join(zstd.compress_iter([text[:400], text[:700]], 4))
    yield bytes(buffer[: zstd.compress_into(text[:800], buffer)])
    yield zstd.decompress(frame) + zstd.decompress(streamed) + zstd.decompress(small, raw)
    yield zstd.decompress(frame, max_output_size=len(text))
    yield bytes(buffer[: zstd.decompress_into(streamed, buffer)])
    decompressor = zstd.ZstdDecompressor()
    yield decompressor.decompress(frame[:100]) + decompressor.decompress(frame[100:])
    yield b"".join(zstd.decompress_iter([frame, streamed]))


def in_a_fresh_process(zstd: ModuleType, frame: bytes) -> list[str]:
    code = f"""
import hashlib
from typing import Any
{inspect.getsource(fixed)}
for result in fixed(zstd, {SMALL!r}, {frame!r}):
    print(hashlib.sha256(result).hexdigest())
"""
    done = run_alone(zstd, "zstd", code)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def poison(zstd: ModuleType, calls: int, seed: int) -> None:
    calls //= 5 if zstd.BACKEND == "pure" else 1
    frame = zstd.compress(SMALL, 7)
    expected = in_a_fresh_process(zstd, frame)
    assert len(set(expected)) > 10
    world = World(zstd, seed)
    good = 0
    for number in range(calls):
        good += world.step()
        if number % (50 if zstd.BACKEND == "pure" else 5) == 0:
            found = [hashlib.sha256(result).hexdigest() for result in fixed(zstd, SMALL, frame)]
            assert found == expected, f"call {number} of seed {seed}"
    assert calls // 5 < good < calls * 4 // 5, f"{good} of {calls} calls worked: the choice is not what it should be"


def test_random_calls_leave_no_trace(zstd: ModuleType) -> None:
    poison(zstd, CALLS, 1)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(20))
def test_many_random_calls_leave_no_trace(zstd: ModuleType, seed: int) -> None:
    poison(zstd, 4 * CALLS, 100 + seed)


def test_format_is_honoured(zstd: ModuleType) -> None:
    """Frames without magic number; the parameter for them is in no enum."""
    for data in (b"", b"abc", SMALL, TEXT):
        frame = zstd.compress(data, options={10: 1})
        assert zstd.decompress(b"\x28\xb5\x2f\xfd" + frame) == data
        compressor = zstd.ZstdCompressor(options={10: 1, 201: 1})
        for made in (frame, compressor.compress(data) + compressor.flush()):
            for options in ({1000: 1}, {1000: 1, 100: 27}):
                assert [way(zstd, made * 2, options) for way in (limited, drip, file)] == [data * 2] * 3
        assert zstd.compress(data, options={10: 0}) == zstd.compress(data)
    assert zstd.parameter_bounds(10, True) == zstd.parameter_bounds(1000, False) == (0, 1)


def test_values_out_of_bounds(zstd: ModuleType) -> None:
    """All parameters are checked, although libzstd accepts any number for a flag and clamps other values."""
    for key in [*zstd.CompressionParameter, *map(int, zstd.CompressionParameter)]:
        low, high = zstd.parameter_bounds(int(key), True)
        for bad in {low - 1, high + 1, -(2**31), 2**31 - 1} - {0, low, high}:
            for call in (zstd.compress, lambda data, options: zstd.ZstdCompressor(options=options)):
                pytest.raises(ValueError, call, b"abc", options={key: bad}).match(r"valid range is \[-?\d+, \d+\]")
