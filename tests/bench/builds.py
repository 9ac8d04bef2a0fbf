# SPDX-License-Identifier: Apache-2.0
"""
Compare two builds of cpkg on one interpreter: `python tests/bench/builds.py PYTHON PYTHON`.

Each argument is the python of an environment with cpkg in it, a wheel's and a local build's for instance. Both run as
processes that stay, and take turns: one of them measures for a few milliseconds, then the other. The table gives the
best time of each and how many times faster the second is.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
from typing import Any

CHILD = r"""
import json, sys, time, zlib
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
blocks = {
    "100 B": text[:100], "1 KiB": text[:1024], "16 KiB": text[:16384], "64 KiB": text[:65536],
    "1 MiB": (text * 20)[: 1 << 20],
    "random 64 KiB": b"".join(zlib.crc32(b"%d" % i).to_bytes(4, "big") for i in range(16384)),
}
for name, value in blocks.items():
    data = zstd.compress(value, 3)
    assert zstd.decompress(data) == value
    cases["compress " + name] = (zstd.compress, value)
    cases["decompress " + name] = (zstd.decompress, data)
cases["compress 64 KiB, level 10"] = (lambda value: zstd.compress(value, 10), blocks["64 KiB"])
cases["compress 16 KiB, level 17"] = (lambda value: zstd.compress(value, 17), blocks["16 KiB"])
libraries = {codec: info.library for codec, info in cpkg.backend_info().items()}
print(json.dumps({"cases": list(cases), "libraries": libraries}), flush=True)
clock = time.perf_counter
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

    def __init__(self, python: str) -> None:
        self._process = subprocess.Popen(
            [python, "-I", "-c", CHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
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


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().partition("\n")[0])
    parser.add_argument("pythons", nargs=2, metavar="PYTHON")
    parser.add_argument("--rounds", type=int, default=20, help="turns of each build per case (default: %(default)s)")
    parser.add_argument("-k", default="", help="only cases whose name contains this")
    options = parser.parse_args()
    builds = [Build(python) for python in options.pythons]
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
