# SPDX-License-Identifier: Apache-2.0
"""Unpacking one object: `unpackb`, `unpackb_from` and `unpack`."""

from __future__ import annotations

from typing import Any, Final, Protocol

from purepy.errors import ExtraData, TruncatedError
from purepy.msgpack import options
from purepy.msgpack.decoder import UNLIMITED, Decoder, at
from purepy.msgpack.ext import ExtType
from purepy.msgpack.plain_reader import ITEM, Frame, read_plain

DEFAULT_DEPTH: Final = 1024


class Readable(Protocol):
    """What `Unpacker` and `unpack` read from."""

    def read(self, size: int = ..., /) -> bytes:
        """Return up to `size` bytes, or b"" at the end."""


def contiguous(buffer: Any, viewed: bool = False) -> tuple[bytes, memoryview | None]:
    """
    Return the bytes of a buffer of one-byte items and, if asked for, a read-only view of it (of them if it has gaps).

    No view stays open that nobody asked for: on PyPy 8, a bytearray that has one cannot be resized before the
    collector has come by.
    """
    with memoryview(buffer) as view:
        if view.itemsize != 1:
            raise BufferError("cannot unpack from multi-byte object")
        data = view.tobytes()
        whole = view.c_contiguous
    if not viewed:
        return data, None
    return data, memoryview(buffer).cast("B").toreadonly() if whole else memoryview(data)


def unpackb(
    packed: Any,
    *,
    object_hook: Any = None,
    list_hook: Any = None,
    use_list: bool = True,
    raw: bool = False,
    timestamp: int = 0,
    strict_map_key: bool = True,
    unicode_errors: str | None = None,
    object_pairs_hook: Any = None,
    ext_hook: Any = ExtType,
    max_str_len: int = -1,
    max_bin_len: int = -1,
    max_array_len: int = -1,
    max_map_len: int = -1,
    max_ext_len: int = -1,
    max_depth: int = 1024,
    max_total_items: int = -1,
    max_total_bytes: int = -1,
    tuple_keys: bool = False,
    bin_view: bool = False,
    raw_depth: int = -1,
) -> Any:
    """
    Unpack the one object that `packed`, a buffer of one-byte items, holds (replaces `msgpack.unpackb`).

    Options and errors are those of Unpacker, except that the limits of -1 come from the size of the input, and that
    input that ends within the object raises TruncatedError, further bytes ExtraData (with the object in `unpacked`).
    """
    if type(packed) is bytes:
        data = packed
        view = None
    else:
        data, view = contiguous(packed, bin_view)
    size = len(data)
    stack: list[Frame] = []
    node: Any = []
    position, next_, left = 0, ITEM, 1
    if (
        object_hook is None
        and object_pairs_hook is None
        and list_hook is None
        and unicode_errors is None
        and use_list
        and not raw
        and not bin_view
        and timestamp == 0
        and ext_hook is ExtType
        and max_str_len == max_bin_len == max_array_len == max_map_len == max_ext_len == -1
        and max_depth == DEFAULT_DEPTH
        and max_total_items == max_total_bytes == raw_depth == -1
    ):
        position, next_, node, left = read_plain(data, position, next_, node, left, stack, max_depth, size, size // 2)
        if left == 0 and position == size:
            return node[0]
    decoder = Decoder(
        object_hook=object_hook,
        object_pairs_hook=object_pairs_hook,
        list_hook=list_hook,
        ext_hook=ext_hook,
        use_list=use_list,
        raw=raw,
        timestamp=timestamp,
        strict_map_key=strict_map_key,
        unicode_errors=unicode_errors,
        max_str_len=options.limit(max_str_len, UNLIMITED),
        max_bin_len=options.limit(max_bin_len, UNLIMITED),
        max_array_len=options.limit(max_array_len, size),
        max_map_len=options.limit(max_map_len, size // 2),
        max_ext_len=options.limit(max_ext_len, UNLIMITED),
        max_depth=max_depth,
        max_total_items=max_total_items,
        max_total_bytes=max_total_bytes,
        tuple_keys=tuple_keys,
        bin_view=bin_view,
        raw_depth=raw_depth,
    )
    if left == 0:
        obj = node[0]
    else:
        decoder.resume(position, next_, node, left, stack)
        obj, position = _decode_one(decoder, data, view)
    if position < size:
        raise at(ExtraData(obj, data[position:]), position)
    return obj


def unpackb_from(
    buffer: Any,
    offset: int = 0,
    *,
    object_hook: Any = None,
    list_hook: Any = None,
    use_list: bool = True,
    raw: bool = False,
    timestamp: int = 0,
    strict_map_key: bool = True,
    unicode_errors: str | None = None,
    object_pairs_hook: Any = None,
    ext_hook: Any = ExtType,
    max_str_len: int = -1,
    max_bin_len: int = -1,
    max_array_len: int = -1,
    max_map_len: int = -1,
    max_ext_len: int = -1,
    max_depth: int = 1024,
    max_total_items: int = -1,
    max_total_bytes: int = -1,
    tuple_keys: bool = False,
    bin_view: bool = False,
    raw_depth: int = -1,
) -> tuple[Any, int]:
    """
    Unpack the object that starts `offset` bytes into a buffer; return it and the offset of its end.

    What follows it is of no interest. Options and errors are those of `unpackb`; offsets count from the buffer's start.
    """
    data, view = (buffer, None) if type(buffer) is bytes else contiguous(buffer, bin_view)
    offset = options.size(offset)
    if not 0 <= offset <= len(data):
        raise ValueError(f"offset {offset} is outside of the buffer of {len(data)} bytes")
    size = len(data) - offset
    decoder = Decoder(
        object_hook=object_hook,
        object_pairs_hook=object_pairs_hook,
        list_hook=list_hook,
        ext_hook=ext_hook,
        use_list=use_list,
        raw=raw,
        timestamp=timestamp,
        strict_map_key=strict_map_key,
        unicode_errors=unicode_errors,
        max_str_len=options.limit(max_str_len, UNLIMITED),
        max_bin_len=options.limit(max_bin_len, UNLIMITED),
        max_array_len=options.limit(max_array_len, size),
        max_map_len=options.limit(max_map_len, size // 2),
        max_ext_len=options.limit(max_ext_len, UNLIMITED),
        max_depth=max_depth,
        max_total_items=max_total_items,
        max_total_bytes=max_total_bytes,
        tuple_keys=tuple_keys,
        bin_view=bin_view,
        raw_depth=raw_depth,
    )
    decoder.position = offset
    return _decode_one(decoder, data, view)


def _decode_one(decoder: Decoder, data: bytes, view: memoryview | None) -> tuple[Any, int]:
    """Return the object at the decoder's position and where it ends."""
    if view is None and decoder.bin_view:
        view = memoryview(data)
    if not decoder.run(data, view):
        raise at(TruncatedError("Unpack failed: incomplete input"), decoder.position)
    return decoder.result, decoder.position


def unpack(
    stream: Readable,
    *,
    object_hook: Any = None,
    list_hook: Any = None,
    use_list: bool = True,
    raw: bool = False,
    timestamp: int = 0,
    strict_map_key: bool = True,
    unicode_errors: str | None = None,
    object_pairs_hook: Any = None,
    ext_hook: Any = ExtType,
    max_str_len: int = -1,
    max_bin_len: int = -1,
    max_array_len: int = -1,
    max_map_len: int = -1,
    max_ext_len: int = -1,
    max_depth: int = 1024,
    max_total_items: int = -1,
    max_total_bytes: int = -1,
    tuple_keys: bool = False,
    bin_view: bool = False,
    raw_depth: int = -1,
) -> Any:
    """Unpack the one object that the rest of a stream holds (replaces `msgpack.unpack`). As `unpackb`."""
    return unpackb(
        stream.read(),
        object_hook=object_hook,
        list_hook=list_hook,
        use_list=use_list,
        raw=raw,
        timestamp=timestamp,
        strict_map_key=strict_map_key,
        unicode_errors=unicode_errors,
        object_pairs_hook=object_pairs_hook,
        ext_hook=ext_hook,
        max_str_len=max_str_len,
        max_bin_len=max_bin_len,
        max_array_len=max_array_len,
        max_map_len=max_map_len,
        max_ext_len=max_ext_len,
        max_depth=max_depth,
        max_total_items=max_total_items,
        max_total_bytes=max_total_bytes,
        tuple_keys=tuple_keys,
        bin_view=bin_view,
        raw_depth=raw_depth,
    )
