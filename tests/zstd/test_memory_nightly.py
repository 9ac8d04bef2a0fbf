# SPDX-License-Identifier: Apache-2.0
"""Measure memory: the table of peak memory in docs/zstd.md, leftovers of contexts and streams, and bombs."""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest
from memory import needs_tracemalloc, peak_of
from processes import MEASURED, run_alone, sections
from zstd_data import LIARS, rle_bomb
from zstd_ways import PATHS, Way, fails, parts

from cpkg.zstd import zipfile

DOCS = Path(__file__).parents[2] / "docs" / "zstd.md"
PROGRAMS = sections(__file__, "programs_nightly.txt")
needs_linux = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")

CASES = json.loads(Path(__file__).with_name("memory_cases.json").read_text(encoding="utf-8"))


COLUMNS = [f"{backend}, {name}" for backend in ("native", "dlopen", "pure") for name in ("CPython", "PyPy")]


def bounds(backend: str) -> dict[str, float]:
    text = DOCS.read_text(encoding="utf-8")
    head = re.search(r"^\| `decompress` of \| (.+) \|$", text, re.MULTILINE)
    assert head is not None
    assert head[1].split(" | ") == COLUMNS
    column = COLUMNS.index(f"{backend}, {'PyPy' if sys.implementation.name == 'pypy' else 'CPython'}")
    rows = re.findall(r"^\| (.+?) \| ([\d.]+(?: \| [\d.]+){5}) \|$", text[head.end() :], re.MULTILINE)
    return {case: float(figures.split(" | ")[column]) for case, figures in rows}


def test_the_table_has_what_is_measured() -> None:
    assert list(bounds("native")) == list(CASES)


@needs_linux
@pytest.mark.parametrize("case", CASES)
def test_peak(zstd: ModuleType, case: str) -> None:
    if zstd.BACKEND == "stdlib":
        pytest.skip("the interpreter's own library makes the output, in a list of pieces that it joins")
    result = run_alone(zstd, "zstd", PROGRAMS["of measuring peaks"] + CASES[case], **MEASURED)
    assert result.returncode == 0, result.stderr
    assert float(result.stdout) <= bounds(zstd.BACKEND)[case]


def grown(zstd: ModuleType, program: str, rounds: int, work: str = "", **environment: str) -> int:
    """Return how many bytes a process grows in a program, which repeats its work `ROUNDS` times."""
    code = f"ROUNDS, WORK = {2 if zstd.BACKEND == 'pure' else rounds}, {work!r}\n"
    code += PROGRAMS["of measuring growth"] + PROGRAMS[f"growth by {program}"]
    # glibc would keep freed contexts itself: 70 to 120 MB under PyPy, which frees those of threads late
    result = run_alone(zstd, "zstd", code, MALLOC_TRIM_THRESHOLD_="131072", **environment, **MEASURED)
    assert result.returncode == 0, result.stderr
    return int(result.stdout)


@needs_linux
def test_memory_of_short_lived_threads_returns(zstd: ModuleType) -> None:
    # if 240 threads kept their contexts, they would hold over 200 MB
    assert grown(zstd, "threads", 40) < 64 << 20


@needs_linux
def test_large_contexts_are_freed_at_once(zstd: ModuleType) -> None:
    """Contexts are freed without the collector, which on PyPy does not see their size; with and without an error."""
    # 36 compression contexts would hold over 450 MB
    assert grown(zstd, "large contexts", 12, MALLOC_MMAP_THRESHOLD_="131072") < 80 << 20


@needs_linux
@pytest.mark.parametrize(
    "work",
    [
        "z = zstd.ZstdCompressor(3); z.compress(short); z.flush()",
        "z = zstd.ZstdCompressor(3); z.compress(short)",
        "z = zstd.ZstdCompressor(3); z.compress(short); z.flush(); zstd.compress(long)",
        "z = zstd.ZstdDecompressor(multi_frame=True); z.decompress(frame)",
        "z = zstd.ZstdDecompressor(); z.decompress(frame[:500])",
        "z = zstd.ZstdDecompressor(); [z.decompress(frame[at : at + 1]) for at in range(40)]",
    ],
)
def test_short_lived_streams_do_not_pile_up(zstd: ModuleType, work: str) -> None:
    """libzstd's allocations are reported to the collector; otherwise streams stay until it runs by chance."""
    # 500 compressors would hold over 400 MB, as many decompressors over 1 GB
    assert grown(zstd, "short-lived streams", 25, work, MALLOC_MMAP_THRESHOLD_="131072") < 200 << 20


@needs_tracemalloc
@pytest.mark.parametrize("path", PATHS)
def test_declared_size_is_not_believed(zstd: ModuleType, path: Way) -> None:
    assert peak_of(lambda: [fails(zstd, path, data) for data in LIARS]) < 8 << 20


@needs_tracemalloc
@pytest.mark.parametrize("declared", [True, False])
def test_limit_bounds_memory(zstd: ModuleType, declared: bool) -> None:
    """2 KiB that decompress to 64 MiB: the limit applies, whatever the header declares."""
    bomb = rle_bomb(512, declared=declared)
    assert peak_of(lambda: parts(zstd, bomb, 1 << 20)) < 8 << 20


@needs_tracemalloc
@pytest.mark.parametrize("declared", [True, False])
def test_output_peaks_at_twice_its_size(zstd: ModuleType, declared: bool) -> None:
    blocks = 256 if zstd.BACKEND != "pure" else 32
    bomb = rle_bomb(blocks, declared=declared)

    def read() -> bytes:
        with zstd.open(io.BytesIO(bomb)) as opened:
            content: bytes = opened.read()
            return content

    most = 3 if zstd.BACKEND == "stdlib" else 2  # a list of growing pieces, and the bytes that they are joined to
    for call in (lambda: zstd.decompress(bomb), lambda: zstd.ZstdDecompressor().decompress(bomb), read):
        assert len(call()) == blocks << 17
        assert peak_of(call) < most * (blocks << 17) + (4 << 20)


@needs_tracemalloc
def test_a_member_of_a_zip_file_is_read_in_parts() -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_ZSTANDARD) as archive:
        archive.writestr("bomb", bytes(300 << 20))

    def read() -> None:
        with zipfile.ZipFile(file) as archive, archive.open("bomb") as member:
            for size in (10, 1 << 20, 1 << 20):
                assert len(member.read(size)) == size

    assert peak_of(read) < 40 << 20
