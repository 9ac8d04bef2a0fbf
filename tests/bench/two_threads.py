# SPDX-License-Identifier: Apache-2.0
"""
Measure the gain of a second thread: `python tests/bench/two_threads.py`, on a free-threaded interpreter.

Each case has its own processes, because memory that another case has freed changes what an allocation costs, and the
addresses that a process happens to get change what the threads share. The work runs in one thread, then in two threads
at once, then in two processes at once. The gain is how much more work is done per second than by one thread. It is the
median over the rounds, in each of which the three take turns, and then over the processes that measure the case. The
column "least" is the gain of two threads in the slowest of them. The two processes share nothing, so they are the
control: their gain is what the machine can give to this work in that minute.
(Two processors of a virtual machine may be one core of the host, and other programs may use one of them.)
Two other cases show the limits of the interpreter itself: hashing in C, and Python code that creates dictionaries.

Clock time is measured, so nothing else may run on the machine. `bash tests/support/free_threaded.sh 3.14t-two-threads`
compiles CPython 3.14t if it is missing, installs cpkg on it and runs this script.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import statistics
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
    """Return an encoded list of objects that share only their classes with those of other threads."""
    return typed.encode([Record(12, "some name", ["a", "b"], 1.5, Inner(1, "x"), number) for number in range(count)])


def records(count: int) -> Any:
    """Return records that share no object with other threads: threads take turns to count references to one object."""
    return json.loads(json.dumps([dict(RECORD, number=number) for number in range(count)]))


def cases() -> dict[str, Callable[[], Call]]:
    """Return a factory per case; each thread calls it, and so has its own objects, like threads that serve requests."""
    partial = functools.partial

    def copies() -> Call:
        inner = records(1)[0]
        return lambda: [
            {**inner, "tags": ["a", "b"], "in": {"id": number, "name": "x"}, "number": number} for number in range(200)
        ]

    return {
        "hashing": lambda: lambda: hashlib.sha256(TEXT).digest(),
        "200 dictionaries in Python": copies,
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


def in_threads(make: Callable[[], Call], workers: int, count: int) -> float:
    """Return the seconds in which `workers` threads call their own work `count` times each."""
    start = threading.Barrier(workers)
    spans = []

    def run() -> None:
        work = make()
        work()
        start.wait()
        # each thread reads the clock: one that waited for the threads might wake up when they are half done
        began = time.perf_counter()
        repeated(work, count)
        spans.append((began, time.perf_counter()))

    threads = [threading.Thread(target=run) for _ in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return max(end for _, end in spans) - min(began for began, _ in spans)


def measure(name: str, rounds: int, seconds: float) -> list[float]:
    """Return microseconds of a call in one thread, the gains of two threads and two processes, and their ratio."""
    make = cases()[name]
    count = max(1, int(seconds / (in_threads(make, 1, 3) / 3)))
    processes = turns.Processes([functools.partial(repeated, make(), count) for _ in range(2)])
    works: dict[Any, Callable[[], Any]] = {
        "one": functools.partial(in_threads, make, 1, count),
        "two": functools.partial(in_threads, make, 2, count),
        "apart": turns.timed(processes.side_by_side),
    }
    found = turns.in_turns(works, rounds, skipped=1)
    processes.end()
    one, two = found["one"], found["two"]
    apart = [taken.clock for taken in found["apart"]]
    gain, control = ([2 * alone / both for alone, both in zip(one, each)] for each in (two, apart))
    ratio = [theirs / ours for ours, theirs in zip(two, apart)]
    return [statistics.median(one) / count * 1e6, *map(statistics.median, (gain, control, ratio))]


def main() -> None:
    """Print a line per case."""
    parser = turns.options(__doc__, rounds=3)
    parser.add_argument("--processes", type=int, default=7, help="processes per case (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=0.4, help="length of a turn (default: %(default)s)")
    parser.add_argument("-k", default="", help="only cases whose name contains this")
    options = parser.parse_args()
    if options.child:
        print(json.dumps(measure(options.child[0], options.rounds, options.seconds)))
        return
    enabled = getattr(sys, "_is_gil_enabled", lambda: True)()
    print(f"{turns.heading('msgpack')}, {turns.heading('zstd')}, GIL {'on' if enabled else 'off'}")
    turns.row("medians", "us", "two threads", "processes", "of these", "least", width=28)
    for name in cases():
        if options.k in name:
            child = ["--rounds", options.rounds, "--seconds", options.seconds, "--child", name]
            figures = list(zip(*(turns.again(*child) for _ in range(options.processes))))
            turns.row(name, *map(statistics.median, figures), min(figures[1]), width=28)


if __name__ == "__main__":
    main()
