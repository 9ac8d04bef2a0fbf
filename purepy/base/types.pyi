# SPDX-License-Identifier: Apache-2.0
# Types of arguments, values and files, for type checkers alone: there is no module of this name at run time.
import os
from collections.abc import Mapping
from typing import Any, Protocol

from typing_extensions import Buffer as Buffer
from typing_extensions import TypeAlias

Bytes: TypeAlias = bytes | memoryview
Name: TypeAlias = str | bytes | os.PathLike[str] | os.PathLike[bytes]
Parameters: TypeAlias = Mapping[int, int] | None
Value: TypeAlias = Any
"""An object of any type that is packed or was unpacked."""
Builder: TypeAlias = Any
"""What gathers the parts of a message by `append(bytes)`: a list, PyPy's BytesBuilder or a Metered."""
File: TypeAlias = Any
"""A file object; an operation calls those of its methods that it needs."""
Keywords: TypeAlias = dict[str, Any]
"""Keyword arguments that are passed on to the function that checks them."""
Named: TypeAlias = Any
"""A module that is looked up by its name while the program runs, or what it has under a name."""

class OptionValues(tuple[Any, ...]):
    """The values of one set of MessagePack's options, by their names."""

    _fields: tuple[str, ...]
    def __getattr__(self, option: str) -> Any: ...
    def _asdict(self) -> dict[str, Any]: ...

class CompressionStream(Protocol):
    """A compressor of any backend, between frames at first."""

    @property
    def last_mode(self) -> int: ...
    def compress(self, data: Bytes, mode: int, /) -> bytes: ...
    def set_pledged_input_size(self, size: int, /) -> None: ...
    def _memory_size(self) -> int | None: ...

class Readable(Protocol):
    def read(self, size: int, /) -> bytes | None: ...

class Seekable(Readable, Protocol):
    def seek(self, offset: int, whence: int = ..., /) -> int: ...

class Writable(Protocol):
    def write(self, data: Any, /) -> object: ...

Source: TypeAlias = Readable | Buffer

class Compressor(Protocol):
    """What writes for files: a backend's ZstdCompressor, or what makes several frames with some."""
    @property
    def last_mode(self) -> int: ...
    def compress(self, data: Buffer, /) -> bytes: ...
    def flush(self, mode: int = ..., /) -> bytes: ...

class FrameCompressor(Compressor, Protocol):
    """What a backend's ZstdCompressor does."""
    def set_pledged_input_size(self, size: int | None, /) -> None: ...

class Decompressor(Protocol):
    """What a backend's ZstdDecompressor does."""
    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    def decompress(self, data: Buffer, max_length: int = ..., /) -> bytes: ...

class DecompressionStream(Decompressor, Protocol):
    """A decompressor of any backend, between frames at first, with what only the drop-in asks of it."""
    @property
    def unused_data(self) -> bytes: ...
    @property
    def _at_start(self) -> bool: ...
    def _memory_size(self) -> int | None: ...
