# SPDX-License-Identifier: Apache-2.0
"""Peak memory, measured in a fresh interpreter for each case."""

from __future__ import annotations

import functools
import os
from dataclasses import dataclass
from typing import Any

import pytest

from bench import fresh, harness, payloads
from bench.cases import Case
from bench.ways import MSGPACK, PEP784, ZSTD, Way

MEMORY_GROUP = "Peak memory"

_RECORDS = 10_000
_FRAME = "4MiB"
_BYTES = 4 * payloads.MIB
_PATH = f"import sys; sys.path.insert(0, {str(fresh.FOLDER.parent / 'support')!r})\n"


@dataclass(frozen=True)
class MemoryCase(Case):
    """One piece of work. setup, work, check: what the child executes, with there and back of the library."""

    codec: str = "msgpack"
    setup: str = ""
    work: str = ""
    check: str = ""
    streams: bool = False
    measure: str = "peak"

    @property
    def ways(self) -> list[Way]:
        """The libraries that can do it."""
        if self.codec == "msgpack" and self.streams:
            return [way for way in MSGPACK if way.name in ("cpkg", "msgpack")]
        if self.codec == "msgpack":
            return [way for way in MSGPACK if way.name != "json"]
        return [way for way in ZSTD if way.name in ("cpkg", PEP784)] if self.streams else ZSTD


_OBJECT = f"from bench import payloads\nvalue = payloads.records({_RECORDS})\n"
_DATA = f"from bench import payloads\ndata = payloads.corpus({_BYTES})\n"
MEMORY_CASES = [
    MemoryCase(
        "pack 10,000 records",
        quick=True,
        setup=_OBJECT + "back(there([1, 'a']))",
        work="result = there(value)",
        check="assert back(result) == value",
    ),
    MemoryCase(
        "unpack 10,000 records",
        setup=_OBJECT + "packed = there(value)",
        work="result = back(packed)",
        check="assert result == value",
    ),
    MemoryCase(
        "unpack 10,000 records fed in 4 KiB",
        streams=True,
        setup=_OBJECT + "packed = there(value)\nunpacker = m.Unpacker()",
        work="result = None\nfor at in range(0, len(packed), 4096):\n    unpacker.feed(packed[at : at + 4096])\n"
        "    for result in unpacker:\n        pass",
        check="assert result == value",
    ),
    # resident, and what is claimed of the address space: a large buffer that nothing has touched yet is not resident
    *(
        MemoryCase(
            "1,000 idle Unpackers",
            streams=True,
            measure=measure,
            quick=measure == "peak",
            setup="def used():\n    unpacker = m.Unpacker()\n    unpacker.feed(b'\\x01')\n"
            "    assert list(unpacker) == [1]\n    return unpacker\nused()",
            work="kept = [used() for _ in range(1000)]",
            check="assert len(kept) == 1000",
        )
        for measure in ("peak", "address space")
    ),
    MemoryCase(
        f"compress {_FRAME}",
        codec="zstd",
        setup=_DATA + "back(there(b'a'))",
        work="result = there(data)",
        check="assert back(result) == data",
    ),
    MemoryCase(
        f"decompress {_FRAME}",
        codec="zstd",
        quick=True,
        setup=_DATA + "packed = there(data)\nback(there(b'a'))",
        work="result = back(packed)",
        check="assert result == data",
    ),
    MemoryCase(
        f"decompress {_FRAME} as a stream of 64 KiB",
        codec="zstd",
        streams=True,
        setup=_DATA + "import io\npacked = io.BytesIO(there(data))\nback(there(b'a'))",
        work="total = 0\nwith z.open(packed) as file:\n    while True:\n        piece = file.read(65536)\n"
        "        if not piece:\n            break\n        total += len(piece)",
        check="assert total == len(data)",
    ),
]


@functools.lru_cache(maxsize=4)
def _remember(case: MemoryCase, way: Way, bench_pass: int) -> Any:
    del bench_pass
    prepare = f"{_PATH}{way.imports}\nthere = {way.there}\nback = {way.back}\n"
    return fresh.run("memory.py", {"setup": prepare + case.setup, "work": case.work, "check": case.check})


@pytest.mark.skipif(not os.path.exists("/proc/self/clear_refs"), reason="needs Linux's /proc to reset the peak")
@pytest.mark.benchmark(timer=harness.reported_time)
@pytest.mark.parametrize("way", MSGPACK[:-1] + ZSTD, ids=lambda way: f"{way.imports.split()[-1]}-{way.name}")
@pytest.mark.parametrize("case", MEMORY_CASES, ids=lambda case: f"{case}-{case.measure}")
def test_memory(
    benchmark: Any, settings: harness.Settings, not_run: Any, case: MemoryCase, way: Way, bench_pass: int
) -> None:
    """Take the highest resident set above the one before the work; the time is that of the same work."""
    info: dict[str, Any] = {
        "group": MEMORY_GROUP,
        "case": case.name,
        "operation": case.measure,
        "library": way.name,
        "ours": way.ours,
        "pass": bench_pass,
        "unit": "bytes",
    }
    answer = fresh.ask(not_run, info, lambda: _remember(case, way, bench_pass))
    info["value"] = answer[case.measure]
    harness.measure_reported(benchmark, settings, lambda: answer["seconds"], info)
