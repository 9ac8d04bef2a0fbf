# SPDX-License-Identifier: Apache-2.0
"""
Exceptions that arrive at any line of a call: what had been promised before holds, and nothing is silently wrong.

Each call is interrupted at each of its lines, and by signals at random moments, one and two of them.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from interrupts import Outcome, at_every_line, by_timer

import purepy.crew
from purepy._jit import JIT
from purepy.zstd.threads import copy_files, parts
from purepy.zstd.threads import decompress as parallel_decompress

FRAME = 4096
CHUNKS = [b"%06d\n" % number * 40 for number in range(700)]
DATA = b"".join(CHUNKS)
SHORT = DATA[: 5 * FRAME]


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let small frames be worth a thread's while, and threads look often whether they are wanted."""
    monkeypatch.setattr(purepy.crew, "LOOK_AGAIN", 0.01)
    monkeypatch.setattr(sys, "unraisablehook", lambda _: None)  # what arrives in a finalizer is said, and lost
    for module, name in (
        (parts, "_PART_SIZE"),
        (parallel_decompress, "_RUN_SIZE"),
        (copy_files, "_PART_SIZE"),
        (copy_files, "_WRITE_SIZE"),
    ):
        monkeypatch.setattr(module, name, FRAME)


# a second signal within the clean-up behind the first still finds lines that it breaks, once in some thousand
@pytest.fixture(params=["lines", "signal", pytest.param("two signals", marks=pytest.mark.slow)])
def interrupted(request: pytest.FixtureRequest, zstd: ModuleType) -> Callable[..., None]:
    """Return what interrupts a call: `make`, `act`, `check`."""
    if JIT and request.param == "two signals":
        pytest.skip("PyPy may raise a second one before the `__exit__` of a lock that a first one leaves")

    def run(make: Callable[[], Any], act: Callable[[Any], Any], check: Callable[[Any, Outcome], None]) -> None:
        if request.param == "lines":
            every = {"native": 1, "pure": 40}.get(zstd.BACKEND, 4)
            at_every_line(make, act, check, times=1, every=25 * every if JIT else every)
        elif zstd.BACKEND in ("native", "dlopen"):  # what is shared Python is interrupted there
            for _ in range(5):  # a first call takes longer
                subject = make()
                check(subject, Outcome(act(subject), None))
            by_timer(make, act, check, times=40, signals=1 if request.param == "signal" else 2)

    return run


def ended(expected: Any) -> Callable[[Any, Outcome], None]:
    """Return a check: the call returned what it does, or raised what was raised in it."""

    def check(_: Any, outcome: Outcome) -> None:
        assert outcome.is_interrupted or outcome.value == expected, outcome.error

    return check


def calls(zstd: ModuleType) -> dict[str, tuple[Callable[[], Any], Any]]:
    frames = zstd.compress(SHORT, 1, frame_size=FRAME)
    large = zstd.compress(SHORT, options={zstd.CompressionParameter.content_size_flag: 0})
    return {
        "compress": (lambda: zstd.compress(SHORT, 1, threads=2, frame_size=FRAME), frames),
        "decompress": (lambda: zstd.decompress(frames, threads=2), SHORT),
        "compress_iter": (
            lambda: b"".join(zstd.compress_iter([SHORT], 1, threads=2, frame_size=FRAME)),
            frames,
        ),
        "decompress_iter": (lambda: b"".join(zstd.decompress_iter([frames], threads=2)), SHORT),
        "decompress_iter of one frame": (lambda: b"".join(zstd.decompress_iter([large], threads=2)), SHORT),
    }


@pytest.mark.parametrize(
    "name",
    [
        "compress",
        "decompress",
        "compress_iter",
        "decompress_iter",
        "decompress_iter of one frame",
    ],
)
def test_functions(zstd: ModuleType, interrupted: Callable[..., None], name: str) -> None:
    call, expected = calls(zstd)[name]
    interrupted(lambda: None, lambda _: call(), ended(expected))


@pytest.mark.parametrize("mode", ["compress", "decompress"])
def test_copies(zstd: ModuleType, interrupted: Callable[..., None], tmp_path: Path, mode: str) -> None:
    """What an interrupted copy leaves is the beginning of the content, and no other file is written to."""
    frames = zstd.compress(SHORT, 1, frame_size=FRAME)
    given, expected = (SHORT, frames) if mode == "compress" else (frames, SHORT)
    more = {"level": 1, "frame_size": FRAME} if mode == "compress" else {}
    (tmp_path / "source").write_bytes(given)

    def make() -> Any:
        return open(tmp_path / "source", "rb"), open(tmp_path / "target", "wb")

    def copy(files: Any) -> Any:
        return zstd.copy_stream(*files, mode=mode, threads=2, **more)

    def check(files: Any, outcome: Outcome) -> None:
        for file in files:
            file.close()
        with open(tmp_path / "other", "wb"), open(tmp_path / "another", "wb"):  # with the same descriptors
            ended((len(given), len(expected)))(files, outcome)
        written = (tmp_path / "target").read_bytes()
        assert expected.startswith(written)
        assert not outcome.error or outcome.is_interrupted
        assert not (tmp_path / "other").stat().st_size + (tmp_path / "another").stat().st_size

    interrupted(make, copy, check)


@pytest.mark.parametrize("kind", ["buffered", "file", "threads", "text", "seekable"])
def test_a_file_that_is_written(zstd: ModuleType, interrupted: Callable[..., None], tmp_path: Path, kind: str) -> None:
    """It goes on and is right, or it says that it is broken, and has no end: what `flush` wrote is there."""
    path = tmp_path / "file.zst"

    class Subject:
        def __init__(self) -> None:
            path.unlink(missing_ok=True)
            self.target: Any = io.BytesIO() if kind == "buffered" else path
            if kind == "seekable":
                self.file = zstd.SeekableZstdFile(path, "w", max_frame_content_size=FRAME)
            elif kind == "text":
                self.file = zstd.open(path, "wt", encoding="ascii", newline="\n", level=1)
            else:
                more = {"threads": 2, "frame_size": FRAME} if kind == "threads" else {}
                self.file = zstd.ZstdFile(self.target, "w", level=1, **more)
            self.safe = 0
            self.taken = 0

        def put(self, data: bytes) -> None:
            self.file.write(data.decode() if kind == "text" else data)
            self.taken += len(data)

    def act(subject: Subject) -> None:
        for chunk in CHUNKS[:300]:
            subject.put(chunk)
        subject.file.flush()
        subject.safe = subject.taken
        for chunk in CHUNKS[300:600]:
            subject.put(chunk)
        subject.put(b"".join(CHUNKS[600:]))
        subject.file.close()

    def check(subject: Subject, outcome: Outcome) -> None:
        assert not outcome.error or outcome.is_interrupted, outcome.error
        subject.file.close()
        data = subject.target.getvalue() if kind == "buffered" else path.read_bytes()
        decompressor = zstd.ZstdDecompressor(multi_frame=True)
        found = decompressor.decompress(data)
        assert DATA.startswith(found)
        assert len(found) >= subject.safe
        # what io.TextIOWrapper holds is lost if it is interrupted as it hands that on
        assert not decompressor.eof or len(found) >= subject.taken or kind == "text"
        if outcome.error is None:
            assert (found, decompressor.eof) == (DATA, True)

    interrupted(Subject, act, check)


@pytest.mark.parametrize("kind", ["file", "threads", "seekable", "lines"])
def test_a_file_that_is_read(zstd: ModuleType, interrupted: Callable[..., None], kind: str) -> None:
    """It goes on where `tell` says, or every call but `seek` and `close` is an error."""
    packed = zstd.compress(SHORT, 1, frame_size=FRAME)
    if kind == "seekable":
        packed += zstd.index_frames(packed).to_bytes()

    def make() -> Any:
        source = io.BytesIO(packed)
        if kind == "seekable":
            return zstd.SeekableZstdFile(source)
        return zstd.ZstdFile(source, threads=2 if kind == "threads" else None)

    def act(file: Any) -> bytes:
        if kind == "lines":
            return b"".join(iter(file.readline, b""))
        found = file.read(100) + file.read(FRAME) + file.read(3)
        file.seek(50)
        return found[:50] + b"".join(iter(lambda: file.read(3000), b"")) + file.read()

    def check(file: Any, outcome: Outcome) -> None:
        ended(SHORT)(file, outcome)
        file.close()

    def go_on(file: Any) -> Any:
        found = [file.read(100), file.read(FRAME), file.readline(), file.peek()]
        file.read()
        return found

    def check_position(file: Any, outcome: Outcome) -> None:
        assert not outcome.error or outcome.is_interrupted, outcome.error
        position = file.tell()
        try:
            rest = file.read()
        except OSError:
            pass
        else:
            assert rest == SHORT[position:]
        file.seek(7)
        assert file.read() == SHORT[7:]
        file.close()

    interrupted(make, act, check)
    interrupted(make, go_on, check_position)
