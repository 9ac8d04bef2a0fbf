# SPDX-License-Identifier: Apache-2.0
"""The functions that implement `type=` in `cpkg.msgpack`."""

from __future__ import annotations

import builtins

from cpkg.typed.codecs import Decoder, checked_decoder, msgpack_module
from purepy.base.errors import CodecError
from purepy.msgpack.options import UNPACKING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from purepy.base.types import Buffer
    from purepy.msgpack.ext import Raw
    from purepy.msgpack.oneshot import Readable


def _decoder(type: object, options: dict[str, object]) -> Decoder:
    """
    Return the decoder of a type with the options that differ from their defaults.

    Raises TypeError if one of these options is not a limit, or if `type` is a Decoder and any option differs.
    """
    defaults = UNPACKING.defaults._asdict()
    given = {name: value for name, value in options.items() if value != defaults.get(name, value)}
    others = given.keys() - (Decoder.__init__.__kwdefaults__ or {}).keys()
    if others:
        raise TypeError(f"type= can be combined only with limits, not with {', '.join(sorted(others))}")
    return checked_decoder(type, given)


def _decoded(decoder: Decoder, raw: Raw, end: int) -> object:
    """Return the object of a message that ends at `end`; the offsets in errors count from the start of the input."""
    try:
        return decoder.decode(raw.data)
    except CodecError as exc:
        for error in getattr(exc, "errors", (exc,)):
            if error.offset is not None:
                error.offset += end - len(raw.data)
        raise


def unpackb(packed: Buffer, *, type: object, **options: object) -> object:
    """Implement `cpkg.msgpack.unpackb` with `type=`: return the object in a message, validated against the type."""
    return _decoder(type, options).decode(packed)


def unpack(stream: Readable, *, type: object, **options: object) -> object:
    """Implement `cpkg.msgpack.unpack` with `type=`: return the object in a stream, validated against the type."""
    return _decoder(type, options).decode(stream.read())


def unpackb_from(buffer: Buffer, offset: int = 0, *, type: object, **options: object) -> tuple[object, int]:
    """Implement `cpkg.msgpack.unpackb_from` with `type=`: return the validated object at `offset`, and its end."""
    decoder = _decoder(type, options)
    raw, end = msgpack_module().unpackb_from(buffer, offset, raw_depth=0, max_depth=decoder._limits.max_depth)
    return _decoded(decoder, raw, end), end


def reader(*, type: object, **options: object) -> tuple[Callable[[Raw, int], object], int]:
    """
    Return a function (raw, end) that decodes a message of an Unpacker, and the limit on the depth of messages.

    The message `raw` ends at `end` in the stream. The function checks all limits.
    """
    decoder = _decoder(type, options)

    def decoded(raw: Raw, end: int) -> object:
        try:
            return _decoded(decoder, raw, end)
        except (StopIteration, StopAsyncIteration) as exc:  # raised by a constructor or hook; it would end the stream
            name = builtins.type(exc).__name__
            raise RuntimeError(f"decoding the message that ends at byte {end} raised {name}") from exc

    return decoded, decoder._limits.max_depth
