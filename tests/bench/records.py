# SPDX-License-Identifier: Apache-2.0
"""
Record files against common alternatives: `python tests/bench/records.py`.

Every way writes the same records to a file in memory (/dev/shm, if it exists) and reads them back as objects, in a
separate process; ways alternate over the rounds, and each figure is the best one. A peer that is not installed is
left out. `--seek MB` measures single records of a file of that size, `--scale` two processes against one,
`--bound` the least time for any way that returns dicts, `--only NAME,...` selects ways.
"""

from __future__ import annotations

import functools
import itertools
import json
import os
import random
import resource
import sys
import time
from collections import deque
from typing import Any, Callable

import record_bounds
import turns
from record_ways import POOL, WAYS, made_pool, scan


def child(name: str, count: int, path: str) -> None:
    """Write and read in this process; print the times."""
    way = WAYS[name]()
    pool = made_pool()[:count]
    pools = [pool] * max(count // len(pool), 1)
    if turns.PYPY:
        for _ in range(2):  # the JIT's compilation is not measured
            way.write(pools[:5], path)
            scan(way, path)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begun = time.perf_counter()
    way.write(pools, path)
    written = time.perf_counter() - begun
    begun = time.perf_counter()
    found, total = scan(way, path)
    read = time.perf_counter() - begun
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert found == len(pool) * len(pools)
    assert total == len(pools) * sum(record["bytes"] for record in pool)
    print(json.dumps([written, read, os.path.getsize(path), used, found]))


def compare(count: int, rounds: int, names: list[str]) -> None:
    best: dict[str, list[float]] = {}
    with turns.in_memory() as place:
        for _ in range(rounds):
            for name in list(names):
                try:
                    values = turns.again("--records", count, "--child", name, f"{place}/file")
                except RuntimeError as exc:
                    print(f"  {name}: {exc}", file=sys.stderr)
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
    with turns.in_memory() as place:
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
            wanted = chance.randrange(number)
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
    """Keep a core busy without memory or files: this shows the most that two cores of this machine can do."""
    return sum(number * number for number in range(1_000_000))


def write_lists(path: str, times: int, threads: int | None) -> None:
    """Write the records that many times as lists."""
    from cpkg import records

    with records.open(path, "wb", threads=threads) as file:
        for _ in range(times):
            file.extend(made_pool())


def alternate(work: Callable[[Any], Any], one: Any, two: Any) -> list[float]:
    """Return the least seconds of `work` with each argument, in turns; the first run of each, a warm-up, is skipped."""
    calls = {number: functools.partial(work, by) for number, by in enumerate((one, two))}
    return [taken.clock for taken in turns.fastest(calls, 9, skipped=1).values()]


def scale(count: int) -> None:
    """
    Read one file with one process and with two, each reading splits: with a process pool and, if installed, with Dask.

    First, read and write it with one thread and with the default threads of `records.open`. One and two alternate.
    Two controls are measured by the same means: the gain of the machine's cores at arithmetic, and the gain of two
    processes that each write lists to a separate file with one thread, which is the limit for writing threads.
    """
    from concurrent.futures import ProcessPoolExecutor

    from cpkg import records

    times = max(count // POOL, 2)
    with turns.in_memory() as place:
        path = f"{place}/file.rec"
        write_lists(path, times, None)
        splits = records.splits(path, 8)
        figures = with_threads(path, times)
        with ProcessPoolExecutor(1) as one, ProcessPoolExecutor(2) as two:
            halves = [(f"{path}.{half}", times // 2, 0) for half in range(2)]
            for name, work, tasks in (
                ("arithmetic", busy, [(number,) for number in range(8)]),
                ("splits", read_split, [(split,) for split in splits]),
                ("lists written", write_lists, halves),
            ):

                def mapped(pool: Any, work: Any = work, tasks: Any = tasks) -> None:
                    deque(pool.map(work, *zip(*tasks)), 0)

                figures[f"{name}, processes"] = alternate(mapped, one, two)
        figures.update(on_dask(path, splits))
    print(f"{sys.implementation.name}, {count:,} records, by one thread or process and by two")
    for name, (alone, both) in figures.items():
        print(f"{name:25} {alone:.2f} s, {both:.2f} s: {alone / both:.2f} times")


def with_threads(path: str, times: int) -> dict[str, list[float]]:
    """Write the pool that many times and read a file, with one thread and with the default number of threads."""
    from cpkg import records

    def write(threads: int | None) -> None:
        write_lists(f"{path}.written", times, threads)

    def append(threads: int | None) -> None:
        with records.open(f"{path}.written", "wb", threads=threads) as file:
            for _ in range(times):
                for record in made_pool():
                    file.append(record)

    def read(threads: int | None) -> None:
        with records.open(path, threads=threads) as file:
            deque(file, 0)

    works = {"lists written": write, "records appended": append, "records read": read}
    return {f"{name}, threads": alternate(work, 1, None) for name, work in works.items()}


def on_dask(path: str, splits: list[Any]) -> dict[str, list[float]]:
    """Do the same on a Dask cluster of two workers, with one of them and with both; {} without distributed."""
    try:
        import dask.bag
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

            figures[f"{name}, Dask"] = alternate(mapped, alone, None)

        turn = itertools.count()  # each bag has new keys: the scheduler may still bind the last bag's keys to a worker

        def summed(workers: list[str] | None) -> Any:
            bag = cpkg.dask.read_records(path, partition_size=size)
            return bag.map(bytes_of, next(turn)).sum().compute(workers=workers)

        def scheduled(workers: list[str] | None) -> Any:
            bag = dask.bag.from_sequence(splits, npartitions=len(splits))
            return bag.map(nothing_of, next(turn)).sum().compute(workers=workers)

        figures["a bag, Dask"] = alternate(summed, alone, None)
        figures[f"{len(splits)} empty parts, Dask"] = alternate(scheduled, alone, None)
    return figures


def bytes_of(record: Any, _turn: int) -> Any:
    return record["bytes"]


def nothing_of(_split: Any, _turn: int) -> int:
    return 0


def main() -> None:
    parser = turns.options(__doc__, rounds=2)
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--only", default="", metavar="NAME,...", help="start of a way's name")
    parser.add_argument("--seek", type=int, default=0, metavar="MB", help="single records of a file of that size")
    parser.add_argument("--scale", action="store_true", help="splits in one process and in two")
    parser.add_argument("--bound", action="store_true", help="the time of decompressing and creating dicts alone")
    options = parser.parse_args()
    if options.child:
        name, path = options.child
        child(name, options.records, path)
    elif options.seek:
        seek(options.seek)
    elif options.scale:
        scale(options.records)
    elif options.bound:
        record_bounds.main(options.rounds)
    else:
        only = tuple(filter(None, options.only.split(",")))
        compare(options.records, options.rounds, [name for name in WAYS if not only or name.startswith(only)])


if __name__ == "__main__":
    main()
