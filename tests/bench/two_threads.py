# SPDX-License-Identifier: Apache-2.0
"""
Measure what a second thread gains: `python tests/bench/two_threads.py`, on a free-threaded interpreter.

Each case runs in one thread, in two at once, and in two processes at once, which share nothing: what those gain is what
the machine can give to this work in that minute (two processors of a virtual machine may be one core of the host). The
gain is how much more work is done in a second. Records that Python code makes tell what the interpreter can.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import struct
import sys
import threading
import time
from typing import Any, Callable

import cpkg
from cpkg import msgpack, zstd

RECORD = {"id": 12, "name": "some name", "tags": ["a", "b"], "price": 1.5, "in": {"id": 1, "name": "x"}}
TEXT = b"".join(b"line %d of some text\n" % number for number in range(2000))


def records(count: int) -> Any:
    """Return records that share no object with other threads': what they count references to is counted in turns."""
    return json.loads(json.dumps([dict(RECORD, number=number) for number in range(count)]))


def cases() -> dict[str, Callable[[], Callable[[], Any]]]:
    """Return what makes a thread's work, in the thread: objects of its own, as threads that serve requests have."""

    def pack() -> Callable[[], Any]:
        value = records(200)
        return lambda: msgpack.packb(value)

    def unpack() -> Callable[[], Any]:
        data = msgpack.packb(records(200))
        return lambda: msgpack.unpackb(data)

    def pack_small() -> Callable[[], Any]:
        value = records(1)[0]
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
        inner = records(1)[0]
        return lambda: [
            {**inner, "tags": ["a", "b"], "in": {"id": number, "name": "x"}, "number": number} for number in range(200)
        ]

    return {
        "hashing": digest,
        "200 records made in Python": copies,
        "pack 200 records": pack,
        "unpack 200 records": unpack,
        "pack one record": pack_small,
        "unpack one record": unpack_small,
        "compress 40 KB": compress,
        "decompress 40 KB": decompress,
    }


def measure(make: Callable[[], Callable[[], Any]], workers: int, count: int) -> float:
    """Return the seconds that so many threads take, each of which makes a work of its own and calls it so often."""
    start = threading.Barrier(workers)
    spans = []

    def run() -> None:
        work = make()
        work()
        start.wait()
        # each thread looks at the clock: one that waits for them may be woken when they are half done
        began = time.perf_counter()
        for _ in range(count):
            work()
        spans.append((began, time.perf_counter()))

    threads = [threading.Thread(target=run) for _ in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return max(end for _, end in spans) - min(began for began, _ in spans)


def measure_processes(make: Callable[[], Callable[[], Any]], workers: int, count: int) -> float:
    """Return the same for processes; their clocks are one."""
    ready, start, told = os.pipe(), os.pipe(), os.pipe()
    children = []
    for _ in range(workers):
        child = os.fork()
        if child == 0:
            work = make()
            work()
            os.write(ready[1], b"r")
            os.read(start[0], 1)
            began = time.perf_counter()
            for _ in range(count):
                work()
            os.write(told[1], struct.pack("dd", began, time.perf_counter()))
            os._exit(0)
        children.append(child)
    for _ in range(workers):
        os.read(ready[0], 1)
    os.write(start[1], b"s" * workers)
    spans = [struct.unpack("dd", os.read(told[0], 16)) for _ in range(workers)]
    for child in children:
        os.waitpid(child, 0)
    for end in (*ready, *start, *told):
        os.close(end)
    return max(end for _, end in spans) - min(began for began, _ in spans)


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
    works = cases()
    counts = {name: max(1, int(options.seconds / (measure(make, 1, 3) / 3))) for name, make in works.items()}
    # in turns, so that a minute in which the machine gives less meets all of them
    best = {name: [float("inf")] * 3 for name in works}
    for _ in range(options.rounds):
        for name, make in works.items():
            count = counts[name]
            found = (measure(make, 1, count), measure(make, 2, count), measure_processes(make, 2, count))
            best[name] = list(map(min, best[name], found))
    for name, (one, two, processes) in best.items():
        print(f"{name:24} {one / counts[name] * 1e6:9.2f} us", end="")
        print(f"  gain of threads {2 * one / two:.2f}, of processes {2 * one / processes:.2f}: {processes / two:.2f}")


if __name__ == "__main__":
    main()
