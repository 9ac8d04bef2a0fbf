# SPDX-License-Identifier: Apache-2.0
"""
Compare two builds of cpkg on one interpreter: `python tests/bench/builds.py PYTHON PYTHON`.

Each argument is the python of an environment with cpkg in it, a wheel's and a local build's for instance. Both run as
processes that stay, and take turns: one of them measures for a few milliseconds, then the other. The table gives the
best processor time of the second and of the first, and how many times faster the second is. The contents for Zstandard
are those of the published benchmark, of this program's own interpreter.
"""

from __future__ import annotations

import functools
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import payloads
import turns

CHILD = r"""
import functools, json, pathlib, sys
import cpkg
from cpkg import msgpack, zstd
sys.path.append(sys.argv[2])
import turns

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
for line in sys.stdin:
    function, value = cases[line.strip()]
    work = turns.timed(functools.partial(function, value), 0.002)
    print(min(work().processor for _ in range(3)), flush=True)
"""


class Build:
    """A process with one of the builds."""

    def __init__(self, python: str, contents: str) -> None:
        self._process = subprocess.Popen(
            [python, "-I", "-c", CHILD, contents, str(Path(__file__).parent)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
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
    parser = turns.options(__doc__, rounds=20)
    parser.add_argument("pythons", nargs=2, metavar="PYTHON")
    parser.add_argument("-k", default="", help="only cases whose name contains this")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as contents:
        for data, content in payloads.BYTES.items():
            for size in ("1KiB", "16KiB", "1MiB"):
                Path(contents, f"{size} {data}").write_bytes(content(payloads.SIZES[size]))
        builds = [Build(python, contents) for python in options.pythons]
    for python, build in zip(options.pythons, builds):
        print(python, *build.told["libraries"].values(), sep="  ")
    cases = [case for case in builds[0].told["cases"] if options.k in case]
    if not cases:
        sys.exit("no such case")
    logarithms = []
    for case in cases:
        works = {number: functools.partial(build.measure, case) for number, build in enumerate(builds)}
        first, second = turns.in_turns(works, options.rounds).values()
        logarithms.append(math.log(min(first) / min(second)))
        turns.versus(case, second, first)
    print(f"{'geometric mean':62} {math.exp(sum(logarithms) / len(logarithms)):6.2f}")


if __name__ == "__main__":
    main()
