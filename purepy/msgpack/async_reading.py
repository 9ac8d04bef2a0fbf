# SPDX-License-Identifier: Apache-2.0
"""Asynchronous unpacking, over the Unpacker of any backend."""

from __future__ import annotations

from purepy.errors import OutOfData, TruncatedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable
    from typing import Any, Callable, Final, Protocol

    class AsyncReadable(Protocol):
        """A stream that `unpack_async` reads from, say an `asyncio.StreamReader`."""

        def read(self, size: int, /) -> Awaitable[bytes]:
            """Return up to `size` bytes, or b"" at the end."""


_READ_SIZE: Final = 64 * 1024


def make_unpack_async(unpacker: type[Any]) -> Callable[..., AsyncIterator[Any]]:
    """Return the function `unpack_async` of a backend, given its Unpacker."""

    async def unpack_async(reader: AsyncReadable, *, read_size: int = 0, **options: Any) -> AsyncIterator[Any]:
        """
        Iterate over the objects of an asynchronous stream.

        `reader` has an asynchronous `read(size)` (or `aread`), say an `asyncio.StreamReader`; `read_size` bytes are
        asked for at once, 64 KiB by default. Options and errors are those of Unpacker; a stream that ends within an
        object raises TruncatedError.
        """
        read = getattr(reader, "aread", None) or reader.read
        stream = unpacker(**options)
        size = min(read_size or _READ_SIZE, options.get("max_buffer_size") or _READ_SIZE)
        while data := await read(size):
            stream.feed(data)
            for obj in stream:
                yield obj
        try:
            stream.read_bytes(0)  # refused within an object
        except ValueError:
            error = TruncatedError("Unpack failed: incomplete input")
            try:
                stream.unpack()
            except OutOfData as exc:
                error.offset = exc.offset
            raise error from None

    return unpack_async
