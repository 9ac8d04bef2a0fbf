# SPDX-License-Identifier: Apache-2.0
"""Zstandard of small data with a dictionary: each library at its best, with tables prepared in advance."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Callable

import pytest

from bench import payloads, peers
from bench.cases import Case
from bench.harness import Cell
from bench.peers import Function, Peer

GROUP = "Zstandard with a dictionary"
OPERATIONS = ("compress", "decompress")
DICTIONARY_SIZE = 8 << 10
_SOURCE = 64 << 10


@dataclass(frozen=True)
class DictionaryCase(Case):
    """The number of bytes of JSON, which resemble those of the dictionary but are not in it."""

    size: int = 100


CASES = [
    DictionaryCase("100 B, dictionary of 8 KiB", quick=True, small=True, size=100),
    DictionaryCase("1 KiB, dictionary of 8 KiB", quick=True, small=True, size=1024),
]


def content_of(case: DictionaryCase) -> tuple[bytes, bytes]:
    """Return the content of the dictionary, which is used as raw content, and the data."""
    source = payloads.BYTES["json"](_SOURCE)
    return source[:DICTIONARY_SIZE], source[-case.size :]


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
PEERS = [peer for peer in peers.of("zstd") if peer.name in WAYS]


@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.name)
@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_with_dictionary(cell: Cell, case: DictionaryCase, operation: str, peer: Peer) -> None:
    """Compress or decompress a short text with the dictionary."""
    cell.load(GROUP, case, operation, peer)
    content, data = content_of(case)
    compress, decompress = WAYS[peer.name](importlib.import_module(peer.module), content)
    frame = compress(data)
    cell.info.update(size=case.size, data=payloads.digest(content + data), compressed=len(frame))
    if operation == "compress":
        cell.measure(compress, data, lambda result: cell.same(data)(decompress(result)))
    else:
        cell.measure(decompress, frame, cell.same(data))
