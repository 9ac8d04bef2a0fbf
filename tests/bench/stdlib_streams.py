# SPDX-License-Identifier: Apache-2.0
"""
The cost of a `stdlib` backend stream beyond the interpreter's own: `python3.14 tests/bench/stdlib_streams.py`.

Streams of `compression.zstd`, and types that add to its calls, one by one, the Python parts of cpkg's streams, take
turns in one process, each on the same pieces of text. A row is a part: the processor time of a piece in nanoseconds
(nine turns of ten took longer), the time that the part adds to the row above, and how many times as fast as the first
row it is. Then come new streams and files with small contents.
"""

from __future__ import annotations

import functools
import io
import os
import sys
from collections import deque
from collections.abc import Callable
from threading import RLock
from typing import Any

import payloads
import turns
from compression import zstd as theirs  # type: ignore[import-not-found, unused-ignore]

os.environ["CPKG_ZSTD_BACKEND"] = "stdlib"

import cpkg
from cpkg import zstd
from purepy.base.locks import Exclusive
from purepy.base.locks import RLock as OurLock

Call = Callable[[], Any]

TURNS = 200
SIZES = (1 << 10, 4 << 10, 16 << 10, 64 << 10)
PIECES = 32
"""The largest number of calls; a turn then takes about a millisecond."""


class Handed:
    """Passes each call on: a Python method."""

    def __init__(self, library: Any) -> None:
        self.library = library
        self.lock = RLock()

    def call(self, data: bytes) -> bytes:
        result: bytes = self.library(data)
        return result


class Locked(Handed):
    """Adds a lock."""

    def call(self, data: bytes) -> bytes:
        with self.lock:
            result: bytes = self.library(data)
            return result


class Owned(Handed, Exclusive):
    """Adds the check whether this thread has the lock, and a lock that survives any signal."""

    def __init__(self, library: Any) -> None:
        self.library = library
        self._lock = OurLock()

    def call(self, data: bytes) -> bytes:
        with self._turn():
            result: bytes = self.library(data)
            return result


PARTS: dict[str, Callable[[Any], Any]] = {
    "compression.zstd": lambda call: call,
    "a method of Python": lambda call: Handed(call).call,
    "a lock": lambda call: Locked(call).call,
    "our lock, and whose it is": lambda call: Owned(call).call,
}


def in_turns(ways: dict[str, Callable[[], Call]]) -> dict[str, float]:
    """Return the processor time of each way, in seconds (nine turns of ten took longer); a way creates the call."""
    works = {name: lambda way=way: turns.timed(way())().processor for name, way in ways.items()}
    return {name: sorted(taken)[TURNS // 10] for name, taken in turns.in_turns(works, TURNS, shuffled=True).items()}


def source(size: int) -> bytes:
    """Return that much of Python's sources."""
    return payloads.corpus(2 * size)[:size]


def streams(direction: str, size: int) -> None:
    """Print the parts for streams that get pieces of that many bytes."""
    count = min(PIECES, (128 << 10) // size + 1)
    text = source(size * count * (1 if direction == "compress" else 12))
    if direction == "decompress":
        text = theirs.compress(text)
    first, *pieces = [text[at : at + size] for at in range(0, size * count, size)]
    assert len(pieces[-1]) == size
    kind = "ZstdCompressor" if direction == "compress" else "ZstdDecompressor"

    def way(part: Callable[[Any], Any], made: Any) -> Callable[[], Any]:
        call = part(getattr(made(), direction))
        call(first)  # with the header
        return lambda: deque(map(call, pieces), 0)

    ways = {name: functools.partial(way, part, getattr(theirs, kind)) for name, part in PARTS.items()}
    ways["cpkg.zstd"] = functools.partial(way, lambda call: call, getattr(zstd, kind))
    show(f"{kind}, {size >> 10} KiB at a time", in_turns(ways), len(pieces))


def whole(size: int) -> None:
    """Print whole streams and files, each a new one, for content of that many bytes."""
    text = source(size)
    frame = theirs.compress(text)
    count = max(1, (64 << 10) // size)
    calls: dict[str, Callable[[Any], Any]] = {
        "new compressor": lambda module: module.ZstdCompressor().compress(text, 2),
        "new decompressor": lambda module: module.ZstdDecompressor().decompress(frame),
        "file written": lambda module: written(module, text),
        "file read": lambda module: module.open(io.BytesIO(frame)).read(),
    }
    for what, call in calls.items():
        modules = {"compression.zstd": theirs, "cpkg.zstd": zstd}
        ways = {
            name: lambda call=call, module=module: functools.partial(deque, map(call, [module] * count), 0)
            for name, module in modules.items()
        }
        show(f"{what}, {size >> 10} KiB", in_turns(ways), count)


def written(module: Any, text: bytes) -> None:
    with module.open(io.BytesIO(), "wb") as file:
        file.write(text)


def show(title: str, times: dict[str, float], count: int) -> None:
    print(title)
    base = before = next(iter(times.values()))
    for name, seconds in times.items():
        added = (seconds - before) / count * 1e9
        turns.row(f"  {name}", f"{seconds / count * 1e9:.0f}", f"{added:+.0f}", base / seconds)
        before = seconds


if __name__ == "__main__":
    print(sys.version.split()[0], cpkg.backend_info()["zstd"].reason, zstd.zstd_version)
    for each in SIZES:
        streams("decompress", each)
        streams("compress", each)
    for each in SIZES:
        whole(each)
