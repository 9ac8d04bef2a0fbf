# SPDX-License-Identifier: Apache-2.0
"""Serializers and compressors in a signer: blake2signer's own comparison, with cpkg's beside those that it lists."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial
from typing import Any

from bench import payloads
from bench.cells import OURS, Case, Function, Group, NotHere, Pair, Works, coded, read_data, reason

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


PLUGINS = read_data("signer")
"""For each plugin a module `m`, and an expression: a class of the module, or the arguments of a function above."""


def _options(kind: str, name: str) -> dict[str, Any]:
    """Return the options for Blake2SerializerSigner."""
    module, made = PLUGINS[kind][name]
    if module is None:
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
    """Sign and verify with one kept signer, and otherwise with blake2signer's defaults."""
    _signer()

    def way(name: str) -> Pair:
        signer = _signer(**_options(kind, name))
        return (_both(signer), lambda found: found) if operation == BOTH else (signer.dumps, signer.loads)

    ways = {name: partial(way, name) for name in PLUGINS[kind]}
    found = coded(ways, payloads.load_object(case.name), operation != "loads")
    found.info = {} if operation == BOTH else {name: len(token) for name, token in found.data.items()}
    return found


def instance(case: Case, operation: str) -> Works:
    """Sign and verify with cpkg's two codecs, with a kept signer and with a new signer for each call."""
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
