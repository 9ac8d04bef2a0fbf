# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, TypedDict, TypeVar, overload

from typing_extensions import Buffer, TypeAlias, TypeForm, Unpack

from cpkg.typed.class_options import Exclude, Name, Pattern, Title, options
from cpkg.typed.errors import ValidationError
from cpkg.typed.nodes import UNSET, UnsetType
from cpkg.typed.schemas import inspect, schema

__all__ = [
    "UNSET",
    "Decoder",
    "Encoder",
    "Exclude",
    "Name",
    "Pattern",
    "Title",
    "UnsetType",
    "ValidationError",
    "convert",
    "decode",
    "encode",
    "inspect",
    "options",
    "schema",
    "to_builtins",
]

_T = TypeVar("_T")
_Hook: TypeAlias = Callable[[Any, Any], Any]
_EncodingHook: TypeAlias = Callable[[Any], Any]

class _Options(TypedDict, total=False):
    strict: bool
    dec_hook: _Hook | None
    all_errors: bool
    max_errors: int
    max_depth: int
    max_memory: int | None
    max_str_len: int
    max_bin_len: int
    max_array_len: int
    max_map_len: int
    max_ext_len: int
    max_total_items: int
    max_total_bytes: int
    namespace: Mapping[str, object] | None

class Decoder(Generic[_T]):
    @overload
    def __init__(self: Decoder[Any], **options: Unpack[_Options]) -> None: ...
    @overload
    def __init__(self, type: type[_T], **options: Unpack[_Options]) -> None: ...
    # for unions and similar forms; mypy before 1.19 knows only the types above
    @overload
    def __init__(self, type: TypeForm[_T], **options: Unpack[_Options]) -> None: ...
    @overload
    def __init__(self: Decoder[Any], type: object, **options: Unpack[_Options]) -> None: ...
    def decode(self, data: Buffer) -> _T: ...
    def convert(self, obj: object, *, from_attributes: bool = False) -> _T: ...

class Encoder:
    def __init__(self, *, enc_hook: _EncodingHook | None = None, max_depth: int = 1024) -> None: ...
    def encode(self, obj: object) -> bytes: ...

@overload
def decode(data: Buffer, type: type[_T], **options: Unpack[_Options]) -> _T: ...
@overload
def decode(data: Buffer, type: TypeForm[_T], **options: Unpack[_Options]) -> _T: ...
@overload
def decode(data: Buffer, type: object = ..., **options: Unpack[_Options]) -> Any: ...
@overload
def convert(obj: object, type: type[_T], *, from_attributes: bool = False, **options: Unpack[_Options]) -> _T: ...
@overload
def convert(obj: object, type: TypeForm[_T], *, from_attributes: bool = False, **options: Unpack[_Options]) -> _T: ...
@overload
def convert(obj: object, type: object, *, from_attributes: bool = False, **options: Unpack[_Options]) -> Any: ...
def encode(obj: object, *, enc_hook: _EncodingHook | None = None, max_depth: int = 1024) -> bytes: ...
def to_builtins(obj: object, *, builtin_types: Iterable[type] = (), enc_hook: _EncodingHook | None = None) -> Any: ...
