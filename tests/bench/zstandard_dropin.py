# SPDX-License-Identifier: Apache-2.0
"""
cpkg.zstandard against python-zstandard: `python tests/bench/zstandard_dropin.py [--only PATTERN] [--processes N]`.

Needs `pip install zstandard==0.25.0` (CPython). Each turn lasts a few milliseconds, and the fastest turn counts;
results are checked first. Both sides of a row take turns in one process; with `--processes N`, each side has N
processes, which share no memory: one side cannot reuse the other's memory in the allocator. Columns: cpkg,
the original, how many times as fast cpkg is, and the same for the worst and the best pair of processes.
"""

from __future__ import annotations

import functools
import importlib
import io
import json
import random
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import turns

SIDES = ("zstandard", "cpkg.zstandard")

TURN = 0.004
"""Approximate seconds of a turn."""

Call = Callable[[], Any]


def text(size: int) -> bytes:
    """Return the same words in every run; they compress about as well as prose."""
    draw = random.Random(3)
    words = [bytes(draw.choices(b"abcdefghijklmnopqrstuvwxyz", k=draw.randint(2, 9))) for _ in range(2000)]
    return b" ".join(draw.choices(words, k=size // 5 + 10))[:size]


def of_size(module: Any, data: bytes) -> dict[str, Call]:
    """Return the calls of one side for content of one size; a call returns a frame of the content, or the content."""
    compressor, decompressor = module.ZstdCompressor(), module.ZstdDecompressor()
    frame = compressor.compress(data)
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

    def stream_reader() -> bytes:
        found = []
        with decompressor.stream_reader(io.BytesIO(frame)) as reader:
            while piece := reader.read(65536):
                found.append(piece)
        return b"".join(found)

    def copy_stream() -> bytes:
        target = io.BytesIO()
        compressor.copy_stream(io.BytesIO(data), target)
        return target.getvalue()

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
        "copy_stream, compressing": copy_stream,
    }


def batches(module: Any, data: bytes, threads: int) -> dict[str, Call]:
    """Return the calls of one side that accept many buffers at once."""
    items = [data[start : start + 200] for start in range(0, len(data), 200)]
    compressor, decompressor = module.ZstdCompressor(), module.ZstdDecompressor()
    frames = [compressor.compress(item) for item in items]
    return {
        "multi_compress_to_buffer": lambda: compressor.multi_compress_to_buffer(items, threads=threads),
        "multi_decompress_to_buffer": lambda: decompressor.multi_decompress_to_buffer(frames, threads=threads),
    }


def check(module: Any, name: str, result: Any, data: bytes, dictionary: Any) -> None:
    """Raise AssertionError unless a call's result is the data, or frames of the data."""
    parts = [result] if isinstance(result, bytes) else [segment.tobytes() for segment in result]
    if "decompress" not in name and "reader" not in name:
        decompressor = module.ZstdDecompressor(dict_data=dictionary if "dictionary" in name else None)
        parts = [decompressor.decompressobj().decompress(part) for part in parts]
    assert b"".join(parts) == data, name


def rows(module: Any, wanted: str) -> Iterator[tuple[str, Call]]:
    """Yield the name and the call of each row of one side whose name matches the regular expression."""
    dictionary = module.ZstdCompressionDict(text(50_000))
    groups = [
        (f", {label}", data, of_size(module, data))
        for label, data in (("1 KiB", text(1 << 10)), ("64 KiB", text(1 << 16)), ("1 MiB", text(1 << 20)))
    ]
    many = text(200_000)
    for threads in (1, 2):
        label = f", 1000 of 200 bytes, {threads} thread{'s' * (threads > 1)}"
        groups.append((label, many, batches(module, many, threads)))
    for label, data, calls in groups:
        for name, call in calls.items():
            if re.search(wanted, name + label):
                check(module, name, call(), data, dictionary)
                yield name + label, call


def measured(sides: Sequence[str], rounds: int, wanted: str) -> dict[str, list[float]]:
    """Return the shortest time of a call of each side in this process, in seconds, by row."""
    found = {}
    for pairs in zip(*(rows(importlib.import_module(side), wanted) for side in sides)):
        calls = {number: call for number, (_, call) in enumerate(pairs)}
        found[pairs[0][0]] = [taken.clock for taken in turns.fastest(calls, rounds, TURN).values()]
    return found


def main() -> None:
    parser = turns.options(__doc__, rounds=40)
    parser.add_argument("--only", default="", metavar="PATTERN", help="only rows that match this regular expression")
    parser.add_argument("--processes", type=int, default=0, help="processes of each side; without it both are in one")
    options = parser.parse_args()
    if options.child is not None:
        print(json.dumps(measured(options.child, options.rounds, options.only)))
        return
    original = importlib.import_module(SIDES[0])
    theirs = f"zstandard {original.__version__} (libzstd {'.'.join(map(str, original.ZSTD_VERSION))})"
    print(f"{turns.heading('zstd')} against {theirs}")
    if not options.processes:
        runs = [measured(SIDES, options.rounds, options.only)]
    else:
        works = {
            side: functools.partial(turns.again, "--rounds", options.rounds, "--only", options.only, "--child", side)
            for side in SIDES
        }
        pairs = zip(*turns.in_turns(works, options.processes).values())
        runs = [{name: [one[name][0], other[name][0]] for name in one} for one, other in pairs]
    for name in runs[0]:
        turns.versus(name, [run[name][1] for run in runs], [run[name][0] for run in runs], width=62)


if __name__ == "__main__":
    main()
