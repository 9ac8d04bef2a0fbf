# SPDX-License-Identifier: Apache-2.0
"""
All cores against one, and against the `zstd` tool: `python tests/bench/cores.py [--size MiB] [--rounds N]`.

All sides of a round take turns, and the fastest round counts; results are checked. Files are in a RAM file
system if there is one. The script needs an otherwise idle machine.

The possible gain depends on the machine: processors share caches and memory, virtual ones may share more. So each
gain is printed beside the host's own in the same rounds: as many processes as there are cores, which share nothing, do
at once the parts that one process does in sequence. This is done with a loop that touches no memory (PBKDF2 in C), and
with the same calls on the same content.
"""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import payloads
import turns
from turns import Call

from cpkg import zstd
from purepy.base.cores import usable_cores


def copy(source: Path, target: Path, **arguments: Any) -> None:
    """Compress or decompress like the command line: from file to file, with all cores."""
    with open(source, "rb") as read, open(target, "wb") as write:
        zstd.copy_stream(read, write, threads=0, **arguments)


def tool(*arguments: object) -> None:
    subprocess.run(["zstd", "-q", "-f", *map(str, arguments)], check=True)


def spin() -> None:
    hashlib.pbkdf2_hmac("sha256", b"password", b"salt", 1_000_000)


def gain(name: str, rounds: int, works: Sequence[Call], several: Call | None = None, one: Call | None = None) -> None:
    """Print the gain of several threads, if given, and the gain of processes that do the same `works`."""
    processes = turns.Processes(works)
    calls = (processes.one_by_one, processes.side_by_side, one, several)
    best = turns.fastest({number: call for number, call in enumerate(calls) if call is not None}, rounds)
    processes.end()
    possible = best[0].clock / best[1].clock
    alone, all_cores = (taken.clock for taken in [*best.values()][-2:])
    own = alone / all_cores
    host = f"the host {possible:.2f}: {own / possible:.0%} of it" if several else ""
    turns.row(name, f"{alone:.3f} s", f"{all_cores:.3f} s", own, f"  {host}", width=58)


def functions(data: bytes, rounds: int) -> None:
    cores = usable_cores()
    one, several = zstd.compress(data), zstd.compress(data, threads=0)
    assert zstd.decompress(several, threads=0) == data
    assert zstd.compress(data, threads=1) == several
    print(f"ratio lost by frames of the default size: {100 * (len(several) / len(one) - 1):.3f} % (goal: below 0.1)")
    print(f"goal of the gains: {1.85 / 2 * cores:.2f}, or what the host gains if that is less\n")
    turns.row("", "one", "all cores", "times", width=58)
    gain("the host: a loop in as many processes", rounds, [spin] * cores)
    size = -(-len(data) // cores)
    parts = [data[start : start + size] for start in range(0, len(data), size)]
    frames = [zstd.compress(part, threads=1) for part in parts]
    for name, call, whole, pieces in (
        ("compress", zstd.compress, data, parts),
        ("decompress several frames", zstd.decompress, several, frames),
    ):
        alone = functools.partial(call, threads=1)
        works = [functools.partial(alone, piece) for piece in pieces]
        gain(name, rounds, works, functools.partial(call, whole, threads=0), functools.partial(alone, whole))


def files(data: bytes, rounds: int, folder: Path) -> None:
    if shutil.which("zstd") is None:
        print("there is no zstd tool here to compare with")
        return
    plain, ours, theirs, back = (folder / name for name in ("plain", "ours.zst", "theirs.zst", "back"))
    plain.write_bytes(data)
    copy(plain, ours)
    tool("-3", "-T0", plain, "-o", theirs)
    for frames in (ours, theirs):
        copy(frames, back, mode="decompress")
        assert back.read_bytes() == data
        tool("-t", frames)
    print()
    turns.row("", "all cores", "zstd", "times", width=58)
    for name, copied, arguments, goal in (
        ("file at level 3, against zstd -T0", (plain, back), ("-3", "-T0", plain), "1 or more"),
        ("file of several frames, against zstd -d", (ours, back), ("-d", ours), "1.67 or more"),
        ("file of one frame from zstd, against zstd -d", (theirs, back), ("-d", theirs), "1 or more"),
    ):
        mode = {"mode": "decompress"} if arguments[0] == "-d" else {}
        calls = {
            "ours": functools.partial(copy, *copied, **mode),
            "zstd": functools.partial(tool, *arguments, "-o", back),
        }
        # without the old file: freeing its pages is not part of a codec's work
        works = {who: turns.timed(call, before=lambda: back.unlink(missing_ok=True)) for who, call in calls.items()}
        (mine, _), (other, _) = turns.least(turns.in_turns(works, rounds)).values()
        turns.row(name, f"{mine:.3f} s", f"{other:.3f} s", other / mine, f"  {goal}", width=58)
    print(f"sizes at level 3: {ours.stat().st_size} and {theirs.stat().st_size}")


def main() -> None:
    options = turns.options(__doc__, rounds=3, size=64, files=True).parse_args()
    data = payloads.corpus(options.size << 20)
    print(f"{turns.heading('zstd')}, {options.size} MiB, {os.cpu_count()} cores")
    functions(data, options.rounds)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        files(data, options.rounds, Path(folder))


if __name__ == "__main__":
    main()
