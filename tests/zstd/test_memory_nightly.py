# SPDX-License-Identifier: Apache-2.0
"""Measure memory: the table of peak memory in docs/zstd.md, leftovers of contexts and streams, and bombs."""

from __future__ import annotations

import io
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
    """Return the figures in the table for a backend on this interpreter."""
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


def grown(zstd: ModuleType, code: str, **environment: str) -> int:
    """Return what code prints that calls grown(work, times[, settle]): how many bytes its process grows."""
    # glibc would keep freed contexts itself: 70 to 120 MB under PyPy, which frees those of threads late
    result = run_alone(
        zstd, "zstd", PROGRAMS["of measuring growth"] + code, MALLOC_TRIM_THRESHOLD_="131072", **environment, **MEASURED
    )
    assert result.returncode == 0, result.stderr
    return int(result.stdout)


def rounds(zstd: ModuleType, count: int) -> int:
    return count if zstd.BACKEND != "pure" else 2


@needs_linux
def test_memory_of_short_lived_threads_returns(zstd: ModuleType) -> None:
    code = f"""
import gc, threading
text = bytes(range(256)) * 400

def round_of_threads():
    threads = [threading.Thread(target=lambda: zstd.decompress(zstd.compress(text))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

grown(round_of_threads, {rounds(zstd, 40)}, gc.collect)
"""
    # if 240 threads kept their contexts, they would hold over 200 MB
    assert grown(zstd, code) < 64 << 20


@needs_linux
def test_large_contexts_are_freed_at_once(zstd: ModuleType) -> None:
    """Contexts are freed without the collector, which on PyPy does not see their size; with and without an error."""
    code = f"""
import gc
text = bytes(range(256)) * 4096

def calls():
    zstd.compress(text, 19)
    try:
        zstd.compress_into(text, bytearray(16), 19)
    except zstd.ZstdError:
        pass
    list(zstd.compress_iter([text], 19))

# No collection runs by chance, so what the call has not freed is left. The pure codec leaves it to the collector.
if {zstd.BACKEND == "pure"}:
    settle = gc.collect
else:
    settle = int
    gc.disable()
grown(calls, {rounds(zstd, 12)}, settle)
"""
    # 36 compression contexts would hold over 450 MB
    assert grown(zstd, code, MALLOC_MMAP_THRESHOLD_="131072") < 80 << 20


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
    code = f"""
short, long = b"x" * 560, bytes(range(256)) * {400 if zstd.BACKEND == "pure" else 4000}
frame = b"".join(zstd.compress_iter([long]))

def calls():
    for _ in range(20):
        {work}

grown(calls, {rounds(zstd, 25)})
"""
    # 500 compressors would hold over 400 MB, as many decompressors over 1 GB
    assert grown(zstd, code, MALLOC_MMAP_THRESHOLD_="131072") < 200 << 20


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
