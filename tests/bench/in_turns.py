# SPDX-License-Identifier: Apache-2.0
"""
Zstandard beside every installed peer, in one process: `python tests/bench/in_turns.py [-k TEXT] [--processes N]`.

Libraries take turns of ten milliseconds, in random order, and the fastest turn of each counts: disturbances on the
machine affect all of them alike. Each process is a new one, since the place of its memory makes some calls faster than
others; a figure is that of a library's best process. More than 1 in the column `times` means that cpkg is faster than
the fastest peer; the last two columns are the ratios of the worst and the best process.
"""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Iterator

import payloads
import peers
import turns

TURN = 0.01
"""Approximate seconds of a turn: its first calls find other work in the caches and the branch predictor."""

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
"""The content for each level: number of bytes and kind. Level 3 is also decompressed."""


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
    """Yield the name of each cell, the function of each library, and its argument, after checking the results."""
    here = libraries()
    for level, names in CELLS.items():
        for name in names:
            forth, back = f"compress {name}, level {level}", f"decompress {name}"
            ways = (forth, back) if level == peers.DEFAULT_LEVEL else (forth,)
            if not any(wanted in way for way in ways):
                continue
            data = content(name)
            compress = {who: library.compressor(level) for who, library in here.items()}
            decompress = {who: library.back for who, library in here.items()}
            frames = {who: function(data) for who, function in compress.items()}
            for who, function in decompress.items():
                assert all(function(frame) == data for frame in frames.values()), (who, name)
            if wanted in forth:
                yield forth, compress, data
            if back in ways and wanted in back:
                yield back, decompress, frames["cpkg"]


def measured(wanted: str, rounds: int) -> dict[str, dict[str, float]]:
    """Return the shortest time of a call of each library, in seconds, by cell."""
    found = {}
    for name, functions, argument in cells(wanted):
        calls = {who: functools.partial(function, argument) for who, function in functions.items()}
        best = turns.fastest(calls, rounds, TURN, shuffled=True)
        found[name] = {who: taken.clock for who, taken in best.items()}
    return found


def main() -> None:
    """Measure in new processes, and print a row for each cell."""
    parser = turns.options(__doc__, rounds=40)
    parser.add_argument("-k", default="", metavar="TEXT", help="only cells whose name contains this")
    parser.add_argument("--processes", type=int, default=3, help="one after another (default: %(default)s)")
    options = parser.parse_args()
    if options.child is not None:
        print(json.dumps(measured(options.k, options.rounds)))
        return
    here = libraries()
    if len(here) < 2:
        sys.exit("no peer is here: python tests/bench install")
    for who, library in here.items():
        print(f"{who}: {library.version} ({library.build})")
    print(f"{options.processes} processes, each of which takes about a minute", file=sys.stderr)
    runs = [turns.again("-k", options.k, "--rounds", options.rounds, "--child") for _ in range(options.processes)]
    for name in runs[0]:
        best = {who: min(run[name][who] for run in runs) for who in here if who != "cpkg"}
        theirs = [min(run[name][who] for who in best) for run in runs]
        turns.versus(name, [run[name]["cpkg"] for run in runs], theirs, min(best, key=best.__getitem__))


if __name__ == "__main__":
    main()
