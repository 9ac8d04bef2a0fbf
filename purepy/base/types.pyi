# SPDX-License-Identifier: Apache-2.0
# Types of arguments, values and files, for type checkers only: there is no module of this name at run time.
import os
from typing import Any, Protocol, TypeVar

from typing_extensions import Buffer as Buffer
from typing_extensions import TypeAlias

Bytes: TypeAlias = bytes | memoryview
Name: TypeAlias = str | bytes | os.PathLike[str] | os.PathLike[bytes]
Parameters: TypeAlias = dict[int, int] | None
Value: TypeAlias = Any
"""An object of any type that is packed or was unpacked."""
Builder: TypeAlias = Any
"""An object that collects the parts of a message by `append(bytes)`: a list, PyPy's BytesBuilder or a Metered."""
File: TypeAlias = Any
"""A file object; each operation calls only the methods that it needs."""
Keywords: TypeAlias = dict[str, Any]
"""Keyword arguments that are passed on to the function that checks them."""
Named: TypeAlias = Any
"""A module, or an attribute of a module, that is looked up by name at run time."""

_T_co = TypeVar("_T_co", covariant=True)

class TypedDecoder(Protocol[_T_co]):
    """A `cpkg.typed.Decoder`, for modules that may not import `cpkg.typed`."""

    def decode(self, data: Buffer) -> _T_co: ...
    def convert(self, obj: object, *, from_attributes: bool = False) -> _T_co: ...

class OptionValues(tuple[Any, ...]):
    """The values of one set of MessagePack options, by name."""

    _fields: tuple[str, ...]
    def __getattr__(self, option: str) -> Any: ...
    def _asdict(self) -> dict[str, Any]: ...

class CompressionStream(Protocol):
    """A compressor of any backend, which has not begun a frame when it is created."""

    @property
    def last_mode(self) -> int: ...
    def compress(self, data: Bytes, mode: int, /) -> bytes: ...
    def set_pledged_input_size(self, size: int, /) -> None: ...
    def _memory_size(self) -> int: ...

class Readable(Protocol):
    def read(self, size: int, /) -> bytes | None: ...

class Seekable(Readable, Protocol):
    def seek(self, offset: int, whence: int = ..., /) -> int: ...

class Writable(Protocol):
    def write(self, data: Any, /) -> object: ...

Source: TypeAlias = Readable | Buffer

class Compressor(Protocol):
    """A compressor for files: a backend's ZstdCompressor, or an object that uses several of them for several frames."""
    @property
    def last_mode(self) -> int: ...
    def compress(self, data: Buffer, /) -> bytes: ...
    def flush(self, mode: int = ..., /) -> bytes: ...

class FrameCompressor(Compressor, Protocol):
    """The methods of a backend's ZstdCompressor."""
    def set_pledged_input_size(self, size: int | None, /) -> None: ...

class Decompressor(Protocol):
    """The methods of a backend's ZstdDecompressor."""
    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    def decompress(self, data: Buffer, max_length: int = ..., /) -> bytes: ...

class DecompressionStream(Decompressor, Protocol):
    """A decompressor of any backend, not yet inside a frame, with the attributes that only the drop-in uses."""
    @property
    def unused_data(self) -> bytes: ...
    @property
    def _at_start(self) -> bool: ...
    def _memory_size(self) -> int: ...
