# SPDX-License-Identifier: Apache-2.0
"""`dumps` and `loads`, warm: beside the codecs' calls that they consist of, and those that others write instead."""

from __future__ import annotations

import datetime as dt
import enum
import pickle
from functools import partial
from typing import Any

import cpkg
from bench import payloads, peers, typed_messages
from bench.cells import OURS, Case, Function, Group, Pair, Works, coded
from cpkg import msgpack, zstd

CODECS = "its codecs"
FILES = "msgspec's files"
PEERS = ("msgpack", "ormsgpack", "amsgpack", "msgspec")


def _as_dicts(obj: Any) -> Any:
    """Return a message of plain types: times become text, members of an Enum their values."""
    if isinstance(obj, list):
        return [_as_dicts(item) for item in obj]
    if isinstance(obj, dt.datetime):
        return obj.isoformat()
    if isinstance(obj, enum.Enum):
        return obj.value
    names = getattr(obj, "__dataclass_fields__", None)
    return obj if names is None else {name: _as_dicts(getattr(obj, name)) for name in names}


def works(case: Case, operation: str) -> Works:
    """Return calls of `dumps` or `loads`, of the codecs' functions with the same options, and of other serializers."""
    value = _as_dicts(typed_messages.files()) if case.name == FILES else payloads.load_object(case.name)
    direction, _, compressed = operation.partition(", ")
    packb, unpackb = msgpack.packb, msgpack.unpackb
    libraries, missing = peers.loaded("msgpack", (OURS, *PEERS))
    # the codec's functions are called through a Python function, as ours are: such a call costs half as much as packing
    # a short message
    ways: dict[str, Pair] = {
        OURS: (lambda value: cpkg.dumps(value, compress=False), cpkg.loads),
        CODECS: (lambda value: packb(value), unpackb),
        "pickle": (partial(pickle.dumps, protocol=5), pickle.loads),
        **{name: (libraries[name].forth, libraries[name].back) for name in PEERS if name in libraries},
    }
    absent = Works(missing=missing)
    if compressed:
        ways = {OURS: (lambda value: cpkg.dumps(value, compress=True), cpkg.loads), **_compressed(ways, absent)}
    formats = {name: "pickle" if name.startswith("pickle") else "msgpack" for name in ways}
    more = {"missing": missing, "formats": formats, "limits": [CODECS], "size": len(packb(value))}
    found = coded(ways, value, direction == "dumps", **more)
    assert found.data[CODECS] == found.data[OURS], "cpkg's codecs wrote other bytes"
    return found


def _compressed(ways: dict[str, Pair], absent: Works) -> dict[str, Pair]:
    """Combine each pair with a compressor: cpkg with the options of `dumps`, python-zstandard with a kept context."""
    options = {zstd.CompressionParameter.compression_level: 3, zstd.CompressionParameter.checksum_flag: 1}
    found = {CODECS: _composed(*ways[CODECS], partial(zstd.compress, options=options), zstd.decompress)}
    for library, module in absent.imported({"zstandard": "zstandard"}):
        squeeze, expand = module.ZstdCompressor(level=3, write_checksum=True), module.ZstdDecompressor()
        for name in ("pickle", *(name for name in PEERS if name in ways)):
            found[f"{name} + {library}"] = _composed(*ways[name], squeeze.compress, expand.decompress)
    return found


def _composed(pack: Function, unpack: Function, squeeze: Function, expand: Function) -> Pair:
    return (lambda value: squeeze(pack(value))), (lambda frame: unpack(expand(frame)))


CASES = [Case("small"), Case("regular", quick=True, small=True), Case("large"), Case(FILES)]
OPERATIONS = ("dumps", "loads", "dumps, compressed", "loads, compressed")
GROUPS = [Group("dumps and loads", CASES, OPERATIONS, works)]
