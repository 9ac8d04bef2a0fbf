# SPDX-License-Identifier: Apache-2.0
"""What serves `type=` in the functions of `cpkg.msgpack`; streams of messages with the options of a Decoder."""

from __future__ import annotations

from cpkg.typed.codecs import Decoder, decoder_for, msgpack_module
from purepy.base.errors import CodecError
from purepy.msgpack.options import UNPACKING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from typing import Any

    from purepy.base.types import Buffer, Keywords
    from purepy.msgpack.async_reading import AsyncReadable
    from purepy.msgpack.ext import Raw
    from purepy.msgpack.oneshot import Readable

_OF_STREAMS = ("read_size", "max_buffer_size")


def _decoder(type: object, options: dict[str, object]) -> Decoder:
    """Return the decoder for what a function of `cpkg.msgpack` was called with."""
    defaults = UNPACKING.defaults._asdict()
    given = {name: value for name, value in options.items() if value != defaults.get(name, value)}
    others = given.keys() - (Decoder.__init__.__kwdefaults__ or {}).keys()
    if others:
        raise TypeError(f"with type= only limits can be given, not {', '.join(sorted(others))}")
    if not isinstance(type, Decoder):
        return decoder_for(type, **given)
    if given:
        raise TypeError(f"a Decoder has limits of its own: {', '.join(sorted(given))} cannot be given with it")
    return type


def _decoded(decoder: Decoder, raw: Raw, end: int) -> object:
    """Return the object of a message that ends at a place of the input; offsets in errors count from its start."""
    try:
        return decoder.decode(raw.data)
    except CodecError as exc:
        for error in getattr(exc, "errors", (exc,)):
            if error.offset is not None:
                error.offset += end - len(raw.data)
        raise


def unpackb(packed: Buffer, *, type: object, **options: object) -> object:
    """Do what `cpkg.msgpack.unpackb` does with a type."""
    return _decoder(type, options).decode(packed)


def unpack(stream: Readable, *, type: object, **options: object) -> object:
    """Do what `cpkg.msgpack.unpack` does with a type."""
    return _decoder(type, options).decode(stream.read())


def unpackb_from(buffer: Buffer, offset: int = 0, *, type: object, **options: object) -> tuple[object, int]:
    """Do what `cpkg.msgpack.unpackb_from` does with a type."""
    decoder = _decoder(type, options)
    raw, end = msgpack_module().unpackb_from(buffer, offset, raw_depth=0)
    return _decoded(decoder, raw, end), end


def reader(*, type: object, **options: object) -> Callable[[Raw, int], object]:
    """Return what makes an Unpacker's objects of a type, from their messages and the offsets where these end."""
    decoder = _decoder(type, options)
    return lambda raw, end: _decoded(decoder, raw, end)


def _parts(type: object, options: Keywords) -> dict[str, object]:
    """Return the options of a stream; what concerns its messages is in a Decoder, in the place of the type."""
    parts = {name: options.pop(name) for name in _OF_STREAMS if name in options}
    return {"type": type if isinstance(type, Decoder) and not options else Decoder(type, **options), **parts}


class Unpacker:
    """
    Iterates over the messages of a stream, each an object of a type.

    `file_like` has `read`, or is None and `feed` gives the bytes. `type` is the type. `read_size` and `max_buffer_size`
    are those of `cpkg.msgpack.Unpacker`, other options those of `Decoder`. A message that is not of the type raises
    ValidationError, its offset from the start of the stream, and the next call goes on behind it. Other errors are
    those of `cpkg.msgpack.Unpacker`: OutOfData where there is no whole message, FormatError for one that is damaged.
    """

    __slots__ = ("_stream",)

    def __init__(self, file_like: Readable | None = None, *, type: object, **options: object) -> None:
        self._stream = msgpack_module().Unpacker(file_like, **_parts(type, options))

    def __class_getitem__(cls, item: object) -> type[Unpacker]:
        """Return the class: `Unpacker[User]` is for type checkers."""
        return cls

    def feed(self, data: Buffer) -> None:
        """Add the bytes of `data` to the stream; BufferFull if more than `max_buffer_size` would wait."""
        self._stream.feed(data)

    def __iter__(self) -> Unpacker:
        return self

    def __next__(self) -> Any:
        return next(self._stream)

    def unpack(self) -> object:
        """Return the next message's object; OutOfData if it is not there yet."""
        return self._stream.unpack()

    def skip(self) -> None:
        """Pass over the next message."""
        self._stream.skip()

    def tell(self) -> int:
        """Return how many bytes of the stream have been read."""
        position: int = self._stream.tell()
        return position


def unpack_async(reader: AsyncReadable, *, type: object, **options: object) -> AsyncIterator[Any]:
    """
    Iterate over the messages of an asynchronous stream, each an object of a type.

    `reader` has an asynchronous `read(size)`, as `asyncio.StreamReader`. `options` and errors are those of `Unpacker`;
    a stream that ends within a message raises TruncatedError.
    """
    found: AsyncIterator[object] = msgpack_module().unpack_async(reader, **_parts(type, options))
    return found
