# SPDX-License-Identifier: Apache-2.0
"""
The native MessagePack backend on PyPy.

It is the pure codec with C where C is faster: the token tape unpacks messages (`pypy_unpack`), a scanner finds where
those end that come in pieces (`pypy_stream`), and objects are packed into C's memory (`pypy_pack`). Whatever these do
not serve (hooks, seldom used options, and every error) is the pure codec's, so that the two backends cannot differ.
"""

from __future__ import annotations

from typing import Any, Callable, ClassVar, Final

from cpkg._native._msgpack_ffi import ffi, lib
from cpkg._native.msgpack import pypy_pack, pypy_unpack
from cpkg._native.msgpack.pypy_stream import Unpacker, unpack_async
from cpkg._native.msgpack.weigher import find_excess  # noqa: F401 - for `loads`
from purepy import msgpack as pure
from purepy._writing import write_all
from purepy.errors import (
    BufferFull,
    CodecError,
    ExtraData,
    FormatError,
    LimitError,
    OutOfData,
    StackError,
    TruncatedError,
    UnpackException,
)
from purepy.msgpack import (
    PackException,
    PackOverflowError,
    PackValueError,
    UnpackValueError,
    __version__,
    version,
)
from purepy.msgpack.encoder import Encoder
from purepy.msgpack.ext import ExtType, Raw, Timestamp
from purepy.msgpack.packer import DEFAULT_BUFFER, DEFAULT_DEPTH

BACKEND = "native"
LIBRARY_VERSION: str | None = "msgpack-c " + ffi.string(lib.cpkg_msgpack_version()).decode()

_SHORT: Final = 256
"""Shorter messages go to the pure codec at once: it needs less time for them than the call into C alone."""


class _Encoder(Encoder):
    """The pure encoder, with the room for what its fast loop would pack."""

    __slots__ = ("last_size", "smaller_size")

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        # of the last message that did not fit into the room, and the smaller one of the last two: a builder of just the
        # right size is neither extended nor copied, and after one large message among small ones it is not large
        self.last_size = self.smaller_size = 0

    def encode(self, obj: Any) -> bytes:
        """Return the packed form of one object."""
        if self.any_plain and pypy_pack.USABLE and type(obj) is not bytes:
            packed = pypy_pack.pack(obj, self.max_depth, list if self.strict else tuple, self.write, self.smaller_size)
            if packed is not None:
                size = len(packed)
                if size > pypy_pack.ROOM:
                    self.smaller_size = min(size, self.last_size)
                    self.last_size = size
                return packed
        return super().encode(obj)


_PLAIN_ENCODER: Final = _Encoder(
    default=None,
    use_single_float=False,
    use_bin_type=True,
    strict_types=False,
    datetime=False,
    unicode_errors=None,
    max_depth=DEFAULT_DEPTH,
    max_total_bytes=-1,
    max_total_items=-1,
    sort_keys=False,
    conversions=0,
)


class Packer(pure.Packer):
    """Pack objects under one set of options (see `purepy.msgpack.Packer`)."""

    _encoder_type: ClassVar[type[Encoder]] = _Encoder


Packer.__doc__ = pure.Packer.__doc__


def packb(
    o: Any,
    *,
    default: Callable[[Any], Any] | None = None,
    use_single_float: bool = False,
    autoreset: bool = True,
    use_bin_type: bool = True,
    strict_types: bool = False,
    datetime: bool = False,
    unicode_errors: str | None = None,
    buf_size: int = 256 * 1024,
    max_depth: int = 1024,
    max_total_bytes: int = -1,
    max_total_items: int = -1,
    sort_keys: bool = False,
    dataclass: bool = False,
    date: bool = False,
    uuid: bool = False,
    enum: bool = False,
    decimal: bool = False,
    numpy: bool = False,
) -> Any:
    if (
        default is None
        and autoreset
        and use_bin_type
        and unicode_errors is None
        and max_depth == DEFAULT_DEPTH
        and buf_size == DEFAULT_BUFFER
        and max_total_bytes == max_total_items == -1
        and not (use_single_float or strict_types or datetime or sort_keys)
        and not (dataclass or date or uuid or enum or decimal or numpy)
    ):
        return _PLAIN_ENCODER.encode(o)  # as the pure packb does, to spare short messages a Packer
    return Packer(
        default=default,
        use_single_float=use_single_float,
        autoreset=autoreset,
        use_bin_type=use_bin_type,
        strict_types=strict_types,
        datetime=datetime,
        unicode_errors=unicode_errors,
        buf_size=buf_size,
        max_depth=max_depth,
        max_total_bytes=max_total_bytes,
        max_total_items=max_total_items,
        sort_keys=sort_keys,
        dataclass=dataclass,
        date=date,
        uuid=uuid,
        enum=enum,
        decimal=decimal,
        numpy=numpy,
    ).pack(o)


def pack(
    o: Any,
    stream: Any,
    *,
    default: Callable[[Any], Any] | None = None,
    use_single_float: bool = False,
    autoreset: bool = True,
    use_bin_type: bool = True,
    strict_types: bool = False,
    datetime: bool = False,
    unicode_errors: str | None = None,
    buf_size: int = 256 * 1024,
    max_depth: int = 1024,
    max_total_bytes: int = -1,
    max_total_items: int = -1,
    sort_keys: bool = False,
    dataclass: bool = False,
    date: bool = False,
    uuid: bool = False,
    enum: bool = False,
    decimal: bool = False,
    numpy: bool = False,
) -> None:
    packed = packb(
        o,
        default=default,
        use_single_float=use_single_float,
        autoreset=autoreset,
        use_bin_type=use_bin_type,
        strict_types=strict_types,
        datetime=datetime,
        unicode_errors=unicode_errors,
        buf_size=buf_size,
        max_depth=max_depth,
        max_total_bytes=max_total_bytes,
        max_total_items=max_total_items,
        sort_keys=sort_keys,
        dataclass=dataclass,
        date=date,
        uuid=uuid,
        enum=enum,
        decimal=decimal,
        numpy=numpy,
    )
    write_all(stream, packed)


def pack_into(
    o: Any,
    buffer: Any,
    offset: int = 0,
    *,
    default: Callable[[Any], Any] | None = None,
    use_single_float: bool = False,
    autoreset: bool = True,
    use_bin_type: bool = True,
    strict_types: bool = False,
    datetime: bool = False,
    unicode_errors: str | None = None,
    buf_size: int = 256 * 1024,
    max_depth: int = 1024,
    max_total_bytes: int = -1,
    max_total_items: int = -1,
    sort_keys: bool = False,
    dataclass: bool = False,
    date: bool = False,
    uuid: bool = False,
    enum: bool = False,
    decimal: bool = False,
    numpy: bool = False,
) -> int:
    packed = Packer(
        default=default,
        use_single_float=use_single_float,
        use_bin_type=use_bin_type,
        strict_types=strict_types,
        datetime=datetime,
        unicode_errors=unicode_errors,
        buf_size=buf_size,
        max_depth=max_depth,
        max_total_bytes=max_total_bytes,
        max_total_items=max_total_items,
        sort_keys=sort_keys,
        dataclass=dataclass,
        date=date,
        uuid=uuid,
        enum=enum,
        decimal=decimal,
        numpy=numpy,
    ).pack(o)
    return pure.pack_into(Raw(packed), buffer, offset)


def _bytes(packed: Any) -> bytes | None:
    """Return the bytes of the buffers that nearly everyone uses, None for others."""
    if type(packed) is bytes:
        return packed
    if type(packed) is bytearray:
        return bytes(packed)
    if type(packed) is memoryview and packed.itemsize == 1:
        return packed.tobytes()
    return None


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
    if (
        object_hook is None
        and object_pairs_hook is None
        and list_hook is None
        and unicode_errors is None
        and ext_hook is ExtType
        and use_list
        and not raw
        and not bin_view
        and not tuple_keys
        and max_total_items == max_total_bytes == raw_depth == -1
        and (timestamp == 0 or timestamp == 1 or timestamp == 2 or timestamp == 3)
    ):
        data = _bytes(packed)
        if data is not None and len(data) >= _SHORT:
            options: pypy_unpack.Options | None = pypy_unpack.DEFAULT
            if not (
                strict_map_key
                and max_depth == 1024
                and max_str_len == max_bin_len == max_array_len == max_map_len == max_ext_len == -1
            ):
                options = pypy_unpack.make_options(
                    strict_map_key, max_depth, max_str_len, max_bin_len, max_array_len, max_map_len, max_ext_len
                )
            if options is not None:
                found = pypy_unpack.read(data, 0, options, timestamp)
                if found is not None and found[1] == len(data):
                    return found[0]
    return pure.unpackb(
        packed,
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
    if (
        object_hook is None
        and object_pairs_hook is None
        and list_hook is None
        and unicode_errors is None
        and ext_hook is ExtType
        and use_list
        and not raw
        and not bin_view
        and not tuple_keys
        and max_total_items == max_total_bytes == raw_depth == -1
        and (timestamp == 0 or timestamp == 1 or timestamp == 2 or timestamp == 3)
    ):
        data = _bytes(buffer)
        if data is not None and type(offset) is int and 0 <= offset <= len(data):
            options: pypy_unpack.Options | None = pypy_unpack.DEFAULT
            if not (
                strict_map_key
                and max_depth == 1024
                and max_str_len == max_bin_len == max_array_len == max_map_len == max_ext_len == -1
            ):
                options = pypy_unpack.make_options(
                    strict_map_key, max_depth, max_str_len, max_bin_len, max_array_len, max_map_len, max_ext_len
                )
            if options is not None:
                found = pypy_unpack.read(data, offset, options, timestamp)
                if found is not None:
                    return found
    return pure.unpackb_from(
        buffer,
        offset,
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


def unpack(
    stream: Any,
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


for _function in (packb, pack, pack_into, unpackb, unpackb_from, unpack):
    _function.__doc__ = getattr(pure, _function.__name__).__doc__
del _function

dump = pack
dumps = packb
load = unpack
loads = unpackb

__all__ = [
    "BufferFull",
    "CodecError",
    "ExtType",
    "ExtraData",
    "FormatError",
    "LimitError",
    "OutOfData",
    "PackException",
    "PackOverflowError",
    "PackValueError",
    "Packer",
    "Raw",
    "StackError",
    "Timestamp",
    "TruncatedError",
    "UnpackException",
    "UnpackValueError",
    "Unpacker",
    "__version__",
    "dump",
    "dumps",
    "load",
    "loads",
    "pack",
    "pack_into",
    "packb",
    "unpack",
    "unpack_async",
    "unpackb",
    "unpackb_from",
    "version",
]
