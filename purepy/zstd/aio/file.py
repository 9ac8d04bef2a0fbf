# SPDX-License-Identifier: Apache-2.0
"""Zstandard files for asyncio, whose calls run in a thread, one after another."""

from __future__ import annotations

import asyncio
import io
import re
import sys
from collections import deque
from collections.abc import AsyncIterator, Generator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Callable

from purepy.zstd.aio.work import JOINED_MAX, STEP, Work, joined

if TYPE_CHECKING:
    from typing_extensions import Buffer, TypeAlias

    from purepy.base.types import File

    Content: TypeAlias = Any
    """The content that is read: bytes, or str for a text file."""

CHUNK_SIZE = 128 << 10
_LINES_SIZE = 64 << 10  # bytes of lines that are fetched together
_ANY_END = re.compile("\r\n?|\n")  # the end of a line for newline=""


class Opening:
    """A file that is being opened: await it for an AsyncZstdFile, or use `async with`, which also closes the file."""

    def __init__(self, opener: Callable[[], File], newline: str | None) -> None:
        self._opener = opener
        self._newline = newline
        self._file: AsyncZstdFile | None = None

    async def _open(self) -> AsyncZstdFile:
        # The code that pops the file owns it. The event loop may be closed before this task receives the file.
        opened: deque[File] = deque()
        is_cancelled = False

        def drop() -> None:
            with suppress(IndexError):
                opened.popleft().close()

        def work() -> None:
            opened.append(self._opener())
            if is_cancelled:
                drop()

        try:
            await asyncio.shield(Work(work).start())
            return AsyncZstdFile(opened.popleft(), self._newline)
        except BaseException:
            is_cancelled = True
            drop()
            raise

    def __await__(self) -> Generator[object, object, AsyncZstdFile]:
        return self._open().__await__()

    async def __aenter__(self) -> AsyncZstdFile:
        self._file = await self._open()
        return self._file

    async def __aexit__(self, *failure: object) -> None:
        if self._file is not None:
            await self._file.close()


class AsyncZstdFile:
    """
    A Zstandard file, binary or text, for asyncio; `async for` yields its lines, `chunks` its content in chunks.

    The methods work like those of the file that `open` returns. Those that read, write, seek, tell, flush or close must
    be awaited; their calls run in a thread, one after another. If a task is cancelled while it reads, no data is lost:
    the next read returns what the task had read, or what its thread has begun to read. A write that was cancelled is
    still completed.
    """

    def __init__(self, file: File, newline: str | None = None) -> None:
        self._file = file
        self._lock = asyncio.Lock()
        self._begun: Work | None = None  # the most recent call in a thread
        is_text = hasattr(file, "encoding")
        self._empty: Content = "" if is_text else b""
        self._newline: Content = (newline or "\n") if is_text else b"\n"
        self._ends_lines = newline != ""  # whether only `_newline` ends a line
        self._ahead: deque[Content] = deque()  # content that was read ahead, in non-empty parts; "\r\n" is in one part

    # calls one after another; the caller holds the lock

    async def _call(
        self, work: Callable[..., object], *arguments: object, done: Callable[[Any], object] | None = None
    ) -> Any:
        """Call `work(*arguments)` and `done(result)` in a thread, even if the task is cancelled; return the result."""
        await self._settle()
        self._begun = Work(work, *arguments, done=done)
        return await asyncio.shield(self._begun.start())

    async def _settle(self) -> None:
        """
        Wait until the last call has ended, if a cancelled task stopped waiting for it.

        If an interrupt prevented the start of that call, starts it first.
        """
        if self._begun is not None and not self._begun.future.done():
            await asyncio.wait([self._begun.start()])

    async def _do(self, name: str, *arguments: object) -> Any:
        async with self._lock:
            result = await self._call(getattr(self._file, name), *arguments)
            return result

    async def _fetch(self, read: Callable[..., object], *arguments: object) -> bool:
        """Call `read` in a thread and keep the result, even if the task is cancelled; return whether it has content."""
        return bool(await self._call(read, *arguments, done=self._keep))

    def _keep(self, content: Content) -> None:
        parts = content if isinstance(content, list) else [content] if content else []
        if parts and self._ahead and self._empty == "" and self._ahead[-1].endswith("\r"):
            self._ahead[-1] += parts[0]
            parts = parts[1:]
        self._ahead.extend(parts)

    # content that was read ahead; nothing is awaited between taking and returning it

    def _lacks(self, size: int) -> int:
        """Return how many of the next `size` bytes (characters of a text file) have not been read ahead."""
        for part in self._ahead:
            size -= len(part)
            if size <= 0:
                return 0
        return size

    def _taken(self, size: int) -> Content:
        """Remove and return up to `size` bytes (characters of text) that were read ahead; all if `size` is negative."""
        parts = []
        while self._ahead and size:
            part = self._ahead.popleft()
            if 0 <= size < len(part):
                self._ahead.appendleft(part[size:])
                part = part[:size]
            parts.append(part)
            size -= len(part) if size > 0 else 0
        return parts[0] if len(parts) == 1 else self._empty.join(parts)

    def _divided(self, size: int) -> tuple[list[object], deque[object]]:
        """Return up to `size` of the bytes that were read ahead, as parts, and the parts after them; remove neither."""
        parts: list[Content] = []
        rest = self._ahead.copy()
        while rest and size:
            part = rest.popleft()
            if size < len(part):
                rest.appendleft(part[size:])
            parts.append(part[:size])
            size -= len(parts[-1])
        return parts, rest

    def _line_ahead(self) -> Content:
        """Remove and return the next line if it has been read ahead to its end; otherwise return None."""
        size = 0
        for number, part in enumerate(self._ahead, 1):
            if self._ends_lines:
                end = part.find(self._newline)
                if end >= 0:
                    return self._taken(size + end + len(self._newline))
            elif found := _ANY_END.search(part):
                if found[0] != "\r" or found.end() < len(part) or number < len(self._ahead):
                    return self._taken(size + found.end())
                # a line feed may follow
            size += len(part)
        return None

    # reading

    async def read(self, size: int | None = -1, /) -> Content:
        """Return up to `size` bytes (characters of text), or the rest for None or a negative size; empty at the end."""
        wanted = sys.maxsize if size is None or size < 0 else size
        async with self._lock:
            await self._settle()
            # in pieces, so that the GIL is never held for long
            while lacking := self._lacks(wanted):
                if not await self._fetch(self._file.read, min(STEP, lacking)):
                    break
            if isinstance(self._empty, str) or wanted <= JOINED_MAX or self._lacks(JOINED_MAX):
                result = self._taken(wanted)
                return result
            parts, rest = self._divided(wanted)
            content = await self._call(joined, parts, _go_on)
            self._ahead = rest
            return content

    async def read1(self, size: int = -1, /) -> bytes:
        """Return up to `size` bytes (128 KiB by default) with as few reads of the file as possible; b"" at the end."""
        async with self._lock:
            await self._settle()
            if not self._ahead:
                await self._fetch(self._file.read1, size)
            content: bytes = self._taken(size if size >= 0 else CHUNK_SIZE)
            return content

    async def readline(self) -> Content:
        """Return one line; empty at the end."""
        async with self._lock:
            await self._settle()
            result = await self._line(0)
            return result

    async def _line(self, size: int) -> Content:
        """
        Return the next line; empty at the end.

        Unless a whole line has been read ahead, this reads lines of about `size` bytes in total, or a single line if
        `size` is 0 or the file was opened with newline="".
        """
        line = self._line_ahead()
        if line is not None:
            return line
        if not size or not self._ends_lines:
            await self._fetch(self._file.readline)
        else:
            await self._fetch(self._file.readlines, size)
        line = self._line_ahead()
        return self._taken(-1) if line is None else line

    async def readlines(self, hint: int = -1, /) -> list[Content]:
        """Return the remaining lines; if `hint` is positive, only until they have `hint` bytes (characters of text)."""
        lines: list[Content] = []
        size = 0
        async with self._lock:
            await self._settle()
            try:
                while hint <= 0 or size < hint:
                    line = await self._line(_LINES_SIZE if hint <= 0 else hint - size)
                    if not line:
                        break
                    lines.append(line)
                    size += len(line)
            except BaseException:
                self._ahead.extendleft(reversed(lines))
                raise
        return lines

    async def peek(self, size: int = 0, /) -> bytes:
        """Return some of the next bytes without moving, at least one unless at the end; `size` has no effect."""
        async with self._lock:
            await self._settle()
            if self._ahead:
                result = bytes(self._ahead[0])
                return result
            content: bytes = await self._call(self._file.peek, size)
            return content

    def __aiter__(self) -> AsyncIterator[Content]:
        return self._lines()

    async def _lines(self) -> AsyncIterator[Content]:
        while True:
            async with self._lock:
                await self._settle()
                line = await self._line(_LINES_SIZE)
            if not line:
                return
            yield line

    async def chunks(self, size: int = CHUNK_SIZE) -> AsyncIterator[Content]:
        """Yield the content in chunks of `size` bytes (characters of a text file); the last may be smaller."""
        if size <= 0:
            raise ValueError(f"size must be positive, not {size}")
        while True:
            chunk = await self.read(size)
            if not chunk:
                return
            yield chunk

    # writing, seeking, closing

    async def write(self, data: Buffer, /) -> int:
        """Write a buffer (for a text file, a str) and return the number of bytes (characters) written."""
        size: int = await self._do("write", data)
        return size

    async def flush(self, *mode: int) -> None:
        """Compress and write the data that was held back; a binary file accepts the `mode` of ZstdFile.flush()."""
        await self._do("flush", *mode)

    async def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        """Move by `offset` from `whence` (as for any file) in the content and return the position."""
        async with self._lock:
            await self._settle()
            if whence == io.SEEK_CUR:
                offset -= self._size_ahead()
            position: int = await self._call(self._file.seek, offset, whence, done=lambda _: self._ahead.clear())
            return position

    def _size_ahead(self) -> int:
        if self._ahead and isinstance(self._empty, str):
            raise OSError("telling position disabled by reading lines ahead")
        return sum(map(len, self._ahead))

    async def tell(self) -> int:
        """Return the position in the content; raises OSError while part of a text file has been read ahead."""
        async with self._lock:
            await self._settle()
            ahead = self._size_ahead()
            position: int = await self._call(self._file.tell)
            return position - ahead

    async def close(self) -> None:
        """Write the buffered data and close the file; may be called again. A cancelled task waits for the end."""
        async with self._lock:
            try:
                await self._call(self._file.close)
            except asyncio.CancelledError:
                await self._settle()
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
    def name(self) -> object:
        """The name of the compressed file."""
        return self._file.name

    @property
    def mode(self) -> object:
        """The mode: "wb" while the file is open for writing, otherwise "rb"; raises AttributeError for a text file."""
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
    """Do nothing: a `check` for work that is never cancelled."""
