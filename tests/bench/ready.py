# SPDX-License-Identifier: Apache-2.0
"""
Ready at once: what is waited for before anything is warm, and what the main job adds to its codecs.

    python tests/bench/ready.py [--rounds 7] [--payloads small,regular,large]

Three tables, each with both sides alternating in one run, each side in processes of its own where that matters:

- import with one call, net of the interpreter's own start, against msgpack and compression.zstd or backports.zstd;
- the first, tenth and hundredth call of packing and unpacking and the total of the first hundred, against msgpack and
  the standard library's json;
- dumps and loads, warm, against the calls that they are made of.

Ratios are ours over theirs: below 1 is faster. Results are checked.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Callable

import payloads

PEP784 = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
CALLS = 100
FRAME = "bytes.fromhex('28b52ffd200109000031')"  # of b"1"

# what ours has to be no slower than, by how much
IMPORTS = [
    ("import cpkg", "import cpkg", None),
    ("msgpack, packb", "import cpkg.msgpack as m; m.packb(1)", "import msgpack as m; m.packb(1)"),
    ("msgpack, unpackb", "import cpkg.msgpack as m; m.unpackb(b'1')", "import msgpack as m; m.unpackb(b'1')"),
    ("zstd, compress", "import cpkg.zstd as z; z.compress(b'1')", f"import {PEP784} as z; z.compress(b'1')"),
    (
        "zstd, decompress",
        f"import cpkg.zstd as z; z.decompress({FRAME})",
        f"import {PEP784} as z; z.decompress({FRAME})",
    ),
    ("loads(dumps(1))", "import cpkg; cpkg.loads(cpkg.dumps(1))", "import msgpack as m; m.unpackb(m.packb(1))"),
]
WAYS = {
    "cpkg": ("import cpkg.msgpack as m", "m.packb", "m.unpackb"),
    "msgpack": ("import msgpack as m", "m.packb", "m.unpackb"),
    "json": ("import json as m", "m.dumps", "m.loads"),
}
CHILD = """
import sys, time
argument = eval(sys.stdin.read())
{imports}
there, back = {there}, {back}
packed = there(argument) if {reads} else None
call, argument = (back, packed) if {reads} else (there, argument)
clock, spans = time.perf_counter, []
for _ in range({calls}):
    before = clock()
    result = call(argument)
    spans.append(clock() - before)
assert (result if {reads} else back(result)) is not None
print(spans[0], spans[9], spans[-1], sum(spans))
"""

# without site, whose files of installed packages import what they like: nobody's import should find that done
PATHS = [str(Path(find_spec("cpkg").origin).parent.parent), *sys.path[1:]]  # type: ignore[union-attr,arg-type]
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(PATHS)}


def start(code: str, text: str = "") -> tuple[float, str]:
    """Run a piece of code in a fresh interpreter; return the seconds that it took in all, and what it printed."""
    before = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-S", "-c", code], input=text, capture_output=True, text=True, check=False, env=ENVIRONMENT
    )
    seconds = time.perf_counter() - before
    if done.returncode:
        raise RuntimeError(done.stderr.strip().rpartition("\n")[2])
    return seconds, done.stdout


def seconds_of(code: str) -> float:
    return start(code)[0]


def row(name: str, ours: float | None, theirs: float | None, scale: float, digits: int = 2) -> None:
    """Print a line of a table: ours, theirs and their ratio."""
    shown = [f"{value * scale:12.{digits}f}" if value is not None else f"{'-':>12}" for value in (ours, theirs)]
    ratio = f"{ours / theirs:8.2f}" if ours is not None and theirs else f"{'-':>8}"
    print(f"{name:44}{shown[0]}{shown[1]}{ratio}", flush=True)


def alternately(sides: list[Callable[[], Any]], rounds: int) -> list[list[Any] | None]:
    """Return the results of each side's rounds, in turns; None for a side that cannot run here."""
    results: list[list[Any] | None] = [[] for _ in sides]
    for _ in range(rounds):
        for index, side in enumerate(sides):
            found = results[index]
            if found is not None:
                try:
                    found.append(side())
                except (RuntimeError, ImportError):
                    results[index] = None
    return results


def imports(rounds: int) -> None:
    """Print what the first call in a process costs with all that it loads, in milliseconds."""
    print(f"{'import and one call (ms, medians)':44}{'cpkg':>12}{'theirs':>12}{'ratio':>8}")
    for name, ours, theirs in IMPORTS:
        codes = ["pass", ours, *([theirs] if theirs else [])]
        found = alternately([partial(seconds_of, code) for code in codes], rounds)
        nothing = statistics.median(found[0] or [0.0])
        net = [statistics.median(values) - nothing if values else None for values in found[1:]]
        row(name, net[0], net[1] if theirs else None, 1e3)


def calls(rounds: int, names: list[str]) -> None:
    """Print the first, tenth and hundredth call, and the total of a hundred, in microseconds."""
    for name in names:
        text = repr(payloads.load_object(name))
        for reads, direction in ((False, "pack"), (True, "unpack")):
            codes = {
                way: CHILD.format(imports=imported, there=there, back=back, reads=reads, calls=CALLS)
                for way, (imported, there, back) in WAYS.items()
            }
            found = alternately([partial(spans_of, code, text) for code in codes.values()], rounds)
            best = [[min(spans) for spans in zip(*each)] if each else [None] * 4 for each in found]
            for peer, theirs in zip(list(WAYS)[1:], best[1:]):
                print(f"\n{f'{direction} {name} (us)':44}{'cpkg':>12}{peer:>12}{'ratio':>8}")
                for what, mine, other in zip(("first", "10th", "100th", "total of 100"), best[0], theirs):
                    row(f"  {what}", mine, other, 1e6, 1)


def spans_of(code: str, text: str) -> list[float]:
    """Return what a child printed."""
    return [float(span) for span in start(code, text)[1].split()]


def main_job(seconds: float, names: list[str]) -> None:
    """Print dumps and loads beside their codecs, warm, in microseconds."""
    print(f"\n{'the main job (us, warm)':44}{'cpkg':>12}{'codecs':>12}{'ratio':>8}")
    for name in names:
        for what, ours, theirs in pairs_of(payloads.load_object(name)):
            row(f"  {what}, {name}", *warm(ours, theirs, seconds), 1e6, 3)


def pairs_of(value: Any) -> list[tuple[str, Callable[[], Any], Callable[[], Any]]]:
    """Return for one object each way of the main job, its name in front, and the calls that it is made of."""
    import cpkg
    from cpkg import msgpack, zstd

    checked = {zstd.CompressionParameter.compression_level: 3, zstd.CompressionParameter.checksum_flag: 1}
    packed, frame = msgpack.packb(value), cpkg.dumps(value, compress=True)
    assert cpkg.loads(packed) == cpkg.loads(frame) == value
    assert zstd.decompress(frame) == cpkg.dumps(value, compress=False) == packed
    dumps, loads, packb, unpackb = cpkg.dumps, cpkg.loads, msgpack.packb, msgpack.unpackb
    compress, decompress = zstd.compress, zstd.decompress
    return [
        ("dumps, compress=False", lambda: dumps(value, compress=False), lambda: packb(value)),
        ("loads, not compressed", lambda: loads(packed), lambda: unpackb(packed)),
        ("dumps, compress=True", lambda: dumps(value, compress=True), lambda: compress(packb(value), options=checked)),
        ("loads, compressed", lambda: loads(frame), lambda: unpackb(decompress(frame))),
    ]


def warm(ours: Callable[[], Any], theirs: Callable[[], Any], seconds: float) -> tuple[float, float]:
    """Return the least time of a call of each, of many short runs in turns, after as much time for a JIT."""
    clock = time.perf_counter
    best = [1e9, 1e9]
    count = 1
    for is_counted in (False, True):
        end = clock() + seconds
        while clock() < end:
            for index, call in enumerate((ours, theirs)):
                before = clock()
                for _ in range(count):
                    call()
                span = clock() - before
                if is_counted:
                    best[index] = min(best[index], span / count)
                elif span < 2e-4:
                    count += 1 + count // 4
    return best[0], best[1]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="What is waited for before anything is warm.")
    parser.add_argument("--rounds", type=int, default=7, help="fresh processes per side (default: %(default)s)")
    parser.add_argument(
        "--seconds", type=float, default=0.3, help="of each warm pair, and before (default: %(default)s)"
    )
    parser.add_argument("--payloads", default="small,regular,large", help="names of bench/payloads.py")
    parser.add_argument("--only", choices=["imports", "calls", "job"], help="one of the tables")
    given = parser.parse_args()
    chosen = given.payloads.split(",")
    print(
        json.dumps(
            {"python": sys.version.split()[0], "implementation": sys.implementation.name, "cpus": os.cpu_count()}
        )
    )
    if given.only in (None, "imports"):
        imports(given.rounds)
    if given.only in (None, "calls"):
        calls(max(2, given.rounds // 2), chosen)
    if given.only in (None, "job"):
        main_job(given.seconds, chosen)
