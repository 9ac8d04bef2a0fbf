# SPDX-License-Identifier: Apache-2.0
"""close() while other threads use the file: each call works or raises ValueError, and the written data is complete."""

from __future__ import annotations

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

READING: dict[str, Callable[[Any], Any]] = {
    "read": lambda file: file.read(100),
    "rest": lambda file: file.read(),
    "read1": lambda file: file.read1(100),
    "readinto": lambda file: file.readinto(bytearray(100)),
    "readinto1": lambda file: file.readinto1(bytearray(100)),
    "readline": lambda file: file.readline(),
    "peek": lambda file: file.peek(),
    "next": lambda file: next(file, None),
    "iter": lambda file: next(iter(file), None),
    "lines": lambda file: file.readlines(100),
    "seek": lambda file: file.seek(100),
    "end": lambda file: file.seek(0, io.SEEK_END),
}
STATE: dict[str, Callable[[Any], Any]] = {
    "tell": lambda file: file.tell(),
    "fileno": lambda file: file.fileno(),
    "name": lambda file: file.name,
    "mode": lambda file: file.mode,
    "seekable": lambda file: file.seekable(),
    "readable": lambda file: file.readable(),
    "writable": lambda file: file.writable(),
    "flush": lambda file: file.flush(),
    "closed": lambda file: file.closed,
}
WRITING: dict[str, Callable[[Any], Any]] = {
    "write": lambda file: file.write(b"some text\n"),
    "long": lambda file: file.write(bytes(200_000)),
    "lines": lambda file: file.writelines([b"one\n", b"two\n"]),
    "frame": lambda file: file.flush(file.FLUSH_FRAME),
}


def until_closed(file: Any, calls: list[Callable[[Any], Any]], started: threading.Barrier) -> Callable[[], Any]:
    def work() -> None:
        started.wait()
        for _ in range(20_000):
            for call in calls:
                try:
                    call(file)
                except ValueError as exc:
                    if isinstance(exc, io.UnsupportedOperation):
                        raise
                    return

    return work


def close_against(file: Any, calls: list[Callable[[Any], Any]], chance: random.Random) -> list[BaseException]:
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
        assert close_against(zstd.open(path), [{**READING, **STATE}[name]], chance) == []


@pytest.mark.parametrize("name", [*WRITING, *STATE])
def test_writing(zstd: ModuleType, tmp_path: Path, name: str) -> None:
    path = tmp_path / "lines.zst"
    chance = random.Random(1)
    for _ in range(ROUNDS):
        file = zstd.open(path, "wb")
        file.write(b"first\n")
        assert close_against(file, [{**WRITING, **STATE}[name]], chance) == []
        assert zstd.decompress(path.read_bytes()).startswith(b"first\n")


def test_all_calls_at_once(zstd: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "lines.zst"
    path.write_bytes(zstd.compress(CONTENT))
    chance = random.Random(1)
    for _ in range(ROUNDS):
        calls = [*READING.values(), *STATE.values()]
        chance.shuffle(calls)
        assert close_against(zstd.open(path), calls, chance) == []
        calls = [*WRITING.values(), *STATE.values()]
        chance.shuffle(calls)
        assert close_against(zstd.open(tmp_path / "written.zst", "wb"), calls, chance) == []


def test_text(zstd: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "lines.zst"
    path.write_bytes(zstd.compress(CONTENT))
    calls: list[list[Callable[[Any], Any]]] = [[lambda text: text.readline()], [lambda text: next(text, None)]]
    with zstd.open(path, "rt") as text:
        if type(text) is io.TextIOWrapper:
            pytest.skip("io.TextIOWrapper is not for threads")
    chance = random.Random(1)
    for some in calls:
        for _ in range(ROUNDS):
            assert close_against(zstd.open(path, "rt", encoding="utf-8"), some, chance) == []


@pytest.mark.parametrize("mode", ["rb", "wb"])
def test_each_call_on_a_closed_file(zstd: ModuleType, tmp_path: Path, mode: str) -> None:
    path = tmp_path / "lines.zst"
    path.write_bytes(zstd.compress(CONTENT))
    file = zstd.open(path, mode)
    file.close()
    for name, call in {**(READING if mode == "rb" else WRITING), **STATE}.items():
        if name in ("mode", "closed"):
            call(file)
        else:
            with pytest.raises(ValueError, match="closed"):
                call(file)
