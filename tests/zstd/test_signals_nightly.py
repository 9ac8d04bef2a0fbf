# SPDX-License-Identifier: Apache-2.0
"""Interrupt Zstandard calls with timers: handlers that make calls, and handlers that raise."""

from __future__ import annotations

import signal
import sys
from types import ModuleType
from typing import Any

import pytest
from interrupts import Interrupt
from processes import run_alone, sections
from zstd_data import TEXT

from cpkg import zstandard

PROGRAMS = {**sections(__file__, "programs.txt"), **sections(__file__, "programs_nightly.txt")}
pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the system has no timers that send signals")


def test_signal_handler_compresses(zstd: ModuleType) -> None:
    """A handler runs between two bytecodes of a call, whether or not the thread's context is in use."""
    text = TEXT[:10_000] if zstd.BACKEND == "pure" else TEXT
    expected = zstd.compress(text)
    runs = []

    def handler(*_: Any) -> None:
        assert zstd.compress(text) == expected
        assert zstd.decompress(expected) == text
        runs.append(1)
        # not an interval: a backend with slower calls would never leave its handlers
        signal.setitimer(signal.ITIMER_REAL, 0.002)

    previous = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.001)
    try:
        for _ in range(5000):
            assert zstd.compress(text) == expected
            assert zstd.decompress(expected) == text
            if len(runs) > 10:
                break
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    assert runs


def test_reentering_the_same_object(zstd: ModuleType) -> None:
    """A handler that calls the object whose call it interrupts gets an error or its turn, never a deadlock."""
    program = PROGRAMS["of coming back"] + PROGRAMS["coming back in a signal handler"]
    result = run_alone(zstd, "zstd", program)
    assert result.stdout.startswith("done"), result.stderr


def interrupt(number: int, frame: Any) -> None:
    raise Interrupt


@pytest.mark.parametrize("threads", [1, 3])
def test_batches_that_are_interrupted(threads: int) -> None:
    """The handler's exception comes out, and the next call returns every frame."""
    items = [bytes([number % 251]) * 3000 + b"%d" % number for number in range(3000)]
    compressor, decompressor = zstandard.ZstdCompressor(level=1), zstandard.ZstdDecompressor()
    frames = [frame.tobytes() for frame in compressor.multi_compress_to_buffer(items, threads=threads)]
    before = signal.signal(signal.SIGALRM, interrupt)
    interrupted = 0
    try:
        for number in range(40 if sys.implementation.name == "cpython" else 8):
            wait = 1e-4 * (1 + number % 20)
            try:
                try:
                    signal.setitimer(signal.ITIMER_REAL, wait, 0.1)
                    while True:
                        compressor.multi_compress_to_buffer(items, threads=threads)
                        decompressor.multi_decompress_to_buffer(frames, threads=threads)
                finally:
                    signal.setitimer(signal.ITIMER_REAL, 0)
            except Interrupt:
                interrupted += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert interrupted
    assert [frame.tobytes() for frame in compressor.multi_compress_to_buffer(items, threads=threads)] == frames
    assert [c.tobytes() for c in decompressor.multi_decompress_to_buffer(frames, threads=threads)] == items


def test_no_signal_interrupts_what_frees_a_context(zstd: ModuleType) -> None:
    """Nothing can catch an exception from a handler there: Python prints and drops it."""
    if not zstd.IS_WRAPPED:
        pytest.skip("has no contexts")
    result = run_alone(zstd, "zstd", PROGRAMS["freeing contexts under signals"])
    assert (result.stdout, result.stderr) == ("True\n", "")
