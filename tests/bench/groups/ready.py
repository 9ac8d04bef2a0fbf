# SPDX-License-Identifier: Apache-2.0
"""Ready at once: the delays before anything is warm.

Import, first, second, tenth and hundredth call and the total of the first hundred, then a call once warm. Each library
in fresh processes, which take turns; one direction in each.
"""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bench import fresh, payloads, peers
from bench.cells import Answer, Case, Group

WORDS = {"msgpack": ("pack", "unpack"), "zstd": ("compress", "decompress")}
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
PATIENCE = 0.5 if sys.implementation.name == "pypy" else 0.1
"""Seconds until a call is warm."""
RUNS = 4 if sys.implementation.name == "pypy" else 8
"""Processes of a sample. It is their lower quartile: what happens once in a process is delayed, but never hastened."""


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


def _packed(case: ReadyCase, library: str) -> bytes | str:
    """Return the data to read back: the same bytes for all libraries of a format."""
    if library == "json":
        return json.dumps(case.value)
    if case.codec == "zstd":
        from cpkg import zstd

        return zstd.compress(case.value)
    from purepy import msgpack

    return msgpack.packb(case.value)


@functools.lru_cache(maxsize=16)
def sample(case: ReadyCase, number: int) -> Mapping[str, Mapping[str, Answer]]:
    """Import, and call for the first time, again and again, until warm; return the seconds of each."""
    value = repr(case.value)
    runs: dict[tuple[str, str], list[Any]] = {}
    for run in range(RUNS if number >= 0 else 1):
        for peer in fresh.in_turns(peers.in_children(case.codec), number * RUNS + run):
            for reads, word in enumerate(WORDS[case.codec]):
                request = {
                    "imports": peer.imports,
                    "call": peer.back if reads else peer.forth,
                    "argument": repr(_packed(case, peer.name)) if reads else value,
                    "expected": value,
                    "back": None if reads else peer.back,
                    "calls": 6000,
                    "atleast": 100,
                    "patience": 0 if run else PATIENCE,
                }
                answer = fresh.asked(peer.name, "first_use.py", request, site=False)
                runs.setdefault((word, peer.name), []).append(answer)
    found: dict[str, dict[str, Answer]] = {operation: {} for operation in operations(case)}
    for (word, library), answers in runs.items():
        for measure in MEASURES:
            # the first process alone becomes warm
            taken = [each if isinstance(each, str) else each[measure] for each in answers]
            one = sorted(taken)[len(taken) // 4] if measure != "warmed up" else taken[0]
            found[f"{word}, {measure}"][library] = one
    return found


def operations(case: ReadyCase) -> list[str]:
    """Return the measures of both directions."""
    return [f"{word}, {measure}" for word in WORDS[case.codec] for measure in MEASURES]


GROUP = Group(
    "Ready at once",
    [
        ReadyCase("MessagePack small", payload="small"),
        ReadyCase("MessagePack regular", quick=True, small=True, payload="regular"),
        ReadyCase("MessagePack large", payload="large"),
        ReadyCase("Zstandard 1KiB", quick=True, codec="zstd", payload="1KiB"),
        ReadyCase("Zstandard 16KiB", codec="zstd", payload="16KiB"),
    ],
    operations,
    sample=sample,
    formats={"json": "json"},
)
