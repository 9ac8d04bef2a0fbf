# SPDX-License-Identifier: Apache-2.0
"""aopen, acompress and adecompress do the same as the functions without "a", while the event loop keeps running."""

from __future__ import annotations

import asyncio
import functools
import io
import threading
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from extent import some
from seeds import noise

from purepy.zstd.aio import file as aio_file

DATA = b"".join(b"line %d\n" % number for number in range(20_000))


def in_loop(test: Callable[..., Any]) -> Callable[..., None]:
    """Run a test in an event loop, whose end waits for its threads."""

    @functools.wraps(test)
    def run(**fixtures: Any) -> None:
        asyncio.run(test(**fixtures))

    return run


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "file.zst"


@in_loop
async def test_functions(zstd: ModuleType) -> None:
    for content in (b"", DATA[:10], DATA, bytes(5 << 20) + DATA):  # the last one is not joined
        frame = await zstd.acompress(content, 5)
        assert zstd.get_frame_info(frame).decompressed_size == len(content)
        assert zstd.get_frame_size(frame) == len(frame)
        assert await zstd.adecompress(memoryview(frame)) == content
    frames = await zstd.acompress(bytearray(DATA), threads=2, frame_size=30_000)
    assert frames == zstd.compress(DATA, frame_size=30_000)
    assert await zstd.adecompress(frames, threads=2) == DATA
    with pytest.raises(zstd.ZstdLimitError):
        await zstd.adecompress(frames, max_output_size=len(DATA) - 1)
    with pytest.raises(zstd.ZstdError):
        await zstd.adecompress(frames[:-1])
    with pytest.raises(ValueError, match="level"):
        await zstd.acompress(DATA, 99)
    for bad in ("text", 5):
        with pytest.raises(TypeError):
            await zstd.acompress(bad)
        with pytest.raises(TypeError):
            await zstd.adecompress(bad)


@pytest.mark.parametrize("threads", [None, 2])
@in_loop
async def test_files(zstd: ModuleType, path: Path, threads: int | None) -> None:
    async with zstd.aopen(path, "wb", level=5, threads=threads) as file:
        assert (file.writable(), file.readable(), file.closed) == (True, False, False)
        assert await file.write(DATA[:1000]) == 1000
        await file.flush()
        await file.write(DATA[1000:])
    assert file.closed
    await file.close()
    assert zstd.decompress(path.read_bytes()) == DATA
    async with zstd.aopen(path, threads=threads) as file:
        assert (file.name, file.mode) == (str(path), "rb") or file.name == path
        assert await file.read(10) == DATA[:10]
        assert await file.readline() == DATA[10:].splitlines(keepends=True)[0]
        position = await file.tell()
        lines = []
        async for line in file:
            lines.append(line)
            if len(lines) == 100:
                break
        assert lines == DATA[position:].splitlines(keepends=True)[:100]
        position += sum(map(len, lines))
        assert await file.tell() == position
        assert await file.read(5) == DATA[position : position + 5]
        assert await file.readlines(20) == DATA[position + 5 :].splitlines(keepends=True)[:3]
        assert (await file.peek())[:1] != b""
        assert await file.seek(7) == 7
        assert await file.seek(3, io.SEEK_CUR) == 10
        assert await file.read1(4) == DATA[10:14]
        assert await file.read() == DATA[14:]
        assert (await file.read(), await file.readline(), await file.read(5)) == (b"", b"", b"")
    file = await zstd.aopen(path)
    assert b"".join([chunk async for chunk in file.chunks(999)]) == DATA
    with pytest.raises(ValueError, match="size must be positive, not 0"):
        [chunk async for chunk in file.chunks(0)]
    await file.close()
    with pytest.raises(ValueError, match="closed"):
        await file.read()


@pytest.mark.parametrize("newline", [None, "", "\n", "\r"])
@in_loop
async def test_text(zstd: ModuleType, path: Path, newline: str | None) -> None:
    text = "fünf\r\nzwei\rdrei\n\nlast"
    async with zstd.aopen(path, "wt", encoding="utf-8", newline="") as file:
        await file.write(text)
    with io.TextIOWrapper(io.BytesIO(text.encode()), encoding="utf-8", newline=newline) as plain:
        expected = list(plain)
    async with zstd.aopen(path, "rt", encoding="utf-8", newline=newline) as file:
        assert [line async for line in file] == expected
        await file.seek(0)
        assert await file.read(3) == "".join(expected)[:3]
        assert await file.read() == "".join(expected)[3:]


@in_loop
async def test_errors_of_opening_and_reading(zstd: ModuleType, path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        await zstd.aopen(path)
    with pytest.raises(ValueError, match="mode"):
        await zstd.aopen(path, "q")
    for content, error in ((zstd.compress(DATA)[:-5], EOFError), (b"no frame, this", zstd.ZstdError)):
        path.write_bytes(content)
        async with zstd.aopen(path) as file:
            with pytest.raises(error):
                await file.read()
            with pytest.raises(error):
                [line async for line in file]


class Meeting:
    """An iterator function that waits for an answer from the event loop before each step, so the loop has to run."""

    def __init__(self, function: Any) -> None:
        self._function = function
        self.loop: Any = None
        self.sizes: list[int] = []
        self.threads: set[int] = set()

    def __call__(self, chunks: Any, *arguments: Any, **more: Any) -> Any:
        return self._function(self._met(chunks), *arguments, **more)

    def _met(self, chunks: Any) -> Any:
        for chunk in chunks:
            answer = threading.Event()
            self.loop.call_soon_threadsafe(answer.set)
            assert answer.wait(60), "the event loop stands still"
            self.sizes.append(len(chunk))
            self.threads.add(threading.get_ident())
            yield chunk


@pytest.mark.parametrize("threads", [None, 2])
def test_the_loop_goes_on(zstd: ModuleType, monkeypatch: pytest.MonkeyPatch, threads: int | None) -> None:
    content = noise(3 << 20)  # noise takes as many steps when it is compressed
    meetings = [Meeting(getattr(zstd, name)) for name in ("compress_iter", "decompress_iter")]
    for name, meeting in zip(("compress_iter", "decompress_iter"), meetings):
        monkeypatch.setattr(zstd, name, meeting)

    async def work() -> None:
        for meeting in meetings:
            meeting.loop = asyncio.get_running_loop()
        assert await zstd.adecompress(await zstd.acompress(content, threads=threads), threads=threads) == content

    asyncio.run(work())
    for meeting in meetings:
        assert len(meeting.sizes) >= 3
        assert max(meeting.sizes) <= 1 << 20
        assert threading.get_ident() not in meeting.threads


def cancelling(monkeypatch: pytest.MonkeyPatch, is_done: bool = True) -> list[int]:
    """Cancel a task at the start of a call in a thread, or at its result; return how many calls are left until then."""
    start, left = aio_file.Work.start, [0]

    def started(work: Any) -> Any:
        left[0] -= 1
        future = start(work)
        if not left[0]:
            task = asyncio.current_task()
            future.add_done_callback(lambda _: task.cancel()) if is_done else task.cancel()
        return future

    monkeypatch.setattr(aio_file.Work, "start", started)
    return left


@pytest.mark.parametrize("name", ["read", "read 5000", "read1", "readline", "readlines", "readlines 300", "lines"])
@pytest.mark.parametrize(("is_done", "text"), some([(False, False), (True, False), (True, True), (False, True)], 2))
def test_data_read_by_a_cancelled_call_comes_next(
    zstd: ModuleType, monkeypatch: pytest.MonkeyPatch, name: str, is_done: bool, text: bool
) -> None:
    if text and name == "read1":
        pytest.skip("text files have no read1()")
    for constant in ("STEP", "JOINED_MAX", "_LINES_SIZE"):
        monkeypatch.setattr(aio_file, constant, 1000)
    content, left = DATA[:8000], cancelling(monkeypatch, is_done)
    packed, newline = zstd.compress(content), "\n" if text else b"\n"
    options = {"mode": "rt", "encoding": "ascii"} if text else {}

    async def call(file: Any) -> Any:
        method, _, size = name.partition(" ")
        if method == "lines":
            return [line async for line in file]
        return await getattr(file, method)(*map(int, size.split()))

    async def work(number: int) -> bool:
        async with zstd.aopen(io.BytesIO(packed), **options) as file:
            left[0] = 0
            seen = [await file.read(10)]
            left[0] = number
            task = asyncio.ensure_future(call(file))
            try:
                result = await task
                seen += result if isinstance(result, list) else [result]
            except asyncio.CancelledError:
                pass
            was_cancelled, left[0] = task.cancelled(), 0
            seen.append(await file.readline())
            assert seen[-1].count(newline) <= 1
            seen.append(await file.read())
        if name != "lines" or not was_cancelled:  # a loop that is left has lost only its own lines
            assert (newline[:0]).join(seen) == (content.decode() if text else content), number
        return was_cancelled

    number = 1
    while asyncio.run(work(number)):
        number += 1
    assert number > 1


@pytest.mark.parametrize("newline", [None, "", "\n", "\r", "\r\n"])
def test_lines_after_a_cancelled_call(zstd: ModuleType, monkeypatch: pytest.MonkeyPatch, newline: str | None) -> None:
    text = b"a\r\nb\rc\n\rd\r\r\ne\n\nf\r"
    packed, left = zstd.compress(text), cancelling(monkeypatch)

    async def lines(begun: Any, number: int, rest: Any) -> list[str]:
        async with zstd.aopen(io.BytesIO(packed), "rt", encoding="ascii", newline=newline) as file:
            left[0] = number
            with pytest.raises(asyncio.CancelledError):
                await asyncio.ensure_future(begun(file))
            return [line async for line in rest(file)]

    async def by_readline(file: Any) -> Any:
        while line := await file.readline():
            yield line

    expected = io.TextIOWrapper(io.BytesIO(text), "ascii", newline=newline).readlines()
    several = 3 if newline == "" else 1  # calls of readlines() in a thread
    for begun, number in (
        (lambda file: file.readline(), 1),
        (lambda file: file.readlines(), several),
        *((lambda file, size=size: file.read(size), 1) for size in range(1, 18)),
    ):
        assert asyncio.run(lines(begun, number, by_readline)) == expected
        assert asyncio.run(lines(begun, number, lambda file: file)) == expected


def test_functions_that_are_cancelled_end(zstd: ModuleType) -> None:
    before = threading.active_count()

    async def work() -> None:
        content = DATA * (2 if zstd.BACKEND == "pure" else 100)
        for begun in (zstd.acompress(content, 9), zstd.acompress(content, 9, threads=2, frame_size=1 << 20)):
            task = asyncio.ensure_future(begun)
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(work())  # waits for its threads
    assert threading.active_count() <= before


class Slow:
    """A path whose file is opened only after it is released."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.reached, self.open = threading.Event(), threading.Event()

    def __fspath__(self) -> str:
        self.reached.set()
        assert self.open.wait(60)
        return str(self._path)


@pytest.mark.parametrize("loop", ["runs", "is closed"])
def test_cancelled_opening_closes(zstd: ModuleType, path: Path, loop: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread closes the file that it opened; nothing waits for the thread, and no collector is needed."""
    path.write_bytes(zstd.compress(DATA))
    slow, is_closed, opened = Slow(path), threading.Event(), zstd.open

    def watched(*arguments: Any) -> Any:
        file = opened(*arguments)
        close = file.close
        file.close = lambda: (close(), is_closed.set())
        return file

    monkeypatch.setattr(zstd, "open", watched)

    async def work() -> None:
        task = asyncio.ensure_future(opening())
        await asyncio.get_running_loop().run_in_executor(None, slow.reached.wait, 60)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        if loop == "runs":
            slow.open.set()

    async def opening() -> Any:
        return await zstd.aopen(slow)

    asyncio.run(work())
    slow.open.set()
    assert is_closed.wait(60)


@in_loop
async def test_tasks_take_turns(zstd: ModuleType, path: Path) -> None:
    async with zstd.aopen(path, "wb") as file:
        await asyncio.gather(*(file.write(b"%06d\n" % number) for number in range(200)))
    async with zstd.aopen(path) as file:
        lines = await asyncio.gather(*(file.readline() for _ in range(200)))
    assert sorted(lines) == [b"%06d\n" % number for number in range(200)]
