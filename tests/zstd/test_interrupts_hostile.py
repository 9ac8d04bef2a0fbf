# SPDX-License-Identifier: Apache-2.0
"""Exceptions at any line of a call, and signals at random moments: guarantees hold, and nothing is silently wrong."""

from __future__ import annotations

import asyncio
import io
import logging
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from interrupts import Interrupt, LoopInterrupt, Outcome, at_every_line, by_timer, storms

from purepy.base.pypy import JIT
from purepy.zstd.aio import file as aio_file
from purepy.zstd.format.rules import MAGIC
from purepy.zstd.threads import copy_files, decompress_buffer
from purepy.zstd.threads import decompress as parallel_decompress

FRAME = 4096
CHUNKS = [b"%06d\n" % number * 40 for number in range(700)]
DATA = b"".join(CHUNKS)
SHORT = DATA[: 5 * FRAME]


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "unraisablehook", lambda _: None)  # an exception in a finalizer is printed and lost
    # asyncio logs what a handler breaks in its own callbacks, and pytest would keep the record, and so the loop
    monkeypatch.setattr(logging.getLogger("asyncio"), "disabled", True)
    for module, name in (
        (decompress_buffer, "_PART_SIZE"),
        (parallel_decompress, "_RUN_SIZE"),
        (copy_files, "_PART_SIZE"),
        (copy_files, "_WRITE_SIZE"),
    ):
        monkeypatch.setattr(module, name, FRAME)


@pytest.fixture(params=["lines", *storms("signal", "two signals")])
def interrupted(request: pytest.FixtureRequest, zstd: ModuleType) -> Callable[..., None]:
    """Return the call to interrupt: `make`, `act`, `check`."""
    if JIT and request.param == "two signals":
        pytest.skip("PyPy may raise a second one before the `__exit__` of a lock that a first one leaves")

    def run(
        make: Callable[[], Any], act: Callable[[Any], Any], check: Callable[[Any, Outcome], None], **more: Any
    ) -> None:
        if request.param == "lines":
            every = {"native": 1, "pure": 40}.get(zstd.BACKEND, 4) * (4 if JIT else 1)
            if more:  # most of the threads' work is in other code and not interrupted here
                at_every_line(make, act, check, times=1, every=3, errors=(LoopInterrupt,))
            else:
                at_every_line(make, act, check, times=1, every=every)
        elif zstd.BACKEND in ("native", "dlopen"):  # for other backends only shared Python code is interrupted
            for _ in range(5):  # a first call takes longer
                subject = make()
                check(subject, Outcome(act(subject), None))
            by_timer(make, act, check, times=40, signals=1 if request.param == "signal" else 2, **more)

    return run


def ended(expected: Any) -> Callable[[Any, Outcome], None]:
    """Return a check: the call returned its normal result, or raised the exception that was raised in it."""

    def check(_: Any, outcome: Outcome) -> None:
        assert outcome.is_interrupted or outcome.value == expected, outcome.error

    return check


@pytest.mark.parametrize(
    "call", ["compress", "decompress", "compress_iter", "decompress_iter", "decompress_iter of one frame"]
)
def test_functions(zstd: ModuleType, interrupted: Callable[..., None], call: str) -> None:
    frames = zstd.compress(SHORT, 1, frame_size=FRAME)
    name, _, is_one = call.partition(" of ")
    given = zstd.compress(SHORT, options={zstd.CompressionParameter.content_size_flag: 0}) if is_one else frames
    if name.startswith("compress"):
        given, arguments, expected = SHORT, {"level": 1, "threads": 2, "frame_size": FRAME}, frames
    else:
        arguments, expected = {"threads": 2}, SHORT
    function = getattr(zstd, name)
    if name.endswith("_iter"):
        interrupted(lambda: None, lambda _: b"".join(function([given], **arguments)), ended(expected))
    else:
        interrupted(lambda: None, lambda _: function(given, **arguments), ended(expected))


@pytest.mark.parametrize("call", ["compress", "decompress"])
def test_copies(zstd: ModuleType, interrupted: Callable[..., None], tmp_path: Path, call: str) -> None:
    """A copy leaves the beginning of the content, and of another frame after whole ones; it writes to no other file."""
    frames = zstd.compress(SHORT, 1, frame_size=FRAME)
    given, expected = (SHORT, frames) if call == "compress" else (frames, SHORT)
    more = {"level": 1, "frame_size": FRAME} if call == "compress" else {}
    (tmp_path / "source").write_bytes(given)

    def make() -> Any:
        return open(tmp_path / "source", "rb"), open(tmp_path / "target", "wb")

    def copy(files: Any) -> Any:
        return zstd.copy_stream(*files, mode=call, threads=2, **more)

    def check(files: Any, outcome: Outcome) -> None:
        for file in files:
            file.close()
        with open(tmp_path / "other", "wb"), open(tmp_path / "another", "wb"):  # they reuse the descriptors
            ended((len(given), len(expected)))(files, outcome)
        written = (tmp_path / "target").read_bytes()
        assert (expected + MAGIC if call == "compress" else expected).startswith(written)
        assert not outcome.error or outcome.is_interrupted
        assert not (tmp_path / "other").stat().st_size + (tmp_path / "another").stat().st_size

    interrupted(make, copy, check)


@pytest.mark.parametrize("kind", ["buffered", "file", "threads", "text", "seekable"])
def test_a_file_that_is_written(zstd: ModuleType, interrupted: Callable[..., None], tmp_path: Path, kind: str) -> None:
    """It continues correctly, or reports that it is broken and has no end; flushed data is in the file."""
    path = tmp_path / "file.zst"
    chunks = CHUNKS[:100] if zstd.BACKEND == "pure" else CHUNKS
    half = len(chunks) // 2

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
        for chunk in chunks[:half]:
            subject.put(chunk)
        subject.file.flush()
        subject.safe = subject.taken
        for chunk in chunks[half:-20]:
            subject.put(chunk)
        subject.put(b"".join(chunks[-20:]))
        subject.file.close()

    def check(subject: Subject, outcome: Outcome) -> None:
        assert not outcome.error or outcome.is_interrupted, outcome.error
        subject.file.close()
        data = subject.target.getvalue() if kind == "buffered" else path.read_bytes()
        decompressor = zstd.ZstdDecompressor(multi_frame=True)
        found = decompressor.decompress(data)
        assert b"".join(chunks).startswith(found)
        assert len(found) >= subject.safe
        # text that io.TextIOWrapper holds is lost if it is interrupted while passing it on
        assert not decompressor.eof or len(found) >= subject.taken or kind == "text"
        if outcome.error is None:
            assert (found, decompressor.eof) == (b"".join(chunks), True)

    interrupted(Subject, act, check)


@pytest.mark.parametrize("kind", ["file", "threads", "seekable", "lines", "under text"])
def test_a_file_that_is_read(
    zstd: ModuleType, interrupted: Callable[..., None], kind: str, request: pytest.FixtureRequest
) -> None:
    """It continues at the position that `tell` returns, or every call but `seek` and `close` raises."""
    if "signal" in request.node.name and JIT and sys.pypy_version_info >= (8,):
        pytest.skip("PyPy 8.0.1 crashes, once in ten runs, if a signal handler raises in the readinto() of a raw file")
    packed = zstd.compress(SHORT, 1, frame_size=FRAME)
    if kind == "seekable":
        packed += zstd.index_frames(packed).to_bytes()
    texts: list[Any] = []  # they close the files below them

    def make() -> Any:
        source = io.BytesIO(packed)
        if kind == "seekable":
            return zstd.SeekableZstdFile(source)
        if kind == "under text":
            texts[:] = [zstd.open(source, "rt", encoding="utf-8")]
            return texts[0].buffer
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


class InLoop:
    """An asyncio file in a loop; its work is cancelled by a signal, or an exception is raised in it."""

    last: InLoop | None = None

    def __init__(self, opening: Any = None) -> None:
        self.loop = asyncio.new_event_loop()
        self.task: asyncio.Task[Any] | None = None
        self.safe = self.taken = 0
        self.file: Any = None
        if opening is not None:
            self.file = self.run(opened(opening))
        InLoop.last = self

    def run(self, coroutine: Any) -> Any:
        """Do the same as asyncio.run, but keep the loop."""
        self.task = self.loop.create_task(coroutine)
        try:
            return self.loop.run_until_complete(self.task)
        except asyncio.CancelledError:
            raise Interrupt from None
        finally:
            if not self.task.done():
                self.task.cancel()
                with suppress(asyncio.CancelledError):
                    self.loop.run_until_complete(self.task)
            elif not self.task.cancelled():
                self.task.exception()  # otherwise asyncio logs that it was never retrieved

    @classmethod
    def cancel(cls) -> None:
        """Cancel the task, as asyncio.run does on Ctrl-C."""
        if cls.last is not None and cls.last.task is not None:
            cls.last.task.cancel()
            cls.last.loop.call_soon_threadsafe(lambda: None)

    def close(self) -> None:
        if self.file is not None:
            self.run(self.file.close())
        self.loop.close()
        InLoop.last = None  # its threads end with the loop


async def opened(opening: Any) -> Any:
    return await opening


@pytest.fixture
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("STEP", "JOINED_MAX", "_LINES_SIZE"):
        monkeypatch.setattr(aio_file, name, 1000)


@pytest.mark.usefixtures("small_steps")
@pytest.mark.parametrize("call", ["acompress", "adecompress", "aopen"])
def test_asyncio(zstd: ModuleType, interrupted: Callable[..., None], tmp_path: Path, call: str) -> None:
    frames = zstd.compress(SHORT, 1, frame_size=FRAME)
    path = tmp_path / "file.zst"
    path.write_bytes(frames)

    async def read_all() -> bytes:
        async with zstd.aopen(path) as file:
            content: bytes = await file.read()
            return content

    work, expected = {
        "acompress": (lambda: zstd.acompress(SHORT, 1, threads=2, frame_size=FRAME), frames),
        "adecompress": (lambda: zstd.adecompress(frames, threads=2), SHORT),
        "aopen": (read_all, SHORT),
    }[call]

    def check(subject: InLoop, outcome: Outcome) -> None:
        ended(expected)(subject, outcome)
        subject.close()

    interrupted(InLoop, lambda subject: subject.run(work()), check, interrupt=InLoop.cancel)


@pytest.mark.usefixtures("small_steps")
def test_a_file_of_asyncio_that_is_read(zstd: ModuleType, interrupted: Callable[..., None]) -> None:
    """It continues at the position that `tell` returns."""
    packed = zstd.compress(SHORT, 1, frame_size=FRAME)

    async def work(file: Any) -> bytes:
        found = [await file.read(100), await file.readline(), *await file.readlines(300), await file.read1(50)]
        assert await file.seek(len(b"".join(found))) == await file.tell()
        found += [await file.read(3000)]
        found += [chunk async for chunk in file.chunks(5000)]
        return b"".join(found)

    def check(subject: InLoop, outcome: Outcome) -> None:
        ended(SHORT)(subject, outcome)
        file = subject.file
        position = subject.run(file.tell())
        assert subject.run(file.read()) == SHORT[position:]
        subject.run(file.seek(7))
        assert subject.run(file.read()) == SHORT[7:]
        subject.close()

    make = lambda: InLoop(zstd.aopen(io.BytesIO(packed)))  # noqa: E731
    interrupted(make, lambda subject: subject.run(work(subject.file)), check, interrupt=InLoop.cancel)


def test_a_file_of_asyncio_that_is_written(zstd: ModuleType, interrupted: Callable[..., None], tmp_path: Path) -> None:
    """Flushed data is in the file, no chunk is there twice, and no chunk before another is missing."""
    path = tmp_path / "file.zst"

    async def work(subject: InLoop) -> None:
        for number, chunk in enumerate(CHUNKS[:40]):
            await subject.file.write(chunk)
            subject.taken += len(chunk)
            if number == 20:
                await subject.file.flush()
                subject.safe = subject.taken
        await subject.file.close()

    def check(subject: InLoop, outcome: Outcome) -> None:
        ended(None)(subject, outcome)
        subject.close()
        decompressor = zstd.ZstdDecompressor(multi_frame=True)
        found = decompressor.decompress(path.read_bytes())
        assert DATA.startswith(found)
        assert len(found) >= subject.safe
        assert not decompressor.eof or len(found) >= subject.taken

    make = lambda: InLoop(zstd.aopen(path, "wb"))  # noqa: E731
    interrupted(make, lambda subject: subject.run(work(subject)), check, interrupt=InLoop.cancel)
