# SPDX-License-Identifier: Apache-2.0
"""`cpkg zstd -b`: how fast and how small each level is, in memory."""

from __future__ import annotations

import os
import random
import sys

from cpkg import zstd
from cpkg.cli.compare import best_time
from cpkg.cli.zstd.compress import Compressing, dictionary_of
from cpkg.cli.zstd.console import Console
from cpkg.cli.zstd.files import read_dictionary
from cpkg.cli.zstd.options import Options
from purepy.zstd.format.rules import LEVEL_MAX, LEVEL_MIN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable

_MEGABYTE = 1_000_000
_SYNTHETIC_SIZE = 10 * _MEGABYTE
_LOAD_FAILED = 15


def benchmark(options: Options, console: Console) -> int:
    """Measure the files of a call, all together or one by one, at each level; return the exit status."""
    first = min(options.level, LEVEL_MAX)
    last = max(min(options.last_level, LEVEL_MAX), first)
    dictionary = read_dictionary(options.dictionary)
    if not options.files:
        groups = [("Synthetic", [_synthetic()])]
    else:
        contents = []
        for name in options.files:
            try:
                with open(name, "rb") as file:
                    contents.append((os.path.basename(name), file.read()))
            except OSError:
                return console.fail("Error loading files\n", _LOAD_FAILED)
        if options.separately or len(contents) == 1:
            groups = [(name, [content]) for name, content in contents]
        else:
            groups = [(f" {len(contents)} files", [content for _, content in contents])]
    for name, parts in groups:
        if console.level <= 1:
            size = sum(map(len, parts))
            blocks = options.job_size >> 10
            print(f"bench {zstd.zstd_version} : input {size} bytes, {options.seconds} seconds, {blocks} KB blocks")
        for level in range(first, last + 1):
            if level or first == last:
                _measure(name, parts, level, options, dictionary, console)
    return 0


def _synthetic() -> bytes:
    """Return text that compresses about as well as prose, the same each time."""
    chance = random.Random(0)
    letters = "etaoinshrdlucmfwypvbgkjqxz"
    words = ["".join(chance.choices(letters, range(26, 0, -1), k=chance.randint(2, 9))) for _ in range(2000)]
    weights = [1 / rank for rank in range(1, 2001)]
    text = " ".join(chance.choices(words, weights, k=_SYNTHETIC_SIZE // 100)).encode()
    return (text * (_SYNTHETIC_SIZE // len(text) + 1))[:_SYNTHETIC_SIZE]


def _measure(name: str, parts: list[bytes], level: int, options: Options, dictionary: bytes, console: Console) -> None:
    if options.job_size:
        size = options.job_size
        parts = [part[at : at + size] for part in parts for at in range(0, len(part), size)]
    compressing = Compressing(options, max(level, LEVEL_MIN), dictionary, console)
    parameters = compressing.parameters
    total = sum(map(len, parts))
    zstd_dict = dictionary_of(dictionary)
    compressed: list[bytes] = []

    def compress() -> None:
        compressed[:] = [zstd.compress(part, options=parameters, zstd_dict=zstd_dict) for part in parts]

    def decompress() -> None:
        for part in compressed:
            zstd.decompress(part, zstd_dict)

    compress_speed = _speed(compress, total, options.seconds)
    size = sum(map(len, compressed)) or 1
    decompress_speed = _speed(decompress, total, options.seconds)
    restored = [zstd.decompress(part, zstd_dict) for part in compressed]
    if restored != parts:
        raise AssertionError(f"level {level}: what was decompressed is not what was compressed")
    if console.level >= 2:
        print(
            f"{level:2}#{name:<17.17} :{total:10} ->{size:10} (x{total / size:5.3f}), "
            f"{_padded(compress_speed)} MB/s, {decompress_speed:6.1f} MB/s"
        )
    else:
        print(
            f"-{level:<3}{size:11} ({total / size:5.3f}) {compress_speed:6.2f} MB/s "
            f"{decompress_speed:6.1f} MB/s  {name}"
        )
    sys.stdout.flush()


def _padded(speed: float) -> str:
    return f"{speed:6.1f}" if speed >= 10 else f"{speed:6.2f}"


def _speed(work: Callable[[], object], size: int, seconds: int) -> float:
    """Return the best speed in millions of bytes per second."""
    return size / max(best_time(work, seconds), 1e-9) / _MEGABYTE
