# SPDX-License-Identifier: Apache-2.0
"""Two threads that work at once, each on objects that it has created, beside the same work in one thread.

The ratio of "cpkg, one thread" is the gain of the second thread. Other libraries do the same work in two threads. With
a GIL only calls that release it gain: packing and unpacking are measured on interpreters without one.
"""

from __future__ import annotations

import functools
import importlib
import pickle
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from bench.cells import OURS, Call, Case, Group, NotHere, Works, reason
from bench.peers import PEP784

ALONE = "cpkg, one thread"
TURN = 0.002
"""Seconds of the work of each thread: long beside waking it."""


@dataclass(frozen=True)
class WorkCase(Case):
    """count: the number of records; 0 for text."""

    count: int = 0


CASES = [
    WorkCase("40 KB of text", quick=True, small=True),
    WorkCase("one record", count=1),
    WorkCase("200 records", count=200),
]


def operations(case: WorkCase) -> tuple[str, ...]:
    """Return the operations on text, or on records."""
    return ("pack", "unpack", "typed encode", "typed decode") if case.count else ("compress", "decompress")


def _zstd(module: Any, operation: str, _count: int) -> Call:
    text = b"".join(b"line %d of some text\n" % number for number in range(2000))
    if operation == "compress":
        return functools.partial(module.compress, text)
    return functools.partial(module.decompress, module.compress(text))


def _pack(module: Any, operation: str, count: int) -> Call:
    from bench import payloads

    packb, unpackb = (getattr(module, name, None) for name in ("packb", "unpackb"))
    packb, unpackb = packb or module.encode, unpackb or module.decode
    value = pickle.loads(pickle.dumps(payloads.records(count)))  # threads share no object
    return functools.partial(packb, value) if operation == "pack" else functools.partial(unpackb, packb(value))


def _typed(module: Any, operation: str, count: int) -> Call:
    from bench.typed_messages import User, users

    data = module.Encoder().encode(users().records[:count])
    decode = module.Decoder(list[User]).decode
    if operation == "typed encode":
        return functools.partial(module.Encoder().encode, decode(data))
    return functools.partial(decode, data)


Make = Callable[[Any, str, int], Call]
LIBRARIES: dict[str, tuple[Make, dict[str, str]]] = {
    "compress": (_zstd, {OURS: "cpkg.zstd", PEP784: PEP784, "pyzstd": "pyzstd", "zstandard": "zstandard"}),
    "pack": (
        _pack,
        {OURS: "cpkg.msgpack", "msgpack": "msgpack", "ormsgpack": "ormsgpack", "msgspec": "msgspec.msgpack"},
    ),
    "typed": (_typed, {OURS: "cpkg.typed", "msgspec": "msgspec.msgpack"}),
}
LIBRARIES.update(decompress=LIBRARIES["compress"], unpack=LIBRARIES["pack"])


def repeated(work: Call, count: int) -> None:
    """Call a work some times."""
    for _ in range(count):
        work()


def works(case: WorkCase, operation: str) -> Works:
    """Return the calls that let two threads do a turn of work each."""
    gil = getattr(sys, "_is_gil_enabled", lambda: True)()
    if gil and case.count:
        raise NotHere("this interpreter has a GIL: one thread at a time packs or unpacks")
    from bench import turns

    make, modules = LIBRARIES[operation.split()[0]]
    pool = ThreadPoolExecutor(2)
    missing: dict[str, str] = {}
    calls: dict[str, Call] = {}
    count = 0
    for name, module in modules.items():
        try:
            loaded = importlib.import_module(module)
        except ImportError as error:
            missing[name] = reason(error)
            continue
        both = [make(loaded, operation, case.count) for _ in range(2)]
        if not count:  # the same for all
            both[0]()
            count = max(1, int(TURN / turns.time_of(both[0], 3, time.perf_counter)))
            calls[ALONE] = functools.partial(_in_one, pool, both, count)
        calls[name] = functools.partial(_in_two, pool, both, count)
    return Works(calls, missing, limits=[ALONE], values=2 * count, clock="wall")


def _in_two(pool: ThreadPoolExecutor, both: list[Call], count: int) -> None:
    for done in [pool.submit(repeated, work, count) for work in both]:
        done.result()


def _in_one(pool: ThreadPoolExecutor, both: list[Call], count: int) -> None:
    for work in both:
        pool.submit(repeated, work, count).result()


GROUP = Group("Two threads", CASES, operations, works)
