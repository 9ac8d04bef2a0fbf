# SPDX-License-Identifier: Apache-2.0
"""Two threads that work at once, each on its own objects, created by the main thread, and one call with all cores.

The ratio of "cpkg, one thread" is the gain of the other threads. Other libraries do the same work in as many threads.
With a GIL only calls that release it gain: packing and unpacking are measured on interpreters without one.
"""

from __future__ import annotations

import os
import pickle
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from bench import payloads, turns
from bench.cells import OURS, PEP784, Call, Case, Group, NotHere, Works

ALONE = "cpkg, one thread"
TURN = 0.002
"""Seconds of work for each thread: long compared with waking the thread."""

# count: the number of records; 0 for bytes. size: the number of bytes for a call that uses all cores
CASES = [
    Case("40 KB of text", quick=True, small=True, count=0, size=0),
    Case("64 MiB in one call, all cores", count=0, size=64 << 20),
    Case("one record", count=1, size=0),
    Case("200 records", count=200, size=0),
]
MODULES = {
    "bytes": {OURS: "cpkg.zstd", PEP784: PEP784, "pyzstd": "pyzstd", "zstandard": "zstandard"},
    "records": {OURS: "cpkg.msgpack", "msgpack": "msgpack", "ormsgpack": "ormsgpack", "msgspec": "msgspec.msgpack"},
    "typed": {OURS: "cpkg.typed", "msgspec": "msgspec.msgpack"},
}


def operations(case: Case) -> tuple[str, ...]:
    """Return the operations of a case, which are on text or on records."""
    return ("pack", "unpack", "typed encode", "typed decode") if case.count else ("compress", "decompress")


def work(module: Any, operation: str, count: int) -> Call:
    """Return a call of a library on an object that only this call uses."""
    if not count:
        value: Any = b"".join(b"line %d of some text\n" % number for number in range(2000))
        pack, unpack = module.compress, module.decompress
    elif operation.startswith("typed"):
        from bench.typed_messages import User, users

        pack, unpack = module.Encoder().encode, module.Decoder(list[User]).decode
        value = unpack(pack(users()[:count]))
    else:
        pack, unpack = (getattr(module, names[0], None) or getattr(module, names[1]) for names in
                        (("packb", "encode"), ("unpackb", "decode")))  # fmt: skip
        value = pickle.loads(pickle.dumps(payloads.records(count)))
    packs = operation in ("compress", "pack", "typed encode")
    return partial(pack, value) if packs else partial(unpack, pack(value))


def works(case: Case, operation: str) -> Works:
    """Return calls that let two threads do TURN seconds of work each."""
    gil = getattr(sys, "_is_gil_enabled", lambda: True)()
    if gil and case.count:
        raise NotHere("this interpreter has a GIL: one thread at a time packs or unpacks")
    if case.size:
        return _all_cores(case.size, operation)
    pool, found, count = ThreadPoolExecutor(2), Works(limits=[ALONE], clock="wall"), 0
    kind = "typed" if operation.startswith("typed") else "records" if case.count else "bytes"
    for name, module in found.imported(MODULES[kind]):
        both = [work(module, operation, case.count) for _ in range(2)]
        if not count:  # the calls of the first library in a turn; all other libraries make as many
            both[0]()
            count = max(1, int(TURN / turns.time_of(both[0], 3, time.perf_counter)))
            found.calls[ALONE] = partial(_in_one, pool, both, count)
        found.calls[name] = partial(_in_two, pool, both, count)
    found.values = 2 * count
    return found


def _all_cores(size: int, operation: str) -> Works:
    """Return the calls that use all cores by themselves; only cpkg decompresses with several threads."""
    from cpkg import zstd

    data, compress = payloads.corpus(size), operation == "compress"
    frames = zstd.compress(data, threads=0)
    ours = partial(getattr(zstd, operation), data if compress else frames)
    found = Works({OURS: partial(ours, threads=0), ALONE: partial(ours, threads=1)}, limits=[ALONE], size=size)
    found.clock = "wall"
    for name, module in found.imported({PEP784: PEP784, "zstandard": "zstandard"}):
        if name == "zstandard":
            found.calls[name] = partial(module.ZstdCompressor(threads=-1).compress, data)
        elif compress:
            workers = {module.CompressionParameter.nb_workers: os.cpu_count()}
            found.calls[name] = partial(module.compress, data, options=workers)
        else:
            found.calls[name] = partial(module.decompress, frames)
    if not compress and found.calls.pop("zstandard", None):
        found.missing["zstandard"] = "its function reads one frame"

    def check(library: str, result: bytes) -> None:
        assert (zstd.decompress(result) if compress else result) == data, library

    found.check = check
    return found


def _repeated(work: Call, count: int) -> None:
    for _ in range(count):
        work()


def _in_two(pool: ThreadPoolExecutor, both: list[Call], count: int) -> None:
    for done in [pool.submit(_repeated, work, count) for work in both]:
        done.result()


def _in_one(pool: ThreadPoolExecutor, both: list[Call], count: int) -> None:
    for work in both:
        pool.submit(_repeated, work, count).result()


GROUPS = [Group("Two threads", CASES, operations, works, alone=True)]
