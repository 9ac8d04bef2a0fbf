# SPDX-License-Identifier: Apache-2.0
"""
All cores against one, and against the `zstd` tool: `python tests/bench/cores.py [--size MiB] [--rounds N]`.

What runs in a round takes turns, and the fastest round counts; what comes out is checked. Files are in a RAM file
system where there is one. It needs an otherwise idle machine.

How much can be gained depends on the machine: processors share caches and memory, virtual ones may share more. So each
gain stands beside the host's own in the same rounds: as many processes as there are cores, which share nothing, do at
once what one process does part after part. That is done with a loop that touches no memory (PBKDF2 in C), and with the
same calls on the same content.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import payloads

import cpkg
from cpkg import zstd
from purepy._cores import usable_cores

Call = Callable[[], Any]


def fastest(rounds: int, *calls: Call, target: Path | None = None) -> list[float]:
    """
    Run the calls in turn and return the shortest time of each, in seconds.

    target: a file that they make; it is removed before each, since freeing an old one's pages is no codec's work.
    """
    best = [float("inf")] * len(calls)
    for _ in range(rounds):
        for number, call in enumerate(calls):
            if target is not None:
                target.unlink(missing_ok=True)
            begin = time.perf_counter()
            result = call()
            best[number] = min(best[number], time.perf_counter() - begin)
            del result
    return best


def row(name: str, times: list[float], goal: str) -> None:
    print(f"{name:58} {times[0]:8.3f} s {times[1]:8.3f} s {times[1] / times[0]:6.2f}  {goal}", flush=True)


def copy(source: Path, target: Path, **arguments: Any) -> None:
    """Do as the command line does: from file to file, with all cores."""
    with open(source, "rb") as read, open(target, "wb") as write:
        zstd.copy_stream(read, write, threads=0, **arguments)


def tool(*arguments: str) -> Call:
    return lambda: subprocess.run(["zstd", "-q", "-f", *arguments], check=True)


class Processes:
    """As many processes as there are cores, made before anything is timed, that do `works` when they are told to."""

    def __init__(self, cores: int, works: Sequence[Call]) -> None:
        self._works = works
        self._pipes = [self._start() for _ in range(cores)]

    def _start(self) -> tuple[int, int]:
        orders, done = os.pipe(), os.pipe()
        if not os.fork():
            os.close(orders[1])
            try:
                while order := os.read(orders[0], 1):
                    self._works[order[0]]()
                    os.write(done[1], b"x")
            finally:
                os._exit(0)
        os.close(orders[0])
        os.close(done[1])
        return orders[1], done[0]

    def side_by_side(self) -> None:
        """Let each process do one of the works, all at a time."""
        for number, (orders, _) in enumerate(self._pipes):
            os.write(orders, bytes([number]))
        for _, done in self._pipes:
            assert os.read(done, 1)

    def one_by_one(self) -> None:
        """Let one process do all of them."""
        orders, done = self._pipes[0]
        for number in range(len(self._works)):
            os.write(orders, bytes([number]))
            assert os.read(done, 1)

    def end(self) -> None:
        for pipes in self._pipes:
            for end in pipes:
                os.close(end)
        for _ in self._pipes:  # all closed by then: a later process has the pipes of those in front of it, too
            os.wait()


def spin() -> None:
    hashlib.pbkdf2_hmac("sha256", b"password", b"salt", 1_000_000)


def gain(name: str, rounds: int, several: Call, one: Call, works: Sequence[Call]) -> None:
    """Print what several threads gain over one, and what processes gain that do the same `works`."""
    processes = Processes(len(works), works)
    ours, alone, host, host_alone = fastest(rounds, several, one, processes.side_by_side, processes.one_by_one)
    processes.end()
    own, possible = alone / ours, host_alone / host
    print(f"{name:58} {alone:8.3f} s {ours:8.3f} s {own:6.2f}  the host {possible:.2f}: {own / possible:.0%} of it")


def functions(data: bytes, rounds: int) -> None:
    cores = usable_cores()
    one, several = zstd.compress(data), zstd.compress(data, threads=0)
    assert zstd.decompress(several, threads=0) == data
    assert zstd.compress(data, threads=1) == several
    print(f"ratio lost by frames of the default size: {100 * (len(several) / len(one) - 1):.3f} % (goal: below 0.1)")
    print(f"goal of the gains: {1.85 / 2 * cores:.2f}, or what the host gains if that is less\n")
    print(f"{'':58} {'one':>10} {'all cores':>10} {'times':>6}")
    processes = Processes(cores, [spin] * cores)
    alone, host = fastest(rounds, processes.one_by_one, processes.side_by_side)
    processes.end()
    print(f"{'the host: a loop in as many processes':58} {alone:8.3f} s {host:8.3f} s {alone / host:6.2f}")
    size = -(-len(data) // cores)
    parts = [data[start : start + size] for start in range(0, len(data), size)]
    gain(
        "compress",
        rounds,
        lambda: zstd.compress(data, threads=0),
        lambda: zstd.compress(data, threads=1),
        [functools.partial(zstd.compress, part, threads=1) for part in parts],
    )
    frames = [zstd.compress(part, threads=1) for part in parts]
    gain(
        "decompress several frames",
        rounds,
        lambda: zstd.decompress(several, threads=0),
        lambda: zstd.decompress(several, threads=1),
        [functools.partial(zstd.decompress, part, threads=1) for part in frames],
    )


def files(data: bytes, rounds: int, folder: Path) -> None:
    if shutil.which("zstd") is None:
        print("there is no zstd tool here to compare with")
        return
    plain, ours, theirs, back = (folder / name for name in ("plain", "ours.zst", "theirs.zst", "back"))
    plain.write_bytes(data)
    print(f"\n{'':58} {'all cores':>10} {'zstd':>10} {'times':>6}")
    times = fastest(
        rounds,
        lambda: copy(plain, back),
        tool("-3", "-T0", str(plain), "-o", str(back)),
        target=back,
    )
    copy(plain, ours)
    tool("-3", "-T0", str(plain), "-o", str(theirs))()
    row("file at level 3, against zstd -T0", times, "1 or more")
    print(f"  sizes: {ours.stat().st_size} and {theirs.stat().st_size}")
    for name, source, goal in (
        ("file of several frames, against zstd -d", ours, "1.67 or more"),
        ("file of one frame from zstd, against zstd -d", theirs, "1 or more"),
    ):
        times = fastest(
            rounds,
            lambda source=source: copy(source, back, mode="decompress"),
            tool("-d", str(source), "-o", str(back)),
            target=back,
        )
        row(name, times, goal)
        copy(source, back, mode="decompress")
        assert back.read_bytes() == data
        subprocess.run(["zstd", "-q", "-t", str(source)], check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=64, help="MiB of content (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="rounds, of which the fastest counts")
    parser.add_argument("--folder", type=Path, default=Path("/dev/shm"), help="where files go (default: %(default)s)")
    parser.add_argument("--input", type=Path, help="a file to take the content from, in place of the corpus")
    arguments = parser.parse_args()
    size = arguments.size << 20
    data = arguments.input.read_bytes()[:size] if arguments.input else payloads.corpus(size)
    info = cpkg.backend_info()["zstd"]
    print(f"{info.interpreter}, {info.backend} ({info.library}), {len(data) >> 20} MiB, {os.cpu_count()} cores")
    functions(data, arguments.rounds)
    with tempfile.TemporaryDirectory(dir=arguments.folder if arguments.folder.is_dir() else None) as folder:
        files(data, arguments.rounds, Path(folder))


if __name__ == "__main__":
    main()
