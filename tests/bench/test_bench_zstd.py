# SPDX-License-Identifier: Apache-2.0
"""Zstandard one-shot: compress and decompress, against other libraries and against libzstd alone."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Callable

import pytest

from bench import harness, payloads, peers
from bench.cases import Case
from bench.harness import Cell
from bench.peers import Function, Library, Peer
from cpkg import _backend
from cpkg.zstd import CompressionParameter

GROUP = "Zstandard one-shot"
LIMIT = "libzstd itself"


@dataclass(frozen=True)
class ZstdCase(Case):
    """The kind of bytes, their number, and the level."""

    data: str = "corpus"
    size: str = "1MiB"
    level: int = 3

    @property
    def payload(self) -> bytes:
        """The bytes to compress."""
        return payloads.BYTES[self.data](payloads.SIZES[self.size])


def _cases() -> Iterator[ZstdCase]:
    for size in payloads.SIZES:
        for level in (3, 10, 17) if size != "1GiB" else (3,):
            quick, small = size in ("1KiB", "1MiB") and level == 3, size in ("1KiB", "16KiB") and level == 3
            # level 17 of 128 MiB takes a minute per library and pass
            slow = size == "1GiB" or (size == "128MiB" and level > 3)
            yield ZstdCase(f"{size} level {level}", quick, small, slow, size=size, level=level)
    for data in (name for name in payloads.BYTES if name != "corpus"):
        copies = ("decompress",) if data == "random" else ()  # its blocks are raw
        for size, level in (("1KiB", 3), ("1MiB", 3), ("1MiB", 10), ("1MiB", 17), ("128MiB", 3)):
            # data that never or always compresses hardly depends on the level
            slow = size == "128MiB" or (level > 3 and data != "json")
            name = f"{size} {data} level {level}"
            yield ZstdCase(name, slow=slow, copies=copies, data=data, size=size, level=level)


CASES = [*_cases()]
OPERATIONS = ("compress", "decompress")

# The pure backend is not measured if one call would take more seconds than this.
PURE_PATIENCE = 30


@functools.lru_cache(maxsize=4)
def frame(case: ZstdCase) -> bytes:
    """Compress the case's bytes once, with a library that is not under test if there is one."""
    return bytes(next(peers.independent("zstd"))[1].compressor(case.level)(case.payload))


def independent_decompress(peer: Peer, data: bytes) -> bytes:
    """Decompress with another library than `peer`, or with `peer` itself if there is no other."""
    library = next(peers.independent("zstd", but=peer.name))[1] if peer.format == "zstd" else peers.load(peer).library
    assert library is not None
    return bytes(library.back(data))


def _too_slow(library: Library, case: ZstdCase, operation: str) -> str | None:
    if library.backend != "pure":
        return None
    size = payloads.SIZES[case.size] * (3 if case.level > 9 and operation == "compress" else 1)
    return harness.too_slow_pure(size, operation, PURE_PATIENCE)


@pytest.mark.parametrize("peer", peers.of("zstd"), ids=lambda peer: peer.name)
@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_one_shot(cell: Cell, case: ZstdCase, operation: str, peer: Peer) -> None:
    """Compress or decompress the case's bytes in one call."""
    library = cell.load(GROUP, case, operation, peer)
    cell.info["size"] = payloads.SIZES[case.size]
    reason = _too_slow(library, case, operation)
    if reason:
        cell.not_run(reason)
    data = case.payload
    compress = library.compressor(case.level)
    cell.info["data"] = payloads.digest(data)
    if peer.name == "zlib":
        cell.info["options"] = f"level {peers.ZLIB_LEVELS[case.level]}"

    def check(result: bytes) -> None:
        assert independent_decompress(peer, result) == data, f"{peer.name} wrote other bytes"
        cell.info["compressed"] = len(result)

    if operation == "compress":
        cell.measure(compress, data, check)
    else:
        packed = frame(case) if peer.format == "zstd" else compress(data)
        cell.info["compressed"] = len(packed)
        cell.measure(library.back, packed, cell.same(data))


def libzstd(library: Any, case: ZstdCase, operation: str) -> tuple[Function, Any, Callable[[int], bytes]]:
    """Return a call of libzstd alone, its argument, and a function that turns its result into bytes: the lower bound.

    It is the libzstd that cpkg uses here, in this process, with one context that is kept and with memory for the
    result that was allocated before the call.
    """
    lib, ffi = library.lib, library.ffi
    data = case.payload
    room = lib.ZSTD_compressBound(len(data))
    memory = ffi.new("char[]", room)

    def content(size: int) -> bytes:
        assert not lib.ZSTD_isError(size)
        return bytes(ffi.buffer(memory, size))

    if operation == "compress":
        cctx = ffi.gc(lib.ZSTD_createCCtx(), lib.ZSTD_freeCCtx)
        lib.ZSTD_CCtx_setParameter(cctx, int(CompressionParameter.compression_level), case.level)
        return (
            (lambda source: lib.ZSTD_compress2(cctx, memory, room, source, len(source))),
            ffi.from_buffer(data),
            content,
        )
    dctx = ffi.gc(lib.ZSTD_createDCtx(), lib.ZSTD_freeDCtx)
    packed = ffi.from_buffer(frame(case))
    return (lambda source: lib.ZSTD_decompressDCtx(dctx, memory, room, source, len(source))), packed, content


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_libzstd_itself(cell: Cell, case: ZstdCase, operation: str) -> None:
    """Measure the library alone with the same bytes and level, in the same rounds as the other libraries."""
    cell.begin(GROUP, case, operation, LIMIT, False, limit=True, size=payloads.SIZES[case.size])
    codec = getattr(_backend.choose("zstd").module, "codec", None)
    library = getattr(codec, "library", None)
    if library is None:
        cell.not_run("the backend in use calls no libzstd of its own")
    function, argument, content = libzstd(library, case, operation)

    def check(size: int) -> None:
        result = content(size)
        whole = result if operation == "decompress" else independent_decompress(peers.of("zstd")[0], result)
        assert whole == case.payload, f"{LIMIT} gave other bytes"

    cell.measure(function, argument, check)
