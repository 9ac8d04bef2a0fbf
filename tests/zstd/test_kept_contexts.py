# SPDX-License-Identifier: Apache-2.0
"""A thread keeps one compression and one decompression context, whichever calls it makes."""

from __future__ import annotations

import io
from types import ModuleType
from typing import Any

import pytest
from threads import run_threads
from zstd_data import TEXT

SMALL = TEXT[:3000]


def one_shot(zstd: ModuleType) -> None:
    assert zstd.decompress(zstd.compress(SMALL)) == SMALL


def with_dictionary(zstd: ModuleType) -> None:
    zstd_dict = zstd.ZstdDict(TEXT[2000:3500], is_raw=True)
    assert zstd.decompress(zstd.compress(SMALL, zstd_dict=zstd_dict), zstd_dict) == SMALL


def through_files(zstd: ModuleType) -> None:
    raw = io.BytesIO()
    with zstd.open(raw, "wb") as file:
        file.write(SMALL)
    with zstd.open(io.BytesIO(raw.getvalue())) as file:
        assert file.read() == SMALL


def into_buffers(zstd: ModuleType) -> None:
    frame, content = bytearray(len(SMALL) + 100), bytearray(len(SMALL))
    size = zstd.compress_into(SMALL, frame)
    assert zstd.decompress_into(frame[:size], content) == len(SMALL)
    assert content == SMALL


CALLS = (one_shot, with_dictionary, through_files, into_buffers)


def take_used(take: Any, create: Any, free: Any, size_of: Any) -> list[Any]:
    """Take contexts until one comes that is as small as a new one; return those before it, at most five."""
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
    """Return how many compression and decompression contexts this thread keeps; it loses them."""
    lib = library.lib
    cctxs = take_used(library.cctxs.take, lib.ZSTD_createCCtx, lib.ZSTD_freeCCtx, lib.ZSTD_sizeof_CCtx)
    dctxs = take_used(library.dctxs.take, lib.ZSTD_createDCtx, lib.ZSTD_freeDCtx, lib.ZSTD_sizeof_DCtx)
    return [len(cctxs), len(dctxs)]


@pytest.mark.parametrize("last", CALLS)
def test_one_context_per_thread_and_direction(zstd: ModuleType, last: Any) -> None:
    if not zstd.IS_WRAPPED:
        pytest.skip("the pure codec has no contexts of libzstd's")
    library = zstd.codec.library
    counts: list[int] = []

    def work() -> None:
        for call in (*CALLS, *CALLS[::-1], last):
            call(zstd)
        counts.extend(kept_here(library))

    assert run_threads(work) == []
    assert counts[0] == 1
    assert counts[1] <= 1  # one that never had to hold a window looks like a new one


@pytest.mark.parametrize("call", CALLS)
def test_each_call_keeps_the_context_where_the_others_take_it(zstd: ModuleType, call: Any) -> None:
    if not zstd.IS_WRAPPED:
        pytest.skip("the pure codec has no contexts of libzstd's")
    counts: list[int] = []

    def work() -> None:
        call(zstd)
        counts.extend(kept_here(zstd.codec.library))

    assert run_threads(work) == []
    assert counts[0] == 1


def test_context_that_has_grown_is_not_kept(zstd: ModuleType) -> None:
    if not zstd.IS_WRAPPED:
        pytest.skip("the pure codec has no contexts of libzstd's")
    library = zstd.codec.library
    counts: list[int] = []

    def work() -> None:
        with zstd.open(io.BytesIO(), "wb", level=19) as file:
            file.write(TEXT)
        counts.extend(kept_here(library))

    assert run_threads(work) == []
    assert counts == [0, 0]
