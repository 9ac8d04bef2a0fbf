# SPDX-License-Identifier: Apache-2.0
"""Serializers and compressors in a signer: blake2signer's own comparison, with cpkg's beside those that it lists."""

from __future__ import annotations

import copy
import importlib
from collections.abc import Callable
from functools import partial
from typing import Any

from bench import payloads
from bench.cells import OURS, Case, Group, NotHere, Works, reason
from bench.peers import PEP784

SECRET = b"the secret of a benchmark, 32 b."
OPERATIONS = ("dumps + loads", "dumps", "loads")
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
        @property
        def default_compression_level(self) -> int:
            return level

        def compress(self, data: bytes, *, level: int) -> bytes:
            return squeeze(data, level)

        def decompress(self, data: bytes) -> bytes:
            return expand(data)

    return Compressor


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
        "zstandard, context kept": (
            "zstandard",
            "(lambda keep: lambda data, level: keep(data))(m.ZstdCompressor(level=3).compress),"
            " m.ZstdDecompressor().decompress, 3",
        ),
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


def _call(signer: Any, operation: str, value: Any, token: Any) -> Callable[[], Any]:
    if operation == "dumps + loads":
        return partial(lambda data: signer.loads(signer.dumps(data)), value)
    return partial(signer.dumps, value) if operation == "dumps" else partial(signer.loads, token)


def works(kind: str, case: Case, operation: str) -> Works:
    """Sign and verify with one kept instance, and blake2signer's defaults otherwise."""
    _signer()
    value = payloads.load_object(case.name)
    original = copy.deepcopy(value)
    signers, found = {}, Works({})
    for name in PLUGINS[kind]:
        try:
            signers[name] = _signer(**_options(kind, name))
            token = signers[name].dumps(value)
        except Exception as error:
            if name == OURS:
                raise
            found.missing[name] = reason(error)
            continue
        found.calls[name] = _call(signers[name], operation, value, token)
        found.info[name] = len(token)

    def check(library: str, result: Any) -> None:
        result = signers[library].loads(result) if operation == "dumps" else result
        assert result == original, f"{library} signed another object"

    found.check = check
    return found


def instance(case: Case, operation: str) -> Works:
    """Sign and verify with cpkg's two codecs, with a signer that is kept and with a new one for each call."""
    _signer()
    options = {**_options("serializer", OURS), **_options("compressor", OURS)}
    signer, value = _signer(**options), payloads.load_object(case.name)

    def with_new(data: Any) -> Any:
        fresh = _signer(**options)
        return fresh.loads(fresh.dumps(data))

    def check(library: str, result: Any) -> None:
        assert result == value

    return Works({OURS: _call(signer, operation, value, None), EACH_TIME: partial(with_new, value)}, {}, check)


CASES = [Case(name, quick=name == "regular", small=True) for name in ("small", "regular", "large")]
GROUPS = [
    *(Group(f"Signer: {kind}s", CASES, OPERATIONS, partial(works, kind)) for kind in PLUGINS),
    Group("Signer: instance", CASES[1:2], OPERATIONS[:1], instance),
]
