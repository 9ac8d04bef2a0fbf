# SPDX-License-Identifier: Apache-2.0
"""MessagePack streaming: one object fed in small pieces to an Unpacker, beside unpacking it whole.

A socket delivers 4 KiB at a time, and the loop is the one of every README: feed, then take the complete objects.
A parser that starts over with each piece needs time that grows with the square of the object; two sizes show that.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from bench import payloads, peers
from bench.cells import Case, Group, Works

WHOLE, PIECES = "unpack whole", "feed in 4 KiB"
PIECE = 4 * payloads.KIB
PATIENCE = 5.0
"""A call that takes more seconds is stopped, and the report shows this instead of a figure."""

LIBRARIES = ("cpkg", "msgpack", "msgpack fallback")
"""The libraries that have a streaming unpacker."""


def feeding(module: Any) -> Callable[[list[bytes]], Any]:
    """Return the function that feeds every piece to a library's Unpacker and returns the resulting object."""
    unpacker_type = module.Unpacker

    def feed(pieces: list[bytes]) -> Any:
        unpacker = unpacker_type()
        found = []
        end = time.perf_counter() + PATIENCE
        for number, piece in enumerate(pieces, 1):
            unpacker.feed(piece)
            found.extend(unpacker)
            if not number % 256 and time.perf_counter() > end:
                raise TimeoutError(f"stopped after {PATIENCE:.0f} s with {number / len(pieces):.0%} of the pieces fed")
        assert len(found) == 1, f"{len(found)} objects came out"
        return found[0]

    return feed


def works(case: Case, operation: str) -> Works:
    """Unpack the case's object, a list of records, from one bytes object, or from pieces as they arrive."""
    value = payloads.records(case.count)
    packed = bytes(next(peers.independent("msgpack"))[1].forth(value))
    libraries, missing = peers.loaded("msgpack", LIBRARIES)
    pieces = payloads.pieces(packed, PIECE)

    def check(library: str, result: Any) -> None:
        assert result == value, f"{library} gave something else"

    calls = {
        name: partial(each.back, packed) if operation == WHOLE else partial(feeding(each.module), pieces)
        for name, each in libraries.items()
    }
    return Works(calls, missing, check, size=len(packed))


CASES = [Case("0.25 MB object", quick=True, small=True, count=750), Case("10 MB object", count=30_000)]
GROUPS = [Group("MessagePack streaming", CASES, (WHOLE, PIECES), works)]
