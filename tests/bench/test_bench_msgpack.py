# SPDX-License-Identifier: Apache-2.0
"""MessagePack: pack and unpack, against the MessagePack libraries and against what else people serialize with."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from typing import Any

import pytest

from bench import harness, payloads, peers
from bench.cases import Case
from bench.peers import Peer

GROUP = "MessagePack"


@dataclass(frozen=True)
class MsgpackCase(Case):
    """One object, built when it is measured."""

    @property
    def payload(self) -> Any:
        """The object to pack."""
        return payloads.load_object(self.name)


OPERATIONS = ("pack", "unpack")
CASES = [
    MsgpackCase(p.name, quick=p.quick, small=not p.big, copies=OPERATIONS if p.copied else ()) for p in payloads.OBJECTS
]


@functools.lru_cache(maxsize=1)
def _reference() -> Any:
    """The library whose bytes all MessagePack libraries read: msgpack itself, ours where it is not installed."""
    names = ("msgpack", "msgpack fallback", "cpkg")
    for name in names:
        loaded = [peers.load(peer) for peer in peers.of("msgpack") if peer.name == name]
        if loaded[0].library is not None:
            return loaded[0].library
    raise harness.NotRun("no MessagePack library at all")


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
    return bytes(_reference().pack(value))


def _decode(form: str, packed: bytes) -> Any:
    if form == "json":
        return json.loads(packed)
    if form == "cbor":
        import cbor2

        return cbor2.loads(packed)
    return _reference().unpack(packed)


@pytest.mark.parametrize("peer", peers.of("msgpack"), ids=lambda peer: peer.name)
@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_one_shot(
    benchmark: Any,
    settings: harness.Settings,
    not_run: Any,
    case: MsgpackCase,
    operation: str,
    peer: Peer,
    bench_pass: int,
) -> None:
    """Pack or unpack the case's object in one call, garbage collector on, as a program would."""
    library, info = harness.begin(GROUP, case, operation, peer, bench_pass, not_run)
    try:
        value = case.payload
    except payloads.PayloadMissing as missing:
        not_run(info, str(missing))
    try:
        packed = _encoded(case.name, peer.format)
    except TypeError as error:
        not_run(info, f"the format has no such type: {error}")
    info["size"] = len(_encoded(case.name, "msgpack"))
    info["packed"] = len(packed)
    if operation == "pack":

        def check(result: Any) -> None:
            # equal bytes are the quick answer; another valid encoding is as good, so decode before complaining
            assert result == packed or _decode(peer.format, result) == value, f"{peer.name} packed something else"

        harness.measure(benchmark, settings, library.pack, value, check, info)
    else:

        def check(result: Any) -> None:
            assert result == value, f"{peer.name} gave another object back"

        harness.measure(benchmark, settings, library.unpack, packed, check, info)
