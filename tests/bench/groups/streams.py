# SPDX-License-Identifier: Apache-2.0
"""Zstandard streams: objects that are fed pieces, new objects, file objects, and calls beside an event loop."""

from __future__ import annotations

import functools
import importlib
import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bench.cells import OURS, Call, Case, Group, Works, reason

AMOUNT = 256 << 10
"""Bytes of content of a cell that feeds pieces."""
AT_ONCE = 4
"""Calls that an event loop waits for at once."""


@dataclass(frozen=True)
class StreamCase(Case):
    """kind: what the calls use. size: bytes of a piece or of the whole content."""

    kind: str = "pieces"
    size: int = 1 << 10


CASES = [
    StreamCase("pieces of 1 KiB", quick=True, small=True),
    StreamCase("pieces of 16 KiB", size=16 << 10),
    StreamCase("pieces of 64 KiB", size=64 << 10),
    StreamCase("a new object for 1 KiB", kind="new"),
    StreamCase("a new object for 64 KiB", kind="new", size=64 << 10),
    StreamCase("a file object for 1 KiB", kind="file"),
    StreamCase("a file object for 64 KiB", kind="file", size=64 << 10),
    StreamCase("an event loop, four calls of 256 KiB", kind="loop", size=256 << 10),
]


class Standard:
    """What cpkg.zstd, compression.zstd, backports.zstd and pyzstd have in common."""

    def __init__(self, module: Any) -> None:
        self.module = module
        self.forth, self.back = module.compress, module.decompress

    def compressor(self) -> tuple[Call, Call]:
        """Return the functions of a new compressor that take a piece, and that end the frame."""
        made = self.module.ZstdCompressor()
        return made.compress, made.flush

    def decompressor(self) -> Call:
        """Return the function of a new decompressor that takes a piece."""
        return self.module.ZstdDecompressor().decompress  # type: ignore[no-any-return]

    def write(self, data: bytes) -> bytes:
        """Write data to a file object."""
        target = io.BytesIO()
        with self.module.open(target, "wb") as file:
            file.write(data)
        return target.getvalue()

    def read(self, frame: bytes) -> bytes:
        """Read a file object."""
        with self.module.open(io.BytesIO(frame)) as file:
            return file.read()  # type: ignore[no-any-return]


class Zstandard(Standard):
    """The same of python-zstandard."""

    def compressor(self) -> tuple[Call, Call]:
        made = self.module.ZstdCompressor().compressobj()
        return made.compress, made.flush

    def decompressor(self) -> Call:
        return self.module.ZstdDecompressor().decompressobj().decompress  # type: ignore[no-any-return]


def libraries(missing: dict[str, str]) -> dict[str, Standard]:
    """Import cpkg and the peers; store in `missing` why another one is absent."""
    from bench import peers

    found = {}
    for name, module in ((OURS, "cpkg.zstd"), *((name, name) for name in (peers.PEP784, "pyzstd", "zstandard"))):
        try:
            found[name] = (Zstandard if name == "zstandard" else Standard)(importlib.import_module(module))
        except ImportError as error:
            missing[name] = reason(error)
    return found


def works(case: StreamCase, operation: str) -> Works:
    """Return the calls of each library; each returns the frame or the content."""
    from bench import payloads

    missing: dict[str, str] = {}
    found = libraries(missing)
    size = AMOUNT if case.kind == "pieces" else case.size
    data = payloads.corpus(2 * size)[:size]  # sources
    frame = found[OURS].forth(data)
    forth = operation == "compress"
    make = {"pieces": _pieces, "new": _new, "file": _file, "loop": _loop}[case.kind]
    calls = {name: make(name, library, data if forth else frame, forth, case.size) for name, library in found.items()}

    def check(library: str, result: Any) -> None:
        content = found[OURS].back(result) if forth else result
        assert content == data * (AT_ONCE if case.kind == "loop" else 1), library

    clock = "wall" if case.kind == "loop" else "processor"
    return Works(calls, missing, check, size=size * (AT_ONCE if case.kind == "loop" else 1), clock=clock)


def _pieces(_name: str, library: Standard, data: bytes, forth: bool, size: int) -> Call:
    pieces = [data[at : at + size] for at in range(0, len(data), size)]

    def compress() -> bytes:
        feed, end = library.compressor()
        return b"".join([*map(feed, pieces), end()])

    return compress if forth else lambda: b"".join(map(library.decompressor(), pieces))


def _new(_name: str, library: Standard, data: bytes, forth: bool, _size: int) -> Call:
    def compress() -> Any:
        feed, end = library.compressor()
        return feed(data) + end()

    return compress if forth else lambda: library.decompressor()(data)


def _file(_name: str, library: Standard, data: bytes, forth: bool, _size: int) -> Call:
    return functools.partial(library.write if forth else library.read, data)


def _loop(name: str, library: Standard, data: bytes, forth: bool, _size: int) -> Call:
    """Wait for several calls at once, cpkg's own asynchronous functions or others in the loop's threads."""
    import asyncio

    loop = asyncio.new_event_loop()
    call: Callable[[bytes], Any] = functools.partial(
        loop.run_in_executor, None, library.forth if forth else library.back
    )
    if name == OURS:
        call = library.module.acompress if forth else library.module.adecompress

    async def several() -> bytes:
        return b"".join(await asyncio.gather(*(call(data) for _ in range(AT_ONCE))))

    return lambda: loop.run_until_complete(several())


GROUP = Group("Zstandard streams", CASES, ("compress", "decompress"), works)
