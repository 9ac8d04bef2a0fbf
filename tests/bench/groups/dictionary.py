# SPDX-License-Identifier: Apache-2.0
"""Zstandard of small data with a dictionary: each library at its best, with tables prepared in advance."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import Any

from bench import payloads, peers
from bench.cells import Case, Group, Works
from bench.peers import Function

_SOURCE = 256 << 10


@dataclass(frozen=True)
class DictionaryCase(Case):
    """The number of bytes of JSON, which resemble those of the dictionary but are not in it, and of the dictionary."""

    size: int = 100
    dictionary: int = 8 << 10


CASES = [
    DictionaryCase(f"{name}, dictionary of {kib} KiB", kib == 8, kib == 8, size=size, dictionary=kib << 10)
    for kib in (8, 110)
    for name, size in (("100 B", 100), ("1 KiB", 1024))
]


def _ours(module: ModuleType, content: bytes) -> tuple[Function, Function]:
    found = module.ZstdDict(content, is_raw=True)
    return lambda data: module.compress(data, zstd_dict=found), lambda frame: module.decompress(frame, found)


def _pep784(module: ModuleType, content: bytes) -> tuple[Function, Function]:
    # the compressor keeps the tables; a decompressor is used for one frame, and the dictionary keeps its tables
    found = module.ZstdDict(content, is_raw=True)
    compressor = module.ZstdCompressor(zstd_dict=found)
    end = compressor.FLUSH_FRAME
    return lambda data: compressor.compress(data, end), lambda frame: module.decompress(frame, zstd_dict=found)


def _zstandard(module: ModuleType, content: bytes) -> tuple[Function, Function]:
    found = module.ZstdCompressionDict(content, dict_type=module.DICT_TYPE_RAWCONTENT)
    found.precompute_compress(level=peers.DEFAULT_LEVEL)
    return module.ZstdCompressor(dict_data=found).compress, module.ZstdDecompressor(dict_data=found).decompress


WAYS: dict[str, Callable[[Any, bytes], tuple[Function, Function]]] = {
    "cpkg": _ours,
    "compression.zstd": _pep784,
    "backports.zstd": _pep784,
    "zstandard": _zstandard,
}


def works(case: DictionaryCase, operation: str) -> Works:
    """Compress or decompress a short text with the dictionary."""
    source = payloads.BYTES["json"](_SOURCE)
    content, data = source[: case.dictionary], source[-case.size :]
    libraries, missing = peers.loaded("zstd")
    pairs = {
        peer.name: WAYS[peer.name](importlib.import_module(peer.module), content)
        for peer in peers.of("zstd")
        if peer.name in WAYS and peer.name in libraries
    }
    frames = {name: compress(data) for name, (compress, _) in pairs.items()}

    def check(library: str, result: Any) -> None:
        found = pairs[library][1](result) if operation == "compress" else result
        assert found == data, f"{library} gave other bytes"

    calls: dict[str, Callable[[], Any]] = {
        name: partial(compress, data) if operation == "compress" else partial(decompress, frames[name])
        for name, (compress, decompress) in pairs.items()
    }
    info = {"data": payloads.digest(content + data), "compressed": {name: len(frame) for name, frame in frames.items()}}
    return Works(calls, {n: why for n, why in missing.items() if n in WAYS}, check, size=case.size, info=info)


GROUP = Group("Zstandard with a dictionary", CASES, ("compress", "decompress"), works)
