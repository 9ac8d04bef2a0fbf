# SPDX-License-Identifier: Apache-2.0
"""Unpacking one object: `unpackb`, `unpackb_from` and `unpack`."""

from __future__ import annotations

from purepy.base.errors import ExtraData, incomplete
from purepy.base.lazy import imported
from purepy.msgpack.decoder import Decoder
from purepy.msgpack.decoder_base import UNLIMITED, at, ext_reader
from purepy.msgpack.interface import typed_functions
from purepy.msgpack.options import UNPACKING, as_size
from purepy.msgpack.plain_reader import ITEM, Frame, read_plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Protocol

    from purepy.base.types import Buffer, OptionValues, Value

    class Readable(Protocol):
        """A stream that `Unpacker` and `unpack` read from."""

        def read(self, size: int = ..., /) -> bytes:
            """Return up to `size` bytes, without `size` all that remain, or b"" at the end."""


def contiguous(buffer: Buffer, viewed: bool = False) -> tuple[bytes, memoryview | None]:
    """
    Return the bytes of a buffer of one-byte items, and a read-only view, or None without `viewed`.

    Raises TypeError for an object that is not a buffer, and BufferError for larger items.

    The view shows the buffer itself if the buffer is contiguous, else the returned bytes. Without `viewed` no view
    stays open: on PyPy 8, a bytearray with an open view cannot be resized until the next garbage collection.
    """
    try:
        opened = memoryview(buffer)
    except TypeError:
        opened = imported("purepy.base.buffers").memory_of(buffer)  # raises a clear error
    with opened as view:
        if view.itemsize != 1:
            raise BufferError("cannot unpack from multi-byte object")
        data = view.tobytes()
        whole = view.c_contiguous and data  # cast() refuses a shape that contains zero
    if not viewed:
        return data, None
    return data, memoryview(buffer).cast("B").toreadonly() if whole else memoryview(data)


def _bytes_of(packed: Buffer, viewed: bool = False) -> tuple[bytes, memoryview | None]:
    return (packed, None) if type(packed) is bytes else contiguous(packed, viewed)


def unpackb_plain(
    packed: Buffer, options: OptionValues = UNPACKING.defaults, decoder_type: type[Decoder] = Decoder
) -> Value:
    """
    Return the object in a message, as `unpackb` does, but create a Decoder only for an unusual message.

    Only the options that UNPACKING declares as `kept` may differ from their defaults. They concern extensions, keys
    that are not str, depth and lengths. A limit on lengths must not be less than the size of the input.
    """
    data, _ = _bytes_of(packed)
    size = len(data)
    stack: list[Frame] = []
    position, next_, node, left = read_plain(
        data,
        0,
        ITEM,
        [],
        1,
        stack,
        options.max_depth,
        size,
        size // 2,
        decoder_type.read_run,
        ext_reader(options),
    )
    if left == 0:
        return _whole(node[0], position, data)
    decoder = decoder_type(options, UNLIMITED, size)
    decoder.resume(position, next_, node, left, stack)
    return _whole(*_decode_one(decoder, data, None), data)


def unpackb_with(packed: Buffer, options: OptionValues, decoder_type: type[Decoder] = Decoder) -> object:
    """Return the object in a message, as `unpackb` does, given a named tuple of its options and a class of decoders."""
    if options.type is not None:
        return typed_functions().unpackb(packed, **options._asdict())
    data, view = _bytes_of(packed, options.bin_view)
    return _whole(*_decode_one(decoder_type(options, UNLIMITED, len(data)), data, view), data)


def _whole(obj: object, position: int, data: bytes) -> object:
    """Return the object, which ends at `position`; raise ExtraData if the data does not end there."""
    if position < len(data):
        raise at(ExtraData(obj, data[position:]), position)
    return obj


@UNPACKING.taken_by(plain=unpackb_plain)
def unpackb(packed: Buffer, *, options: OptionValues) -> Any:
    return unpackb_with(packed, options)


@UNPACKING.taken_by()
def unpackb_from(buffer: Buffer, offset: int = 0, *, options: OptionValues) -> tuple[Any, int]:
    return unpackb_from_with(buffer, offset, options)


def unpackb_from_with(
    buffer: Buffer, offset: int, options: OptionValues, decoder_type: type[Decoder] = Decoder
) -> tuple[object, int]:
    """
    Return the object at `offset` and the offset of its end, as `unpackb_from` does, given a named tuple of its options.
    """
    if options.type is not None:
        found: tuple[object, int] = typed_functions().unpackb_from(buffer, offset, **options._asdict())
        return found
    data, view = _bytes_of(buffer, options.bin_view)
    offset = as_size("offset", offset)
    if not 0 <= offset <= len(data):
        raise ValueError(f"offset {offset} is outside the buffer of {len(data)} bytes")
    decoder = decoder_type(options, UNLIMITED, len(data) - offset)
    decoder.position = offset
    return _decode_one(decoder, data, view)


def _decode_one(decoder: Decoder, data: bytes, view: memoryview | None) -> tuple[object, int]:
    """Return the object at the decoder's position and the offset of its end; raise TruncatedError if it is cut."""
    if view is None and decoder.bin_view:
        view = memoryview(data)
    if not decoder.run(data, view):
        raise at(incomplete(len(data)), decoder.position)
    return decoder.result, decoder.position


@UNPACKING.taken_by(plain=lambda stream: unpackb_plain(stream.read()))
def unpack(stream: Readable, *, options: OptionValues) -> Any:
    return unpackb_with(stream.read(), options)


def prepare_unpackb(**options: object) -> Callable[[Buffer], object]:
    """
    Return a function that unpacks a buffer as `unpackb` does with these options.

    Only options that `unpackb_plain` accepts may be given.
    """
    values = UNPACKING.defaults._replace(**options)
    return lambda packed: unpackb_plain(packed, values)


load = unpack
loads = unpackb
