# SPDX-License-Identifier: Apache-2.0
"""Zstandard of small data with a dictionary: each library at its best, with tables prepared in advance."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from bench import payloads, peers
from bench.cells import OURS, Case, Group, Pair, Works, coded

_SOURCE = 256 << 10

# the size of the content (JSON that resembles the dictionary but is not in it) and of the dictionary, in bytes
CASES = [
    Case(f"{name}, dictionary of {kib} KiB", kib == 8, kib == 8, size=size, dictionary=kib << 10)
    for kib in (8, 110)
    for name, size in (("100 B", 100), ("1 KiB", 1024))
]


def _ours(module: Any, content: bytes) -> Pair:
    found = module.ZstdDict(content, is_raw=True)
    return lambda data: module.compress(data, zstd_dict=found), lambda frame: module.decompress(frame, found)


def _pep784(module: Any, content: bytes) -> Pair:
    # a compressor keeps its tables; a decompressor is only used for one frame, so the dictionary keeps the tables
    found = module.ZstdDict(content, is_raw=True)
    compressor = module.ZstdCompressor(zstd_dict=found)
    end = compressor.FLUSH_FRAME
    return lambda data: compressor.compress(data, end), lambda frame: module.decompress(frame, zstd_dict=found)


def _zstandard(module: Any, content: bytes) -> Pair:
    found = module.ZstdCompressionDict(content, dict_type=module.DICT_TYPE_RAWCONTENT)
    found.precompute_compress(level=peers.DEFAULT_LEVEL)
    return module.ZstdCompressor(dict_data=found).compress, module.ZstdDecompressor(dict_data=found).decompress


WAYS: dict[str, Callable[[Any, bytes], Pair]] = {
    OURS: _ours,
    "compression.zstd": _pep784,
    "backports.zstd": _pep784,
    "zstandard": _zstandard,
}


def works(case: Case, operation: str) -> Works:
    """Compress or decompress a short text with the dictionary."""
    source = payloads.BYTES["json"](_SOURCE)
    content, data = source[: case.dictionary], source[-case.size :]
    libraries, missing = peers.loaded("zstd", WAYS)
    ways = {name: partial(WAYS[name], each.module, content) for name, each in libraries.items()}
    found = coded(ways, data, operation == "compress", missing=missing, size=case.size)
    sizes = {name: len(frame) for name, frame in found.data.items()}
    found.info = {"data": payloads.digest(content + data), "compressed": sizes}
    return found


GROUPS = [Group("Zstandard with a dictionary", CASES, ("compress", "decompress"), works)]
