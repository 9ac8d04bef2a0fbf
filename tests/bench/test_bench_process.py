# SPDX-License-Identifier: Apache-2.0
"""Whole processes: import, first message, warm-up and peak memory, each measured in a fresh interpreter."""

from __future__ import annotations

import functools
import os
import statistics
import sys
from dataclasses import dataclass
from typing import Any

import pytest

from bench import fresh, harness, payloads
from bench.cases import Case

PROCESS_GROUP = "Whole process"
WARMUP_GROUP = "Warm-up"
MEMORY_GROUP = "Peak memory"
PEP784 = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"


@dataclass(frozen=True)
class Way:
    """How a child calls one library. imports: a statement; there, back: expressions of one-argument functions."""

    name: str
    imports: str
    there: str
    back: str

    @property
    def ours(self) -> bool:
        """Whether it is ours."""
        return self.name == "cpkg"


MSGPACK = [
    Way("cpkg", "import cpkg.msgpack as m", "m.packb", "m.unpackb"),
    Way("msgpack", "import msgpack as m", "m.packb", "m.unpackb"),
    Way("ormsgpack", "import ormsgpack as m", "m.packb", "m.unpackb"),
    Way("msgspec", "import msgspec.msgpack as m", "m.encode", "m.decode"),
    Way("json", "import json as m", "m.dumps", "m.loads"),
]
ZSTD = [
    Way("cpkg", "import cpkg.zstd as z", "z.compress", "z.decompress"),
    Way(PEP784, f"import {PEP784} as z", "z.compress", "z.decompress"),
    Way("zstandard", "import zstandard as z", "z.compress", "z.decompress"),
    Way("zstd", "import zstd as z", "(lambda data: z.compress(data, 3, 1))", "z.decompress"),
]


@dataclass(frozen=True)
class UseCase(Case):
    """One object or piece of data, as an expression that the child can evaluate before anything is imported."""

    codec: str = "msgpack"
    payload: str = "regular"

    @property
    def expression(self) -> str:
        """The argument, in Python."""
        if self.codec == "zstd":
            return repr(payloads.corpus(payloads.SIZES[self.payload]))
        return repr(payloads.load_object(self.payload))

    @property
    def ways(self) -> list[Way]:
        """The libraries for this codec."""
        return ZSTD if self.codec == "zstd" else MSGPACK


USE_CASES = [
    UseCase("MessagePack regular", quick=True, small=True, codec="msgpack", payload="regular"),
    UseCase("MessagePack large", codec="msgpack", payload="large"),
    UseCase("Zstandard 1KiB", quick=True, codec="zstd", payload="1KiB"),
    UseCase("Zstandard 16KiB", codec="zstd", payload="16KiB"),
]


SHORT_RUNS = 5


@functools.lru_cache(maxsize=4)
def _use(case: UseCase, way: Way, bench_pass: int, calls: int, patience: float) -> Any:
    """Run the children of one pass; all figures of that pass come from them.

    A step that happens once in a process (import, first and second call) is the median of several; the course is one's.
    """
    del bench_pass
    request = {"imports": way.imports, "there": way.there, "back": way.back, "argument": case.expression}
    answer = fresh.run("first_use.py", {**request, "calls": calls, "patience": patience})
    short = [
        fresh.run("first_use.py", {**request, "calls": 2, "patience": 0.0})
        for _ in range(SHORT_RUNS if patience else 1)
    ]
    for name in ("import", "first message"):
        answer[name] = statistics.median(other[name] for other in short)
    for direction in ("there", "back"):
        for name in ("first", "second"):
            answer[direction][name] = statistics.median(other[direction][name] for other in short)
    return answer


_MEASURES = {
    "import": lambda answer: answer["import"],
    "first message": lambda answer: answer["first message"],
    "there, first call": lambda answer: answer["there"]["first"],
    "there, second call": lambda answer: answer["there"]["second"],
    "there, warmed up": lambda answer: answer["there"]["warm"],
    "back, first call": lambda answer: answer["back"]["first"],
    "back, second call": lambda answer: answer["back"]["second"],
    "back, warmed up": lambda answer: answer["back"]["warm"],
}
_WORDS = {"msgpack": ("pack", "unpack"), "zstd": ("compress", "decompress")}


def _ask(not_run: Any, info: dict[str, Any], way: Way, ask: Any) -> Any:
    try:
        return ask()
    except fresh.ChildFailed as failure:
        if way.ours or "Error" not in str(failure):
            raise
        return not_run(info, str(failure))


@pytest.mark.benchmark(timer=harness.reported_time)
# the measure varies fastest, so that all of them come from the same children
@pytest.mark.parametrize("measure", _MEASURES)
@pytest.mark.parametrize("way", MSGPACK + ZSTD, ids=lambda way: f"{way.imports.split()[-1]}-{way.name}")
@pytest.mark.parametrize("case", USE_CASES, ids=str)
def test_process(
    benchmark: Any,
    settings: harness.Settings,
    not_run: Any,
    case: UseCase,
    measure: str,
    way: Way,
    bench_pass: int,
) -> None:
    """Import, and call for the first time, the second time, and once warm."""
    there, back = _WORDS[case.codec]
    operation = measure.replace("there", there).replace("back", back)
    info: dict[str, Any] = {
        "group": WARMUP_GROUP if "," in measure else PROCESS_GROUP,
        "case": case.name,
        "operation": operation,
        "library": way.name,
        "ours": way.ours,
        "pass": bench_pass,
    }
    calls, patience = (6000, 1.0 if harness.PYPY else 0.2) if settings.enabled else (3, 0.0)
    answer = _ask(not_run, info, way, lambda: _use(case, way, bench_pass, calls, patience))
    if measure.endswith("warmed up"):
        info["course"] = answer[measure.split(",")[0]]["course"]
    harness.measure_reported(benchmark, settings, lambda: _MEASURES[measure](answer), 1, info)


# --- memory ------------------------------------------------------------------------------------------------------

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
    answer = _ask(not_run, info, way, lambda: _remember(case, way, bench_pass))
    info["value"] = answer[case.measure]
    harness.measure_reported(benchmark, settings, lambda: answer["seconds"], 1, info)
