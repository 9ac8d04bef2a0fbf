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
    """
    Decodes messages of one type: `Decoder(list[User]).decode(data)`.

    `type` is the type, Any by default. With `strict=False` text that holds a number, bool or null is taken for one,
    0 and 1 for bools, whole floats for ints and numbers for datetimes (seconds since 1970), timedeltas (seconds) and
    Decimals. `dec_hook(cls, value)` makes an instance of each class that is not known here; ValueError and TypeError
    that it raises become ValidationErrors. With `all_errors` a ValidationError has every error of a message.

    `max_depth` limits how deep containers nest, `max_memory` the memory in bytes that the objects of a message take
    (64 MiB or 100 times its size by default, whichever is larger), `max_str_len`, `max_bin_len`, `max_array_len`,
    `max_map_len` and `max_ext_len` lengths, `max_total_items` and `max_total_bytes` sums over a message; -1 is no
    limit. They are checked by the headers, before an object is made.

    Raises TypeError for a type that cannot be decoded or is ambiguous.
    """
    @overload
    def __init__(self: Decoder[Any], **options: Unpack[_Options]) -> None: ...
    @overload
    def __init__(self, type: type[_T], **options: Unpack[_Options]) -> None: ...
    # a union or an alias is no type[_T]
    @overload
    def __init__(self: Decoder[Any], type: Any, **options: Unpack[_Options]) -> None: ...
    def decode(self, data: Any) -> _T:
        """
        Return the object that a message holds; `data` is a bytes-like object.

        Raises ValidationError for a message that is not of the type, and other CodecErrors as `cpkg.loads` does for
        one that is damaged or exceeds a limit.
        """
    def convert(self, obj: Any, *, from_attributes: bool = False) -> _T:
        """Return an object of this type made of `obj`; `from_attributes` is that of `cpkg.typed.convert`."""

class Encoder:
    """
    Encodes objects: `Encoder().encode(obj)`.

    `enc_hook(obj)` returns what to pack in the place of an object of a type that is not known here. Containers may
    nest `max_depth` deep.
    """
    def __init__(self, *, enc_hook: Callable[[Any], Any] | None = None, max_depth: int = 1024) -> None: ...
    def encode(self, obj: Any) -> bytes:
        """
        Return `obj` as MessagePack: as `cpkg.dumps` packs it, in the form that `options` gave its classes.

        Raises TypeError for an object that cannot be packed, OverflowError for an integer beyond 64 bits and
        ValueError for one too deep or too large.
        """

@overload
def decode(data: Any, type: type[_T], **options: Unpack[_Options]) -> _T:
    """
    Return the object that a MessagePack message holds, checked and made as `type` says.

    `typed.decode(data, list[User])`. `options` are those of `Decoder`; without any, decoders are kept with the types'
    classes. Raises what `Decoder` and `Decoder.decode` raise.
    """

@overload
def decode(data: Any, type: Any = ..., **options: Unpack[_Options]) -> Any: ...
@overload
def convert(obj: Any, type: type[_T], *, from_attributes: bool = False, **options: Unpack[_Options]) -> _T:
    """
    Return a type's object made of `obj`: dicts, lists, numbers, text and the like.

    Instances that are of a type already are taken as they are. Text also serves for times, UUIDs, Decimals (as
    `to_builtins` writes them) and, in base64, for bytes. With `from_attributes` any object's attributes serve as
    fields. `options` are those of `Decoder`. Raises ValidationError, whose `offset` is None.
    """

@overload
def convert(obj: Any, type: Any, *, from_attributes: bool = False, **options: Unpack[_Options]) -> Any: ...
def encode(obj: Any, *, enc_hook: Callable[[Any], Any] | None = None, max_depth: int = 1024) -> bytes:
    """
    Return `obj` as MessagePack.

    `enc_hook` and `max_depth` are those of `Encoder`, and it raises what `Encoder.encode` raises.
    """

def to_builtins(obj: Any, *, builtin_types: Iterable[type] = (), enc_hook: Callable[[Any], Any] | None = None) -> Any:
    """
    Return an object as dicts, lists, text, numbers, bools and None, for JSON and its like.

    Objects with fields become dicts (or lists, `array_like`), sets and tuples lists, members of an Enum their values,
    times, UUIDs and Decimals text, bytes base64. Instances of `builtin_types` stay as they are. `enc_hook(obj)`
    returns what stands for an object of another type. Raises TypeError for one without.
    """

class Unpacker(Generic[_T]):
    """
    Iterates over the messages of a stream, each an object of a type.

    `file_like` has `read`, or is None and `feed` gives the bytes. `type` is the type. `read_size` and `max_buffer_size`
    are those of `cpkg.msgpack.Unpacker`, other options those of `Decoder`. A message that is not of the type raises
    ValidationError, its offset from the start of the stream, and the next call goes on behind it. Other errors are
    those of `cpkg.msgpack.Unpacker`: OutOfData where there is no whole message, FormatError for one that is damaged.
    """
    @overload
    def __init__(self, file_like: Any = None, *, type: type[_T] | Decoder[_T], **options: Any) -> None: ...
    @overload
    def __init__(self: Unpacker[Any], file_like: Any = None, *, type: Any, **options: Any) -> None: ...
    def feed(self, data: Any) -> None:
        """Add the bytes of `data` to the stream; BufferFull if more than `max_buffer_size` would wait."""
    def unpack(self) -> _T:
        """Return the next message's object; OutOfData if it is not there yet."""
    def skip(self) -> None:
        """Pass over the next message."""
    def tell(self) -> int:
        """Return how many bytes of the stream have been read."""
    def __iter__(self) -> Unpacker[_T]: ...
    def __next__(self) -> _T: ...

@overload
def unpack_async(reader: Any, *, type: type[_T] | Decoder[_T], **options: Any) -> AsyncIterator[_T]:
    """
    Iterate over the messages of an asynchronous stream, each an object of a type.

    `reader` has an asynchronous `read(size)`, as `asyncio.StreamReader`. `options` and errors are those of `Unpacker`;
    a stream that ends within a message raises TruncatedError.
    """

@overload
def unpack_async(reader: Any, *, type: Any, **options: Any) -> AsyncIterator[Any]: ...
