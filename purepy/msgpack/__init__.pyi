# SPDX-License-Identifier: Apache-2.0
# Functions that are made from the declarations in options.py, as type checkers and editors see them. Written by
# tests/support/stubs.py.

from collections.abc import AsyncIterator, Callable
from typing import Any, Generic, Protocol, TypedDict, overload

from typing_extensions import Buffer, TypeVar, Unpack

from purepy.msgpack import packer, unpacker
from purepy.msgpack.async_reading import AsyncReadable
from purepy.msgpack.interface import *  # noqa: F403
from purepy.msgpack.oneshot import Readable
from purepy.msgpack.packer import Writable

_T = TypeVar("_T", default=Any)
_T_co = TypeVar("_T_co", covariant=True)

# what `cpkg.typed.Decoder` is: purepy may not name it
class _Decoder(Protocol[_T_co]):
    def decode(self, data: Any) -> _T_co: ...
    def convert(self, obj: Any, *, from_attributes: bool = False) -> _T_co: ...

class _Packing(TypedDict, total=False):
    default: Callable[[Any], Any] | None
    use_single_float: bool
    autoreset: bool
    use_bin_type: bool
    strict_types: bool
    datetime: bool
    unicode_errors: str | None
    buf_size: int
    max_depth: int
    max_total_bytes: int
    max_total_items: int
    sort_keys: bool
    dataclass: bool
    date: bool
    uuid: bool
    enum: bool
    decimal: bool
    numpy: bool

class _Unpacking(TypedDict, total=False):
    object_hook: Callable[[dict[Any, Any]], Any] | None
    list_hook: Callable[[list[Any]], Any] | None
    use_list: bool
    raw: bool
    timestamp: int
    strict_map_key: bool
    unicode_errors: str | None
    object_pairs_hook: Callable[[list[tuple[Any, Any]]], Any] | None
    ext_hook: Callable[[int, bytes], Any]
    max_str_len: int
    max_bin_len: int
    max_array_len: int
    max_map_len: int
    max_ext_len: int
    max_depth: int
    max_total_items: int
    max_total_bytes: int
    tuple_keys: bool
    bin_view: bool
    raw_depth: int
    type: None

class _Limits(TypedDict, total=False):
    max_str_len: int
    max_bin_len: int
    max_array_len: int
    max_map_len: int
    max_ext_len: int
    max_depth: int
    max_total_items: int
    max_total_bytes: int

class _StreamLimits(_Limits, total=False):
    read_size: int
    max_buffer_size: int

BACKEND: str
LIBRARY_VERSION: str | None
job_functions: None
typed_packb: None
TypedTable: None
TypedClass: None
Rows: None
read_rows: None
message_starts: None

class Packer(packer.Packer):
    """
    Pack objects, one after the other, under one set of options (replaces `msgpack.Packer`).

    Args:
        default (Callable[[Any], Any] | None): called once with each object that no type and option here covers; returns
            what to pack instead.
        use_single_float (bool): pack floats in 4 bytes; OverflowError for those that do not fit.
        autoreset (bool): return the bytes of each call. If false, a Packer gathers them (see `Packer.bytes`) until
            `Packer.reset`, and functions return None.
        use_bin_type (bool): if false, pack bytes as str and never use str 8, for readers of the format's first version.
        strict_types (bool): pack exact types alone; subclasses and tuples go to `default`.
        datetime (bool): pack aware datetimes as timestamps; naive ones go to `default`, else ValueError.
        unicode_errors (str | None): error handler for text that is not valid Unicode; None for "strict".
        buf_size (int): a first guess at the size of messages in bytes, for `msgpack`'s sake: it changes nothing.
        max_depth (int): how deep arrays and maps may be nested; deeper is ValueError. Unpacking has the same default.
        max_total_bytes (int): the largest packed message, in bytes; LimitError. -1 for no limit.
        max_total_items (int): the most values in a message, each key, value and container counting 1; LimitError.
        sort_keys (bool): order the pairs of each map by the packed bytes of their keys: equal objects give equal bytes.
        dataclass (bool): pack instances of dataclasses as maps from field names to values.
        date (bool): pack `datetime.date` as its ISO format.
        uuid (bool): pack `uuid.UUID` as its text.
        enum (bool): pack members of an Enum as their values.
        decimal (bool): pack `decimal.Decimal` as its text.
        numpy (bool): pack numpy's bool, int and float scalars as such, and its arrays as nested arrays.
        buffer (bytearray | None): where to append what is packed; the methods then return None. A call that fails
            leaves it as it was.

    Raises TypeError for an object of another type, OverflowError for an int outside of -2**63 .. 2**64-1,
    ValueError for a length of 2**32 and more, RuntimeError for a container that changes size while it is packed.
    RuntimeError, too, for a call from within `default`. A `pack()` that fails drops what was gathered.

    A Packer may be shared by threads.
    """
    def __init__(
        self,
        *,
        default: Callable[[Any], Any] | None = None,
        use_single_float: bool = False,
        autoreset: bool = True,
        use_bin_type: bool = True,
        strict_types: bool = False,
        datetime: bool = False,
        unicode_errors: str | None = None,
        buf_size: int = 262144,
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
        buffer: bytearray | None = None,
    ) -> None: ...

class Unpacker(unpacker.Unpacker, Generic[_T]):
    """
    Unpack objects from a stream of bytes: fed with `feed()`, or read from a file (replaces `msgpack.Unpacker`).

    Iterate over it, or call `unpack()`, for the objects. Where the stream ends within an object, iteration stops and
    `unpack()` raises OutOfData; both go on when more bytes are there, with the same method. Each byte is read once.

    Args:
        file_like (Readable | None): has `read(size) -> bytes`; None for bytes that come with `feed()`.
        object_hook (Callable[[dict[Any, Any]], Any] | None): called with each dict; what it returns takes the
            dict's place.
        list_hook (Callable[[list[Any]], Any] | None): called with each list (tuple); likewise.
        use_list (bool): give arrays as lists; if false, as tuples.
        raw (bool): give str as bytes.
        timestamp (int): give timestamps as 0 `Timestamp`, 1 float of seconds, 2 int of nanoseconds, 3 aware UTC
            datetime.
        strict_map_key (bool): refuse keys of other types than str and bytes (ValueError).
        unicode_errors (str | None): error handler for str that is not UTF-8; None for "strict".
        object_pairs_hook (Callable[[list[tuple[Any, Any]]], Any] | None): as `object_hook`, called with a list of
            pairs; TypeError for both.
        ext_hook (Callable[[int, bytes], Any]): called with type code and data of each extension value but timestamps.
        max_str_len (int): the longest str, in bytes; LimitError, as for the next four. -1 for the size of the input
            (Unpacker: for `max_buffer_size`).
        max_bin_len (int): the longest bin, in bytes.
        max_array_len (int): the longest array, in items.
        max_map_len (int): the longest map, in pairs; -1 for half of what it is for the others.
        max_ext_len (int): the longest data of an extension value, in bytes.
        max_depth (int): how deep arrays and maps may be nested; deeper is StackError.
        max_total_items (int): the most values in an object, each key, value and container counting 1; LimitError.
            -1 for no limit.
        max_total_bytes (int): the most bytes in the str, bin and ext of an object together; LimitError. -1 for no
            limit.
        tuple_keys (bool): give arrays that are map keys as tuples (with strict_map_key=False).
        bin_view (bool): give bin as read-only memoryviews, without a copy, except in map keys.
        raw_depth (int): give the values that lie below this many containers undecoded, as `Raw`; -1 for none.
        type (Any): the type that the object has to be of, say a dataclass, or a `cpkg.typed.Decoder`; a value that is
            not of it is a `cpkg.typed.ValidationError`. Of the other options only limits go with it (TypeError).
        read_size (int): what to ask of `file_like` at once, in bytes; 0 for 1 MiB (or `max_buffer_size`, if that is
            less).
        max_buffer_size (int): how many bytes may wait to be unpacked; BufferFull. 0 for 2**31-1.

    Raises FormatError for bytes that are no MessagePack, StackError, LimitError, UnicodeDecodeError, and ValueError for
    keys and timestamps; each has the `offset` of the byte that it is about. What hooks raise passes as it is.
    Offsets count from the start of the stream. After an error of the input the Unpacker stands at the value that is
    wrong, within an object. RuntimeError if called from within a hook, or by two threads at once.

    After an exception of a hook, or any other that is not the input's (KeyboardInterrupt, MemoryError), either the
    stream goes on exactly where it was, or every further call but `tell()` is a RuntimeError that names the byte
    where the object begins that was not completed. Those of the file's `read()` change nothing.
    """
    @overload
    def __init__(
        self,
        file_like: Readable | None = None,
        *,
        object_hook: Callable[[dict[Any, Any]], Any] | None = None,
        list_hook: Callable[[list[Any]], Any] | None = None,
        use_list: bool = True,
        raw: bool = False,
        timestamp: int = 0,
        strict_map_key: bool = True,
        unicode_errors: str | None = None,
        object_pairs_hook: Callable[[list[tuple[Any, Any]]], Any] | None = None,
        ext_hook: Callable[[int, bytes], Any] = ...,
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
        type: None = None,
        read_size: int = 0,
        max_buffer_size: int = 104857600,
    ) -> None: ...
    @overload
    def __init__(
        self, file_like: Readable | None = None, *, type: type[_T] | _Decoder[_T], **limits: Unpack[_StreamLimits]
    ) -> None: ...
    # a union or an alias is no type[_T]
    @overload
    def __init__(
        self: Unpacker[Any], file_like: Readable | None = None, *, type: Any, **limits: Unpack[_StreamLimits]
    ) -> None: ...
    def unpack(self) -> _T:
        """Return the next object; OutOfData if it is not complete yet."""
    def __iter__(self) -> Unpacker[_T]: ...
    def __next__(self) -> _T: ...

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
    buf_size: int = 262144,
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
) -> bytes:
    """
    Return the packed form of an object (replaces `msgpack.packb`).

    Args:
        o (Any): what to pack.
        default (Callable[[Any], Any] | None): called once with each object that no type and option here covers; returns
            what to pack instead.
        use_single_float (bool): pack floats in 4 bytes; OverflowError for those that do not fit.
        autoreset (bool): return the bytes of each call. If false, a Packer gathers them (see `Packer.bytes`) until
            `Packer.reset`, and functions return None.
        use_bin_type (bool): if false, pack bytes as str and never use str 8, for readers of the format's first version.
        strict_types (bool): pack exact types alone; subclasses and tuples go to `default`.
        datetime (bool): pack aware datetimes as timestamps; naive ones go to `default`, else ValueError.
        unicode_errors (str | None): error handler for text that is not valid Unicode; None for "strict".
        buf_size (int): a first guess at the size of messages in bytes, for `msgpack`'s sake: it changes nothing.
        max_depth (int): how deep arrays and maps may be nested; deeper is ValueError. Unpacking has the same default.
        max_total_bytes (int): the largest packed message, in bytes; LimitError. -1 for no limit.
        max_total_items (int): the most values in a message, each key, value and container counting 1; LimitError.
        sort_keys (bool): order the pairs of each map by the packed bytes of their keys: equal objects give equal bytes.
        dataclass (bool): pack instances of dataclasses as maps from field names to values.
        date (bool): pack `datetime.date` as its ISO format.
        uuid (bool): pack `uuid.UUID` as its text.
        enum (bool): pack members of an Enum as their values.
        decimal (bool): pack `decimal.Decimal` as its text.
        numpy (bool): pack numpy's bool, int and float scalars as such, and its arrays as nested arrays.

    Raises TypeError for an object of another type, OverflowError for an int outside of -2**63 .. 2**64-1,
    ValueError for a length of 2**32 and more, RuntimeError for a container that changes size while it is packed.
    """

def pack(
    o: Any,
    stream: Writable,
    *,
    default: Callable[[Any], Any] | None = None,
    use_single_float: bool = False,
    autoreset: bool = True,
    use_bin_type: bool = True,
    strict_types: bool = False,
    datetime: bool = False,
    unicode_errors: str | None = None,
    buf_size: int = 262144,
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
    """
    Pack an object and write it to a stream (replaces `msgpack.pack`).

    Nothing is written if packing fails. A raw file that takes a part of the bytes is given the rest again; one that
    would block is a BlockingIOError.

    Args:
        o (Any): what to pack.
        stream (Writable): has `write(bytes)`.
        default (Callable[[Any], Any] | None): called once with each object that no type and option here covers; returns
            what to pack instead.
        use_single_float (bool): pack floats in 4 bytes; OverflowError for those that do not fit.
        autoreset (bool): return the bytes of each call. If false, a Packer gathers them (see `Packer.bytes`) until
            `Packer.reset`, and functions return None.
        use_bin_type (bool): if false, pack bytes as str and never use str 8, for readers of the format's first version.
        strict_types (bool): pack exact types alone; subclasses and tuples go to `default`.
        datetime (bool): pack aware datetimes as timestamps; naive ones go to `default`, else ValueError.
        unicode_errors (str | None): error handler for text that is not valid Unicode; None for "strict".
        buf_size (int): a first guess at the size of messages in bytes, for `msgpack`'s sake: it changes nothing.
        max_depth (int): how deep arrays and maps may be nested; deeper is ValueError. Unpacking has the same default.
        max_total_bytes (int): the largest packed message, in bytes; LimitError. -1 for no limit.
        max_total_items (int): the most values in a message, each key, value and container counting 1; LimitError.
        sort_keys (bool): order the pairs of each map by the packed bytes of their keys: equal objects give equal bytes.
        dataclass (bool): pack instances of dataclasses as maps from field names to values.
        date (bool): pack `datetime.date` as its ISO format.
        uuid (bool): pack `uuid.UUID` as its text.
        enum (bool): pack members of an Enum as their values.
        decimal (bool): pack `decimal.Decimal` as its text.
        numpy (bool): pack numpy's bool, int and float scalars as such, and its arrays as nested arrays.

    Raises TypeError for an object of another type, OverflowError for an int outside of -2**63 .. 2**64-1,
    ValueError for a length of 2**32 and more, RuntimeError for a container that changes size while it is packed.
    """

def pack_into(
    o: Any,
    buffer: Buffer,
    offset: int = 0,
    *,
    default: Callable[[Any], Any] | None = None,
    use_single_float: bool = False,
    autoreset: bool = True,
    use_bin_type: bool = True,
    strict_types: bool = False,
    datetime: bool = False,
    unicode_errors: str | None = None,
    buf_size: int = 262144,
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
    """
    Pack an object into a writable buffer and return the offset of its end; write all of it or nothing.

    `autoreset` changes nothing here.

    Args:
        o (Any): what to pack.
        buffer (Buffer): where to; TypeError for a read-only one; ValueError for a short one, which says how many
            bytes the object needs.
        offset (int): how far from the start of the buffer, in bytes.
        default (Callable[[Any], Any] | None): called once with each object that no type and option here covers; returns
            what to pack instead.
        use_single_float (bool): pack floats in 4 bytes; OverflowError for those that do not fit.
        autoreset (bool): return the bytes of each call. If false, a Packer gathers them (see `Packer.bytes`) until
            `Packer.reset`, and functions return None.
        use_bin_type (bool): if false, pack bytes as str and never use str 8, for readers of the format's first version.
        strict_types (bool): pack exact types alone; subclasses and tuples go to `default`.
        datetime (bool): pack aware datetimes as timestamps; naive ones go to `default`, else ValueError.
        unicode_errors (str | None): error handler for text that is not valid Unicode; None for "strict".
        buf_size (int): a first guess at the size of messages in bytes, for `msgpack`'s sake: it changes nothing.
        max_depth (int): how deep arrays and maps may be nested; deeper is ValueError. Unpacking has the same default.
        max_total_bytes (int): the largest packed message, in bytes; LimitError. -1 for no limit.
        max_total_items (int): the most values in a message, each key, value and container counting 1; LimitError.
        sort_keys (bool): order the pairs of each map by the packed bytes of their keys: equal objects give equal bytes.
        dataclass (bool): pack instances of dataclasses as maps from field names to values.
        date (bool): pack `datetime.date` as its ISO format.
        uuid (bool): pack `uuid.UUID` as its text.
        enum (bool): pack members of an Enum as their values.
        decimal (bool): pack `decimal.Decimal` as its text.
        numpy (bool): pack numpy's bool, int and float scalars as such, and its arrays as nested arrays.

    Raises TypeError for an object of another type, OverflowError for an int outside of -2**63 .. 2**64-1,
    ValueError for a length of 2**32 and more, RuntimeError for a container that changes size while it is packed.
    """

@overload
def unpackb(
    packed: Buffer,
    *,
    object_hook: Callable[[dict[Any, Any]], Any] | None = None,
    list_hook: Callable[[list[Any]], Any] | None = None,
    use_list: bool = True,
    raw: bool = False,
    timestamp: int = 0,
    strict_map_key: bool = True,
    unicode_errors: str | None = None,
    object_pairs_hook: Callable[[list[tuple[Any, Any]]], Any] | None = None,
    ext_hook: Callable[[int, bytes], Any] = ...,
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
    type: None = None,
) -> Any:
    """
    Return the one object that a buffer holds (replaces `msgpack.unpackb`).

    Args:
        packed (Buffer): the message, of one-byte items.
        object_hook (Callable[[dict[Any, Any]], Any] | None): called with each dict; what it returns takes the
            dict's place.
        list_hook (Callable[[list[Any]], Any] | None): called with each list (tuple); likewise.
        use_list (bool): give arrays as lists; if false, as tuples.
        raw (bool): give str as bytes.
        timestamp (int): give timestamps as 0 `Timestamp`, 1 float of seconds, 2 int of nanoseconds, 3 aware UTC
            datetime.
        strict_map_key (bool): refuse keys of other types than str and bytes (ValueError).
        unicode_errors (str | None): error handler for str that is not UTF-8; None for "strict".
        object_pairs_hook (Callable[[list[tuple[Any, Any]]], Any] | None): as `object_hook`, called with a list of
            pairs; TypeError for both.
        ext_hook (Callable[[int, bytes], Any]): called with type code and data of each extension value but timestamps.
        max_str_len (int): the longest str, in bytes; LimitError, as for the next four. -1 for the size of the input
            (Unpacker: for `max_buffer_size`).
        max_bin_len (int): the longest bin, in bytes.
        max_array_len (int): the longest array, in items.
        max_map_len (int): the longest map, in pairs; -1 for half of what it is for the others.
        max_ext_len (int): the longest data of an extension value, in bytes.
        max_depth (int): how deep arrays and maps may be nested; deeper is StackError.
        max_total_items (int): the most values in an object, each key, value and container counting 1; LimitError.
            -1 for no limit.
        max_total_bytes (int): the most bytes in the str, bin and ext of an object together; LimitError. -1 for no
            limit.
        tuple_keys (bool): give arrays that are map keys as tuples (with strict_map_key=False).
        bin_view (bool): give bin as read-only memoryviews, without a copy, except in map keys.
        raw_depth (int): give the values that lie below this many containers undecoded, as `Raw`; -1 for none.
        type (Any): the type that the object has to be of, say a dataclass, or a `cpkg.typed.Decoder`; a value that is
            not of it is a `cpkg.typed.ValidationError`. Of the other options only limits go with it (TypeError).

    Raises FormatError for bytes that are no MessagePack, StackError, LimitError, UnicodeDecodeError, and ValueError for
    keys and timestamps; each has the `offset` of the byte that it is about. What hooks raise passes as it is.
    TruncatedError for input that ends within the object, ExtraData for further bytes (the object is its `unpacked`).
    """

@overload
def unpackb(packed: Buffer, *, type: type[_T] | _Decoder[_T], **limits: Unpack[_Limits]) -> _T: ...
@overload
def unpackb(packed: Buffer, *, type: Any, **limits: Unpack[_Limits]) -> Any: ...
@overload
def unpackb_from(
    buffer: Buffer,
    offset: int = 0,
    *,
    object_hook: Callable[[dict[Any, Any]], Any] | None = None,
    list_hook: Callable[[list[Any]], Any] | None = None,
    use_list: bool = True,
    raw: bool = False,
    timestamp: int = 0,
    strict_map_key: bool = True,
    unicode_errors: str | None = None,
    object_pairs_hook: Callable[[list[tuple[Any, Any]]], Any] | None = None,
    ext_hook: Callable[[int, bytes], Any] = ...,
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
    type: None = None,
) -> tuple[Any, int]:
    """
    Unpack the object that begins somewhere in a buffer; return it and the offset of its end. Ignore what follows.

    Args:
        buffer (Buffer): what the object stands in, of one-byte items.
        offset (int): where it begins, in bytes; those of errors and of the end count from the start of the buffer, too.
        object_hook (Callable[[dict[Any, Any]], Any] | None): called with each dict; what it returns takes the
            dict's place.
        list_hook (Callable[[list[Any]], Any] | None): called with each list (tuple); likewise.
        use_list (bool): give arrays as lists; if false, as tuples.
        raw (bool): give str as bytes.
        timestamp (int): give timestamps as 0 `Timestamp`, 1 float of seconds, 2 int of nanoseconds, 3 aware UTC
            datetime.
        strict_map_key (bool): refuse keys of other types than str and bytes (ValueError).
        unicode_errors (str | None): error handler for str that is not UTF-8; None for "strict".
        object_pairs_hook (Callable[[list[tuple[Any, Any]]], Any] | None): as `object_hook`, called with a list of
            pairs; TypeError for both.
        ext_hook (Callable[[int, bytes], Any]): called with type code and data of each extension value but timestamps.
        max_str_len (int): the longest str, in bytes; LimitError, as for the next four. -1 for the size of the input
            (Unpacker: for `max_buffer_size`).
        max_bin_len (int): the longest bin, in bytes.
        max_array_len (int): the longest array, in items.
        max_map_len (int): the longest map, in pairs; -1 for half of what it is for the others.
        max_ext_len (int): the longest data of an extension value, in bytes.
        max_depth (int): how deep arrays and maps may be nested; deeper is StackError.
        max_total_items (int): the most values in an object, each key, value and container counting 1; LimitError.
            -1 for no limit.
        max_total_bytes (int): the most bytes in the str, bin and ext of an object together; LimitError. -1 for no
            limit.
        tuple_keys (bool): give arrays that are map keys as tuples (with strict_map_key=False).
        bin_view (bool): give bin as read-only memoryviews, without a copy, except in map keys.
        raw_depth (int): give the values that lie below this many containers undecoded, as `Raw`; -1 for none.
        type (Any): the type that the object has to be of, say a dataclass, or a `cpkg.typed.Decoder`; a value that is
            not of it is a `cpkg.typed.ValidationError`. Of the other options only limits go with it (TypeError).

    Raises FormatError for bytes that are no MessagePack, StackError, LimitError, UnicodeDecodeError, and ValueError for
    keys and timestamps; each has the `offset` of the byte that it is about. What hooks raise passes as it is.
    TruncatedError for a buffer that ends within the object.
    """

@overload
def unpackb_from(
    buffer: Buffer, offset: int = 0, *, type: type[_T] | _Decoder[_T], **limits: Unpack[_Limits]
) -> tuple[_T, int]: ...
@overload
def unpackb_from(buffer: Buffer, offset: int = 0, *, type: Any, **limits: Unpack[_Limits]) -> tuple[Any, int]: ...
@overload
def unpack(
    stream: Readable,
    *,
    object_hook: Callable[[dict[Any, Any]], Any] | None = None,
    list_hook: Callable[[list[Any]], Any] | None = None,
    use_list: bool = True,
    raw: bool = False,
    timestamp: int = 0,
    strict_map_key: bool = True,
    unicode_errors: str | None = None,
    object_pairs_hook: Callable[[list[tuple[Any, Any]]], Any] | None = None,
    ext_hook: Callable[[int, bytes], Any] = ...,
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
    type: None = None,
) -> Any:
    """
    Return the one object that the rest of a stream holds (replaces `msgpack.unpack`).

    Args:
        stream (Readable): has `read() -> bytes`.
        object_hook (Callable[[dict[Any, Any]], Any] | None): called with each dict; what it returns takes the
            dict's place.
        list_hook (Callable[[list[Any]], Any] | None): called with each list (tuple); likewise.
        use_list (bool): give arrays as lists; if false, as tuples.
        raw (bool): give str as bytes.
        timestamp (int): give timestamps as 0 `Timestamp`, 1 float of seconds, 2 int of nanoseconds, 3 aware UTC
            datetime.
        strict_map_key (bool): refuse keys of other types than str and bytes (ValueError).
        unicode_errors (str | None): error handler for str that is not UTF-8; None for "strict".
        object_pairs_hook (Callable[[list[tuple[Any, Any]]], Any] | None): as `object_hook`, called with a list of
            pairs; TypeError for both.
        ext_hook (Callable[[int, bytes], Any]): called with type code and data of each extension value but timestamps.
        max_str_len (int): the longest str, in bytes; LimitError, as for the next four. -1 for the size of the input
            (Unpacker: for `max_buffer_size`).
        max_bin_len (int): the longest bin, in bytes.
        max_array_len (int): the longest array, in items.
        max_map_len (int): the longest map, in pairs; -1 for half of what it is for the others.
        max_ext_len (int): the longest data of an extension value, in bytes.
        max_depth (int): how deep arrays and maps may be nested; deeper is StackError.
        max_total_items (int): the most values in an object, each key, value and container counting 1; LimitError.
            -1 for no limit.
        max_total_bytes (int): the most bytes in the str, bin and ext of an object together; LimitError. -1 for no
            limit.
        tuple_keys (bool): give arrays that are map keys as tuples (with strict_map_key=False).
        bin_view (bool): give bin as read-only memoryviews, without a copy, except in map keys.
        raw_depth (int): give the values that lie below this many containers undecoded, as `Raw`; -1 for none.
        type (Any): the type that the object has to be of, say a dataclass, or a `cpkg.typed.Decoder`; a value that is
            not of it is a `cpkg.typed.ValidationError`. Of the other options only limits go with it (TypeError).

    Raises FormatError for bytes that are no MessagePack, StackError, LimitError, UnicodeDecodeError, and ValueError for
    keys and timestamps; each has the `offset` of the byte that it is about. What hooks raise passes as it is.
    TruncatedError for input that ends within the object, ExtraData for further bytes (the object is its `unpacked`).
    """

@overload
def unpack(stream: Readable, *, type: type[_T] | _Decoder[_T], **limits: Unpack[_Limits]) -> _T: ...
@overload
def unpack(stream: Readable, *, type: Any, **limits: Unpack[_Limits]) -> Any: ...
@overload
def unpack_async(
    reader: AsyncReadable, *, read_size: int = 0, max_buffer_size: int = ..., **options: Unpack[_Unpacking]
) -> AsyncIterator[Any]:
    """
    Iterate over the objects of an asynchronous stream.

    `reader` has an asynchronous `read(size)` (or `aread`), say an `asyncio.StreamReader`; `read_size` bytes are
    asked for at once, 64 KiB by default. `options` and errors are those of Unpacker; a stream that ends within an
    object raises TruncatedError. After an exception of `reader` or a cancelled wait the iteration goes on where it
    was, after one of a hook as that of an Unpacker does. RuntimeError for two calls at once.
    """

@overload
def unpack_async(
    reader: AsyncReadable, *, type: type[_T] | _Decoder[_T], **limits: Unpack[_StreamLimits]
) -> AsyncIterator[_T]: ...
@overload
def unpack_async(reader: AsyncReadable, *, type: Any, **limits: Unpack[_StreamLimits]) -> AsyncIterator[Any]: ...
def prepare_packb(**options: Unpack[_Packing]) -> Callable[[Any], bytes]:
    """Return `packb` with options that are taken once."""

def prepare_unpackb(**options: Unpack[_Unpacking]) -> Callable[[Buffer], Any]:
    """Return `unpackb` with options that are taken once, of those that `unpackb_plain` may be given."""

def find_excess(data: Any, allowed: int, content_max: int) -> int:
    """
    Return the offset of the first value with which the message weighs more than `limit`, or -1 if none does.

    Stops where the data is cut or wrong, or nests deeper than `max_depth`: unpacking stops there, too.
    """

dump = pack
dumps = packb
load = unpack
loads = unpackb
