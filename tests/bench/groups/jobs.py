# SPDX-License-Identifier: Apache-2.0
"""`dumps` and `loads`, warm: beside the codecs' calls that they consist of, and those that others write instead."""

from __future__ import annotations

import datetime as dt
import enum
import importlib
import pickle
from collections.abc import Callable
from functools import partial
from typing import Any

import cpkg
from bench import payloads, peers, typed_messages
from bench.cells import OURS, Case, Group, Works
from cpkg import msgpack, zstd

CODECS = "its codecs"
FILES = "msgspec's files"
PEERS = ("msgpack", "ormsgpack", "amsgpack", "msgspec")
Both = tuple[Callable[[Any], Any], Callable[[Any], Any]]


def _as_dicts(obj: Any) -> Any:
    """Return a message without types: times as text, members of an Enum as their values."""
    if isinstance(obj, list):
        return [_as_dicts(item) for item in obj]
    if isinstance(obj, dt.datetime):
        return obj.isoformat()
    if isinstance(obj, enum.Enum):
        return obj.value
    names = getattr(obj, "__dataclass_fields__", None)
    return obj if names is None else {name: _as_dicts(getattr(obj, name)) for name in names}


def _serializers(missing: dict[str, str]) -> dict[str, Both]:
    found: dict[str, Both] = {"pickle": (partial(pickle.dumps, protocol=5), pickle.loads)}
    libraries, errors = peers.loaded("msgpack")
    for name in PEERS:
        if name in libraries:
            found[name] = libraries[name].forth, libraries[name].back
        else:
            missing[name] = errors[name]
    return found


def works(case: Case, operation: str) -> Works:
    """Call `dumps` or `loads`, the codecs' own functions with the same options, and other serializers."""
    value = _as_dicts(typed_messages.files()) if case.name == FILES else payloads.load_object(case.name)
    missing: dict[str, str] = {}
    direction, _, compressed = operation.partition(", ")
    packb, unpackb = msgpack.packb, msgpack.unpackb
    # its own side is called through a Python function like ours, which costs half as much as packing a short message
    pairs: dict[str, Both] = {
        OURS: (lambda value: cpkg.dumps(value, compress=False), cpkg.loads),
        CODECS: (lambda value: packb(value), unpackb),
        **_serializers(missing),
    }
    if compressed:
        pairs = {OURS: (lambda value: cpkg.dumps(value, compress=True), cpkg.loads), **_compressed(pairs, missing)}
    data = {name: forth(value) for name, (forth, _) in pairs.items()}
    expected = data[OURS]

    def check(library: str, result: Any) -> None:
        if direction == "dumps":
            assert library != CODECS or result == expected, "cpkg's codecs wrote other bytes"
            result = pairs[library][1](result)
        assert result == value, f"{library} gave something else"

    calls: dict[str, Callable[[], Any]] = {
        name: partial(forth, value) if direction == "dumps" else partial(back, data[name])
        for name, (forth, back) in pairs.items()
    }
    formats = {name: "pickle" if name.startswith("pickle") else "msgpack" for name in pairs}
    return Works(calls, missing, check, formats=formats, limits=[CODECS], size=len(packb(value)))


def _compressed(pairs: dict[str, Both], missing: dict[str, str]) -> dict[str, Both]:
    """Return each pair with a compressor: cpkg's with the options of `dumps`, python-zstandard with a kept context."""
    options = {zstd.CompressionParameter.compression_level: 3, zstd.CompressionParameter.checksum_flag: 1}
    squeeze, expand = partial(zstd.compress, options=options), zstd.decompress
    found = {CODECS: _composed(pairs[CODECS], squeeze, expand)}
    try:
        theirs = importlib.import_module("zstandard")
    except ImportError as error:
        missing["zstandard"] = str(error)
        return found
    squeeze, expand = theirs.ZstdCompressor(level=3, write_checksum=True).compress, theirs.ZstdDecompressor().decompress
    for name in ("pickle", *PEERS):
        if name in pairs:
            found[f"{name} + zstandard"] = _composed(pairs[name], squeeze, expand)
    return found


def _composed(pair: Both, squeeze: Callable[[Any], Any], expand: Callable[[Any], Any]) -> Both:
    pack, unpack = pair
    return (lambda value: squeeze(pack(value))), (lambda frame: unpack(expand(frame)))


GROUP = Group(
    "dumps and loads",
    [Case("small"), Case("regular", quick=True, small=True), Case("large"), Case(FILES)],
    ("dumps", "loads", "dumps, compressed", "loads, compressed"),
    works,
)
