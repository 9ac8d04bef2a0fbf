# SPDX-License-Identifier: Apache-2.0
"""Zstandard files for asyncio: each call of theirs runs in a thread, one after the other."""

from __future__ import annotations

import asyncio
import io
from collections import deque
from collections.abc import AsyncIterator, Generator
from typing import Any, Callable

from purepy.zstd.common.aio_work import STEP, forget, joined

CHUNK_SIZE = 128 << 10
_LINES_SIZE = 64 << 10  # of lines that are fetched together


class Opening:
    """A file that is being opened: to be awaited, or used with `async with`."""

    def __init__(self, opener: Callable[[], Any], ends_lines: bool) -> None:
        self._opener = opener
        self._ends_lines = ends_lines
        self._file: AsyncZstdFile | None = None

    async def _open(self) -> AsyncZstdFile:
        future = asyncio.get_running_loop().run_in_executor(None, self._opener)
        try:
            return AsyncZstdFile(await asyncio.shield(future), self._ends_lines)
        except asyncio.CancelledError:
            future.add_done_callback(_close_opened)
            raise

    def __await__(self) -> Generator[Any, Any, AsyncZstdFile]:
        return self._open().__await__()

    async def __aenter__(self) -> AsyncZstdFile:
        self._file = await self._open()
        return self._file

    async def __aexit__(self, *failure: object) -> None:
        if self._file is not None:
            await self._file.close()


def _close_opened(future: asyncio.Future[Any]) -> None:
    if not future.cancelled() and future.exception() is None:
        future.result().close()


class AsyncZstdFile:
    """
    A Zstandard file, binary or text, for asyncio; `async for` gives its lines, `chunks` its content in chunks.

    The methods are those of the file that `open` returns, to be awaited; each runs in a thread, one after the other.
    A task that is cancelled while it reads loses nothing: what its thread had begun to read comes next. A write that
    was cancelled is done all the same.
    """

    def __init__(self, file: Any, ends_lines: bool = True) -> None:
        self._file = file
        self._ends_lines = ends_lines  # whether each line ends with "\n", and so can be told from what follows
        self._lock = asyncio.Lock()
        self._unfinished: asyncio.Future[Any] | None = None
        self._reads = False  # whether what is unfinished gives content
        self._empty: Any = "" if hasattr(file, "encoding") else b""
        self._ahead: deque[Any] = deque()  # content that was read and not given yet: lines, or the rest of one

    # one call after the other

    async def _call(self, work: Callable[..., Any], *arguments: Any, reads: bool = False) -> Any:
        """Run a method of the file in a thread; for the holder of the lock."""
        await self._settle()
        future = asyncio.get_running_loop().run_in_executor(None, work, *arguments)
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            self._unfinished, self._reads = future, reads
            future.add_done_callback(forget)
            raise

    async def _settle(self) -> None:
        """Wait for what a cancelled task has left, and keep what it has read."""
        future = self._unfinished
        if future is None:
            return
        await asyncio.wait([future])
        self._unfinished = None
        if self._reads and not future.cancelled() and future.exception() is None:
            content = future.result()
            self._ahead.extend(content if isinstance(content, list) else [content] if content else [])

    async def _do(self, name: str, *arguments: Any) -> Any:
        async with self._lock:
            return await self._call(getattr(self._file, name), *arguments)

    def _taken(self, size: int) -> Any:
        """Take up to `size` characters or bytes, or all, of what was read ahead."""
        parts = []
        while self._ahead and size:
            part = self._ahead.popleft()
            if 0 <= size < len(part):
                self._ahead.appendleft(part[size:])
                part = part[:size]
            parts.append(part)
            size -= len(part) if size > 0 else 0
        return self._empty.join(parts)

    # reading

    async def read(self, size: int | None = -1, /) -> Any:
        """Return up to `size` bytes (characters of a text file), or all that is left; empty at the end."""
        wanted = -1 if size is None or size < 0 else size
        async with self._lock:
            await self._settle()
            content = self._taken(wanted)
            return content if len(content) == wanted else await self._filled(content, wanted)

    async def _filled(self, content: Any, wanted: int) -> Any:
        """Read up to `wanted` (-1: the end) behind what is there, in pieces, so that the GIL is not held for long."""
        pieces = [content] if content else []
        left = wanted - len(content)
        try:
            while left:
                piece = await self._call(self._file.read, STEP if wanted < 0 else min(STEP, left), reads=True)
                if not piece:
                    break
                pieces.append(piece)
                left -= len(piece)
        except BaseException:
            self._ahead.extendleft(reversed(pieces))
            raise
        if len(pieces) == 1:
            return pieces[0]
        if isinstance(self._empty, str):
            return self._empty.join(pieces)
        return await self._call(joined, pieces, _go_on)

    async def read1(self, size: int = -1, /) -> bytes:
        """Return up to `size` bytes (128 KiB by default) with as few reads of the file as possible."""
        async with self._lock:
            await self._settle()
            content: bytes = self._taken(size if size >= 0 else CHUNK_SIZE)
            if not content:
                content = await self._call(self._file.read1, size, reads=True)
            return content

    async def readline(self) -> Any:
        """Return one line; empty at the end."""
        async with self._lock:
            await self._settle()
            content = self._line_ahead()
            if content is not None:
                return content
            begun = self._taken(-1)
            try:
                return begun + await self._call(self._file.readline, reads=True)
            except BaseException:
                if begun:
                    self._ahead.appendleft(begun)
                raise

    def _line_ahead(self) -> Any:
        """Take a whole line of what was read ahead; None if there is none."""
        newline = "\n" if isinstance(self._empty, str) else b"\n"
        for number, part in enumerate(self._ahead):
            end = part.find(newline) + 1
            if end:
                return self._taken(sum(len(before) for _, before in zip(range(number), self._ahead)) + end)
        return None

    async def readlines(self, hint: int = -1, /) -> list[Any]:
        """Return lines, all or until they have `hint` bytes."""
        lines: list[Any] = []
        size = 0
        while hint <= 0 or size < hint:
            line = await self.readline()
            if not line:
                break
            lines.append(line)
            size += len(line)
        return lines

    async def peek(self, size: int = 0, /) -> bytes:
        """Return some of the bytes ahead without moving on."""
        async with self._lock:
            await self._settle()
            if self._ahead:
                return bytes(self._ahead[0])
            content: bytes = await self._call(self._file.peek, size)
            return content

    def __aiter__(self) -> AsyncIterator[Any]:
        return self._lines()

    async def _lines(self) -> AsyncIterator[Any]:
        while True:
            if not self._ends_lines:
                line = await self.readline()
                if not line:
                    return
                yield line
                continue
            async with self._lock:
                await self._settle()
                line = self._line_ahead()
                if line is None:
                    rest = self._taken(-1)
                    try:
                        lines = await self._call(self._file.readlines, _LINES_SIZE, reads=True)
                    except BaseException:
                        if rest:
                            self._ahead.appendleft(rest)
                        raise
                    if lines:
                        lines[0] = rest + lines[0]
                        self._ahead.extend(lines)
                        line = self._ahead.popleft()
                    else:
                        line = rest
            if not line:
                return
            yield line

    async def chunks(self, size: int = CHUNK_SIZE) -> AsyncIterator[Any]:
        """Give the content in chunks of `size` bytes (characters of a text file), the last one smaller."""
        if size <= 0:
            raise ValueError(f"size must be positive, not {size}")
        while True:
            chunk = await self.read(size)
            if not chunk:
                return
            yield chunk

    # the rest

    async def write(self, data: Any, /) -> int:
        """Write a buffer's bytes (a text file: a str) and return how many that was."""
        size: int = await self._do("write", data)
        return size

    async def flush(self, *mode: int) -> None:
        """Compress and write what was held back; `mode` is that of ZstdFile.flush()."""
        await self._do("flush", *mode)

    async def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        """Move to a position in the content and return it."""
        async with self._lock:
            await self._settle()
            if whence == io.SEEK_CUR:
                offset -= self._size_ahead()
            self._ahead.clear()
            position: int = await self._call(self._file.seek, offset, whence)
            return position

    def _size_ahead(self) -> int:
        if self._ahead and isinstance(self._empty, str):
            raise OSError("telling position disabled by reading lines ahead")
        return sum(map(len, self._ahead))

    async def tell(self) -> int:
        """Return the position in the content."""
        async with self._lock:
            await self._settle()
            ahead = self._size_ahead()
            position: int = await self._call(self._file.tell)
            return position - ahead

    async def close(self) -> None:
        """Write what was held back and close the file; may be called again. A task that is cancelled waits for it."""
        async with self._lock:
            await self._settle()
            future = asyncio.get_running_loop().run_in_executor(None, self._file.close)
            try:
                await asyncio.shield(future)
            except asyncio.CancelledError:
                await asyncio.wait([future])
                raise
            finally:
                self._ahead.clear()

    async def __aenter__(self) -> AsyncZstdFile:
        return self

    async def __aexit__(self, *failure: object) -> None:
        await self.close()

    @property
    def closed(self) -> bool:
        """Whether the file is closed."""
        return bool(self._file.closed)

    @property
    def name(self) -> Any:
        """The name of the compressed file."""
        return self._file.name

    @property
    def mode(self) -> Any:
        """The mode of the file below."""
        return self._file.mode

    def readable(self) -> bool:
        """Return whether the file is open for reading."""
        return bool(self._file.readable())

    def writable(self) -> bool:
        """Return whether the file is open for writing."""
        return bool(self._file.writable())

    def seekable(self) -> bool:
        """Return whether seek() works."""
        return bool(self._file.seekable())


def _go_on() -> None:
    """Stand for a check of work that is not cancelled."""
