# SPDX-License-Identifier: Apache-2.0
"""
Records by random numbers, and whole scans, beside ArrayRecord 0.8: `python tests/bench/record_numbers.py`.

200,000 records of 200 bytes, level 3. Both sides return objects. Each file is read in a process of its own, files in
turn; of a figure the first one in its process and the least one are printed, by the clock and in processor time.
`array_record` is left out where it is not installed. `--bound`: what a scan that gives objects cannot do without.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from array import array
from collections import deque
from pathlib import Path
from typing import Any, Callable

from cpkg import msgpack, records, zstd

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


def write(name: str, path: str, rows: list[dict[str, Any]]) -> None:
    options = FILES[name]
    if isinstance(options, dict):
        with records.open(path, "wb", level=3, **options) as writer:
            writer.extend(rows)
        return
    from array_record.python import array_record_module

    out = array_record_module.ArrayRecordWriter(path, options)
    for row in rows:
        out.write(msgpack.packb(row))
    out.close()


def uses(name: str, path: str) -> tuple[Callable[[list[int]], Any], Callable[[], int]]:
    """Return what takes records by numbers, and what scans the file and says how many there are."""
    if isinstance(FILES[name], dict):
        reader = records.open(path)
        return reader.take, lambda: sum(1 for _ in records.open(path))
    from array_record.python import array_record_module

    make = array_record_module.ArrayRecordReader
    array = make(path, "readahead_buffer_size:0")

    def scan() -> int:
        rows = make(path, "readahead_buffer_size:16777216").read_all()
        return sum(1 for row in rows if msgpack.unpackb(row))

    return lambda numbers: [msgpack.unpackb(row) for row in array.read(numbers)], scan


def child(name: str, path: str) -> None:
    """Print what batches and scans take in this process: first and least, clock and processor."""
    take, scan = uses(name, path)
    chance = random.Random(1)
    numbers = [chance.randrange(COUNT) for _ in range(BATCH)]
    found: list[list[float]] = []
    for call, runs in ((lambda: len(take(numbers)) == BATCH, RUNS), (lambda: scan() == COUNT, 3)):
        times = []
        for _ in range(runs):
            clock, processor = time.perf_counter(), time.process_time()
            assert call()
            times.append((time.perf_counter() - clock, time.process_time() - processor))
        found.append([*times[0], *map(min, zip(*times))])
    print(json.dumps(found))


def bound(rows: list[dict[str, Any]]) -> None:
    """Print the least time of each thing that a scan does, one alone, in loops of C, and what it allows a scan."""
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
    with contextlib.suppress(ImportError):
        import msgspec

        parts["messages unpacked by msgspec"] = lambda: deque(map(msgspec.msgpack.Decoder().decode, messages), 0)
    with contextlib.suppress(ImportError):
        import ormsgpack

        parts["messages unpacked by ormsgpack"] = lambda: deque(map(ormsgpack.unpackb, messages), 0)
    with tempfile.TemporaryDirectory(dir=folder()) as place:
        with contextlib.suppress(ImportError):
            from array_record.python import array_record_module

            write(PEER, f"{place}/peer", rows)
            make, how = array_record_module.ArrayRecordReader, "readahead_buffer_size:16777216"
            parts["ArrayRecord's read_all, not unpacked"] = lambda: make(f"{place}/peer", how).read_all()
            parts[PEER_SCAN] = lambda: deque(map(msgpack.unpackb, make(f"{place}/peer", how).read_all()), 0)
        write("frames of 256 KiB", f"{place}/ours", rows)
        parts[SCAN] = lambda: deque(records.open(f"{place}/ours"), 0)
        least = in_turns(parts)
    print(f"{'least of a record, us':44}processor  by the clock")
    for name, (processor, clock) in least.items():
        print(f"{name:44}{processor:9.2f}{clock:14.2f}")
    for name, parts_left in LIMITS.items():
        if PEER_SCAN in least:
            both = (least[PEER_SCAN][n] / sum(least[part][n] for part in parts_left) for n in (0, 1))
            print("{:44}{:9.2f}{:14.2f} times as fast as ArrayRecord".format(name, *both))


def in_turns(parts: dict[str, Callable[[], Any]]) -> dict[str, list[float]]:
    """Return the least processor time and time by the clock that each part takes, us a record."""
    least = {name: [float("inf")] * 2 for name in parts}
    for _ in range(RUNS):
        for name, part in parts.items():
            clock, processor = time.perf_counter(), time.process_time()
            part()
            taken = time.process_time() - processor, time.perf_counter() - clock
            least[name] = [min(pair) for pair in zip(least[name], (1e6 * seconds / COUNT for seconds in taken))]
    return least


def folder() -> str | None:
    """Return where files are in memory, or None."""
    return "/dev/shm" if os.path.isdir("/dev/shm") else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--bound", action="store_true")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        child(*arguments.child)
        return
    rows = made()
    if arguments.bound:
        bound(rows)
        return
    print(f"{len(msgpack.packb(rows)) / COUNT:.0f} bytes each; us a record of a batch, thousands a second of a scan")
    print(f"{'':40}{'MB':>6}   batch: first; least, processor      scan: first; least, processor")
    with tempfile.TemporaryDirectory(dir=folder()) as place:
        best: dict[str, list[list[float]]] = {}
        for number, name in list(enumerate(FILES)):
            try:
                write(name, f"{place}/{number}", rows)
            except ImportError:
                del FILES[name]
        for _ in range(arguments.rounds):
            for number, name in enumerate(FILES):
                command = [sys.executable, __file__, "--child", name, f"{place}/{number}"]
                found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
                best[name] = [[min(pair) for pair in zip(*pairs)] for pairs in zip(found, best.get(name, found))]
        for number, (name, (batch, scan)) in enumerate(best.items()):
            size = Path(f"{place}/{number}").stat().st_size / 1e6
            first, first_cpu, least, least_cpu = (1e6 * seconds / BATCH for seconds in batch)
            line = f"{name:40}{size:6.1f}   {first:6.1f}, {first_cpu:5.1f}; {least:5.1f}, {least_cpu:5.1f}"
            print(line + "   " + ", ".join(f"{COUNT / seconds / 1000:6.0f}" for seconds in scan))


if __name__ == "__main__":
    main()
