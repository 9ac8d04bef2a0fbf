# SPDX-License-Identifier: Apache-2.0
"""Serializers and compressors in a signer: blake2signer's own comparison, with cpkg's beside those that it lists.

As on its performance page, the report flags a row whose standard deviation is above 1/60 of its best time.
"""

from __future__ import annotations

import copy
import importlib
from dataclasses import dataclass
from typing import Any, Callable

import pytest

from bench import payloads
from bench.cases import Case
from bench.harness import Cell
from bench.peers import PEP784

SECRET = b"the secret of a benchmark, 32 b."

INSTANCE_GROUP = "Signer: instance"
OPERATIONS = ("dumps + loads", "dumps", "loads")


CASES = [Case(name, quick=name == "regular", small=True) for name in ("small", "regular", "large")]


@dataclass(frozen=True)
class Plugin:
    """A serializer or compressor under the signer.

    name: as in the report. module: imported as `m`, by default the signer's module; its import error is shown
    in the report. made: an expression that gives a class or a pair of functions, also with a level.
    """

    name: str
    module: str = ""
    made: str = ""

    def options(self, kind: str) -> dict[str, Any]:
        """Return the options for Blake2SerializerSigner."""
        if not self.module:
            return {}
        found = eval(self.made, {"m": importlib.import_module(self.module)})
        if isinstance(found, tuple):
            found = _plain(*found) if kind == "serializer" else _squeezing(*found)
        return {kind: found}


def _plain(pack: Callable[..., bytes], unpack: Callable[..., Any]) -> type:
    """Return a serializer of a pair of functions, as a user of blake2signer would write it."""
    from blake2signer.interfaces import SerializerInterface

    class Serializer(SerializerInterface):
        def serialize(self, data: Any, **kwargs: Any) -> bytes:
            return pack(data, **kwargs)

        def unserialize(self, data: bytes, **kwargs: Any) -> Any:
            return unpack(data, **kwargs)

    return Serializer


def _squeezing(squeeze: Callable[[bytes, int], bytes], expand: Callable[[bytes], bytes], level: int) -> type:
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


OURS = "cpkg.integrations.blake2signer"
SERIALIZERS = [
    Plugin("cpkg", OURS, "m.MsgpackSerializer"),
    Plugin("JSON"),
    Plugin("orjson", "orjson", "m.dumps, m.loads"),
    Plugin("msgpack", "msgpack", "m.packb, m.unpackb"),
    Plugin("cbor2", "cbor2", "m.dumps, m.loads"),
]
COMPRESSORS = [
    Plugin("cpkg", OURS, "m.ZstdCompressor"),
    Plugin("zlib"),
    Plugin("gzip", "blake2signer.compressors", "m.GzipCompressor"),
    Plugin("bz2", "bz2", "m.compress, m.decompress, 9"),
    Plugin("lz4", "lz4.frame", "lambda data, level: m.compress(data, compression_level=level), m.decompress, 0"),
    Plugin("zstandard", "zstandard", "m.compress, m.decompress, 3"),
    Plugin(
        "zstandard, context kept",
        "zstandard",
        "(lambda compress: lambda data, level: compress(data))(m.ZstdCompressor(level=3).compress),"
        " m.ZstdDecompressor().decompress, 3",
    ),
    Plugin("compression.zstd", PEP784, "m.compress, m.decompress, 3"),
]
_EVERY = [("serializer", plugin) for plugin in SERIALIZERS] + [("compressor", plugin) for plugin in COMPRESSORS]


def _options(cell: Cell, *plugins: tuple[str, Plugin]) -> dict[str, Any]:
    """Return the options of a signer with these plugins, which may be missing."""
    try:
        importlib.import_module("blake2signer")
        return {name: value for kind, plugin in plugins for name, value in plugin.options(kind).items()}
    except Exception as error:
        if cell.info["ours"] and "blake2signer" not in str(getattr(error, "name", "")):
            raise
        cell.not_run(f"{type(error).__name__}: {error}")


def _signer(options: dict[str, Any]) -> Any:
    from blake2signer import Blake2SerializerSigner

    return Blake2SerializerSigner(SECRET, **options)


@pytest.mark.parametrize(("kind", "plugin"), _EVERY, ids=str)
@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_signer(cell: Cell, case: Case, operation: str, kind: str, plugin: Plugin) -> None:
    """Sign and verify with one kept instance, and blake2signer's defaults otherwise."""
    cell.begin(f"Signer: {kind}s", case, operation, plugin.name, plugin.name == "cpkg", rule60=True)
    signer = _signer(_options(cell, (kind, plugin)))
    value = payloads.load_object(case.name)
    original = copy.deepcopy(value)
    token = signer.dumps(value)
    cell.info["token"] = len(token)

    def verifies(result: Any) -> None:
        assert signer.loads(result) == original, f"{plugin.name} signed another object"

    if operation == "dumps":
        cell.measure(signer.dumps, value, verifies)
    elif operation == "loads":
        cell.measure(signer.loads, token, cell.same(original))
    else:
        cell.measure(lambda data: signer.loads(signer.dumps(data)), value, cell.same(original))


@pytest.mark.parametrize("kept", ["kept", "new each time"])
@pytest.mark.parametrize("case", [Case("regular", quick=True, small=True)], ids=str)
def test_instance(cell: Cell, case: Case, kept: str) -> None:
    """Sign and verify with cpkg's two codecs, to measure the benefit of keeping the signer."""
    cell.begin(INSTANCE_GROUP, case, "dumps + loads", f"cpkg, signer {kept}", kept == "kept", rule60=True)
    options = _options(cell, ("serializer", SERIALIZERS[0]), ("compressor", COMPRESSORS[0]))
    signer = _signer(options)
    value = payloads.load_object(case.name)
    original = copy.deepcopy(value)

    def with_new(data: Any) -> Any:
        fresh = _signer(options)
        return fresh.loads(fresh.dumps(data))

    function = with_new if kept != "kept" else lambda data: signer.loads(signer.dumps(data))
    cell.measure(function, value, cell.same(original))
