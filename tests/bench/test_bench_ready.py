# SPDX-License-Identifier: Apache-2.0
"""
Ready at once: the delays before anything is warm, and the cost of the main functions on top of their codecs.

Import, first, second, tenth and hundredth call and the total of the first hundred, each library in fresh processes, one
direction in each; then a call once warm, with the times of all calls before it. And `dumps` and `loads`, warm, beside
the calls that they consist of.
"""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from typing import Any, Callable

import pytest

from bench import fresh, harness, payloads, peers
from bench.cases import Case
from bench.peers import Peer
from bench.results import lower_quartile

GROUP = "Ready at once"
JOB_GROUP = "Ready at once: dumps and loads"
CODECS = "its codecs"


@dataclass(frozen=True)
class ReadyCase(Case):
    """One object or piece of data, by the name of its payload."""

    codec: str = "msgpack"
    payload: str = "regular"

    @property
    def value(self) -> Any:
        """The object, or the data."""
        if self.codec == "zstd":
            return payloads.corpus(payloads.SIZES[self.payload])
        return payloads.load_object(self.payload)

    @property
    def ways(self) -> list[Peer]:
        """The libraries for this codec."""
        return peers.in_children(self.codec)

    @property
    def words(self) -> tuple[str, str]:
        """The names of the two directions."""
        return ("compress", "decompress") if self.codec == "zstd" else ("pack", "unpack")


CASES = [
    ReadyCase("MessagePack small", payload="small"),
    ReadyCase("MessagePack regular", quick=True, small=True, payload="regular"),
    ReadyCase("MessagePack large", payload="large"),
    ReadyCase("Zstandard 1KiB", quick=True, codec="zstd", payload="1KiB"),
    ReadyCase("Zstandard 16KiB", codec="zstd", payload="16KiB"),
]
MEASURES = (
    "import",
    "import and first call",
    "first call",
    "second call",
    "10th call",
    "100th call",
    "first 100 calls",
    "warmed up",
)
SHORT_RUNS = 5
CALLS = 100


@functools.lru_cache(maxsize=8)
def _packed(case: ReadyCase, library: str) -> bytes | str:
    """Return the data to read back: the same bytes for all libraries of a format, created outside the measured time."""
    if library == "json":
        return json.dumps(case.value)
    if case.codec == "zstd":
        from cpkg import zstd

        return zstd.compress(case.value)
    from purepy import msgpack

    return msgpack.packb(case.value)


@functools.lru_cache(maxsize=4)
def _answer(case: ReadyCase, way: Peer, reads: bool, bench_pass: int, settings: harness.Settings) -> Any:
    """
    Run the children of one pass; all figures of that pass come from them, together with the control.

    Figures that occur once per process are the lower quartile of several; the warm call and the course are from one.
    """
    del bench_pass
    value = repr(case.value)
    request = {
        "imports": way.imports,
        "call": way.back if reads else way.forth,
        "argument": repr(_packed(case, way.name)) if reads else value,
        "expected": value,
        "back": None if reads else way.back,
        "atleast": CALLS,
    }
    cold = {**request, "calls": CALLS, "patience": 0.0}

    def run(request: dict[str, Any]) -> tuple[Any, dict[str, float]]:
        return harness.beside(settings, lambda: fresh.run("first_use.py", request, site=False))

    runs, beside = zip(*(run(cold) for _ in range(SHORT_RUNS if settings.enabled else 1)))
    answer: dict[str, Any] = {name: lower_quartile(run[name] for run in runs) for name in MEASURES}
    if settings.enabled:
        long, _ = run({**request, "calls": 6000, "patience": 1.0 if harness.PYPY else 0.2})
        answer["warmed up"] = long["warmed up"]
        answer["course"] = long["course"]
    answer["control"] = {part: lower_quartile(each[part] for each in beside) for part in beside[0]}
    return answer


@pytest.mark.benchmark(timer=harness.reported_time)
# the measure varies fastest, so that all measures come from the same children
@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize(
    "way", [*peers.in_children("msgpack"), *peers.in_children("zstd")], ids=lambda way: f"{way.codec}-{way.name}"
)
@pytest.mark.parametrize("reads", [False, True], ids=["there", "back"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_first_calls(
    cell: harness.Cell, case: ReadyCase, reads: bool, measure: str, way: Peer, bench_pass: int
) -> None:
    """Import, and call for the first time, again and again, until warm."""
    cell.begin(GROUP, case, f"{case.words[reads]}, {measure}", way.name, way.ours)
    answer = cell.ask(lambda: _answer(case, way, reads, bench_pass, cell.settings))
    cell.info["control"] = answer["control"]
    if measure == "warmed up" and cell.settings.enabled:
        cell.info["course"] = answer["course"]
    cell.measure_reported(lambda: float(answer[measure]))


# --- dumps and loads ---------------------------------------------------------------------------------------------

OPERATIONS = ("dumps", "loads", "dumps, compressed", "loads, compressed")
JOB_CASES = [Case("small"), Case("regular", quick=True, small=True), Case("large")]


def _job_calls(value: Any) -> dict[str, tuple[Any, Any, Callable[[Any], Any], Callable[[Any], Any]]]:
    """Return, by operation, the argument, the expected result, cpkg's call, and the codecs' calls that it replaces."""
    import cpkg
    from cpkg import msgpack, zstd

    options = {zstd.CompressionParameter.compression_level: 3, zstd.CompressionParameter.checksum_flag: 1}
    dumps, loads, packb, unpackb = cpkg.dumps, cpkg.loads, msgpack.packb, msgpack.unpackb
    compress, decompress = zstd.compress, zstd.decompress
    packed, frame = packb(value), compress(packb(value), options=options)
    return {
        # both through a Python function, which costs half as much as packing a short message
        "dumps": (value, packed, lambda value: dumps(value, compress=False), lambda value: packb(value)),
        "loads": (packed, value, loads, unpackb),
        "dumps, compressed": (
            value,
            frame,
            lambda value: dumps(value, compress=True),
            lambda value: compress(packb(value), options=options),
        ),
        "loads, compressed": (frame, value, loads, lambda frame: unpackb(decompress(frame))),
    }


@pytest.mark.parametrize("library", ["cpkg", CODECS])
@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("case", JOB_CASES, ids=str)
def test_main_job(cell: harness.Cell, case: Case, operation: str, library: str) -> None:
    """Call `dumps` and `loads`, or the codecs' own functions with the same options."""
    argument, expected, job, codecs = _job_calls(payloads.load_object(case.name))[operation]
    cell.begin(JOB_GROUP, case, operation, library, library == "cpkg")
    cell.measure(job if library == "cpkg" else codecs, argument, cell.same(expected))
