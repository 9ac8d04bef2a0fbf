# SPDX-License-Identifier: Apache-2.0
"""
Record files against what people use instead: `python tests/bench/records.py`.

Every way writes the same records to a file in memory (/dev/shm, where there is one) and reads them back as objects, in
a process of its own; ways alternate over the rounds, and each figure is the best one. A peer that is not installed is
left out. `--seek MB` measures single records of a file of that size, `--scale` two processes against one,
`--only NAME,...` leaves ways out.
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Callable

POOL = 20_000
"""So many different records; they are written again and again, which no way's window is large enough to see."""

SCHEMA = {
    "type": "record",
    "name": "Request",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "time", "type": "double"},
        {"name": "method", "type": "string"},
        {"name": "path", "type": "string"},
        {"name": "status", "type": "int"},
        {"name": "bytes", "type": "long"},
        {"name": "seconds", "type": "double"},
        {"name": "user", "type": "string"},
        {"name": "agent", "type": "string"},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
        {"name": "secure", "type": "boolean"},
        {"name": "referrer", "type": ["null", "string"]},
    ],
}
AGENTS = (
    "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15",
    "curl/8.5.0",
    "python-requests/2.32.3",
)


def request(chance: random.Random, number: int) -> dict[str, Any]:
    """A line of a web server's log: about 230 bytes as MessagePack, 310 as JSON."""
    words = ("users", "orders", "items", "search", "static", "login", "cart", "help")
    return {
        "id": number,
        "time": 1_700_000_000 + number * 0.037,
        "method": chance.choice(("GET", "GET", "GET", "POST", "PUT")),
        "path": f"/api/v1/{chance.choice(words)}/{chance.randrange(10_000)}",
        "status": chance.choice((200, 200, 200, 200, 304, 404, 500)),
        "bytes": chance.randrange(200, 200_000),
        "seconds": chance.random(),
        "user": f"user{chance.randrange(50_000)}",
        "agent": chance.choice(AGENTS),
        "tags": [chance.choice(words) for _ in range(chance.randrange(4))],
        "secure": chance.random() < 0.9,
        "referrer": None if chance.random() < 0.5 else f"https://example.com/{chance.choice(words)}",
    }


class Way:
    """One way to keep records: `write(pools, path)` and `read(path)`, which goes over all records."""

    def __init__(
        self, write: Callable[[Any, str], None], read: Callable[[str], Any], *, columnar: bool = False
    ) -> None:
        self.write = write
        self.read = read
        self.columnar = columnar


def ours(threads: int | None) -> Way:
    from cpkg import records

    def write(pools: Any, path: str) -> None:
        with records.open(path, "wb", threads=threads) as file:
            for pool in pools:
                file.extend(pool)

    def read(path: str) -> Any:
        with records.open(path, threads=threads) as file:
            yield file

    return Way(write, read)


def ours_one_by_one() -> Way:
    from cpkg import records

    def write(pools: Any, path: str) -> None:
        with records.open(path, "wb") as file:
            append = file.append
            for pool in pools:
                for record in pool:
                    append(record)

    return Way(write, ours(None).read)


def json_lines(open_file: Callable[[str, str], Any], module: Any = json) -> Way:
    def write(pools: Any, path: str) -> None:
        with open_file(path, "wb") as file, io.BufferedWriter(file, 1 << 17) as out:
            for pool in pools:
                for record in pool:
                    line = module.dumps(record)
                    out.write((line if isinstance(line, bytes) else line.encode()) + b"\n")

    def read(path: str) -> Any:
        with open_file(path, "rb") as file:
            for line in io.BufferedReader(file, 1 << 17):
                yield (module.loads(line),)

    return Way(write, read)


def gzip_file(path: str, mode: str) -> Any:
    return gzip.open(path, mode, compresslevel=6)


def zstandard_file(path: str, mode: str) -> Any:
    import zstandard

    if mode == "wb":
        return zstandard.ZstdCompressor(level=3).stream_writer(open(path, "wb"))
    return zstandard.ZstdDecompressor().stream_reader(open(path, "rb"))


def msgpack_zstandard() -> Way:
    import msgpack

    def write(pools: Any, path: str) -> None:
        packer = msgpack.Packer()
        with zstandard_file(path, "wb") as file, io.BufferedWriter(file, 1 << 17) as out:
            for pool in pools:
                for record in pool:
                    out.write(packer.pack(record))

    def read(path: str) -> Any:
        with zstandard_file(path, "rb") as file:
            for record in msgpack.Unpacker(file, read_size=1 << 17):
                yield (record,)

    return Way(write, read)


def avro() -> Way:
    import fastavro

    schema = fastavro.parse_schema(SCHEMA)

    def write(pools: Any, path: str) -> None:
        with open(path, "wb") as file:
            rows = (record for pool in pools for record in pool)
            fastavro.writer(file, schema, rows, codec="zstandard", sync_interval=256 << 10)

    def read(path: str) -> Any:
        with open(path, "rb") as file:
            for record in fastavro.reader(file):
                yield (record,)

    return Way(write, read)


def parquet() -> Way:
    import pyarrow
    import pyarrow.parquet

    def write(pools: Any, path: str) -> None:
        writer = None
        for pool in pools:
            table = pyarrow.Table.from_pylist(pool, schema=writer.schema if writer else None)
            if writer is None:
                writer = pyarrow.parquet.ParquetWriter(path, table.schema, compression="zstd")
            writer.write_table(table)
        writer.close()

    def read(path: str) -> Any:
        for batch in pyarrow.parquet.ParquetFile(path).iter_batches(10_000):
            yield batch.to_pylist()

    return Way(write, read, columnar=True)


def orjson_lines() -> Way:
    import orjson

    return json_lines(zstandard_file, orjson)


WAYS: dict[str, Callable[[], Way]] = {
    "cpkg": lambda: ours(None),
    "cpkg, one thread": lambda: ours(0),
    "cpkg, append": ours_one_by_one,
    "JSON Lines, gzip": lambda: json_lines(gzip_file),
    "JSON Lines, zstd": lambda: json_lines(zstandard_file),
    "JSON Lines, orjson, zstd": orjson_lines,
    "msgpack, zstandard": msgpack_zstandard,
    "Avro (fastavro, zstd)": avro,
    "Parquet (pyarrow, zstd)": parquet,
}


def scan(way: Way, path: str) -> tuple[int, int]:
    """Go over all records; return how many there are and the sum of a field of theirs."""
    found = total = 0
    for batch in way.read(path):
        for record in batch:
            found += 1
            total += record["bytes"]
    return found, total


def child(name: str, count: int, path: str) -> None:
    """Write and read in this process; print what it took."""
    way = WAYS[name]()
    chance = random.Random(20240229)
    pool = [request(chance, number) for number in range(min(POOL, count))]
    pools = [pool] * max(count // len(pool), 1)
    if sys.implementation.name == "pypy":
        for _ in range(2):  # the JIT's compiling is not what is measured
            way.write(pools[:5], path)
            scan(way, path)
    before = peak()
    begun = time.perf_counter()
    way.write(pools, path)
    written = time.perf_counter() - begun
    begun = time.perf_counter()
    found, total = scan(way, path)
    read = time.perf_counter() - begun
    assert found == len(pool) * len(pools)
    assert total == len(pools) * sum(record["bytes"] for record in pool)
    print(json.dumps([written, read, os.path.getsize(path), peak() - before, found]))


def peak() -> int:
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def folder() -> str | None:
    return "/dev/shm" if os.path.isdir("/dev/shm") else None


def run(name: str, count: int, path: str) -> list[float] | None:
    command = [sys.executable, __file__, "--child", name, "--records", str(count), "--path", path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"  {name}: {done.stderr.strip().splitlines()[-1]}", file=sys.stderr)
        return None
    values: list[float] = json.loads(done.stdout)
    return values


def compare(count: int, rounds: int, names: list[str]) -> None:
    best: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory(dir=folder()) as place:
        for _ in range(rounds):
            for name in list(names):
                values = run(name, count, f"{place}/file")
                if values is None:
                    names.remove(name)
                else:
                    best[name] = [min(pair) for pair in zip(values, best.get(name, values))]
    print(f"{sys.implementation.name} {'.'.join(map(str, sys.version_info[:3]))}, {count:,} records\n")
    print(f"{'':26}{'write':>12}{'read':>12}{'file':>9}{'memory':>9}   times as long as cpkg")
    mine = best.get("cpkg")
    for name, (write, read, size, memory, found) in best.items():
        times = f"{write / mine[0]:6.2f} {read / mine[1]:6.2f}" if mine else ""
        speeds = f"{found / write:10,.0f}/s{found / read:10,.0f}/s"
        print(f"{name:26}{speeds}{size / 1e6:7.1f}MB{memory / 1024:7.0f}MB   {times}")
    peers = [value for name, value in best.items() if not name.startswith(("cpkg", "Parquet"))]
    if mine and peers:
        write, read = (min(peer[side] for peer in peers) / mine[side] for side in (0, 1))
        print(f"\nthe fastest row-wise peer takes {write:.2f} times as long to write, {read:.2f} to read")


def seek(size: int) -> None:
    """Read single records from all over a large file."""
    from cpkg import records

    chance = random.Random(1)
    noise = [chance.getrandbits(8 * 1000).to_bytes(1000, "little") for _ in range(5000)]
    with tempfile.TemporaryDirectory(dir=folder()) as place:
        path = f"{place}/large.rec"
        with records.open(path, "wb", level=1) as file:
            number = 0
            while number < size * 1000:
                file.extend([{"number": number + n, "noise": value} for n, value in enumerate(noise)])
                number += len(noise)
        begun = time.perf_counter()
        reader = records.open(path)
        opened = time.perf_counter() - begun
        taken = []
        for _ in range(2000):
            wanted = chance.randrange(len(reader))
            begun = time.perf_counter()
            record = reader[wanted]
            taken.append(time.perf_counter() - begun)
            assert record["number"] == wanted
        taken = sorted(taken[200:])
        reader.close()
        print(
            f"{os.path.getsize(path) / 1e9:.2f} GB, {number:,} records: open {opened * 1e3:.1f} ms, a record "
            f"{taken[len(taken) // 2] * 1e6:.0f} us (median), {taken[len(taken) * 99 // 100] * 1e6:.0f} us (99 %)"
        )


def read_split(split: Any) -> int:
    """Work on a split: add up a field of its records."""
    return sum(record["bytes"] for record in split.read())


def busy(_: Any) -> int:
    """Keep a core busy without memory or files: what two cores of this machine can do at most."""
    return sum(number * number for number in range(1_000_000))


def alternate(*works: Callable[[], Any]) -> list[float]:
    """Return the least of three times of each in turn, in seconds; a first one, for processes to begin, is left out."""
    best = [float("inf")] * len(works)
    for turn in range(4):
        for number, work in enumerate(works):
            begun = time.perf_counter()
            work()
            if turn:
                best[number] = min(best[number], time.perf_counter() - begun)
    return best


def scale(count: int) -> None:
    """
    Read one file by one process and by two, each its splits: a pool of processes and, if it is there, Dask.

    One and two take turns. What the machine's cores gain at arithmetic stands beside, by the same means each time.
    """
    from concurrent.futures import ProcessPoolExecutor

    from cpkg import records

    chance = random.Random(20240229)
    pool = [request(chance, number) for number in range(POOL)]
    with tempfile.TemporaryDirectory(dir=folder()) as place:
        path = f"{place}/file.rec"
        with records.open(path, "wb") as file:
            for _ in range(max(count // POOL, 1)):
                file.extend(pool)
        splits = records.splits(path, 8)
        figures: dict[str, list[float]] = {}
        with ProcessPoolExecutor(1) as one, ProcessPoolExecutor(2) as two:
            for name, work, tasks in (("arithmetic", busy, range(8)), ("splits", read_split, splits)):
                figures[f"{name}, processes"] = alternate(
                    lambda: list(one.map(work, tasks)),  # noqa: B023
                    lambda: list(two.map(work, tasks)),  # noqa: B023
                )
        figures.update(on_dask(path, splits))
    print(f"{sys.implementation.name}, {count:,} records, by one process and by two")
    for name, (alone, both) in figures.items():
        print(f"{name:22} {alone:.2f} s, {both:.2f} s: {alone / both:.2f} times")


def on_dask(path: str, splits: list[Any]) -> dict[str, list[float]]:
    """Do the same on a cluster of two worker processes, for one of them alone and for both; {} without distributed."""
    try:
        from dask.distributed import Client, LocalCluster

        import cpkg.dask
    except ImportError:
        return {}
    figures = {}
    size = -(-os.path.getsize(path) // len(splits))
    settings = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with LocalCluster(**settings) as cluster, Client(cluster) as client:
        alone = list(client.scheduler_info()["workers"])[:1]
        for name, work, tasks in (("arithmetic", busy, range(8)), ("splits", read_split, splits)):

            def mapped(workers: list[str] | None, work: Any = work, tasks: Any = tasks) -> None:
                client.gather(client.map(work, tasks, pure=False, workers=workers))

            figures[f"{name}, Dask"] = alternate(lambda: mapped(alone), lambda: mapped(None))
        sums = cpkg.dask.read_records(path, partition_size=size).map(bytes_of).sum()
        figures["a bag, Dask"] = alternate(lambda: sums.compute(workers=alone), sums.compute)
        parts = len(splits)
        empty = dask_bag(parts)
        figures[f"{parts} empty parts, Dask"] = alternate(lambda: empty.compute(workers=alone), empty.compute)
    return figures


def dask_bag(parts: int) -> Any:
    """Return the sum of a bag without records: what the scheduling of one costs."""
    import dask.bag

    return dask.bag.from_sequence(range(parts), npartitions=parts).map(bytes_of_none).sum()


def bytes_of(record: Any) -> Any:
    return record["bytes"]


def bytes_of_none(_: Any) -> int:
    return 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--only", default="", metavar="NAME,...", help="begin of a way's name")
    parser.add_argument("--seek", type=int, default=0, metavar="MB", help="single records of a file of that size")
    parser.add_argument("--scale", action="store_true", help="splits in one process and in two")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--path", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.child, options.records, options.path)
    elif options.seek:
        seek(options.seek)
    elif options.scale:
        scale(options.records)
    else:
        only = tuple(filter(None, options.only.split(",")))
        compare(options.records, options.rounds, [name for name in WAYS if not only or name.startswith(only)])


if __name__ == "__main__":
    sys.path = [entry for entry in sys.path if Path(entry or ".").resolve() != Path(__file__).resolve().parent]
    main()
