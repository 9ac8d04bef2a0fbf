# SPDX-License-Identifier: Apache-2.0
"""
Measure what a second thread gains: `python tests/bench/two_threads.py`, on a free-threaded interpreter.

Each case runs in one thread, in two at once, and in two processes at once, which share nothing: what those gain is what
the machine can give to this work in that minute (two processors of a virtual machine may be one core of the host). The
gain is how much more work is done in a second. Records that Python code makes tell what the interpreter can.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import sys
import threading
import time
from typing import Any, Callable

import turns
from turns import Call

from cpkg import msgpack, typed, zstd

RECORD = {"id": 12, "name": "some name", "tags": ["a", "b"], "price": 1.5, "in": {"id": 1, "name": "x"}}
TEXT = b"".join(b"line %d of some text\n" % number for number in range(2000))


@dataclasses.dataclass
class Inner:
    id: int
    name: str


@dataclasses.dataclass
class Record:
    id: int
    name: str
    tags: list[str]
    price: float
    inner: Inner
    number: int


def messages(count: int) -> bytes:
    """Return a message of objects that share nothing with other threads' but their classes."""
    return typed.encode([Record(12, "some name", ["a", "b"], 1.5, Inner(1, "x"), number) for number in range(count)])


def records(count: int) -> Any:
    """Return records that share no object with other threads': what they count references to is counted in turns."""
    return json.loads(json.dumps([dict(RECORD, number=number) for number in range(count)]))


def cases() -> dict[str, Callable[[], Call]]:
    """Return what makes a thread's work, in the thread: objects of its own, as threads that serve requests have."""
    partial = functools.partial

    def copies() -> Call:
        inner = records(1)[0]
        return lambda: [
            {**inner, "tags": ["a", "b"], "in": {"id": number, "name": "x"}, "number": number} for number in range(200)
        ]

    return {
        "hashing": lambda: lambda: hashlib.sha256(TEXT).digest(),
        "200 records made in Python": copies,
        "pack 200 records": lambda: partial(msgpack.packb, records(200)),
        "unpack 200 records": lambda: partial(msgpack.unpackb, msgpack.packb(records(200))),
        "pack one record": lambda: partial(msgpack.packb, records(1)[0]),
        "unpack one record": lambda: partial(msgpack.unpackb, msgpack.packb(RECORD)),
        "typed decode 200 objects": lambda: partial(typed.Decoder(list[Record]).decode, messages(200)),
        "typed encode 200 objects": lambda: partial(typed.encode, typed.decode(messages(200), list[Record])),
        "typed decode one object": lambda: partial(typed.Decoder(list[Record]).decode, messages(1)),
        "compress 40 KB": lambda: partial(zstd.compress, TEXT),
        "decompress 40 KB": lambda: partial(zstd.decompress, zstd.compress(TEXT)),
    }


def repeated(work: Call, count: int) -> None:
    for _ in range(count):
        work()


def in_threads(make: Callable[[], Call], workers: int, count: int) -> list[float]:
    """Return the seconds that so many threads take, each of which makes a work of its own and calls it so often."""
    start = threading.Barrier(workers)
    spans = []

    def run() -> None:
        work = make()
        work()
        start.wait()
        # each thread looks at the clock: one that waits for them may be woken when they are half done
        began = time.perf_counter()
        repeated(work, count)
        spans.append((began, time.perf_counter()))

    threads = [threading.Thread(target=run) for _ in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [max(end for _, end in spans) - min(began for began, _ in spans)]


def main() -> None:
    """Print a line per case."""
    parser = turns.options(__doc__, rounds=7)
    parser.add_argument("--seconds", type=float, default=0.1, help="length of a turn (default: %(default)s)")
    options = parser.parse_args()
    enabled = getattr(sys, "_is_gil_enabled", lambda: True)()
    print(f"{turns.heading('msgpack')}, GIL {'on' if enabled else 'off'}")
    counts, works = {}, {}
    for name, make in cases().items():
        count = counts[name] = max(1, int(options.seconds / (in_threads(make, 1, 3)[0] / 3)))
        processes = turns.Processes([functools.partial(repeated, make(), count) for _ in range(2)])
        works[name, "one"] = functools.partial(in_threads, make, 1, count)
        works[name, "two"] = functools.partial(in_threads, make, 2, count)
        works[name, "processes"] = turns.timed(processes.side_by_side)
    best = turns.least(turns.in_turns(works, options.rounds, skipped=1))
    for name, count in counts.items():
        one, two, apart = (best[name, kind][0] for kind in ("one", "two", "processes"))
        gains = f"gain of threads {2 * one / two:.2f}, of processes {2 * one / apart:.2f}: {apart / two:.2f}"
        turns.row(name, one / count * 1e6, f" us  {gains}")


if __name__ == "__main__":
    main()
