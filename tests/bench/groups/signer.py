# SPDX-License-Identifier: Apache-2.0
"""Serializers and compressors in a signer: blake2signer's own comparison, with cpkg's beside those that it lists."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial
from typing import Any

from bench import payloads
from bench.cells import OURS, Case, Function, Group, NotHere, Pair, Works, coded, reason
from bench.peers import PEP784

SECRET = b"the secret of a benchmark, 32 b."
BOTH = "dumps + loads"
EACH_TIME = "a new signer each time"


def _serializer(pack: Callable[..., bytes], unpack: Callable[..., Any]) -> type:
    """Return a serializer of a pair of functions, as a user of blake2signer would write it."""
    from blake2signer.interfaces import SerializerInterface

    class Serializer(SerializerInterface):
        def serialize(self, data: Any, **kwargs: Any) -> bytes:
            return pack(data, **kwargs)

        def unserialize(self, data: bytes, **kwargs: Any) -> Any:
            return unpack(data, **kwargs)

    return Serializer


def _compressor(squeeze: Callable[[bytes, int], bytes], expand: Callable[[bytes], bytes], level: int) -> type:
    """Return a compressor of a pair of functions, as a user of blake2signer would write it."""
    from blake2signer.interfaces import CompressorInterface

    class Compressor(CompressorInterface):
        default_compression_level = level

        def compress(self, data: bytes, *, level: int) -> bytes:
            return squeeze(data, level)

        def decompress(self, data: bytes) -> bytes:
            return expand(data)

    return Compressor


_KEPT = "(lambda keep: lambda data, level: keep(data))(m.ZstdCompressor(level=3).compress)"
# a module `m`, or none for the signer's own, and an expression of a class, or of the arguments of the functions above
PLUGINS: dict[str, dict[str, tuple[str, str]]] = {
    "serializer": {
        OURS: ("cpkg.integrations.blake2signer", "m.MsgpackSerializer"),
        "JSON": ("", ""),
        "orjson": ("orjson", "m.dumps, m.loads"),
        "msgpack": ("msgpack", "m.packb, m.unpackb"),
        "cbor2": ("cbor2", "m.dumps, m.loads"),
    },
    "compressor": {
        OURS: ("cpkg.integrations.blake2signer", "m.ZstdCompressor"),
        "zlib": ("", ""),
        "gzip": ("blake2signer.compressors", "m.GzipCompressor"),
        "bz2": ("bz2", "m.compress, m.decompress, 9"),
        "lz4": ("lz4.frame", "lambda data, level: m.compress(data, compression_level=level), m.decompress, 0"),
        "zstandard": ("zstandard", "m.compress, m.decompress, 3"),
        "zstandard, context kept": ("zstandard", f"{_KEPT}, m.ZstdDecompressor().decompress, 3"),
        "compression.zstd": (PEP784, "m.compress, m.decompress, 3"),
    },
}


def _options(kind: str, name: str) -> dict[str, Any]:
    """Return the options for Blake2SerializerSigner."""
    module, made = PLUGINS[kind][name]
    if not module:
        return {}
    found = eval(made, {"m": importlib.import_module(module)})
    make = _serializer if kind == "serializer" else _compressor
    return {kind: make(*found) if isinstance(found, tuple) else found}


def _signer(**options: Any) -> Any:
    try:
        from blake2signer import Blake2SerializerSigner
    except ImportError as error:
        raise NotHere(reason(error)) from None
    return Blake2SerializerSigner(SECRET, **options)


def _both(signer: Any) -> Function:
    return lambda data: signer.loads(signer.dumps(data))


def works(kind: str, case: Case, operation: str) -> Works:
    """Sign and verify with one kept instance, and blake2signer's defaults otherwise."""
    _signer()

    def way(name: str) -> Pair:
        signer = _signer(**_options(kind, name))
        return (_both(signer), lambda found: found) if operation == BOTH else (signer.dumps, signer.loads)

    ways = {name: partial(way, name) for name in PLUGINS[kind]}
    found = coded(ways, payloads.load_object(case.name), operation != "loads")
    found.info = {} if operation == BOTH else {name: len(token) for name, token in found.data.items()}
    return found


def instance(case: Case, operation: str) -> Works:
    """Sign and verify with cpkg's two codecs, with a signer that is kept and with a new one for each call."""
    _signer()
    options = {**_options("serializer", OURS), **_options("compressor", OURS)}
    ways = {OURS: _both(_signer(**options)), EACH_TIME: lambda data: _both(_signer(**options))(data)}
    value = payloads.load_object(case.name)
    return coded({name: (way, lambda found: found) for name, way in ways.items()}, value, True)


CASES = [Case(name, quick=name == "regular", small=True) for name in ("small", "regular", "large")]
GROUPS = [
    *(Group(f"Signer: {kind}s", CASES, (BOTH, "dumps", "loads"), partial(works, kind)) for kind in PLUGINS),
    Group("Signer: instance", CASES[1:2], (BOTH,), instance),
]
