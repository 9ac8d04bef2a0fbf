# SPDX-License-Identifier: Apache-2.0
"""A thread keeps one compression and one decompression context, whichever calls it makes."""

from __future__ import annotations

import io
from types import ModuleType
from typing import Any

import pytest
from threads import run_threads
from zstd_data import TEXT

from cpkg._native import pressure
from cpkg._native.zstd import contexts

SMALL = TEXT[:3000]


def one_shot(zstd: ModuleType, **dictionary: Any) -> None:
    assert zstd.decompress(zstd.compress(SMALL, **dictionary), **dictionary) == SMALL


def with_dictionary(zstd: ModuleType) -> None:
    one_shot(zstd, zstd_dict=zstd.ZstdDict(TEXT[2000:3500], is_raw=True))


def through_files(zstd: ModuleType) -> None:
    raw = io.BytesIO()
    with zstd.open(raw, "wb") as file:
        file.write(SMALL)
    with zstd.open(io.BytesIO(raw.getvalue())) as file:
        assert file.read() == SMALL


def into_buffers(zstd: ModuleType) -> None:
    frame, content = bytearray(len(SMALL) + 100), bytearray(len(SMALL))
    size = zstd.compress_into(SMALL, frame)
    assert (zstd.decompress_into(frame[:size], content), content) == (len(SMALL), SMALL)


CALLS = (one_shot, with_dictionary, through_files, into_buffers)


def take_used(take: Any, create: Any, free: Any, size_of: Any) -> list[Any]:
    """Take contexts until one is as small as a new one; return those before it, at most five."""
    new = create()
    smallest = size_of(new)
    free(new)
    used: list[Any] = []
    while len(used) < 5:
        context = take()
        if size_of(context) == smallest:
            break
        used.append(context)
    return used


def kept_here(library: Any) -> list[int]:
    """Return how many compression and decompression contexts this thread has kept, and remove them."""
    lib = library.lib
    cctxs = take_used(library.cctxs.take, lib.ZSTD_createCCtx, lib.ZSTD_freeCCtx, lib.ZSTD_sizeof_CCtx)
    dctxs = take_used(library.dctxs.take, lib.ZSTD_createDCtx, lib.ZSTD_freeDCtx, lib.ZSTD_sizeof_DCtx)
    return [len(cctxs), len(dctxs)]


def kept_after(zstd: ModuleType, *calls: Any) -> list[int]:
    """Return how many contexts a new thread keeps after these calls."""
    if not zstd.IS_WRAPPED:
        pytest.skip("the pure codec has no contexts of libzstd's")
    counts: list[int] = []

    def work() -> None:
        for call in calls:
            call(zstd)
        counts.extend(kept_here(zstd.codec.library))

    assert run_threads(work) == []
    return counts


@pytest.mark.parametrize("last", CALLS)
def test_one_context_per_thread_and_direction(zstd: ModuleType, last: Any) -> None:
    compression, decompression = kept_after(zstd, *CALLS, *CALLS[::-1], last)
    assert compression == 1
    assert decompression <= 1  # a context that never held a window looks like a new one


@pytest.mark.parametrize("call", CALLS)
def test_each_call_keeps_the_context_where_the_others_take_it(zstd: ModuleType, call: Any) -> None:
    assert kept_after(zstd, call)[0] == 1


def test_context_that_has_grown_is_not_kept(zstd: ModuleType) -> None:
    def grow(zstd: ModuleType) -> None:
        with zstd.open(io.BytesIO(), "wb", level=19) as file:
            file.write(TEXT)

    assert kept_after(zstd, grow) == [0, 0]


@pytest.mark.skipif(not pressure.REPORTS_SIZES, reason="CPython frees contexts with the last reference")
@pytest.mark.parametrize("direction", ["compress", "decompress"])
def test_collector_is_told_context_sizes(zstd: ModuleType, monkeypatch: pytest.MonkeyPatch, direction: str) -> None:
    """Without these reports, the contexts of dropped streams would stay until a collection happens by chance."""
    if not zstd.IS_WRAPPED:
        pytest.skip("the pure codec has no contexts of libzstd's")
    reports: list[int] = []
    frame = b"".join(zstd.compress_iter([TEXT]))  # its window is 2 MiB

    def report_size(size: int, reported: int) -> int:
        reports.append(size - reported)
        return pressure.report_size(size, reported)

    def use() -> None:
        stream = zstd.ZstdCompressor() if direction == "compress" else zstd.ZstdDecompressor()
        stream.compress(SMALL) if direction == "compress" else stream.decompress(frame[:500])

    monkeypatch.setattr(contexts, "report_size", report_size)
    assert run_threads(use) == []
    assert reports
    assert sum(reports) > 2 << 20
