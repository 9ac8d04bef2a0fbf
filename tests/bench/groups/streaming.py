# SPDX-License-Identifier: Apache-2.0
"""MessagePack streaming: one object fed in small pieces to an Unpacker, beside unpacking it whole.

A socket delivers 4 KiB at a time, and the loop is the one of every README: feed, then take the complete objects.
A parser that starts over with each piece needs time that grows with the square of the object; two sizes show that.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from bench import payloads, peers
from bench.cells import Case, Group, Works

WHOLE, PIECES = "unpack whole", "feed in 4 KiB"
PIECE = 4 * payloads.KIB
PATIENCE = 5.0
"""A call that takes longer is stopped, and reported instead of measured."""

UNPACKERS = {"cpkg": "cpkg.msgpack", "msgpack": "msgpack", "msgpack fallback": "msgpack.fallback"}
"""Where each library has its streaming unpacker; the other libraries have none."""


@dataclass(frozen=True)
class StreamCase(Case):
    """One list of `count` records."""

    count: int = 0


class TooSlow(Exception):
    """A library did not complete an object in time."""


def feeding(library: str) -> Callable[[list[bytes]], Any]:
    """Return the function that feeds every piece and returns the resulting object."""
    unpacker_type = importlib.import_module(UNPACKERS[library]).Unpacker

    def feed(pieces: list[bytes]) -> Any:
        unpacker = unpacker_type()
        found = []
        end = time.perf_counter() + PATIENCE
        for number, piece in enumerate(pieces, 1):
            unpacker.feed(piece)
            found.extend(unpacker)
            if not number % 256 and time.perf_counter() > end:
                raise TooSlow(f"stopped after {PATIENCE:.0f} s with {number / len(pieces):.0%} of the pieces fed")
        assert len(found) == 1, f"{len(found)} objects came out"
        return found[0]

    return feed


def works(case: StreamCase, operation: str) -> Works:
    """Unpack the case's object from one bytes object, or from pieces as they arrive."""
    value = payloads.records(case.count)
    packed = bytes(next(peers.independent("msgpack"))[1].forth(value))
    libraries, missing = peers.loaded("msgpack")
    pieces = [packed[at : at + PIECE] for at in range(0, len(packed), PIECE)]

    def check(library: str, result: Any) -> None:
        assert result == value, f"{library} gave something else"

    calls = {
        name: partial(libraries[name].back, packed) if operation == WHOLE else partial(feeding(name), pieces)
        for name in UNPACKERS
        if name in libraries
    }
    return Works(calls, {name: why for name, why in missing.items() if name in UNPACKERS}, check, size=len(packed))


GROUP = Group(
    "MessagePack streaming",
    [
        StreamCase("0.25 MB object", quick=True, small=True, count=750),
        StreamCase("10 MB object", count=30_000),
    ],
    (WHOLE, PIECES),
    works,
)
