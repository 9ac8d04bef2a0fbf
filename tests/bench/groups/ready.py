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
from typing import Any

from bench import fresh, payloads, peers
from bench.cells import Answer, Case, Group

WORDS = {"msgpack": ("pack", "unpack"), "zstd": ("compress", "decompress")}
MEASURES = ("import", "import and first call", "first call", "second call", "10th call", "100th call",
            "first 100 calls", "warmed up")  # fmt: skip
PATIENCE = 0.5 if sys.implementation.name == "pypy" else 0.1
"""Seconds of calls after which a call is considered warm."""
RUNS = 4 if sys.implementation.name == "pypy" else 5
"""The processes of a sample, whose figure is their lower quartile, because disturbances only make processes slower."""


def _packed(codec: str, value: Any, library: str) -> bytes | str:
    """Return the data that `library` unpacks or decompresses: the same bytes for all libraries of a format."""
    if library == "json":
        return json.dumps(value)
    if codec == "zstd":
        from cpkg import zstd

        return zstd.compress(value)
    from purepy import msgpack

    return msgpack.packb(value)


@functools.lru_cache(maxsize=16)
def sample(case: Case, number: int) -> Mapping[str, Mapping[str, Answer]]:
    """Import each library in fresh processes, and call it until it is warm; return the seconds of each measure."""
    load = payloads.load_object if case.codec == "msgpack" else lambda name: payloads.corpus(payloads.SIZES[name])
    value = load(case.payload)
    expected = repr(value)
    runs: dict[tuple[str, str], list[Any]] = {}
    for run in range(RUNS if number >= 0 else 1):
        for peer in fresh.in_turns(peers.in_children(case.codec), number * RUNS + run):
            for reads, word in enumerate(WORDS[case.codec]):
                request = {
                    "imports": peer.imports,
                    "call": peer.back if reads else peer.forth,
                    "argument": repr(_packed(case.codec, value, peer.name)) if reads else expected,
                    "expected": expected,
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
            # only the first process runs until its calls are warm
            taken = [each if isinstance(each, str) else each[measure] for each in answers]
            one = sorted(taken)[len(taken) // 4] if measure != "warmed up" else taken[0]
            found[f"{word}, {measure}"][library] = one
    return found


def operations(case: Case) -> list[str]:
    """Return the measures of both directions."""
    return [f"{word}, {measure}" for word in WORDS[case.codec] for measure in MEASURES]


CASES = [
    *(Case(f"MessagePack {name}", name == "regular", name == "regular", codec="msgpack", payload=name)
      for name in ("small", "regular", "large")),
    *(Case(f"Zstandard {size}", size == "1KiB", codec="zstd", payload=size) for size in ("1KiB", "16KiB")),
]  # fmt: skip
GROUPS = [Group("Ready at once", CASES, operations, sample=sample, formats={"json": "json"})]
