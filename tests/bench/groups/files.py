# SPDX-License-Identifier: Apache-2.0
"""File input and output: the classic cases by line, by block and all at once.

The names are those of the comparison of Python 2.6 and 3.0 input and output, so that results can be compared with it.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

from bench import fresh, payloads, peers
from bench.cells import OURS, PEP784, Case, Group, Works

MODULES = {OURS: "cpkg.zstd", PEP784: PEP784, "gzip": "gzip", "plain": "io"}
SUFFIXES = {OURS: ".zst", PEP784: ".zst", "gzip": ".gz", "plain": ""}
SPLIT = "decompress, then split"
"""A way without a file object, as the lowest possible cost of reading lines. It is measured for lines of text."""

BLOCK = 32 * 1024
LINE = 50
SIZES = {"large.txt": 2_935_401, "large.bin": 13_168_640, "testIO.out": 100_000 * LINE, "small.txt": 65_536}
SHAPES = ("byLines", "byBlocks", "allAtOnce")
MODES = ("textMode", "binaryMode")
PATIENCE = 5
"""The pure backend is not measured if one call would take more seconds than this."""


def _case(work: str, file: str, scale: int = 1) -> Case:
    """Return a case. work: the classic name of the way to read or write. scale: multiplies the size of `file`."""
    name = f"{work} ({file}{f' x{scale}' if scale > 1 else ''})"
    quick = scale == 1 and work in ("read_byLines_textMode", "read_allAtOnce_binaryMode", "write_byLines_binaryMode")
    return Case(
        name, quick and file != "large.bin", file == "small.txt", work=work, file=file, size=SIZES[file] * scale
    )


CASES = [
    *(_case(f"read_{shape}_{mode}", "large.txt") for shape in SHAPES for mode in MODES),
    *(_case(f"read_{shape}_binaryMode", "large.bin") for shape in ("byBlocks", "allAtOnce")),
    # four times the size: if the time grows faster than the file, this case takes far more than four times as long
    _case("read_byLines_textMode", "large.txt", 4),
    _case("read_allAtOnce_binaryMode", "large.bin", 4),
    *(_case(f"write_{shape}_{mode}", "testIO.out") for shape in SHAPES for mode in MODES),
    _case("write_byBlocks_binaryMode", "testIO.out", 4),
    # a byte (in text mode a character) per call, which shows most clearly what a call costs
    *(_case(f"{work}_byBytes_{mode}", "small.txt") for work in ("read", "write") for mode in MODES),
]


def content(file: str, size: int) -> bytes:
    """Return the bytes of a file: ASCII text with the lines of real sources, or the mixed corpus."""
    if file == "large.bin":
        return payloads.corpus(size)
    # only sources, with question marks for bytes above 127, so that a character is one byte in text mode
    table = bytes(byte if byte < 128 else ord("?") for byte in range(256))
    text = payloads.corpus(min(2 * size, 24 * payloads.MIB))[: min(size, 12 * payloads.MIB)].translate(table)
    text = text.replace(b"\r", b"\n")
    if file == "testIO.out":
        text = text.replace(b"\n", b" ")
        text = b"".join(text[at : at + 49] + b"\n" for at in range(0, len(text) - 49, 49))
    return (text * (size // len(text) + 1))[:size]


def opener(library: str, module: Any, mode: str) -> Callable[[Path], Any]:
    """Return the function that opens a path with a library; text is UTF-8, and newlines are not converted."""
    options = {"plain": {}, "gzip": {"compresslevel": 6}}.get(library, {"level": 3}) if "w" in mode else {}
    text = {"encoding": "utf-8", "newline": "\n"} if "t" in mode else {}
    return lambda path: module.open(path, mode, **options, **text)


def _sum(pieces: Iterable[Any]) -> int:
    total = 0
    for piece in pieces:
        total += len(piece)
    return total


READERS: dict[str, Callable[[Any], int]] = {
    "byBytes": lambda file: _sum(iter(partial(file.read, 1), file.read(0))),
    "byLines": _sum,
    "byBlocks": lambda file: _sum(iter(partial(file.read, BLOCK), file.read(0))),
    "allAtOnce": lambda file: len(file.read()),
}
PIECES = {"byBytes": 1, "byLines": LINE, "byBlocks": BLOCK}


def read(open_: Callable[[Path], Any], shape: str, path: Path) -> int:
    """Read a file; return its length."""
    with open_(path) as file:
        return READERS[shape](file)


def write(open_: Callable[[Path], Any], pieces: list[Any], path: Path) -> Path:
    """Write the pieces to a file; return its path."""
    with open_(path) as file:
        for piece in pieces:
            file.write(piece)
    return path


def split(path: Path) -> int:
    """Decompress the whole file, and add the lengths of its lines."""
    from cpkg import zstd

    return _sum(zstd.decompress(path.read_bytes()).decode("utf-8").splitlines(True))


def works(case: Case, operation: str) -> Works:
    """Read or write the case's file, which is in a folder in memory if the machine has one."""
    libraries, missing = peers.loaded("zstd")
    peers.not_too_slow(libraries[OURS], "compress" if operation == "write" else "decompress", case.size, PATIENCE)
    folder, data = fresh.folder(), content(case.file, case.size)
    _, shape, kind = case.work.split("_")
    mode = operation[0] + ("t" if kind == "textMode" else "b")
    found = Works(size=case.size, limits=["plain", SPLIT], formats={"gzip": "gzip"})
    zstd = next(peers.independent("zstd"))[1].forth
    encoders = {".zst": zstd, ".gz": partial(gzip.compress, compresslevel=6), "": bytes}
    # zstandard and zstd are absent, because their functions need the content size in the header, and streams lack it
    streams = ("cpkg", "compression.zstd", "backports.zstd", "pyzstd")
    back = next(library.back for peer, library in peers.independent("zstd") if peer.name in streams)
    decoders = {".zst": back, ".gz": partial(zlib.decompress, wbits=31), "": bytes}
    whole = data.decode("ascii") if kind == "textMode" else data
    pieces = payloads.pieces(whole, PIECES.get(shape, len(data))) if operation == "write" else []
    for name, module in found.imported(MODULES):
        open_, path = opener(name, module, mode), folder / f"{name}{SUFFIXES[name]}"
        if operation == "write":
            found.calls[name] = partial(write, open_, pieces, path)
        else:
            path.write_bytes(encoders[SUFFIXES[name]](data))
            found.calls[name] = partial(read, open_, shape, path)
    found.missing.update((name, why) for name, why in missing.items() if name in found.missing)
    if case.work == "read_byLines_textMode":
        found.calls[SPLIT] = partial(split, folder / f"{OURS}.zst")

    def check(library: str, result: Any) -> None:
        if operation == "read":
            assert result == case.size, f"{library} read {result} units instead of {case.size}"
        else:
            assert decoders[SUFFIXES[library]](result.read_bytes()) == data, f"{library} wrote other bytes"

    found.check = check
    return found


GROUPS = [Group("File input and output", CASES, lambda case: [case.work.split("_")[0]], works)]
