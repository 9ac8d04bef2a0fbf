# SPDX-License-Identifier: Apache-2.0
"""
Compare two builds of cpkg on one interpreter: `python tests/bench/builds.py PYTHON PYTHON`.

Each argument is the python of an environment with cpkg in it, a wheel's and a local build's for instance. Both run as
processes that stay, and take turns: one of them measures for a few milliseconds, then the other. The table gives the
best processor time of each and how many times faster the second is. The contents for Zstandard are those of the
published benchmark, of this program's own interpreter.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import payloads

CHILD = r"""
import functools, json, pathlib, sys, time
import cpkg
from cpkg import msgpack, zstd

records = [
    {"id": i, "name": "name %d" % i, "price": i * 1.25, "tags": ["a", "b", "c"], "on": True, "no": None}
    for i in range(500)
]
text = json.dumps(records).encode()
one = records[7]
objects = {
    "small": {"id": 12, "ok": True}, "record": one, "records": records, "ints": list(range(-5000, 5000, 7)) * 3,
    "floats": [i / 7 for i in range(4000)], "latin": ["abcdefgh" * (i % 9) for i in range(1000)],
    "text": ["gr\u00fc\u00dfe \u4f60\u597d " * (i % 5) for i in range(1000)], "bytes": b"x" * 100000,
}
cases = {}
for name, value in objects.items():
    data = msgpack.packb(value)
    cases["pack " + name] = (msgpack.packb, value)
    cases["unpack " + name] = (msgpack.unpackb, data)
for file in sorted(pathlib.Path(sys.argv[1]).iterdir()):
    value = file.read_bytes()
    for level in 3, 10, 17:
        data = zstd.compress(value, level)
        assert zstd.decompress(data) == value
        cases[f"compress {file.name} level {level}"] = (functools.partial(zstd.compress, level=level), value)
        cases[f"decompress {file.name} level {level}"] = (zstd.decompress, data)
cases["a new compressor of 1 KiB"] = (lambda value: zstd.ZstdCompressor().compress(value, 2), text[:1024])
libraries = {codec: info.library for codec, info in cpkg.backend_info().items()}
print(json.dumps({"cases": list(cases), "libraries": libraries}), flush=True)
clock = time.process_time
for line in sys.stdin:
    function, value = cases[line.strip()]
    function(value)
    started = clock()
    function(value)
    count = max(1, int(0.002 / (clock() - started + 1e-9)))
    best = float("inf")
    for _ in range(3):
        started = clock()
        for _ in range(count):
            function(value)
        best = min(best, (clock() - started) / count)
    print(best, flush=True)
"""


class Build:
    """A process with one of the builds."""

    def __init__(self, python: str, contents: str) -> None:
        self._process = subprocess.Popen(
            [python, "-I", "-c", CHILD, contents], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.told: dict[str, Any] = json.loads(self._read())

    def measure(self, case: str) -> float:
        assert self._process.stdin is not None
        self._process.stdin.write(case + "\n")
        self._process.stdin.flush()
        return float(self._read())

    def _read(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"{self._process.args[0]} has ended")  # type: ignore[index]
        return line


def _write_contents(folder: Path) -> None:
    for data, content in payloads.BYTES.items():
        for size in ("1KiB", "16KiB", "1MiB"):
            (folder / f"{size} {data}").write_bytes(content(payloads.SIZES[size]))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().partition("\n")[0])
    parser.add_argument("pythons", nargs=2, metavar="PYTHON")
    parser.add_argument("--rounds", type=int, default=20, help="turns of each build per case (default: %(default)s)")
    parser.add_argument("-k", default="", help="only cases whose name contains this")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as contents:
        _write_contents(Path(contents))
        builds = [Build(python, contents) for python in options.pythons]
    for python, build in zip(options.pythons, builds):
        print(python, *build.told["libraries"].values(), sep="  ")
    cases = [case for case in builds[0].told["cases"] if options.k in case]
    if not cases:
        sys.exit("no such case")
    logarithms = []
    for case in cases:
        best = [math.inf, math.inf]
        for _ in range(options.rounds):
            for index, build in enumerate(builds):
                best[index] = min(best[index], build.measure(case))
        logarithms.append(math.log(best[0] / best[1]))
        print(f"{case:28} {best[0] * 1e6:10.2f} us {best[1] * 1e6:10.2f} us {best[0] / best[1]:6.2f}x", flush=True)
    print(f"{'geometric mean':52} {math.exp(sum(logarithms) / len(logarithms)):6.2f}x")


if __name__ == "__main__":
    main()
