# SPDX-License-Identifier: Apache-2.0
"""
Threads that use one object at the same time: a right result or a clear error, and never a crash.

With the GIL they get in each other's way between two instructions, without it (3.14t) at any moment.
"""

from __future__ import annotations

import io
import os
import sys
import sysconfig
import threading
from types import ModuleType
from typing import Any, Callable

import pytest
from processes import run_python
from threads import run_threads, switching

THREADS = 4
ROUNDS = 300 if sys.implementation.name == "cpython" else 100
RECORD = {"id": 12, "name": "some name", "tags": ["a", "b"], "price": 1.5, "in": {"id": 1, "name": "x"}}
TEXT = b"".join(b"line %d of some text\n" % number for number in range(200))


def hammer(work: Callable[[int], Any], allowed: tuple[type[BaseException], ...] = ()) -> None:
    """Run `work`, given the thread's number, in all threads, many times; errors of `allowed` types may happen."""
    start = threading.Barrier(THREADS)

    def thread(number: int) -> Callable[[], None]:
        def run() -> None:
            start.wait()
            for _ in range(ROUNDS):
                try:
                    work(number)
                except allowed:
                    pass

        return run

    with switching(1e-5):
        errors = run_threads(*(thread(number) for number in range(THREADS)))
    assert not errors


@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this build of Python has the GIL always")
def test_the_gil_stays_off(msgpack: ModuleType, zstd: ModuleType) -> None:
    """A module that does not say that it can do without makes the interpreter switch the GIL on for all."""
    code = "import sys; from cpkg import msgpack, zstd; zstd.compress(msgpack.packb(1)); print(sys._is_gil_enabled())"
    choice = {"CPKG_MSGPACK_BACKEND": msgpack.BACKEND, "CPKG_ZSTD_BACKEND": zstd.BACKEND}
    result = run_python("-W", "error", "-c", code, env={**os.environ, **choice, "PYTHON_GIL": ""})
    assert result.returncode == 0, result.stderr
    assert result.stdout == "False\n"


def test_functions_and_one_value(msgpack: ModuleType) -> None:
    """The keys that were met are kept for all threads; the value is nobody's alone."""
    value = [RECORD] * 5
    data = msgpack.packb(value)

    def work(number: int) -> None:
        assert msgpack.packb(value) == data
        assert msgpack.unpackb(data) == value
        other = {f"key {number} {index}": index for index in range(20)}
        assert msgpack.unpackb(msgpack.packb(other)) == other

    hammer(work)


def test_a_list_and_a_dict_that_change(msgpack: ModuleType) -> None:
    items: list[Any] = list(range(100))
    table: dict[Any, Any] = {str(index): index for index in range(100)}

    def work(number: int) -> None:
        if number == 0:
            items.append("text")
            table[f"new {len(items)}"] = "text"
        elif number == 1:
            del items[len(items) // 2 :]
            table.pop(next(iter(table), None), None)
            items.extend(range(50))
        else:
            assert isinstance(msgpack.unpackb(msgpack.packb(items)), list)
            assert isinstance(msgpack.unpackb(msgpack.packb(table)), dict)

    # "changed size during iteration", which is also the dict's own answer in the thread that walks it
    hammer(work, (RuntimeError,))


def test_one_unpacker(msgpack: ModuleType) -> None:
    """Each message goes to one thread, whole; none is lost. Threads change in the hook, if not elsewhere."""
    unpacker = msgpack.Unpacker(object_hook=lambda found: (sum(range(50)), found["number"])[1])
    taken: list[list[Any]] = [[] for _ in range(THREADS)]
    messages = [[number, {"number": number}, [{"number": -number}]] for number in range(ROUNDS * THREADS)]
    unpacker.feed(b"".join(map(msgpack.packb, messages)))

    def work(number: int) -> None:
        taken[number].append(unpacker.unpack())

    hammer(work, (RuntimeError, msgpack.OutOfData))
    taken.append(list(unpacker))
    expected = [[number, number, [-number]] for number in range(ROUNDS * THREADS)]
    assert sorted(one for each in taken for one in each) == expected


def test_one_shot_with_one_dictionary(zstd: ModuleType) -> None:
    dictionary = zstd.ZstdDict(TEXT, is_raw=True)
    plain, with_dictionary = zstd.compress(TEXT), zstd.compress(TEXT, zstd_dict=dictionary)

    def work(number: int) -> None:
        assert zstd.decompress(plain) == TEXT
        assert zstd.decompress(with_dictionary, zstd_dict=dictionary) == TEXT
        assert zstd.decompress(zstd.compress(TEXT[number * 100 :])) == TEXT[number * 100 :]
        assert zstd.decompress(zstd.compress(TEXT, zstd_dict=dictionary), zstd_dict=dictionary) == TEXT

    if zstd.BACKEND == "pure":
        pytest.skip("the same work in Python takes minutes, and shares nothing more")
    hammer(work)


def test_one_compressor(zstd: ModuleType) -> None:
    compressor = zstd.ZstdCompressor()
    lock = threading.Lock()
    pieces: list[bytes] = []

    def work(number: int) -> None:
        if number:
            compressor.last_mode
            return
        with lock:
            pieces.append(compressor.compress(TEXT[:500], compressor.FLUSH_BLOCK))

    hammer(work)
    pieces.append(compressor.flush())
    assert zstd.decompress(b"".join(pieces)) == TEXT[:500] * ROUNDS


def test_calls_of_one_compressor_at_once(zstd: ModuleType) -> None:
    """Each call is whole: what comes out is a frame per call."""
    compressor = zstd.ZstdCompressor()
    frames: list[bytes] = []

    def work(number: int) -> None:
        frames.append(compressor.compress(TEXT[:400], compressor.FLUSH_FRAME))

    if zstd.BACKEND == "pure":
        pytest.skip("the same lock; the work takes minutes")
    hammer(work)
    assert len(frames) == ROUNDS * THREADS
    for frame in frames:
        assert zstd.decompress(frame) == TEXT[:400]


def test_one_decompressor(zstd: ModuleType) -> None:
    """The object survives pieces in any order."""
    frame = zstd.compress(TEXT * 5)
    shared = [zstd.ZstdDecompressor()]

    def work(number: int) -> None:
        decompressor = shared[0]
        if decompressor.eof or number == 0:
            shared[0] = zstd.ZstdDecompressor()
        decompressor.decompress(frame[number * 7 : number * 7 + 40], max_length=100)

    hammer(work, (zstd.ZstdError, EOFError, ValueError))
    assert zstd.ZstdDecompressor().decompress(frame) == TEXT * 5


def test_one_file(zstd: ModuleType) -> None:
    """Lines that threads write stay whole."""
    memory = io.BytesIO()
    lines = [b"line of thread %d\n" % number for number in range(THREADS)]
    with zstd.ZstdFile(memory, "wb") as file:
        hammer(lambda number: file.write(lines[number]))
    read = zstd.decompress(memory.getvalue()).splitlines(keepends=True)
    assert {line: read.count(line) for line in lines} == dict.fromkeys(lines, ROUNDS)
    assert len(read) == ROUNDS * THREADS
    memory.seek(0)
    found: list[bytes] = []
    with zstd.ZstdFile(memory) as file:
        hammer(lambda number: found.append(file.read(7)))
        rest = file.read()
    assert sum(map(len, found)) + len(rest) == sum(map(len, read))
