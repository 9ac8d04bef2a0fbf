# SPDX-License-Identifier: Apache-2.0
"""Asynchronous unpacking, over the Unpacker of any backend."""

from __future__ import annotations

from functools import partial
from types import coroutine

from purepy.base.errors import OutOfData, TruncatedError
from purepy.base.locks import Lock
from purepy.msgpack.options import as_count

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Generator
    from typing import Any, Callable, Final, Protocol

    class AsyncReadable(Protocol):
        """A stream that `unpack_async` reads from, for example an `asyncio.StreamReader`."""

        def read(self, size: int, /) -> Awaitable[bytes]:
            """Return up to `size` bytes, or b"" at the end."""


_READ_SIZE: Final = 64 * 1024


def make_unpack_async(unpacker: Callable[..., Any]) -> Callable[..., AsyncIterator[Any]]:
    """Return the function `unpack_async` of a backend, given its Unpacker."""

    def unpack_async(reader: AsyncReadable, *, read_size: int = 0, **options: Any) -> AsyncIterator[object]:
        """
        Iterate over the objects of an asynchronous stream.

        `reader` has an asynchronous method `read(size)` or `aread(size)`, like `asyncio.StreamReader`. `read_size` is
        the number of bytes to request at once, 64 KiB by default, and at most `max_buffer_size`. `options` and errors
        are as in Unpacker; if the stream ends within an object, TruncatedError is raised. After an error of `reader` or
        a cancelled wait, the iteration continues where it was; after an error of a hook, it continues as an Unpacker
        does. Raises RuntimeError for two calls at once, and after an exception such as KeyboardInterrupt interrupted a
        read, because data may be lost.
        """
        wanted = as_count("read_size", read_size) or _READ_SIZE
        size = min(wanted, as_count("max_buffer_size", options.get("max_buffer_size", 0)) or wanted)
        return AsyncObjects(unpacker(**options), getattr(reader, "aread", None) or reader.read, size)

    return unpack_async


class AsyncObjects:
    """The objects of an asynchronous stream: the asynchronous iterator that `unpack_async` returns."""

    __slots__ = ("_is_open", "_lock", "_read", "_size", "_stream", "_unsettled")

    def __init__(self, stream: Any, read: Callable[[int], Awaitable[bytes]], size: int) -> None:
        self._stream = stream
        self._read = read
        self._size = size
        self._is_open = True
        self._unsettled = False  # True from the begin of a read until its data has been fed
        self._lock = Lock()

    def __aiter__(self) -> AsyncObjects:
        return self

    async def __anext__(self) -> Any:
        if self._lock.locked():
            raise RuntimeError("unpack_async is already waiting for its next object")
        with self._lock:
            result = await self._next()
            return result

    async def _next(self) -> object:
        if self._unsettled:
            place = self._stream.tell()
            raise RuntimeError(
                f"an exception interrupted a read and may have lost the data after byte {place} of the stream: "
                "open the stream again"
            )
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
        Return the reader's data. An error of the reader, or an exception thrown into the wait, loses no data.

        This is an `await` that remembers the exception that was thrown in. Any other BaseException that is not an
        Exception may come from a signal handler that ran after the reader took data and before it returned the data,
        which is then lost. So `_unsettled` is set, and the next step raises RuntimeError.
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
                del step, thrown  # else the exception would refer to itself through this frame
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
            self._stream.read_bytes(0)  # raises ValueError within an object
        except ValueError:
            error = TruncatedError("Unpack failed: incomplete input")
            try:
                self._stream.unpack()
            except OutOfData as exc:
                error.offset = exc.offset
            raise error from None

    async def aclose(self) -> None:
        """End the iteration: the next step raises StopAsyncIteration. The reader stays open."""
        self._is_open = False
