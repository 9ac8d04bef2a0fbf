# SPDX-License-Identifier: Apache-2.0
"""Asynchronous unpacking, over the Unpacker of any backend."""

from __future__ import annotations

from functools import partial
from types import coroutine

from purepy.base.errors import OutOfData, TruncatedError
from purepy.base.locks import Lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Generator
    from typing import Any, Callable, Final, Protocol

    class AsyncReadable(Protocol):
        """A stream that `unpack_async` reads from, say an `asyncio.StreamReader`."""

        def read(self, size: int, /) -> Awaitable[bytes]:
            """Return up to `size` bytes, or b"" at the end."""


_READ_SIZE: Final = 64 * 1024


def make_unpack_async(unpacker: Callable[..., Any]) -> Callable[..., AsyncIterator[Any]]:
    """Return the function `unpack_async` of a backend, given its Unpacker."""

    def unpack_async(reader: AsyncReadable, *, read_size: int = 0, **options: Any) -> AsyncIterator[object]:
        """
        Iterate over the objects of an asynchronous stream.

        `reader` has an asynchronous `read(size)` (or `aread`), say an `asyncio.StreamReader`; `read_size` bytes are
        asked for at once, 64 KiB by default. `options` and errors are those of Unpacker; a stream that ends within an
        object raises TruncatedError. After an error of `reader` or a cancelled wait the iteration goes on where it was,
        after one of a hook as that of an Unpacker does. RuntimeError for two calls at once, and after a
        KeyboardInterrupt, say, while it read: it may have lost what it had read.
        """
        size = min(read_size or _READ_SIZE, options.get("max_buffer_size") or _READ_SIZE)
        return AsyncObjects(unpacker(**options), getattr(reader, "aread", None) or reader.read, size)

    return unpack_async


class AsyncObjects:
    """The objects of an asynchronous stream: what `unpack_async` returns."""

    __slots__ = ("_is_open", "_lock", "_read", "_size", "_stream", "_unsettled")

    def __init__(self, stream: Any, read: Callable[[int], Awaitable[bytes]], size: int) -> None:
        self._stream = stream
        self._read = read
        self._size = size
        self._is_open = True
        self._unsettled = False  # True from a read to the end of its feed
        self._lock = Lock()

    def __aiter__(self) -> AsyncObjects:
        return self

    async def __anext__(self) -> Any:
        if self._lock.locked():
            raise RuntimeError("unpack_async waits for its next object already")
        with self._lock:
            result = await self._next()
            return result

    async def _next(self) -> object:
        if self._unsettled:
            raise RuntimeError(f"an exception has lost what follows byte {self._stream.tell()} of the stream")
        while self._is_open:
            for obj in self._stream:
                return obj
            self._unsettled = True
            data = await self._read_more()
            self._stream.feed(data)
            self._unsettled = False
            if not data:
                self._check_end()
                break
        raise StopAsyncIteration

    @coroutine
    def _read_more(self) -> Generator[Any, Any, bytes]:
        """
        Return what the reader gives; its errors, and what is thrown into a wait for it, lose nothing.

        This is an `await` that knows what was thrown in. Any other exception than an error may be a signal handler's,
        and may have come when the reader had read and nobody had its data.
        """
        steps: Any = None  # a coroutine
        thrown: BaseException | None = None

        def begin() -> Any:
            nonlocal steps
            return (steps := self._awaited()).send(None)

        step = begin
        while True:
            try:
                waited_for = step()
            except StopIteration as stop:
                data: bytes = stop.value
                return data
            except BaseException as exc:
                self._unsettled = not isinstance(exc, Exception) and exc is not thrown
                del step, thrown  # through which the exception would hold itself
                raise
            try:
                step = partial(steps.send, (yield waited_for))
            except BaseException as exc:
                thrown = exc
                step = partial(steps.throw, exc)

    async def _awaited(self) -> bytes:
        return await self._read(self._size)

    def _check_end(self) -> None:
        """Raise TruncatedError if the stream has ended within an object."""
        try:
            self._stream.read_bytes(0)  # refused there
        except ValueError:
            error = TruncatedError("Unpack failed: incomplete input")
            try:
                self._stream.unpack()
            except OutOfData as exc:
                error.offset = exc.offset
            raise error from None

    async def aclose(self) -> None:
        """End the iteration."""
        self._is_open = False
