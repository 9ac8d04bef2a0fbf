# SPDX-License-Identifier: Apache-2.0
"""
Zstandard beside every peer that is here, in one process: `python tests/bench/in_turns.py [-k TEXT] [--processes N]`.

Libraries take turns of ten milliseconds, in random order, and the fastest turn of each counts: what the machine does
meanwhile meets all of them. Each process is a new one, since where its memory lies makes some calls faster than
others; a figure is that of a library's best process. More than 1 in the column `times` is faster than the fastest
peer; the last two columns are the ratios of the worst and the best process.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import time
from collections.abc import Iterator

import payloads
import peers

TURN = 0.01
"""Seconds that a turn takes, about: its first calls find the caches and the branch predictor with others' work."""

CELLS = {
    3: (
        "100 source",
        "1024 source",
        "1024 json",
        "16384 source",
        "65536 source",
        "65536 json",
        "65536 random",
        "1048576 source",
        "1048576 code",
        "1048576 json",
        "1048576 repetitive",
    ),
    1: ("16384 source", "1048576 source"),
    10: ("16384 source", "65536 random"),
    17: ("16384 source",),
}
"""What is compressed at each level: bytes and their kind. Level 3 is decompressed, too."""


def content(name: str) -> bytes:
    """Return the bytes that a name such as "1024 json" stands for."""
    size, kind = int(name.split()[0]), name.split()[1]
    if kind == "source":
        return payloads.corpus(2 * size)[:size]
    if kind == "code":
        return payloads.corpus(2 * size)[size:]
    return payloads.BYTES[kind](size)


def libraries() -> dict[str, peers.Library]:
    """Return cpkg and the peers that can be imported, by name."""
    loaded = [peers.load(peer) for peer in peers.of("zstd") if peer.format == "zstd"]
    return {each.peer.name: each.library for each in loaded if each.library is not None}


def cells(wanted: str) -> Iterator[tuple[str, dict[str, peers.Function], bytes]]:
    """Yield the name of each cell, the function of each library, and its argument; what comes out is checked before."""
    here = libraries()
    for level, names in CELLS.items():
        for name in names:
            forth, back = f"compress {name}, level {level}", f"decompress {name}"
            ways = (forth, back) if level == peers.DEFAULT_LEVEL else (forth,)
            if not any(wanted in way for way in ways):
                continue
            data = content(name)
            compress = {who: library.compressor(level) for who, library in here.items()}
            decompress = {who: library.decompress for who, library in here.items()}
            frames = {who: function(data) for who, function in compress.items()}
            for who, function in decompress.items():
                assert all(function(frame) == data for frame in frames.values()), (who, name)
            if wanted in forth:
                yield forth, compress, data
            if back in ways and wanted in back:
                yield back, decompress, frames["cpkg"]


def fastest(functions: dict[str, peers.Function], argument: bytes, rounds: int) -> dict[str, float]:
    """Return the shortest time of a call of each, in seconds."""
    clock = time.perf_counter
    count, begin = 0, clock()
    while clock() - begin < TURN:
        functions["cpkg"](argument)
        count += 1
    best = dict.fromkeys(functions, float("inf"))
    turns = list(functions.items())
    for _ in range(rounds):
        random.shuffle(turns)
        for who, function in turns:
            begin = clock()
            for _ in range(count):
                function(argument)
            best[who] = min(best[who], (clock() - begin) / count)
    return best


def times(best: dict[str, float]) -> float:
    """Return how many times as long the fastest peer takes."""
    return min(seconds for who, seconds in best.items() if who != "cpkg") / best["cpkg"]


def main() -> None:
    """Measure in new processes, and print a row for each cell."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0].strip())
    parser.add_argument("-k", default="", metavar="TEXT", help="only cells whose name contains this")
    parser.add_argument("--rounds", type=int, default=40, help="turns of each library (default: %(default)s)")
    parser.add_argument("--processes", type=int, default=3, help="one after another (default: %(default)s)")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps({name: fastest(*cell, options.rounds) for name, *cell in cells(options.k)}))
        return
    here = libraries()
    if len(here) < 2:
        sys.exit("no peer is here: python tests/bench install")
    for who, library in here.items():
        print(f"{who}: {library.version} ({library.build})")
    command = [sys.executable, __file__, "--child", "-k", options.k, "--rounds", str(options.rounds)]
    runs = []
    for number in range(options.processes):
        print(f"process {number + 1} of {options.processes}, which takes about a minute", file=sys.stderr)
        runs.append(json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout))
    for name in runs[0]:
        best = {who: min(run[name][who] for run in runs) for who in here}
        peer = min((who for who in here if who != "cpkg"), key=best.__getitem__)
        ratios = [times(run[name]) for run in runs]
        shown = f"{best['cpkg'] * 1e6:9.2f} us {best[peer] * 1e6:9.2f} us {times(best):6.2f}"
        print(f"{name:36} {shown} {min(ratios):8.2f} {max(ratios):5.2f}  {peer}", flush=True)


if __name__ == "__main__":
    main()
