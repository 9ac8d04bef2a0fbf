# SPDX-License-Identifier: Apache-2.0
"""
Records by random numbers, and whole scans, against ArrayRecord 0.8: `python tests/bench/record_numbers.py`.

200,000 records of 200 bytes, level 3. Both sides return objects. Each file is read in a separate process, and files
take turns. For each figure the first value in its process and the least value are printed, in clock and processor time.
`array_record` is left out if it is not installed. `--bound`: the indispensable parts of a scan that returns objects.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import json
import random
from array import array
from collections import deque
from pathlib import Path
from typing import Any, Callable

import turns

from cpkg import msgpack, records, zstd

PEERS = {"msgspec": lambda module: module.msgpack.Decoder().decode, "ormsgpack": lambda module: module.unpackb}
COUNT, BATCH, RUNS = 200_000, 3000, 7
NUMBERS = {"d": ("t", "ms"), "q": ("status", "bytes")}
PEER = "ArrayRecord, group_size:100"
FILES: dict[str, Any] = {
    "ArrayRecord, group_size:1": "group_size:1,zstd:3",
    PEER: "group_size:100,zstd:3",
    "frames of 256 KiB": {},
    "frames of 4 KiB": {"frame_size": 4 << 10},
    "frames of 4 KiB, dictionary of 64 KiB": {"frame_size": 4 << 10, "dictionary": 64 << 10},
    "frames of 2 KiB, dictionary of 64 KiB": {"frame_size": 2 << 10, "dictionary": 64 << 10},
}
DECOMPRESSING, UNPACKING = "frames of 1,000 records decompressed", "messages unpacked"
PEER_SCAN, SCAN = "ArrayRecord's whole scan, unpacked", "frames of 256 KiB, whole scan"
LIMITS = {
    "a format that takes no time": (UNPACKING,),
    "one that decompresses": (DECOMPRESSING, UNPACKING),
    SCAN: (SCAN,),
}


def made() -> list[dict[str, Any]]:
    return [
        {
            "ip": f"10.0.{n % 256}.{n // 256 % 256}",
            "t": 1.7e9 + n,
            "method": ("GET", "POST")[n % 7 == 0],
            "path": f"/api/v1/items/{n * 7919 % 100_000}",
            "status": 200 if n % 11 else 404,
            "bytes": n * 37 % 65_536,
            "agent": f"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 {n % 50}",
            "ref": f"https://example.com/{n % 997}",
            "ms": n % 1000 / 7,
            "user": None if n % 3 else f"u{n % 5000}",
            "tls": True,
            "host": f"h{n % 9}",
        }
        for n in range(COUNT)
    ]


def array_record() -> Any:
    """Return ArrayRecord's module; raises ImportError."""
    return importlib.import_module("array_record.python.array_record_module")


def write(name: str, path: str, rows: list[dict[str, Any]]) -> None:
    options = FILES[name]
    if isinstance(options, dict):
        if "dictionary" in options:
            samples = [msgpack.packb(row) for row in rows[: len(rows) // 10]]
            options = {**options, "dictionary": zstd.train_dict(samples, options["dictionary"])}
        with records.open(path, "wb", level=3, **options) as writer:
            writer.extend(rows)
        return
    out = array_record().ArrayRecordWriter(path, options)
    for row in rows:
        out.write(msgpack.packb(row))
    out.close()


def uses(name: str, path: str) -> tuple[Callable[[list[int]], Any], Callable[[], int]]:
    """Return the function that reads records by numbers, and the one that scans the file and counts the records."""
    if isinstance(FILES[name], dict):
        reader = records.open(path)
        return reader.take, lambda: sum(1 for _ in records.open(path))
    make = array_record().ArrayRecordReader
    array = make(path, "readahead_buffer_size:0")
    return (
        lambda numbers: [msgpack.unpackb(row) for row in array.read(numbers)],
        lambda: sum(1 for row in every(path) if msgpack.unpackb(row)),
    )


def every(path: str) -> Any:
    """Return all messages of an ArrayRecord file."""
    return array_record().ArrayRecordReader(path, "readahead_buffer_size:16777216").read_all()


def child(name: str, path: str) -> None:
    """Print the times of batches and scans in this process: first and least, clock and processor."""
    take, scan = uses(name, path)
    chance = random.Random(1)
    numbers = [chance.randrange(COUNT) for _ in range(BATCH)]
    found = []
    for call, wanted, runs in ((lambda: len(take(numbers)), BATCH, RUNS), (scan, COUNT, 3)):
        got: list[int] = []
        work = turns.timed(lambda call=call, got=got: got.append(call()))
        taken = [work() for _ in range(runs)]
        assert set(got) == {wanted}
        found.append([*taken[0], *map(min, zip(*taken))])
    print(json.dumps(found))


def bound(rows: list[dict[str, Any]]) -> None:
    """Print the least time of each step of a scan alone, in C loops, and the resulting bound for a scan."""
    messages = [msgpack.packb(row) for row in rows]
    frames = [zstd.compress(b"".join(messages[at : at + 1000]), 3) for at in range(0, COUNT, 1000)]
    texts = [value.encode() for row in rows for value in row.values() if isinstance(value, str)]
    numbers = [array(kind, [row[name] for row in rows for name in names]) for kind, names in NUMBERS.items()]
    parts: dict[str, Callable[[], Any]] = {
        DECOMPRESSING: lambda: deque(map(zstd.decompress, frames), 0),
        UNPACKING: lambda: deque(map(msgpack.unpackb, messages), 0),
        "dicts of keys and values that are there": lambda: deque(map(dict.copy, rows), 0),
        "texts made of bytes": lambda: deque(map(bytes.decode, texts), 0),
        "numbers made of machine words": lambda: [deque(column, 0) for column in numbers],
    }
    for library, call in PEERS.items():
        with contextlib.suppress(ImportError):
            unpack = call(importlib.import_module(library))
            parts[f"messages unpacked by {library}"] = lambda unpack=unpack: deque(map(unpack, messages), 0)
    with turns.in_memory() as place:
        peer, ours = f"{place}/peer", f"{place}/ours"
        with contextlib.suppress(ImportError):
            write(PEER, peer, rows)
            parts["ArrayRecord's read_all, not unpacked"] = lambda: every(peer)
            parts[PEER_SCAN] = lambda: deque(map(msgpack.unpackb, every(peer)), 0)
        write("frames of 256 KiB", ours, rows)
        parts[SCAN] = lambda: deque(records.open(ours), 0)
        best = turns.fastest(parts, RUNS)
    turns.row("least of a record, us", "processor", "by the clock", width=44)
    for name, taken in best.items():
        turns.row(name, *(1e6 * seconds / COUNT for seconds in reversed(taken)), width=44)
    for name, left in LIMITS.items() if PEER_SCAN in best else ():
        times = (best[PEER_SCAN][n] / sum(best[part][n] for part in left) for n in (1, 0))
        turns.row(name, *times, "times as fast as ArrayRecord", width=44)


def main() -> None:
    parser = turns.options(__doc__, rounds=3)
    parser.add_argument("--bound", action="store_true", help="the indispensable parts of a scan that returns objects")
    options = parser.parse_args()
    if options.child:
        child(*options.child)
        return
    rows = made()
    if options.bound:
        bound(rows)
        return
    print(f"{len(msgpack.packb(rows)) / COUNT:.0f} bytes each; us a record of a batch, thousands a second of a scan")
    print(f"{'':40}{'MB':>6}   batch: first; least, processor      scan: first; least, processor")
    with turns.in_memory() as place:
        works = {}
        for number, name in enumerate(FILES):
            with contextlib.suppress(ImportError):
                write(name, f"{place}/{number}", rows)
                works[name, number] = functools.partial(turns.again, "--child", name, f"{place}/{number}")
        for (name, number), runs in turns.in_turns(works, options.rounds).items():
            batch, scan = ([min(column) for column in zip(*part)] for part in zip(*runs))
            size = Path(f"{place}/{number}").stat().st_size / 1e6
            first, first_cpu, least, least_cpu = (1e6 * seconds / BATCH for seconds in batch)
            line = f"{name:40}{size:6.1f}   {first:6.1f}, {first_cpu:5.1f}; {least:5.1f}, {least_cpu:5.1f}"
            print(line + "   " + ", ".join(f"{COUNT / seconds / 1000:6.0f}" for seconds in scan))


if __name__ == "__main__":
    main()
