# SPDX-License-Identifier: Apache-2.0
"""
cpkg.zstandard against python-zstandard: `python tests/bench/zstandard_dropin.py [--rounds N] [--only TEXT]`.

Needs `pip install zstandard==0.25.0` (CPython). Both sides of a row take turns, each turn lasts a few milliseconds, and
the fastest turn counts; what comes out is checked before. More than 1 in the last column is faster than the original.
"""

from __future__ import annotations

import argparse
import io
import random
import time
from collections.abc import Callable, Iterator
from typing import Any

import zstandard as original

import cpkg
import cpkg.zstandard as ours

TURN = 0.004
"""Seconds that a turn takes, about."""

Call = Callable[[], Any]


def text(size: int) -> bytes:
    """Return the same words in any run, which compress about as well as prose."""
    draw = random.Random(3)
    words = [bytes(draw.choices(b"abcdefghijklmnopqrstuvwxyz", k=draw.randint(2, 9))) for _ in range(2000)]
    return b" ".join(draw.choices(words, k=size // 5 + 10))[:size]


def of_size(module: Any, data: bytes, frame: bytes) -> dict[str, Call]:
    """Return the calls of one side for content of one size; each returns what is checked."""
    compressor, decompressor = module.ZstdCompressor(), module.ZstdDecompressor()
    dictionary = module.ZstdCompressionDict(text(50_000))
    with_dictionary = module.ZstdCompressor(dict_data=dictionary)
    its_frame = with_dictionary.compress(data)
    its_decompressor = module.ZstdDecompressor(dict_data=dictionary)
    pieces = [data[start : start + 65536] for start in range(0, len(data), 65536)]

    def compressobj() -> bytes:
        packer = compressor.compressobj()
        return b"".join([*map(packer.compress, pieces), packer.flush()])

    def stream_writer() -> bytes:
        target = io.BytesIO()
        with compressor.stream_writer(target, closefd=False) as writer:
            for piece in pieces:
                writer.write(piece)
        return target.getvalue()

    def stream_reader() -> list[bytes]:
        found = []
        with decompressor.stream_reader(io.BytesIO(frame)) as reader:
            while piece := reader.read(65536):
                found.append(piece)
        return found

    return {
        "compress, object kept": lambda: compressor.compress(data),
        "decompress, object kept": lambda: decompressor.decompress(frame),
        "compress, dictionary": lambda: with_dictionary.compress(data),
        "decompress, dictionary": lambda: its_decompressor.decompress(its_frame),
        "compress()": lambda: module.compress(data),
        "decompress()": lambda: module.decompress(frame),
        "compressobj": compressobj,
        "decompressobj": lambda: decompressor.decompressobj().decompress(frame),
        "stream_writer": stream_writer,
        "stream_reader": stream_reader,
        "read_to_iter, decompressing": lambda: b"".join(decompressor.read_to_iter(io.BytesIO(frame))),
        "copy_stream, compressing": lambda: compressor.copy_stream(io.BytesIO(data), io.BytesIO()),
    }


def batches(module: Any, threads: int) -> dict[str, Call]:
    """Return the calls that take many buffers at once."""
    data = text(200_000)
    items = [data[start : start + 200] for start in range(0, len(data), 200)]
    frames = [original.compress(item) for item in items]
    compressor, decompressor = module.ZstdCompressor(), module.ZstdDecompressor()
    return {
        "multi_compress_to_buffer": lambda: compressor.multi_compress_to_buffer(items, threads=threads),
        "multi_decompress_to_buffer": lambda: decompressor.multi_decompress_to_buffer(frames, threads=threads),
    }


def cells() -> Iterator[tuple[str, Call, Call]]:
    """Yield a name and both sides of each row."""
    for label, size in (("1 KiB", 1 << 10), ("64 KiB", 1 << 16), ("1 MiB", 1 << 20)):
        data = text(size)
        frame = original.compress(data)
        theirs, mine = (of_size(module, data, frame) for module in (original, ours))
        for name, call in theirs.items():
            if "decompress" in name or "reader" in name:
                assert mine[name]() == call(), name
            yield f"{name}, {label}", call, mine[name]
    for threads in (1, 2):
        theirs, mine = (batches(module, threads) for module in (original, ours))
        for name, call in theirs.items():
            contents = [[item.tobytes() for item in side()] for side in (call, mine[name])]
            assert "decompress" not in name or contents[0] == contents[1], name
            yield f"{name}, 1000 of 200 bytes, {threads} thread{'s' * (threads > 1)}", call, mine[name]


def fastest(rounds: int, *calls: Call) -> list[float]:
    """Return the shortest time of a call of each, in seconds."""
    counts = []
    for call in calls:
        begin = time.perf_counter()
        call()
        counts.append(max(1, int(TURN / (time.perf_counter() - begin + 1e-9))))
    best = [float("inf")] * len(calls)
    for _ in range(rounds):
        for number, (call, count) in enumerate(zip(calls, counts)):
            begin = time.perf_counter()
            for _ in range(count):
                call()
            best[number] = min(best[number], (time.perf_counter() - begin) / count)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0].strip())
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--only", default="", help="rows whose name has this text")
    arguments = parser.parse_args()
    info = cpkg.backend_info()["zstd"]
    print(f"{info.interpreter}, {info.backend} ({info.library}) against zstandard {original.__version__}")
    print(f"{'':62} {'zstandard':>12} {'cpkg':>12} {'times':>6}")
    for name, theirs, mine in cells():
        if arguments.only in name:
            times = fastest(arguments.rounds, theirs, mine)
            print(f"{name:62} {times[0] * 1e6:9.2f} us {times[1] * 1e6:9.2f} us {times[0] / times[1]:6.2f}", flush=True)


if __name__ == "__main__":
    main()
