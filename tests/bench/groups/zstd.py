# SPDX-License-Identifier: Apache-2.0
"""Zstandard one-shot: compress and decompress, against other libraries and against libzstd alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from bench import payloads, peers
from bench.cells import OURS, Case, Group, Works
from cpkg import _backend
from cpkg.zstd import CompressionParameter

LIMIT = "libzstd itself"
PATIENCE = 10
"""The pure backend is not measured if one call would take more seconds than this."""


def _cases() -> Iterator[Case]:
    """Yield the cases: a kind of bytes, their number, and a level for each."""
    for size in payloads.SIZES:
        for level in (3, 10, 17) if size != "1GiB" else (3,):
            quick, small = size in ("1KiB", "1MiB") and level == 3, size in ("1KiB", "16KiB") and level == 3
            # at level 17 libzstd takes nearly all of the time, and 16 KiB show this as well
            slow = size == "1GiB" or (size == "32MiB" and level > 3) or (size == "1MiB" and level == 17)
            yield Case(f"{size} level {level}", quick, small, slow, data="corpus", size=size, level=level)
    for data in (name for name in payloads.BYTES if name != "corpus"):
        copies = ("decompress",) if data == "random" else ()  # frames of random bytes consist of raw blocks
        for size, level in (("1KiB", 3), ("1MiB", 3), ("1MiB", 10), ("32MiB", 3)):
            # random and repetitive data hardly depend on the level, and short data of these kinds show nothing new
            slow = size == "32MiB" or (data != "json" and (size, level) != ("1MiB", 3))
            name = f"{size} {data} level {level}"
            yield Case(name, slow=slow, copies=copies, data=data, size=size, level=level)


def works(case: Case, operation: str) -> Works:
    """Compress or decompress the case's bytes in one call."""
    size = payloads.SIZES[case.size]
    compresses = operation == "compress"
    libraries, missing = peers.loaded("zstd")
    peers.not_too_slow(libraries[OURS], operation, size * (3 if case.level > 9 and compresses else 1), PATIENCE)
    data = payloads.BYTES[case.data](size)
    formats = {peer.name: peer.format for peer in peers.of("zstd")}
    # if possible, another library creates the frame and checks each library's result
    other, reference = next(peers.independent("zstd"))
    frame = bytes(reference.compressor(case.level)(data))
    packed = {"zstd": frame, "zlib": b"" if compresses else bytes(libraries["zlib"].compressor(case.level)(data))}
    found = Works({}, missing, formats=formats, limits=[LIMIT], size=size)
    contents: dict[str, Callable[[int], bytes]] = {}
    for name, each in libraries.items():
        if compresses:
            found.calls[name] = partial(each.compressor(case.level), data)
        else:
            found.calls[name] = partial(each.back, packed[formats[name]])
    library = getattr(getattr(_backend.choose("zstd").module, "codec", None), "library", None)
    if library is None:
        missing[LIMIT] = "the backend in use calls no libzstd of its own"
    else:
        found.calls[LIMIT], contents[LIMIT] = libzstd(library, data, frame, case.level, operation)
    lengths: dict[str, int] = {}

    def check(library: str, result: Any) -> None:
        result = contents.get(library, bytes)(result)
        if compresses:
            lengths[library] = len(result)
            reader = reference if library != other.name else libraries[OURS]
            result = (reader if formats.get(library, "zstd") == "zstd" else libraries[library]).back(result)
        assert result == data, f"{library} gave other bytes"

    found.check = check
    found.info = {"data": payloads.digest(data), "compressed": lengths if compresses else {"frame": len(frame)}}
    return found


def libzstd(
    library: Any, data: bytes, frame: bytes, level: int, operation: str
) -> tuple[Callable[[], int], Callable[[int], bytes]]:
    """Return a call of libzstd alone, and a function that turns its result into bytes: the lower bound.

    This is the libzstd that cpkg uses in this process, with one kept context, and with memory for the result that is
    allocated before the call.
    """
    lib, ffi = library.lib, library.ffi
    room = lib.ZSTD_compressBound(len(data))
    memory = ffi.new("char[]", room)

    def content(size: int) -> bytes:
        assert not lib.ZSTD_isError(size)
        return bytes(ffi.buffer(memory, size))

    if operation == "compress":
        cctx = ffi.gc(lib.ZSTD_createCCtx(), lib.ZSTD_freeCCtx)
        lib.ZSTD_CCtx_setParameter(cctx, int(CompressionParameter.compression_level), level)
        function, context, source = lib.ZSTD_compress2, cctx, ffi.from_buffer(data)
    else:
        dctx = ffi.gc(lib.ZSTD_createDCtx(), lib.ZSTD_freeDCtx)
        function, context, source = lib.ZSTD_decompressDCtx, dctx, ffi.from_buffer(frame)
    return (lambda: function(context, memory, room, source, len(source))), content


def operations(case: Case) -> list[str]:
    """Return the operations of a case; decompression is not repeated for each level, which hardly affects it."""
    return ["compress", "decompress"] if case.level == 3 else ["compress"]


GROUPS = [Group("Zstandard one-shot", [*_cases()], operations, works)]
