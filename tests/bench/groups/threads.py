# SPDX-License-Identifier: Apache-2.0
"""Two threads that work at once, each on objects that it has created, and one call that uses all cores.

The ratio of "cpkg, one thread" is the gain of the other threads. Other libraries do the same work in as many threads.
With a GIL only calls that release it gain: packing and unpacking are measured on interpreters without one.
"""

from __future__ import annotations

import functools
import importlib
import os
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
    """count: the number of records; 0 for bytes. size: of the bytes in one call that uses all cores."""

    count: int = 0
    size: int = 0


CASES = [
    WorkCase("40 KB of text", quick=True, small=True),
    WorkCase("64 MiB in one call, all cores", size=64 << 20),
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
    if case.size:
        return _all_cores(case.size, operation)
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


def _all_cores(size: int, operation: str) -> Works:
    """Return the calls that use all cores themselves; no other library decompresses in several threads."""
    from bench import payloads
    from cpkg import zstd

    data = payloads.corpus(size)
    frames = zstd.compress(data, threads=0)
    compress = operation == "compress"
    ours = functools.partial(getattr(zstd, operation), data if compress else frames)
    calls: dict[str, Call] = {OURS: functools.partial(ours, threads=0), ALONE: functools.partial(ours, threads=1)}
    missing: dict[str, str] = {}
    try:
        module = importlib.import_module(PEP784)
        workers = {module.CompressionParameter.nb_workers: os.cpu_count()}
        compressing = functools.partial(module.compress, data, options=workers)
        calls[PEP784] = compressing if compress else functools.partial(module.decompress, frames)
    except ImportError as error:
        missing[PEP784] = reason(error)
    try:
        module = importlib.import_module("zstandard")
        calls["zstandard"] = functools.partial(module.ZstdCompressor(threads=-1).compress, data)
    except ImportError as error:
        missing["zstandard"] = reason(error)
    if not compress and calls.pop("zstandard", None):
        missing["zstandard"] = "its function reads one frame"

    def check(library: str, result: bytes) -> None:
        assert (zstd.decompress(result) if compress else result) == data, library

    return Works(calls, missing, check, limits=[ALONE], size=size, clock="wall")


def _in_two(pool: ThreadPoolExecutor, both: list[Call], count: int) -> None:
    for done in [pool.submit(repeated, work, count) for work in both]:
        done.result()


def _in_one(pool: ThreadPoolExecutor, both: list[Call], count: int) -> None:
    for work in both:
        pool.submit(repeated, work, count).result()


GROUP = Group("Two threads", CASES, operations, works)
