# SPDX-License-Identifier: Apache-2.0
"""Interrupt Zstandard calls with timers: handlers that make calls, and handlers that raise."""

from __future__ import annotations

import signal
import sys
from types import ModuleType
from typing import Any

import pytest
from processes import run_alone
from zstd_data import COMING_BACK, TEXT

from cpkg import zstandard

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
    code = """
import signal
def handler(*_):
    if seen and seen[-1] != "outside":
        return
    seen.append("inside")
    come_back()
    seen.append("outside")
signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
for _ in range(20000):
    compressor.compress(b"y" * 500, 2)
    assert decompressor.decompress(frame) == b"abc" * 100
    if len(seen) > 200:
        break
signal.setitimer(signal.ITIMER_REAL, 0)
print("done")
"""
    result = run_alone(zstd, "zstd", COMING_BACK + code)
    assert result.stdout.startswith("done"), result.stderr


class Interruption(BaseException):
    """An exception for a signal handler to raise."""


def interrupt(number: int, frame: Any) -> None:
    raise Interruption


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
            except Interruption:
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
    code = """
import gc, random, signal
class Interruption(BaseException): pass
def handler(number, frame): raise Interruption
signal.signal(signal.SIGALRM, handler)
workers = {zstd.CompressionParameter.nb_workers: 1}
dictionary = zstd.ZstdDict(b"content" * 100, is_raw=True)
draw, interrupted = random.Random(1), 0
def use():
    zstd.ZstdCompressor(options=workers, zstd_dict=dictionary.as_digested_dict).compress(b"x")
    zstd.ZstdCompressor().compress(b"x")
    zstd.ZstdDecompressor(dictionary).decompress(b"")
use()  # importlib frees locks of modules in Python code, which loses a signal
for number in range(3):
    gc.collect()
for number in range(400):
    try:
        try:
            signal.setitimer(signal.ITIMER_REAL, draw.uniform(1e-5, 5e-4))
            while True:
                use()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except Interruption:
        interrupted += 1
print(interrupted > 100)
"""
    result = run_alone(zstd, "zstd", code)
    assert (result.stdout, result.stderr) == ("True\n", "")
