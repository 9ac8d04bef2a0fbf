# SPDX-License-Identifier: Apache-2.0
"""
How long an event loop waits while Zstandard works beside it: `python tests/bench/event_loop.py [--size MiB]`.

A task wakes up every millisecond; the longest time between two of its turns counts, in milliseconds, per
round. Two controls are measured: an idle loop, which shows the delays of the machine itself, and a loop beside
which a thread reads a plain file of the same size at once: on PyPy it also shows the collector's steps. The script
needs an otherwise idle machine, and more processors than `--threads` for the rows with threads.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from collections.abc import Awaitable
from pathlib import Path
from typing import Any, Callable

import payloads
import turns

from cpkg import zstd

Work = Callable[[], Awaitable[Any]]


async def longest_wait(work: Work) -> float:
    """Return the longest time between two turns of a task beside `work`, in milliseconds."""
    longest = 0.0

    async def take_turns() -> None:
        nonlocal longest
        before = time.perf_counter()
        while True:
            await asyncio.sleep(0.001)
            now = time.perf_counter()
            longest = max(longest, now - before)
            before = now

    turns = asyncio.ensure_future(take_turns())
    await asyncio.sleep(0.005)
    result = await work()
    await asyncio.sleep(0.002)  # so that a wait at the end counts
    turns.cancel()
    del result
    return longest * 1e3


def works(data: bytes, path: Path, threads: int) -> dict[str, Work]:
    plain = path.with_suffix(".plain")
    plain.write_bytes(data)
    frame, frames = zstd.compress(data), zstd.compress(data, frame_size=4 << 20)

    async def idle() -> None:
        await asyncio.sleep(0.3)

    async def read_plain() -> bytes:
        return await asyncio.get_running_loop().run_in_executor(None, plain.read_bytes)

    async def write() -> None:
        async with zstd.aopen(path, "wb") as file:
            for start in range(0, len(data), 1 << 20):
                await file.write(data[start : start + (1 << 20)])

    async def chunks() -> None:
        size = 0
        async with zstd.aopen(path) as file:
            async for chunk in file.chunks(1 << 20):
                size += len(chunk)
        assert size == len(data)

    async def read() -> bytes:
        async with zstd.aopen(path) as file:
            content: bytes = await file.read()
        assert len(content) == len(data)
        return content

    async def decompress(compressed: bytes, several: int | None = None) -> bytes:
        content: bytes = await zstd.adecompress(compressed, threads=several)
        assert len(content) == len(data)
        return content

    return {
        "nothing": idle,
        "a plain file, read at once": read_plain,
        "acompress": lambda: zstd.acompress(data),
        "adecompress": lambda: decompress(frame),
        "a file, written": write,
        "a file, read in chunks": chunks,
        "a file, read at once": read,
        f"acompress, {threads} threads": lambda: zstd.acompress(data, threads=threads, frame_size=4 << 20),
        f"adecompress, {threads} threads": lambda: decompress(frames, threads),
    }


def main() -> None:
    parser = turns.options(__doc__, rounds=7, size=48)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    print(f"{turns.heading('zstd')}, {options.size} MiB")
    with tempfile.TemporaryDirectory() as folder:
        calls = works(payloads.corpus(options.size << 20), Path(folder, "file.zst"), options.threads)
        waits = {name: lambda call=call: asyncio.run(longest_wait(call)) for name, call in calls.items()}
        found = turns.in_turns(waits, options.rounds)
    turns.row("longest wait in a round, ms", "least", "median", "most")
    for name, each in found.items():
        turns.row(name, min(each), statistics.median(each), max(each))


if __name__ == "__main__":
    main()
