# SPDX-License-Identifier: Apache-2.0
"""Peak memory, measured in a fresh interpreter for each case."""

from __future__ import annotations

import functools
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from processes import MEASURED

from bench import fresh, harness, peers
from bench.cases import Case
from bench.peers import PEP784, Peer

MEMORY_GROUP = "Peak memory"

WAYS = [way for codec in ("msgpack", "zstd") for way in peers.in_children(codec) if way.name != "json"]
_PATH = f"import sys; sys.path.insert(0, {str(fresh.FOLDER.parent / 'support')!r})\n"


@dataclass(frozen=True)
class MemoryCase(Case):
    """One piece of work. setup, work, check: code for the child, with `there` and `back` of the library."""

    codec: str = "msgpack"
    setup: str = ""
    work: str = ""
    check: str = ""
    streams: bool = False
    measure: str = "peak"

    @property
    def ways(self) -> list[Peer]:
        """The libraries that can do the work."""
        streams = ("cpkg", "msgpack", PEP784)
        return [way for way in WAYS if way.codec == self.codec and (not self.streams or way.name in streams)]


def _case(entry: dict[str, Any]) -> MemoryCase:
    """Return a case, whose programs are lists of lines."""
    return MemoryCase(**{name: "\n".join(value) if isinstance(value, list) else value for name, value in entry.items()})


# resident memory, and claimed address space: a large buffer that nothing has touched yet is not resident
MEMORY_CASES = [*map(_case, json.loads(Path(__file__).with_name("memory_cases.json").read_text(encoding="utf-8")))]


@functools.lru_cache(maxsize=4)
def _remember(case: MemoryCase, way: Peer, bench_pass: int) -> Any:
    del bench_pass
    prepare = f"{_PATH}{way.imports}\nthere = {way.forth}\nback = {way.back}\n"
    request = {"setup": prepare + case.setup, "work": case.work, "check": case.check}
    return fresh.run("memory.py", request, variables=MEASURED)


@pytest.mark.skipif(not os.path.exists("/proc/self/clear_refs"), reason="needs Linux's /proc to reset the peak")
@pytest.mark.benchmark(timer=harness.reported_time)
@pytest.mark.parametrize("way", WAYS, ids=lambda way: f"{way.codec}-{way.name}")
@pytest.mark.parametrize("case", MEMORY_CASES, ids=lambda case: f"{case}-{case.measure}")
def test_memory(cell: harness.Cell, case: MemoryCase, way: Peer, bench_pass: int) -> None:
    """Measure the highest resident set above the one before the work; the time is that of the same work."""
    cell.begin(MEMORY_GROUP, case, case.measure, way.name, way.ours, unit="bytes")
    answer = cell.ask(lambda: _remember(case, way, bench_pass))
    cell.info["value"] = answer[case.measure]
    cell.measure_reported(lambda: float(answer["seconds"]))
