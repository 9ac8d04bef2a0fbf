# SPDX-License-Identifier: Apache-2.0
"""File input and output: the classic cases by line, by block and all at once, each in a fresh process.

The names are those of the comparison of Python 2.6 and 3.0 input and output, so that results can be compared with it.
Each process times up to seven rounds and its best counts; the spread between the processes (passes) is the noise.
"""

from __future__ import annotations

import functools
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bench import fresh, harness, payloads, peers
from bench.cases import Case
from bench.peers import PEP784

GROUP = "File input and output"
OPENERS = {"cpkg.zstd": ".zst", PEP784: ".zst", "gzip": ".gz", "plain": ""}
# No file object at all: the lowest possible cost of reading lines. Measured where lines of text are read.
SPLIT = "decompress, then split"

TEXT_SIZE = 2_935_401
BINARY_SIZE = 13_168_640
WRITTEN_SIZE = 100_000 * 50

SMALL_SIZE = 65_536

SIZES = {"large.txt": TEXT_SIZE, "large.bin": BINARY_SIZE, "testIO.out": WRITTEN_SIZE, "small.txt": SMALL_SIZE}
SHAPES = ("byLines", "byBlocks", "allAtOnce")
MODES = ("textMode", "binaryMode")
WORKS = ("read", "write")
# How long one process continues with its rounds, as a multiple of the seconds per cell.
PATIENCE = 2.5
# The pure backend is not measured if one round would take more seconds than this: each process makes two rounds.
PURE_PATIENCE = 10


@dataclass(frozen=True)
class FileCase(Case):
    """One way through one file. work: the case's classic name. file: which one. scale: its size as a multiple."""

    work: str = ""
    file: str = "large.txt"
    scale: int = 1

    @property
    def ways(self) -> list[str]:
        """The object that reads or writes the file."""
        return [*OPENERS, SPLIT] if self.work == "read_byLines_textMode" else list(OPENERS)

    @property
    def size(self) -> int:
        """Uncompressed bytes."""
        return SIZES[self.file] * self.scale


def _case(work: str, file: str, scale: int = 1) -> FileCase:
    name = f"{work} ({file}{f' x{scale}' if scale > 1 else ''})"
    quick = scale == 1 and work in ("read_byLines_textMode", "read_allAtOnce_binaryMode", "write_byLines_binaryMode")
    return FileCase(name, quick=quick and file != "large.bin", work=work, file=file, scale=scale)


CASES = [
    *(_case(f"read_{shape}_{mode}", "large.txt") for shape in SHAPES for mode in MODES),
    *(_case(f"read_{shape}_binaryMode", "large.bin") for shape in ("byBlocks", "allAtOnce")),
    # four times the size: if the time grows faster than the file, the ratio is well above 4
    *(_case(f"read_{shape}_textMode", "large.txt", 4) for shape in SHAPES),
    *(_case(f"read_{shape}_binaryMode", "large.bin", 4) for shape in ("byBlocks", "allAtOnce")),
    *(_case(f"write_{shape}_{mode}", "testIO.out") for shape in SHAPES for mode in MODES),
    *(_case(f"write_{shape}_binaryMode", "testIO.out", 4) for shape in SHAPES),
    # a byte (in text mode a character) per call: this shows most clearly which ways buffer least
    *(_case(f"{work}_byBytes_{mode}", "small.txt", scale) for scale in (1, 4) for work in WORKS for mode in MODES),
]


@functools.cache
def _content(file: str, scale: int) -> bytes:
    """The bytes of a file: ASCII text with the lines of real sources, or the mixed corpus."""
    if file == "large.bin":
        return payloads.corpus(BINARY_SIZE * scale)
    size = SIZES[file] * scale
    # only sources, in which a byte above 127 becomes a question mark: text mode then counts characters as bytes
    table = bytes(byte if byte < 128 else ord("?") for byte in range(256))
    text = payloads.corpus(min(2 * size, 24 * payloads.MIB))[: min(size, 12 * payloads.MIB)].translate(table)
    text = text.replace(b"\r", b"\n")
    if file == "testIO.out":
        text = text.replace(b"\n", b" ")
        text = b"".join(text[at : at + 49] + b"\n" for at in range(0, len(text) - 49, 49))
    return (text * (size // len(text) + 1))[:size]


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """A folder in memory if there is one: a disk's cache and journal should not be compared."""
    base = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="cpkg-bench-", dir=base) as name:
        yield Path(name)


def _prepared(folder: Path, case: FileCase, suffix: str) -> Path:
    """Write the file to read once, with a library that is not under test."""
    path = folder / f"x{case.scale}-{case.file}{suffix}"
    if not path.exists():
        content = _content(case.file, case.scale)
        if suffix == ".gz":
            import gzip

            content = gzip.compress(content, 6)
        elif suffix == ".zst":
            content = bytes(next(peers.independent("zstd"))[1].forth(content))
        path.write_bytes(content)
    return path


def _decoded(path: Path, suffix: str) -> bytes:
    """Read a written file back whole, in another way than the one that wrote it if there is one."""
    raw = path.read_bytes()
    if suffix == ".gz":
        import zlib

        return zlib.decompress(raw, wbits=31)
    if suffix == "":
        return raw
    # the functions of zstandard and zstd need the size in the header, which a written stream does not have
    streams = ("cpkg", "compression.zstd", "backports.zstd", "pyzstd")
    return bytes(next(library for peer, library in peers.independent("zstd") if peer.name in streams).back(raw))


@pytest.mark.benchmark(timer=harness.reported_time)
@pytest.mark.parametrize("way", [*OPENERS, SPLIT])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_file(cell: harness.Cell, folder: Path, case: FileCase, way: str) -> None:
    """Read or write the case's file once per process."""
    ours, limit = way == "cpkg.zstd", {"limit": True} if way == SPLIT else {}
    work = case.work.split("_")[0]
    cell.begin(GROUP, case, work, way, ours, size=case.size, scale=case.scale, **limit)
    library = peers.load(peers.of("zstd")[0]).library
    if (ours or limit) and library is not None and library.backend == "pure":
        reason = harness.too_slow_pure(case.size, "compress" if work == "write" else "decompress", PURE_PATIENCE)
        if reason:
            cell.not_run(reason)
    suffix = OPENERS.get(way, ".zst")
    request: dict[str, Any] = {"opener": way, "case": case.work, "length": case.size}
    request["patience"] = PATIENCE * cell.settings.seconds
    if work == "read":
        request["path"] = str(_prepared(folder, case, suffix))
    else:
        request["path"] = str(folder / f"written-{way}{suffix}")
        request["source"] = str(_prepared(folder, case, ""))

    def one_process() -> float:
        seconds: list[float] = fresh.run("file_io.py", request)["seconds"]
        cell.info["rounds_in_process"] = len(seconds)
        return min(seconds)

    cell.ask(lambda: cell.measure_reported(one_process))
    if work == "write":
        assert _decoded(Path(request["path"]), suffix) == _content(case.file, case.scale), f"{way} wrote other bytes"
