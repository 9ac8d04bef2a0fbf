# SPDX-License-Identifier: Apache-2.0
# Functions that are made from the declarations in options.py, as type checkers see them. The two TypedDicts repeat
# names and types from there; a test compares them.

from collections.abc import AsyncIterator, Callable
from typing import Any, TypedDict

from typing_extensions import Buffer, Unpack

from purepy.msgpack import packer, unpacker
from purepy.msgpack.async_reading import AsyncReadable
from purepy.msgpack.interface import *  # noqa: F403
from purepy.msgpack.oneshot import Readable
from purepy.msgpack.packer import Writable

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
    def __init__(self, *, buffer: bytearray | None = ..., **options: Unpack[_Packing]) -> None: ...

class Unpacker(unpacker.Unpacker):
    def __init__(
        self,
        file_like: Readable | None = ...,
        *,
        read_size: int = ...,
        max_buffer_size: int = ...,
        **options: Unpack[_Unpacking],
    ) -> None: ...

def packb(o: Any, **options: Unpack[_Packing]) -> bytes: ...
def pack(o: Any, stream: Writable, **options: Unpack[_Packing]) -> None: ...
def pack_into(o: Any, buffer: Any, offset: int = ..., **options: Unpack[_Packing]) -> int: ...
def unpackb(packed: Buffer, **options: Unpack[_Unpacking]) -> Any: ...
def unpackb_from(buffer: Buffer, offset: int = ..., **options: Unpack[_Unpacking]) -> tuple[Any, int]: ...
def unpack(stream: Readable, **options: Unpack[_Unpacking]) -> Any: ...
def unpack_async(
    reader: AsyncReadable, *, read_size: int = ..., **options: Unpack[_Unpacking]
) -> AsyncIterator[Any]: ...
def prepare_packb(**options: Unpack[_Packing]) -> Callable[[Any], bytes]: ...
def prepare_unpackb(**options: Unpack[_Unpacking]) -> Callable[[Buffer], Any]: ...
def find_excess(data: Any, allowed: int, content_max: int) -> int: ...

dump = pack
dumps = packb
load = unpack
loads = unpackb
