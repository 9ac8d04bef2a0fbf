# SPDX-License-Identifier: Apache-2.0
import io
from collections.abc import AsyncIterator, Generator, Iterator
from os import PathLike
from typing import Any, AnyStr, ClassVar, Generic, Literal, Protocol, overload

from typing_extensions import Buffer, Self, TypeAlias

from cpkg.zstd._shutil import register_shutil as register_shutil
from purepy.base.errors import SeekableFormatError as SeekableFormatError
from purepy.base.errors import ZstdError as ZstdError
from purepy.base.errors import ZstdLimitError as ZstdLimitError
from purepy.base.types import Parameters
from purepy.zstd import ZstdDecompressor as ZstdDecompressor
from purepy.zstd import acompress as acompress
from purepy.zstd import adecompress as adecompress
from purepy.zstd import apply_patch as apply_patch
from purepy.zstd import compress as compress
from purepy.zstd import compress_into as compress_into
from purepy.zstd import compress_iter as compress_iter
from purepy.zstd import copy_stream as copy_stream
from purepy.zstd import decompress as decompress
from purepy.zstd import decompress_into as decompress_into
from purepy.zstd import decompress_iter as decompress_iter
from purepy.zstd import finalize_dict as finalize_dict
from purepy.zstd import get_frame_info as get_frame_info
from purepy.zstd import get_frame_size as get_frame_size
from purepy.zstd import index_frames as index_frames
from purepy.zstd import iter_frames as iter_frames
from purepy.zstd import patch as patch
from purepy.zstd import train_dict as train_dict
from purepy.zstd import verify as verify
from purepy.zstd import zstd_version as zstd_version
from purepy.zstd import zstd_version_info as zstd_version_info
from purepy.zstd.format.parameters import COMPRESSION_LEVEL_DEFAULT as COMPRESSION_LEVEL_DEFAULT
from purepy.zstd.format.parameters import CompressionParameter as CompressionParameter
from purepy.zstd.format.parameters import DecompressionParameter as DecompressionParameter
from purepy.zstd.format.parameters import FrameInfo as FrameInfo
from purepy.zstd.format.parameters import Strategy as Strategy
from purepy.zstd.format.zdict import ZstdDict as ZstdDict

_DictArgument: TypeAlias = ZstdDict | tuple[ZstdDict, int] | None

class _Reader(Protocol):
    def read(self, n: int, /) -> object: ...

class _Writer(Protocol):
    def write(self, data: bytes, /) -> object: ...

_File: TypeAlias = str | bytes | PathLike[str] | PathLike[bytes] | _Reader | _Writer

class _SeekableReader(_Reader, Protocol):
    def seek(self, offset: int, whence: int = ..., /) -> int: ...

class _Opening(Generic[AnyStr]):
    def __await__(self) -> Generator[Any, Any, _AsyncZstdFile[AnyStr]]: ...
    async def __aenter__(self) -> _AsyncZstdFile[AnyStr]: ...
    async def __aexit__(self, *failure: object) -> None: ...

class _AsyncZstdFile(Generic[AnyStr]):
    async def read(self, size: int | None = -1, /) -> AnyStr: ...
    async def read1(self, size: int = -1, /) -> bytes: ...
    async def readline(self) -> AnyStr: ...
    async def readlines(self, hint: int = -1, /) -> list[AnyStr]: ...
    async def peek(self, size: int = 0, /) -> bytes: ...
    def __aiter__(self) -> AsyncIterator[AnyStr]: ...
    def chunks(self, size: int = ...) -> AsyncIterator[AnyStr]: ...
    async def write(self, data: Buffer | AnyStr, /) -> int: ...
    async def flush(self, *mode: int) -> None: ...
    async def seek(self, offset: int, whence: int = 0, /) -> int: ...
    async def tell(self) -> int: ...
    async def close(self) -> None: ...
    async def __aenter__(self) -> Self: ...
    async def __aexit__(self, *failure: object) -> None: ...
    @property
    def closed(self) -> bool: ...
    @property
    def name(self) -> Any: ...
    @property
    def mode(self) -> Any: ...
    def readable(self) -> bool: ...
    def writable(self) -> bool: ...
    def seekable(self) -> bool: ...

@overload
def aopen(
    file: _File,
    /,
    mode: _ReadMode | _WriteMode = "rb",
    *,
    level: int | None = None,
    options: Parameters = None,
    zstd_dict: _DictArgument = None,
    encoding: str | None = None,
    errors: str | None = None,
    newline: str | None = None,
    threads: int | None = None,
    frame_size: int | None = None,
    padding: bool = False,
) -> _Opening[bytes]: ...
@overload
def aopen(
    file: _File,
    /,
    mode: _ReadTextMode | _WriteTextMode,
    *,
    level: int | None = None,
    options: Parameters = None,
    zstd_dict: _DictArgument = None,
    encoding: str | None = None,
    errors: str | None = None,
    newline: str | None = None,
    threads: int | None = None,
    frame_size: int | None = None,
    padding: bool = False,
) -> _Opening[str]: ...

class ZstdCompressor:
    CONTINUE: ClassVar[Literal[0]]
    FLUSH_BLOCK: ClassVar[Literal[1]]
    FLUSH_FRAME: ClassVar[Literal[2]]
    def __init__(
        self,
        level: int | None = None,
        options: Parameters = None,
        zstd_dict: _DictArgument = None,
    ) -> None: ...
    @property
    def last_mode(self) -> Literal[0, 1, 2]: ...
    def compress(self, data: Buffer, mode: Literal[0, 1, 2] = 0) -> bytes: ...  # noqa: F811
    def flush(self, mode: Literal[1, 2] = 2) -> bytes: ...
    def set_pledged_input_size(self, size: int | None, /) -> None: ...

_ReadMode: TypeAlias = Literal["r", "rb"]
_WriteMode: TypeAlias = Literal["w", "wb", "x", "xb", "a", "ab"]
_ReadTextMode: TypeAlias = Literal["rt"]
_WriteTextMode: TypeAlias = Literal["wt", "xt", "at"]

class ZstdFile(io.BufferedIOBase):
    FLUSH_BLOCK: ClassVar[Literal[1]]
    FLUSH_FRAME: ClassVar[Literal[2]]
    @overload
    def __init__(
        self,
        file: _File,
        /,
        mode: _ReadMode = "r",
        *,
        level: None = None,
        options: Parameters = None,
        zstd_dict: _DictArgument = None,
        threads: int | None = None,
        padding: bool = False,
    ) -> None: ...
    @overload
    def __init__(
        self,
        file: _File,
        /,
        mode: _WriteMode,
        *,
        level: int | None = None,
        options: Parameters = None,
        zstd_dict: _DictArgument = None,
        threads: int | None = None,
        frame_size: int | None = None,
    ) -> None: ...
    def __enter__(self) -> Self: ...
    def __iter__(self) -> Iterator[bytes]: ...
    def write(self, data: Buffer, /) -> int: ...
    def flush(self, mode: Literal[1, 2] = 1) -> None: ...
    def read(self, size: int | None = -1, /) -> bytes: ...
    def read1(self, size: int = -1, /) -> bytes: ...
    def readinto(self, buffer: Buffer, /) -> int: ...
    def readinto1(self, buffer: Buffer, /) -> int: ...
    def readline(self, size: int | None = -1, /) -> bytes: ...
    def peek(self, size: int = 0, /) -> bytes: ...
    @property
    def name(self) -> Any: ...
    @property
    def mode(self) -> Literal["rb", "wb"]: ...

class SeekableZstdFile(ZstdFile):
    FRAME_MAX_C_SIZE: ClassVar[int]
    FRAME_MAX_D_SIZE: ClassVar[int]
    def __init__(
        self,
        filename: _File,
        mode: _ReadMode | _WriteMode = "r",
        *,
        level_or_option: int | Parameters = None,
        zstd_dict: _DictArgument = None,
        read_size: int = 131075,
        write_size: int = 131591,
        max_frame_content_size: int = 4194304,
        checksums: bool = True,
        scan: bool = False,
        index: bool | str | bytes | PathLike[str] | PathLike[bytes] | None = None,
    ) -> None: ...
    def write(self, data: Buffer) -> int: ...
    @property
    def seek_table_info(self) -> tuple[int, int, int] | None: ...
    @staticmethod
    def is_seekable_format_file(filename: str | bytes | PathLike[str] | PathLike[bytes] | _SeekableReader) -> bool: ...

@overload
def open(
    file: _File,
    /,
    mode: _ReadMode = "rb",
    *,
    level: None = None,
    options: Parameters = None,
    zstd_dict: _DictArgument = None,
    encoding: None = None,
    errors: None = None,
    newline: None = None,
    threads: int | None = None,
    padding: bool = False,
) -> ZstdFile: ...
@overload
def open(
    file: _File,
    /,
    mode: _WriteMode,
    *,
    level: int | None = None,
    options: Parameters = None,
    zstd_dict: _DictArgument = None,
    encoding: None = None,
    errors: None = None,
    newline: None = None,
    threads: int | None = None,
    frame_size: int | None = None,
) -> ZstdFile: ...
@overload
def open(
    file: _File,
    /,
    mode: _ReadTextMode,
    *,
    level: None = None,
    options: Parameters = None,
    zstd_dict: _DictArgument = None,
    encoding: str | None = None,
    errors: str | None = None,
    newline: str | None = None,
    threads: int | None = None,
    padding: bool = False,
) -> io.TextIOWrapper: ...
@overload
def open(
    file: _File,
    /,
    mode: _WriteTextMode,
    *,
    level: int | None = None,
    options: Parameters = None,
    zstd_dict: _DictArgument = None,
    encoding: str | None = None,
    errors: str | None = None,
    newline: str | None = None,
    threads: int | None = None,
    frame_size: int | None = None,
) -> io.TextIOWrapper: ...
