# SPDX-License-Identifier: Apache-2.0
"""MessagePack: pack and unpack, against MessagePack libraries and other serializers."""

from __future__ import annotations

import functools
import json
from typing import Any

import pytest

from bench import payloads, peers
from bench.cases import Case
from bench.harness import Cell
from bench.peers import Peer

GROUP = "MessagePack"


OPERATIONS = ("pack", "unpack")
CASES = [Case(p.name, quick=p.quick, small=not p.big, copies=OPERATIONS if p.copied else ()) for p in payloads.OBJECTS]


@functools.lru_cache(maxsize=1)
def _reference() -> Any:
    """The library whose bytes all MessagePack libraries read: msgpack itself, or cpkg if it is not installed."""
    return next(peers.independent("msgpack"))[1]


# One payload at a time, like the objects themselves.
@functools.lru_cache(maxsize=3)
def _encoded(name: str, form: str) -> bytes:
    """The bytes that every library of one format reads back."""
    value = payloads.load_object(name)
    if form == "json":
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    if form == "cbor":
        import cbor2

        return bytes(cbor2.dumps(value))
    return bytes(_reference().forth(value))


def _decode(form: str, packed: bytes) -> Any:
    if form == "json":
        return json.loads(packed)
    if form == "cbor":
        import cbor2

        return cbor2.loads(packed)
    return _reference().back(packed)


@pytest.mark.parametrize("peer", peers.of("msgpack"), ids=lambda peer: peer.name)
@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_one_shot(cell: Cell, case: Case, operation: str, peer: Peer) -> None:
    """Pack or unpack the case's object in one call, with the garbage collector on, as in a program."""
    library = cell.load(GROUP, case, operation, peer)
    try:
        value = payloads.load_object(case.name)
    except payloads.PayloadMissing as missing:
        cell.not_run(missing)
    try:
        packed = _encoded(case.name, peer.format)
    except TypeError as error:
        cell.not_run(f"the format has no such type: {error}")
    cell.info.update(size=len(_encoded(case.name, "msgpack")), packed=len(packed))

    def check(result: Any) -> None:
        # equal bytes need no further check; another valid encoding is as good, so decode before reporting an error
        assert result == packed or _decode(peer.format, result) == value, f"{peer.name} packed something else"

    if operation == "pack":
        cell.measure(library.forth, value, check)
    else:
        cell.measure(library.back, packed, cell.same(value))
