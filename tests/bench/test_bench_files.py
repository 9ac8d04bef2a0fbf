# SPDX-License-Identifier: Apache-2.0
"""File input and output: the classic cases by line, by block and all at once, each in a fresh process.

The names are those of the comparison of Python 2.6 and 3.0 input and output, so that results line up with it. Each
process times up to seven rounds and counts with its best; the spread between the processes (passes) is the noise.
"""

from __future__ import annotations

import functools
import os
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bench import fresh, harness, payloads, peers
from bench.cases import Case

GROUP = "File input and output"
PEP784 = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
OPENERS = {"cpkg.zstd": ".zst", PEP784: ".zst", "gzip": ".gz", "plain": ""}
# No file object at all: what reading lines could cost at best. Measured where lines of text are read.
SPLIT = "decompress, then split"

TEXT_SIZE = 2_935_401
BINARY_SIZE = 13_168_640
WRITTEN_SIZE = 100_000 * 50

SMALL_SIZE = 65_536

SIZES = {"large.txt": TEXT_SIZE, "large.bin": BINARY_SIZE, "testIO.out": WRITTEN_SIZE, "small.txt": SMALL_SIZE}
SHAPES = ("byLines", "byBlocks", "allAtOnce")
MODES = ("textMode", "binaryMode")
WORKS = ("read", "write")
# How long one process goes on with its rounds, as a multiple of the seconds per cell.
PATIENCE = 2.5
# A round of more seconds than that is not asked of the pure backend: each process makes two.
PURE_PATIENCE = 10


@dataclass(frozen=True)
class FileCase(Case):
    """One way through one file. work: the case's classic name. file: which one. scale: its size as a multiple."""

    work: str = ""
    file: str = "large.txt"
    scale: int = 1

    @property
    def openers(self) -> list[str]:
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
    # four times the size: what grows faster than the file shows as a ratio well above 4
    *(_case(f"read_{shape}_textMode", "large.txt", 4) for shape in SHAPES),
    *(_case(f"read_{shape}_binaryMode", "large.bin", 4) for shape in ("byBlocks", "allAtOnce")),
    *(_case(f"write_{shape}_{mode}", "testIO.out") for shape in SHAPES for mode in MODES),
    *(_case(f"write_{shape}_binaryMode", "testIO.out", 4) for shape in SHAPES),
    # a byte (in text mode a character) per call: what buffers least shows most
    *(_case(f"{work}_byBytes_{mode}", "small.txt", scale) for scale in (1, 4) for work in WORKS for mode in MODES),
]


@functools.cache
def _content(file: str, scale: int) -> bytes:
    """The bytes of a file: ASCII text with the lines of real sources, or the mixed corpus."""
    if file == "large.bin":
        return payloads.corpus(BINARY_SIZE * scale)
    size = SIZES[file] * scale
    # sources alone, and a byte above 127 becomes a question mark: text mode then counts characters as bytes
    table = bytes(byte if byte < 128 else ord("?") for byte in range(256))
    text = payloads.corpus(min(2 * size, 24 * payloads.MIB))[: min(size, 12 * payloads.MIB)].translate(table)
    text = text.replace(b"\r", b"\n")
    if file == "testIO.out":
        text = text.replace(b"\n", b" ")
        text = b"".join(text[at : at + 49] + b"\n" for at in range(0, len(text) - 49, 49))
    return (text * (size // len(text) + 1))[:size]


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """A folder in memory where there is one: a disk's cache and journal are not what is compared."""
    base = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="cpkg-bench-", dir=base) as name:
        yield Path(name)


def _prepared(folder: Path, case: FileCase, suffix: str) -> Path:
    """Write the file to be read once, with a library that is not under test."""
    path = folder / f"x{case.scale}-{case.file}{suffix}"
    if not path.exists():
        content = _content(case.file, case.scale)
        if suffix == ".gz":
            import gzip

            content = gzip.compress(content, 6)
        elif suffix == ".zst":
            content = _zst(content)
        path.write_bytes(content)
    return path


def _zst(content: bytes) -> bytes:
    for peer in [*(p for p in peers.of("zstd") if not p.ours), *peers.of("zstd")]:
        library = peers.load(peer).library
        if library is not None and library.compressor is not None and peer.format == "zstd":
            return bytes(library.compressor(3)(content))
    raise harness.NotRun("no library makes a frame here")


def _decoded(path: Path, suffix: str) -> bytes:
    """Read a written file back whole, by another way than the one that wrote it where there is one."""
    raw = path.read_bytes()
    if suffix == ".gz":
        import zlib

        return zlib.decompress(raw, wbits=31)
    if suffix == "":
        return raw
    for peer in [*(p for p in peers.of("zstd") if not p.ours), *peers.of("zstd")]:
        library = peers.load(peer).library
        # the functions of zstandard and zstd need the size in the header, which a written stream has not
        streams = peer.name in ("cpkg", "compression.zstd", "backports.zstd", "pyzstd")
        if library is not None and library.decompress is not None and streams:
            return bytes(library.decompress(raw))
    raise harness.NotRun("no library decompresses here")


@pytest.mark.benchmark(timer=harness.reported_time)
@pytest.mark.parametrize("opener", [*OPENERS, SPLIT])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_file(
    benchmark: Any,
    settings: harness.Settings,
    not_run: Any,
    folder: Path,
    case: FileCase,
    opener: str,
    bench_pass: int,
) -> None:
    """Read or write the case's file once per process."""
    info: dict[str, Any] = {
        "group": GROUP,
        "case": case.name,
        "operation": case.work.split("_")[0],
        "library": opener,
        "ours": opener == "cpkg.zstd",
        "pass": bench_pass,
        "size": case.size,
        "scale": case.scale,
    }
    if opener == SPLIT:
        info["limit"] = True
    ours = peers.load(peers.of("zstd")[0]).library
    if opener in ("cpkg.zstd", SPLIT) and ours is not None and ours.backend == "pure":
        work = "compress" if case.work.startswith("write") else "decompress"
        reason = harness.too_slow_pure(case.size, work, PURE_PATIENCE)
        if reason:
            not_run(info, reason)
    suffix = OPENERS.get(opener, ".zst")
    request: dict[str, Any] = {"opener": opener, "case": case.work, "length": case.size}
    request["patience"] = PATIENCE * settings.seconds
    if case.work.startswith("read"):
        request["path"] = str(_prepared(folder, case, suffix))
    else:
        request["path"] = str(folder / f"written-{opener}{suffix}")
        request["source"] = str(_prepared(folder, case, ""))

    def one_process() -> float:
        seconds: list[float] = fresh.run("file_io.py", request)["seconds"]
        info["rounds_in_process"] = len(seconds)
        return min(seconds)

    try:
        harness.measure_reported(benchmark, settings, one_process, info)
    except fresh.ChildFailed as failure:
        if opener == "cpkg.zstd" or "ModuleNotFoundError" not in str(failure):
            raise
        not_run(info, str(failure))
    if case.work.startswith("write"):
        assert _decoded(Path(request["path"]), suffix) == _content(case.file, case.scale), f"{opener} wrote other bytes"
