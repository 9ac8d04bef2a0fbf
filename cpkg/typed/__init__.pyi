# SPDX-License-Identifier: Apache-2.0
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any, Generic, TypedDict, TypeVar, overload

from typing_extensions import TypeAlias, Unpack

from cpkg.typed.class_options import Name, Pattern, options
from cpkg.typed.errors import ValidationError
from cpkg.typed.schemas import inspect, schema

__all__ = [
    "Decoder",
    "Encoder",
    "Name",
    "Pattern",
    "Unpacker",
    "ValidationError",
    "convert",
    "decode",
    "encode",
    "inspect",
    "options",
    "schema",
    "to_builtins",
    "unpack_async",
]

_T = TypeVar("_T")
_Hook: TypeAlias = Callable[[Any, Any], Any]

class _Options(TypedDict, total=False):
    strict: bool
    dec_hook: _Hook | None
    all_errors: bool
    max_depth: int
    max_memory: int | None
    max_str_len: int
    max_bin_len: int
    max_array_len: int
    max_map_len: int
    max_ext_len: int
    max_total_items: int
    max_total_bytes: int

class Decoder(Generic[_T]):
    @overload
    def __init__(self: Decoder[Any], **options: Unpack[_Options]) -> None: ...
    @overload
    def __init__(self, type: type[_T], **options: Unpack[_Options]) -> None: ...
    # a union or an alias is no type[_T]
    @overload
    def __init__(self: Decoder[Any], type: Any, **options: Unpack[_Options]) -> None: ...
    def decode(self, data: Any) -> _T: ...
    def convert(self, obj: Any, *, from_attributes: bool = False) -> _T: ...

class Encoder:
    def __init__(self, *, enc_hook: Callable[[Any], Any] | None = None, max_depth: int = 1024) -> None: ...
    def encode(self, obj: Any) -> bytes: ...

@overload
def decode(data: Any, type: type[_T], **options: Unpack[_Options]) -> _T: ...
@overload
def decode(data: Any, type: Any = ..., **options: Unpack[_Options]) -> Any: ...
@overload
def convert(obj: Any, type: type[_T], *, from_attributes: bool = False, **options: Unpack[_Options]) -> _T: ...
@overload
def convert(obj: Any, type: Any, *, from_attributes: bool = False, **options: Unpack[_Options]) -> Any: ...
def encode(obj: Any, *, enc_hook: Callable[[Any], Any] | None = None, max_depth: int = 1024) -> bytes: ...
def to_builtins(
    obj: Any, *, builtin_types: Iterable[type] = (), enc_hook: Callable[[Any], Any] | None = None
) -> Any: ...

class Unpacker(Generic[_T]):
    @overload
    def __init__(self, file_like: Any = None, *, type: type[_T] | Decoder[_T], **options: Any) -> None: ...
    @overload
    def __init__(self: Unpacker[Any], file_like: Any = None, *, type: Any, **options: Any) -> None: ...
    def feed(self, data: Any) -> None: ...
    def unpack(self) -> _T: ...
    def skip(self) -> None: ...
    def tell(self) -> int: ...
    def __iter__(self) -> Unpacker[_T]: ...
    def __next__(self) -> _T: ...

@overload
def unpack_async(reader: Any, *, type: type[_T] | Decoder[_T], **options: Any) -> AsyncIterator[_T]: ...
@overload
def unpack_async(reader: Any, *, type: Any, **options: Any) -> AsyncIterator[Any]: ...
