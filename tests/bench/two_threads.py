# SPDX-License-Identifier: Apache-2.0
"""
Measure what a second thread gains: `python tests/bench/two_threads.py`, on a free-threaded interpreter.

Each case runs in one thread and, as often per thread, in two at once. The gain is how much more work is done in a
second; hashing, for which hashlib gives the GIL away on every build, tells what the machine can give, and records that
Python code makes tell what the interpreter can.
"""

from __future__ import annotations

import argparse
import copy
import hashlib
import sys
import threading
import time
from collections.abc import Sequence
from typing import Any, Callable

import cpkg
from cpkg import msgpack, zstd

RECORD = {"id": 12, "name": "some name", "tags": ["a", "b"], "price": 1.5, "in": {"id": 1, "name": "x"}}
TEXT = b"".join(b"line %d of some text\n" % number for number in range(2000))


def cases() -> dict[str, Callable[[], Callable[[], Any]]]:
    """Return what makes each thread's work: with objects of its own, as threads that serve different requests have."""

    def pack() -> Callable[[], Any]:
        value = [dict(copy.deepcopy(RECORD), number=number) for number in range(200)]
        return lambda: msgpack.packb(value)

    def unpack() -> Callable[[], Any]:
        data = msgpack.packb([dict(copy.deepcopy(RECORD), number=number) for number in range(200)])
        return lambda: msgpack.unpackb(data)

    def pack_small() -> Callable[[], Any]:
        value = copy.deepcopy(RECORD)
        return lambda: msgpack.packb(value)

    def unpack_small() -> Callable[[], Any]:
        data = msgpack.packb(RECORD)
        return lambda: msgpack.unpackb(data)

    def compress() -> Callable[[], Any]:
        return lambda: zstd.compress(TEXT)

    def decompress() -> Callable[[], Any]:
        frame = zstd.compress(TEXT)
        return lambda: zstd.decompress(frame)

    def digest() -> Callable[[], Any]:
        return lambda: hashlib.sha256(TEXT).digest()

    def copies() -> Callable[[], Any]:
        inner = copy.deepcopy(RECORD)
        return lambda: [
            {**inner, "tags": ["a", "b"], "in": {"id": number, "name": "x"}, "number": number} for number in range(200)
        ]

    return {
        "hashing (the machine's gain)": digest,
        "200 records made in Python": copies,
        "pack 200 records": pack,
        "unpack 200 records": unpack,
        "pack one record": pack_small,
        "unpack one record": unpack_small,
        "compress 40 KB": compress,
        "decompress 40 KB": decompress,
    }


def measure(works: Sequence[Callable[[], Any]], count: int) -> float:
    """Return the seconds that it takes to call each work so often, each in a thread of its own."""
    start = threading.Barrier(len(works) + 1)

    def run(work: Callable[[], Any]) -> None:
        start.wait()
        for _ in range(count):
            work()

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    start.wait()
    began = time.perf_counter()
    for thread in threads:
        thread.join()
    return time.perf_counter() - began


def main() -> None:
    """Print a line per case."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=7, help="turns of one and two threads (default: %(default)s)")
    parser.add_argument(
        "--seconds", type=float, default=0.1, help="length of a turn of one thread (default: %(default)s)"
    )
    options = parser.parse_args()
    enabled = getattr(sys, "_is_gil_enabled", lambda: True)()
    backends = [f"{codec} {info.backend}" for codec, info in cpkg.backend_info().items()]
    print(f"{sys.version.split()[0]}, GIL {'on' if enabled else 'off'}, {', '.join(backends)}")
    for name, make in cases().items():
        works = [make(), make()]
        once = measure(works[:1], 3) / 3
        count = max(1, int(options.seconds / once))
        one = two = float("inf")
        for _ in range(options.rounds):
            one = min(one, measure(works[:1], count))
            two = min(two, measure(works, count))
        gain = 2 * one / two
        print(f"{name:30} {one / count * 1e6:9.2f} us alone {two / count * 1e6:9.2f} us in pairs  gain {gain:.2f}")


if __name__ == "__main__":
    main()
