# SPDX-License-Identifier: Apache-2.0
"""MessagePack streaming: one object fed in small pieces to an Unpacker, against unpacking it whole.

A socket delivers 4 KiB at a time, and the loop is the one of every README: feed, then take the complete objects.
A parser that starts over with each piece needs time that grows with the square of the object; two sizes show that.
"""

from __future__ import annotations

import functools
import importlib
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Callable

import pytest

from bench import payloads, peers
from bench.cases import Case
from bench.harness import Cell
from bench.peers import Peer

GROUP = "MessagePack streaming"
WHOLE, PIECES = "unpack whole", "feed in 4 KiB"
PIECE = 4 * payloads.KIB
# A first call that takes longer is stopped, and reported instead of measured.
PATIENCE = 10.0

# Where each library has its streaming unpacker; the other libraries have none.
UNPACKERS = {"cpkg": "cpkg.msgpack", "msgpack": "msgpack", "msgpack fallback": "msgpack.fallback"}
PEERS = [peer for peer in peers.of("msgpack") if peer.name in UNPACKERS]


@dataclass(frozen=True)
class StreamCase(Case):
    """One list of `count` records."""

    count: int = 0


CASES = [
    StreamCase("0.25 MB object", quick=True, small=True, count=750),
    StreamCase("40 MB object", count=121_000),
]


@pytest.fixture(scope="module", autouse=True)
def _release() -> Iterator[None]:
    """Release the last object: a live graph of that size slows every later garbage collection."""
    yield
    _object.cache_clear()


@functools.lru_cache(maxsize=1)
def _object(count: int) -> tuple[list[object], bytes]:
    value = payloads.records(count)
    return value, bytes(next(peers.independent("msgpack"))[1].forth(value))


def _split(packed: bytes) -> list[bytes]:
    return [packed[at : at + PIECE] for at in range(0, len(packed), PIECE)]


def _feeding(peer: Peer) -> Callable[[list[bytes]], Any]:
    """Return the function that feeds every piece and returns the resulting object."""
    unpacker_type = importlib.import_module(UNPACKERS[peer.name]).Unpacker

    def feed(pieces: list[bytes]) -> Any:
        unpacker = unpacker_type()
        found = []
        for piece in pieces:
            unpacker.feed(piece)
            found.extend(unpacker)
        assert len(found) == 1, f"{len(found)} objects came out"
        return found[0]

    return feed


@functools.cache
def _too_slow(peer: Peer, case: StreamCase) -> str | None:
    """Feed the object once, for PATIENCE seconds at most; return the progress if it was not completed."""
    pieces = _split(_object(case.count)[1])
    unpacker = importlib.import_module(UNPACKERS[peer.name]).Unpacker()
    start = time.perf_counter()
    for number, piece in enumerate(pieces, 1):
        unpacker.feed(piece)
        for _ in unpacker:
            pass
        seconds = time.perf_counter() - start
        if seconds > PATIENCE and number < len(pieces):
            return f"stopped after {seconds:.0f} s with {number / len(pieces):.0%} of the pieces of 4 KiB fed"
    return None


@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.name)
@pytest.mark.parametrize("operation", [WHOLE, PIECES])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_streaming(cell: Cell, case: StreamCase, operation: str, peer: Peer) -> None:
    """Unpack the case's object from one bytes object, or from pieces as they arrive."""
    library = cell.load(GROUP, case, operation, peer)
    if cell.settings.enabled and not peer.ours:
        # without pieces, the whole object adds nothing to the group of one-shot calls
        reason = _too_slow(peer, case)
        if reason:
            cell.not_run(reason)
    value, packed = _object(case.count)
    cell.info["size"] = len(packed)
    if operation == WHOLE:
        cell.measure(library.back, packed, cell.same(value))
    else:
        cell.measure(_feeding(peer), _split(packed), cell.same(value))
