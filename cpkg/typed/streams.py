# SPDX-License-Identifier: Apache-2.0
"""Streams of messages of one type, over the Unpacker of the backend, which finds where messages end."""

from __future__ import annotations

from cpkg.typed.codecs import Decoder, msgpack_module
from purepy.errors import CodecError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from typing import Any

    from purepy.msgpack.ext import Raw

_OF_STREAMS = ("read_size", "max_buffer_size")


def _parts(options: dict[str, Any]) -> dict[str, Any]:
    """Take what concerns the stream, and not its messages, out of the options, and return it."""
    return {"raw_depth": 0, **{name: options.pop(name) for name in _OF_STREAMS if name in options}}


def _decoded(decoder: Decoder, raw: Raw, end: int) -> Any:
    """Return the object of a message that ends at a place of the stream; offsets in errors count from its start."""
    try:
        return decoder.decode(raw.data)
    except CodecError as exc:
        for error in getattr(exc, "errors", (exc,)):
            if error.offset is not None:
                error.offset += end - len(raw.data)
        raise


class Unpacker:
    """
    Iterates over the messages of a stream, each an object of a type.

    `file_like` has `read`, or is None and `feed` gives the bytes. `type` is the type. `read_size` and `max_buffer_size`
    are those of `cpkg.msgpack.Unpacker`, other options those of `Decoder`. A message that is not of the type raises
    ValidationError, its offset from the start of the stream, and the next call goes on behind it. Other errors are
    those of `cpkg.msgpack.Unpacker`: OutOfData where there is no whole message, FormatError for one that is damaged.
    """

    __slots__ = ("_decoder", "_stream")

    def __init__(self, file_like: Any = None, *, type: Any, **options: Any) -> None:
        self._stream = msgpack_module().Unpacker(file_like, **_parts(options))
        self._decoder = Decoder(type, **options)

    def __class_getitem__(cls, item: Any) -> Any:
        """Return the class: `Unpacker[User]` is for type checkers."""
        return cls

    def feed(self, data: Any) -> None:
        """Add the bytes of `data` to the stream; BufferFull if more than `max_buffer_size` would wait."""
        self._stream.feed(data)

    def __iter__(self) -> Unpacker:
        return self

    def __next__(self) -> Any:
        return _decoded(self._decoder, next(self._stream), self._stream.tell())

    def unpack(self) -> Any:
        """Return the next message's object; OutOfData if it is not there yet."""
        return _decoded(self._decoder, self._stream.unpack(), self._stream.tell())

    def skip(self) -> None:
        """Pass over the next message."""
        self._stream.skip()

    def tell(self) -> int:
        """Return how many bytes of the stream have been read."""
        position: int = self._stream.tell()
        return position


def unpack_async(reader: Any, *, type: Any, **options: Any) -> AsyncIterator[Any]:
    """
    Iterate over the messages of an asynchronous stream, each an object of a type.

    `reader` has an asynchronous `read(size)`, as `asyncio.StreamReader`. `options` and errors are those of `Unpacker`;
    a stream that ends within a message raises TruncatedError.
    """
    parts = _parts(options)
    return _AsyncObjects(msgpack_module().unpack_async(reader, **parts), Decoder(type, **options))


class _AsyncObjects:
    """What `unpack_async` returns."""

    __slots__ = ("_decoder", "_end", "_raws")

    def __init__(self, raws: AsyncIterator[Raw], decoder: Decoder) -> None:
        self._raws = raws
        self._decoder = decoder
        self._end = 0

    def __aiter__(self) -> _AsyncObjects:
        return self

    async def __anext__(self) -> Any:
        raw = await self._raws.__anext__()
        self._end += len(raw.data)
        return _decoded(self._decoder, raw, self._end)
