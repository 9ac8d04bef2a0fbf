# SPDX-License-Identifier: Apache-2.0
"""close() while other threads use the file: each call works or raises ValueError, and the written data is complete."""

from __future__ import annotations

import functools
import io
import random
import threading
from pathlib import Path
from types import ModuleType
from typing import Any, Callable

import pytest
from extent import IS_FULL, IS_THOROUGH
from threads import run_threads, switching

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
    """Return a function that makes a call of a file."""
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


@pytest.mark.parametrize("name", [*READING, *STATE])
def test_reading(zstd: ModuleType, tmp_path: Path, name: str) -> None:
    path = tmp_path / "lines.zst"
    path.write_bytes(zstd.compress(CONTENT))
    chance = random.Random(1)
    for _ in range(ROUNDS):
        assert close_against(zstd.open(path), [name], chance) == []


@pytest.mark.parametrize("name", [*WRITING, *STATE])
def test_writing(zstd: ModuleType, tmp_path: Path, name: str) -> None:
    path = tmp_path / "lines.zst"
    chance = random.Random(1)
    for _ in range(ROUNDS):
        file = zstd.open(path, "wb")
        file.write(b"first\n")
        assert close_against(file, [name], chance) == []
        assert zstd.decompress(path.read_bytes()).startswith(b"first\n")


def test_all_calls_at_once(zstd: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "lines.zst"
    path.write_bytes(zstd.compress(CONTENT))
    chance = random.Random(1)
    for _ in range(ROUNDS):
        calls = [*READING, *STATE]
        chance.shuffle(calls)
        assert close_against(zstd.open(path), calls, chance) == []
        calls = [*WRITING, *STATE]
        chance.shuffle(calls)
        assert close_against(zstd.open(tmp_path / "written.zst", "wb"), calls, chance) == []


def test_text(zstd: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "lines.zst"
    path.write_bytes(zstd.compress(CONTENT))
    with zstd.open(path, "rt") as text:
        if type(text) is io.TextIOWrapper:
            pytest.skip("io.TextIOWrapper is not for threads")
    chance = random.Random(1)
    for name in ("readline()", "__next__()") * ROUNDS:
        assert close_against(zstd.open(path, "rt", encoding="utf-8"), [name], chance) == []


@pytest.mark.parametrize("mode", ["rb", "wb"])
def test_each_call_on_a_closed_file(zstd: ModuleType, tmp_path: Path, mode: str) -> None:
    path = tmp_path / "lines.zst"
    path.write_bytes(zstd.compress(CONTENT))
    file = zstd.open(path, mode)
    file.close()
    for name in {*(READING if mode == "rb" else WRITING), *STATE} - {"mode", "closed"}:
        with pytest.raises(ValueError, match="closed"):
            call(name)(file)
    assert file.closed
