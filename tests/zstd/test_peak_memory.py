# SPDX-License-Identifier: Apache-2.0
"""The table of peak memory in docs/zstd.md, measured in processes of their own."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest
from processes import run_alone

DOCS = Path(__file__).parents[2] / "docs" / "zstd.md"
needs_linux = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")

PRELUDE = """
import gc, io

MIB = 1 << 20

def memory(name):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith(name))

def runs(size, window_log=21, declared=False):
    # Blocks of a few bytes, each of which is a run of 128 KiB: making the frame takes no memory worth the name.
    count = size >> 17
    header = bytes.fromhex("28b52ffd") + bytes([0xC0 if declared else 0, window_log - 10 << 3])
    if declared:
        header += size.to_bytes(8, "little")
    return header + b"".join((1 << 20 | 2 | (i == count - 1)).to_bytes(3, "little") + b"a" for i in range(count))

def by_object(data):
    return zstd.ZstdDecompressor().decompress(data)

def from_file(data):
    with zstd.open(io.BytesIO(data)) as file:
        return file.read()

def text_from_file(data):
    with zstd.open(io.BytesIO(data), "rt", encoding="ascii") as file:
        return file.read()

def measured(decompress, data, *room):
    for _ in range(3):
        decompress(runs(MIB), *room)  # what is imported and compiled once is there before
    gc.collect()
    gc.collect()
    before = memory("VmRSS")
    size = decompress(data, *room)
    print((memory("VmHWM") - before) / (size if isinstance(size, int) else len(size)))
"""
CASES = {
    "32 MiB, size declared": "measured(zstd.decompress, runs(32 * MIB, declared=True))",
    "32 MiB, window of 128 MiB, size declared": "measured(zstd.decompress, runs(32 * MIB, 27, declared=True))",
    "32 MiB, size not declared": "measured(zstd.decompress, runs(32 * MIB))",
    "the same by `ZstdDecompressor`": "measured(by_object, runs(32 * MIB))",
    "the same by `ZstdFile.read()`": "measured(from_file, runs(32 * MIB))",
    "8 frames of 4 MiB": "measured(zstd.decompress, runs(4 * MIB) * 8)",
    "8 frames of 32 MiB": "measured(zstd.decompress, runs(32 * MIB) * 8)",
    '64 MiB of ASCII text by `open(..., "rt").read()`': "measured(text_from_file, runs(64 * MIB))",
    "20 MiB, window of 128 MiB": "measured(zstd.decompress, runs(20 * MIB, 27))",
    "70 MiB, window of 128 MiB": "measured(zstd.decompress, runs(70 * MIB, 27))",
    "32 MiB by `decompress_into`, beyond the buffer": (
        "measured(zstd.decompress_into, runs(32 * MIB), bytearray(1) * (32 * MIB))"
    ),
}


COLUMNS = [f"{backend}, {name}" for backend in ("native", "dlopen", "pure") for name in ("CPython", "PyPy")]


def bounds(backend: str) -> dict[str, float]:
    """Return the figures of the table for a backend on this interpreter."""
    text = DOCS.read_text(encoding="utf-8")
    head = re.search(r"^\| `decompress` of \| (.+) \|$", text, re.MULTILINE)
    assert head is not None
    assert head[1].split(" | ") == COLUMNS
    column = COLUMNS.index(f"{backend}, {'PyPy' if sys.implementation.name == 'pypy' else 'CPython'}")
    rows = re.findall(r"^\| (.+?) \| ([\d.]+(?: \| [\d.]+){5}) \|$", text, re.MULTILINE)
    return {case: float(figures.split(" | ")[column]) for case, figures in rows}


def test_the_table_has_what_is_measured() -> None:
    assert list(bounds("native")) == list(CASES)


@needs_linux
@pytest.mark.parametrize("case", CASES)
def test_peak(zstd: ModuleType, case: str) -> None:
    """A process takes no more beyond what it had than the table says."""
    if zstd.BACKEND == "stdlib":
        pytest.skip("the interpreter's own library makes the output, in a list of pieces that it joins")
    result = run_alone(zstd, "zstd", PRELUDE + CASES[case])
    assert result.returncode == 0, result.stderr
    assert float(result.stdout) <= bounds(zstd.BACKEND)[case]
