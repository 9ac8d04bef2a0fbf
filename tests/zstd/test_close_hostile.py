# SPDX-License-Identifier: Apache-2.0
"""A close() that fails can be repeated and loses nothing, and until it succeeds the frame has no end."""

from __future__ import annotations

import errno
import functools
import gc
import io
import os
import random
import threading
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any, Callable

import pytest
from extent import IS_FULL, IS_THOROUGH
from finalizers import finalizers_may_fail  # noqa: F401 - a fixture of every test here
from odd_files import Target
from threads import beside, run_threads, switching

RANDOM = random.Random(3).randbytes(200_000)
TAIL = b"the tail"


def full() -> OSError:
    return OSError(errno.ENOSPC, "no room")


def is_whole(zstd: ModuleType, content: bytes) -> bool:
    try:
        zstd.ZstdFile(io.BytesIO(content)).read()
    except (EOFError, zstd.ZstdError):
        return False
    return True


FAILURES: dict[str, Callable[[], list[BaseException | None]]] = {
    "full twice": lambda: [full(), full()],
    "full five times": lambda: [full() for _ in range(5)],
    "full after a while": lambda: [None, full(), full(), full()],
    "would block": lambda: [BlockingIOError(errno.EAGAIN, "full", 0), BlockingIOError(errno.EAGAIN, "full", 0)],
}


@pytest.mark.parametrize("failures", FAILURES.values(), ids=FAILURES)
@pytest.mark.parametrize("parts", [[RANDOM, TAIL], [TAIL], [TAIL, RANDOM], [RANDOM[:60_000]] * 9 + [TAIL]])
def test_failed_close(zstd: ModuleType, failures: Callable[[], list[BaseException | None]], parts: list[bytes]) -> None:
    target = Target()
    file = zstd.ZstdFile(target, "w")
    target.write_plan = failures()
    for part in parts:
        rest = part
        while rest:
            try:
                assert file.write(rest) == len(rest)
                break
            except BlockingIOError as exc:
                rest = rest[exc.characters_written :]
            except OSError:
                continue  # a failed write has taken nothing
    failed = 0
    while True:
        try:
            file.close()
            break
        except OSError:
            failed += 1
            assert not file.closed
            if target.write_plan:
                assert not is_whole(zstd, target.content)
    assert file.closed
    assert zstd.decompress(target.content) == b"".join(parts)
    assert failed or len(parts) > 1 or len(failures()) < 2 or failures()[0] is None


def test_file_goes_on_after_a_failed_close(zstd: ModuleType) -> None:
    target = Target()
    file = zstd.ZstdFile(target, "w")
    file.write(b"first ")
    target.write_plan = [full()]
    pytest.raises(OSError, file.close).match("no room")
    assert file.write(b"second") == 6
    file.close()
    file.close()
    assert zstd.decompress(target.content) == b"first second"
    pytest.raises(ValueError, file.write, b"third").match("closed")


def test_failing_flush_of_the_file_is_tried_again(zstd: ModuleType) -> None:
    target = Target()
    file = zstd.ZstdFile(target, "w")
    file.write(TAIL)
    target.flush_plan = [full(), full()]
    for call in (file.flush, file.flush):
        pytest.raises(OSError, call).match("no room")
    target.flush_plan = [full()]
    pytest.raises(OSError, file.close).match("no room")
    file.close()
    assert not target.flush_plan
    assert zstd.decompress(target.content) == TAIL


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("is_closed", [True, False])
def test_an_abandoned_file_has_no_end(zstd: ModuleType, is_closed: bool) -> None:
    """Neither a failed close() that is not repeated nor a missing close() ends the frame."""
    targets = []
    for failures in range(1, 8):
        target = Target()
        file = zstd.ZstdFile(target, "w")
        file.write(RANDOM)
        file.write(TAIL)
        target.write_plan = [full() for _ in range(failures)]
        if is_closed:
            while target.write_plan:
                with suppress(OSError):
                    file.close()
        targets.append(target)
    del file
    for _ in range(3):
        gc.collect()
    for target in targets:
        assert not is_whole(zstd, target.content) or zstd.decompress(target.content) == RANDOM + TAIL


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
@pytest.mark.parametrize("mode", ["w", "wt"])
def test_descriptor_is_closed_with_an_abandoned_file(zstd: ModuleType, mode: str) -> None:
    def fail() -> int:
        file = zstd.open("/dev/full", mode)
        number: int = file.fileno()
        file.write(TAIL.decode() if mode == "wt" else TAIL)
        for _ in range(2):
            with suppress(OSError):
                file.close()
            assert not file.closed
            os.fstat(number)
        return number

    number = fail()
    for _ in range(9):  # PyPy runs finalizers one after another
        gc.collect()
        if not os.path.exists(f"/dev/fd/{number}"):
            return
    pytest.fail("the descriptor is still open")


def test_compressor_that_failed_ends_no_frame(zstd: ModuleType) -> None:
    """Its remaining output is lost, so neither the file nor a file closed again may look complete."""
    target = Target()
    file = zstd.ZstdFile(target, "w")
    file.write(RANDOM)
    compressor = file._buffer.raw.compressor

    class Failing:
        def __getattr__(self, name: str) -> Any:
            return getattr(compressor, name)

        def flush(self, mode: int) -> bytes:
            compressor.flush()
            file._buffer.raw.compressor = compressor
            raise MemoryError

    file.write(TAIL)
    file._buffer.raw.compressor = Failing()
    pytest.raises(MemoryError, file.close)
    pytest.raises(zstd.ZstdError, file.flush, file.FLUSH_FRAME).match("earlier write failed")
    for _ in range(2):
        file.close()
        assert file.closed
    assert not is_whole(zstd, target.content)


@pytest.mark.parametrize("takes", [False, True])
@pytest.mark.parametrize("position", [0, 1])
@pytest.mark.parametrize("kind", [KeyboardInterrupt, TimeoutError, LookupError])
def test_an_interrupted_write_is_last(zstd: ModuleType, kind: type[BaseException], position: int, takes: bool) -> None:
    """Nobody knows how much a file written in Python has taken then, so nothing is written after it."""
    target = Target()
    target.write_plan = [None] * position + [kind()]
    target.takes_when_failing = takes

    def write() -> None:
        with zstd.ZstdFile(target, "w") as file:
            for _ in range(4):
                file.write(RANDOM)
                file.flush()

    pytest.raises(kind, write)
    assert not is_whole(zstd, target.content)
    decompressor = zstd.ZstdDecompressor(multi_frame=True)
    assert (RANDOM * 4).startswith(decompressor.decompress(target.content))


def test_text(zstd: ModuleType) -> None:
    """io.TextIOWrapper forgets the data of a failed write(), and only it knows whether it took its own text."""
    for failures in (1, 2, 3, 5, 8):
        target = Target()
        file = zstd.open(target, "wt", encoding="utf-8")
        target.write_plan = [None] * (failures % 3) + [full() for _ in range(failures)]
        taken = []
        for number in range(100):
            try:
                file.write(f"{number} {RANDOM[number * 900 : number * 900 + 900].hex()}\n")
                taken.append(number)
            except OSError:
                assert not is_whole(zstd, target.content)
        while True:
            try:
                file.close()
                break
            except OSError:
                assert not target.write_plan or not is_whole(zstd, target.content)
        assert file.closed
        lines = [line.split() for line in zstd.decompress(target.content).decode().splitlines()]
        found = [int(number) for number, _ in lines]
        assert found == sorted(set(found))
        assert set(taken) <= set(found)
        assert all(bytes.fromhex(data) == RANDOM[int(number) * 900 :][:900] for number, data in lines)


def test_closed_while_another_thread_writes(zstd: ModuleType) -> None:
    target, begun, go_on = Target(), threading.Event(), threading.Event()
    target.meanwhile = lambda: (begun.set(), go_on.wait(60))
    file = zstd.ZstdFile(target, "w")
    try:
        with beside(lambda: file.write(RANDOM)) as errors:
            assert begun.wait(60)
            closing = threading.Event()
            with beside(lambda: (closing.set(), file.close())) as more:
                assert closing.wait(60)
                go_on.set()
    finally:
        go_on.set()  # so that the file can be closed if no thread starts
    assert not errors + more
    assert zstd.decompress(target.content) == RANDOM


def test_threads_flush_and_close(zstd: ModuleType, tmp_path: Path) -> None:
    """A concurrent write or flush raises at most ValueError, and all data that was taken is written exactly once."""
    for turn in range(20):
        path = tmp_path / str(turn)
        file = zstd.ZstdFile(path, "w")
        taken: list[bytes] = []

        def write(file: Any = file, taken: list[bytes] = taken) -> None:
            for number in range(400):
                piece = b"%d;" % number * (1000 if number % 30 == 7 else 1)
                try:
                    file.write(piece)
                except ValueError:
                    return
                taken.append(piece)

        def flush(file: Any = file) -> None:
            try:
                for _ in range(30):
                    file.flush()
            except ValueError:
                pass
            file.close()
            file.close()

        with switching(1e-5):
            failures = run_threads(write, flush, flush)
        file.close()
        assert not failures
        expected, content = b"".join(taken), zstd.decompress(path.read_bytes())
        # a write() may slip into the close() of any buffered file of Python
        assert content == expected or (isinstance(file._buffer, io.BufferedWriter) and expected.startswith(content))


# --- close() while other threads use the file -------------------------------------------------------------------------

ROUNDS = 20 if IS_THOROUGH else 6 if IS_FULL else 3

LINES = [f"{number} {'x' * (number % 50)}\n" for number in range(3000)]
CONTENT = "".join(LINES).encode()

READING = [
    *("read(100)", "read()", "read1(100)", "readinto(bytearray(100))", "readinto1(bytearray(100))", "readline()"),
    *("peek()", "__next__()", "__iter__().__next__()", "readlines(100)", "seek(100)", "seek(0, 2)"),
]
STATE = ["tell()", "fileno()", "name", "mode", "seekable()", "readable()", "writable()", "flush()", "closed"]
WRITING = ["write(b'text\\n')", "write(bytes(200_000))", "writelines([b'1\\n', b'2\\n'])", "flush(file.FLUSH_FRAME)"]


@functools.cache
def call(name: str) -> Callable[[Any], Any]:
    function: Callable[[Any], Any] = eval(f"lambda file: file.{name}")
    return function


def until_closed(file: Any, calls: list[str], started: threading.Barrier) -> Callable[[], Any]:
    def work() -> None:
        started.wait()
        for _ in range(20_000):
            for name in calls:
                try:
                    call(name)(file)
                except StopIteration:
                    pass
                except ValueError as exc:
                    if isinstance(exc, io.UnsupportedOperation):
                        raise
                    return

    return work


def close_against(file: Any, calls: list[str], chance: random.Random) -> list[BaseException]:
    started = threading.Barrier(3)

    def close() -> None:
        started.wait()
        for _ in range(chance.randrange(20)):
            file.closed
        file.close()

    with switching(1e-6):
        return run_threads(until_closed(file, calls, started), until_closed(file, calls[::-1], started), close)


CASES = [
    *(("rb", [name]) for name in READING + STATE),
    *(("wb", [name]) for name in WRITING + STATE),
    *(("rt", [name]) for name in ("readline()", "__next__()")),
    ("rb", READING + STATE),
    ("wb", WRITING + STATE),
]


@pytest.mark.parametrize(("mode", "calls"), CASES, ids=[f"{mode}, {len(calls)} of {calls[0]}" for mode, calls in CASES])
def test_calls_and_close(zstd: ModuleType, tmp_path: Path, mode: str, calls: list[str]) -> None:
    path = tmp_path / "lines.zst"
    path.write_bytes(zstd.compress(CONTENT))
    chance = random.Random(1)
    for _ in range(ROUNDS):
        file = zstd.open(path, mode)
        if type(file) is io.TextIOWrapper:
            file.close()
            pytest.skip("io.TextIOWrapper is not for threads")
        if mode == "wb":
            file.write(b"first\n")
        assert close_against(file, calls, chance) == []
        assert mode != "wb" or zstd.decompress(path.read_bytes()).startswith(b"first\n")
