# SPDX-License-Identifier: Apache-2.0
"""Zstandard one-shot: compress and decompress, against the peers and against libzstd alone."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, Callable

import pytest

from bench import harness, payloads, peers
from bench.cases import Case
from bench.peers import Function, Library, Peer
from cpkg import _backend
from cpkg.zstd import CompressionParameter

GROUP = "Zstandard one-shot"
LIMIT = "libzstd itself"


@dataclass(frozen=True)
class ZstdCase(Case):
    """Which bytes, how many, at which level."""

    data: str = "corpus"
    size: str = "1MiB"
    level: int = 3

    @property
    def payload(self) -> bytes:
        """The bytes to compress."""
        return payloads.BYTES[self.data](payloads.SIZES[self.size])


def _cases() -> list[ZstdCase]:
    cases = [
        ZstdCase(
            f"{size} level {level}",
            quick=level == 3 and size in ("1KiB", "1MiB"),
            small=size in ("1KiB", "16KiB") and level == 3,
            # level 17 of 128 MiB takes a minute per library and pass
            slow=size == "1GiB" or (size == "128MiB" and level > 3),
            size=size,
            level=level,
        )
        for size in payloads.SIZES
        for level in (3, 10, 17)
        if size != "1GiB" or level == 3
    ]
    for data in (name for name in payloads.BYTES if name != "corpus"):
        cases += [
            ZstdCase(
                f"{size} {data} level {level}",
                data=data,
                size=size,
                level=level,
                slow=slow,
                # its blocks are raw
                copies=("decompress",) if data == "random" else (),
            )
            for size, level, slow in (
                ("1KiB", 3, False),
                ("1MiB", 3, False),
                # what does not compress, or always does, hardly depends on the level
                ("1MiB", 10, data != "json"),
                ("1MiB", 17, data != "json"),
                ("128MiB", 3, True),
            )
        ]
    return cases


CASES = _cases()
OPERATIONS = ("compress", "decompress")

# A call of more seconds than that is not asked of the pure backend.
PURE_PATIENCE = 30


@functools.lru_cache(maxsize=4)
def frame(case: ZstdCase) -> bytes:
    """Compress the case's bytes once, with a library that is not under test where there is one."""
    for peer in [*(p for p in peers.of("zstd") if not p.ours), *peers.of("zstd")]:
        library = peers.load(peer).library
        if library is not None and library.compressor is not None and peer.format == "zstd":
            return bytes(library.compressor(case.level)(case.payload))
    raise harness.NotRun("no library at all makes a frame here")


def independent_decompress(peer: Peer, data: bytes) -> bytes:
    """Decompress with another library than `peer`, or with itself where there is no other."""
    others = [p for p in peers.of("zstd") if p.format == peer.format and p.name != peer.name]
    for other in [*others, peer]:
        library = peers.load(other).library
        if library is not None and library.decompress is not None:
            return bytes(library.decompress(data))
    raise harness.NotRun("no library decompresses here")


def _too_slow(library: Library, case: ZstdCase, operation: str) -> str | None:
    if library is None or library.backend != "pure":
        return None
    size = payloads.SIZES[case.size] * (3 if case.level > 9 and operation == "compress" else 1)
    return harness.too_slow_pure(size, operation, PURE_PATIENCE)


@pytest.mark.parametrize("peer", peers.of("zstd"), ids=lambda peer: peer.name)
@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_one_shot(
    benchmark: Any,
    settings: harness.Settings,
    not_run: Any,
    case: ZstdCase,
    operation: str,
    peer: Peer,
    bench_pass: int,
) -> None:
    """Compress or decompress the case's bytes in one call."""
    library, info = harness.begin(GROUP, case, operation, peer, bench_pass, not_run)
    info["size"] = payloads.SIZES[case.size]
    reason = _too_slow(library, case, operation)
    if reason:
        not_run(info, reason)
    data = case.payload
    compress = library.compressor(case.level)
    info["data"] = payloads.digest(data)
    if library.shown_level is not None:
        info["options"] = f"level {library.shown_level(case.level)}"
    if operation == "compress":

        def check(result: bytes) -> None:
            assert independent_decompress(peer, result) == data, f"{peer.name} wrote other bytes"
            info["compressed"] = len(result)

        harness.measure(benchmark, settings, compress, data, check, info)
    else:
        packed = frame(case) if peer.format == "zstd" else compress(data)

        def check(result: bytes) -> None:
            assert result == data, f"{peer.name} gave other bytes back"

        info["compressed"] = len(packed)
        harness.measure(benchmark, settings, library.decompress, packed, check, info)


def libzstd(case: ZstdCase, operation: str) -> tuple[Function, Any, Callable[[int], bytes]]:
    """Return a call of libzstd alone, its argument, and what makes bytes of its result: no binding can be faster.

    It is the libzstd that ours uses here, in this process, with one context that is kept and with memory for the
    result that was there before the call.
    """
    codec = getattr(_backend.choose("zstd").module, "codec", None)
    library = getattr(codec, "library", None)
    if library is None:
        raise harness.NotRun("the backend in use calls no libzstd of its own")
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
def test_libzstd_itself(
    benchmark: Any, settings: harness.Settings, not_run: Any, case: ZstdCase, operation: str, bench_pass: int
) -> None:
    """The same bytes and level by the library alone, in the same rounds as everybody."""
    info: dict[str, Any] = {
        "group": GROUP,
        "case": case.name,
        "operation": operation,
        "copy": operation in case.copies,
        "library": LIMIT,
        "ours": False,
        "limit": True,
        "pass": bench_pass,
        "size": payloads.SIZES[case.size],
    }
    try:
        function, argument, content = libzstd(case, operation)
    except harness.NotRun as reason:
        not_run(info, str(reason))

    def check(size: int) -> None:
        result = content(size)
        whole = result if operation == "decompress" else independent_decompress(peers.of("zstd")[0], result)
        assert whole == case.payload, f"{LIMIT} gave other bytes"

    harness.measure(benchmark, settings, function, argument, check, info)
