# SPDX-License-Identifier: Apache-2.0
"""Zstandard streams: objects that are fed pieces, new objects, file objects, and calls beside an event loop."""

from __future__ import annotations

import functools
import io
from typing import Any

from bench import payloads, peers
from bench.cells import OURS, Call, Case, Group, Works

AMOUNT = 256 << 10
"""Bytes of content in cells that feed pieces."""
AT_ONCE = 4
"""The number of calls for which an event loop waits at the same time."""
MODULES = {OURS: "cpkg.zstd", **{name: name for name in (peers.PEP784, "pyzstd", "zstandard")}}

# kind: the objects or functions of the calls. size: of a piece or of the whole content, in bytes
CASES = [
    Case("pieces of 1 KiB", quick=True, small=True, kind="pieces", size=1 << 10),
    *(Case(f"pieces of {kib} KiB", kind="pieces", size=kib << 10) for kib in (16, 64)),
    *(Case(f"a new object for {kib} KiB", kind="new", size=kib << 10) for kib in (1, 64)),
    *(Case(f"a file object for {kib} KiB", kind="file", size=kib << 10) for kib in (1, 64)),
    Case("an event loop, four calls of 256 KiB", kind="loop", size=256 << 10),
]


def objects(library: str, module: Any) -> tuple[Call, Call]:
    """Return the functions of a library that create a compressor and a decompressor."""
    if library == "zstandard":
        return (lambda: module.ZstdCompressor().compressobj()), (lambda: module.ZstdDecompressor().decompressobj())
    return (lambda: module.ZstdCompressor()), (lambda: module.ZstdDecompressor())


def _pieces(library: str, module: Any, data: bytes, packs: bool, size: int) -> Call:
    (compressor, decompressor), pieces = objects(library, module), payloads.pieces(data, size)

    def compress() -> bytes:
        made = compressor()
        return b"".join([*map(made.compress, pieces), made.flush()])

    return compress if packs else lambda: b"".join(map(decompressor().decompress, pieces))


def _new(library: str, module: Any, data: bytes, packs: bool, _size: int) -> Call:
    compressor, decompressor = objects(library, module)

    def compress() -> bytes:
        made = compressor()
        return made.compress(data) + made.flush()

    return compress if packs else lambda: decompressor().decompress(data)


def _file(_library: str, module: Any, data: bytes, packs: bool, _size: int) -> Call:
    def write() -> bytes:
        target = io.BytesIO()
        with module.open(target, "wb") as file:
            file.write(data)
        return target.getvalue()

    def read() -> bytes:
        with module.open(io.BytesIO(data)) as file:
            return file.read()

    return write if packs else read


def _loop(library: str, module: Any, data: bytes, packs: bool, _size: int) -> Call:
    """Wait for several calls at once: cpkg's asynchronous functions, or other libraries' functions in threads."""
    import asyncio

    loop = asyncio.new_event_loop()
    if library == OURS:
        call = module.acompress if packs else module.adecompress
    else:
        call = functools.partial(loop.run_in_executor, None, module.compress if packs else module.decompress)

    async def several() -> bytes:
        return b"".join(await asyncio.gather(*(call(data) for _ in range(AT_ONCE))))

    return lambda: loop.run_until_complete(several())


def works(case: Case, operation: str) -> Works:
    """Return the calls of each library; each returns the frame or the content."""
    loop, packs = case.kind == "loop", operation == "compress"
    size = AMOUNT if case.kind == "pieces" else case.size
    data = payloads.corpus(2 * size)[:size]  # sources
    found = Works(size=size * (AT_ONCE if loop else 1), clock="wall" if loop else "processor")
    modules = dict(found.imported(MODULES))
    given = data if packs else modules[OURS].compress(data)
    make = {"pieces": _pieces, "new": _new, "file": _file, "loop": _loop}[case.kind]
    found.calls = {name: make(name, module, given, packs, case.size) for name, module in modules.items()}

    def check(library: str, result: Any) -> None:
        content = modules[OURS].decompress(result) if packs else result
        assert content == data * (AT_ONCE if loop else 1), library

    found.check = check
    return found


GROUPS = [Group("Zstandard streams", CASES, ("compress", "decompress"), works)]
