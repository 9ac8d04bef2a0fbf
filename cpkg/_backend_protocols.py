# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: N802  # names are the backends'
"""
What a backend offers: the names of its module, which mypy holds every backend to, and a test at run time.

A name that not every backend can serve is None in those that cannot. Who asks for a capability compares with None, or
reads a truth value; nobody asks for a backend's name, or whether its module has an attribute.
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterator
from typing import TYPE_CHECKING, Any, Callable, Protocol

Function = Callable[..., Any]


class MsgpackBackend(Protocol):
    """A backend of MessagePack; `ffi_build/msgpack_stub.py` has the signatures of the public functions."""

    @property
    def BACKEND(self) -> str: ...
    @property
    def LIBRARY_VERSION(self) -> str | None: ...
    def Packer(self, *args: Any, **options: Any) -> Any: ...
    def Unpacker(self, *args: Any, **options: Any) -> Any: ...
    def pack(self, *args: Any, **options: Any) -> None: ...
    def pack_into(self, *args: Any, **options: Any) -> int: ...
    def packb(self, *args: Any, **options: Any) -> bytes: ...
    def unpack(self, *args: Any, **options: Any) -> Any: ...
    def unpack_async(self, *args: Any, **options: Any) -> Any: ...
    def unpackb(self, *args: Any, **options: Any) -> Any: ...
    def unpackb_from(self, *args: Any, **options: Any) -> Any: ...

    @property
    def find_excess(self) -> Callable[..., int]:
        """Find the value that is too heavy: `find_excess(data, allowed, max_depth)` of `purepy.msgpack.weigher`."""

    @property
    def prepare_packb(self) -> Function | None:
        """Return a `packb` with options taken once; None where `job_functions` serves."""

    @property
    def prepare_unpackb(self) -> Function | None:
        """Return an `unpackb` with options taken once; None where `job_functions` serves."""

    @property
    def job_functions(self) -> Function | None:
        """Make `cpkg.dumps` and `cpkg.loads` in C."""

    @property
    def typed_packb(self) -> Function | None:
        """Pack as `cpkg.typed` encodes: `typed_packb(obj, default, max_depth, enc_hook, converted)`."""

    @property
    def TypedTable(self) -> Function | None:
        """Decode a type of `cpkg.typed` in C."""

    @property
    def TypedClass(self) -> Function | None:
        """Encode the objects of a class of `cpkg.typed` in C."""

    @property
    def Rows(self) -> type[pypy_rows.Rows] | None:
        """Alike maps by columns, from a job of a queue of frames; None where `read_rows` is None."""

    @property
    def read_rows(self) -> Function | None:
        """Read alike maps by columns, where the JIT makes many records so."""

    @property
    def message_starts(self) -> Function | None:
        """Find where messages start that lie one behind the other."""


class ZstdBackend(Protocol):
    """A backend of Zstandard; `cpkg/zstd/__init__.pyi` has the signatures of the public functions."""

    @property
    def BACKEND(self) -> str: ...
    @property
    def LIBRARY_VERSION(self) -> str | None: ...
    @property
    def zstd_version(self) -> str: ...
    @property
    def zstd_version_info(self) -> tuple[int, int, int]: ...

    @property
    def IS_WRAPPED(self) -> bool:
        """Whether there is a libzstd that cffi calls: `codec.library` of the module."""

    @property
    def RELEASES_GIL(self) -> bool:
        """Whether threads of Python compress side by side."""

    @property
    def HAS_ARCHIVES(self) -> bool:
        """Whether archives have a side in C there, on Linux."""

    def ZstdCompressor(self, *args: Any, **options: Any) -> Any: ...
    def ZstdDecompressor(self, *args: Any, **options: Any) -> Any: ...
    def ZstdFile(self, *args: Any, **options: Any) -> Any: ...
    @property
    def DecompressionParameter(self) -> type[DecompressionParameter]: ...
    def SeekableZstdFile(self, *args: Any, **options: Any) -> Any: ...
    def acompress(self, *args: Any, **options: Any) -> Awaitable[bytes]: ...
    def adecompress(self, *args: Any, **options: Any) -> Awaitable[bytes]: ...
    def aopen(self, *args: Any, **options: Any) -> Any: ...
    def apply_patch(self, *args: Any, **options: Any) -> bytes: ...
    def compress(self, *args: Any, **options: Any) -> bytes: ...
    def compress_into(self, *args: Any, **options: Any) -> int: ...
    def compress_iter(self, *args: Any, **options: Any) -> Iterator[bytes]: ...
    def copy_stream(self, *args: Any, **options: Any) -> tuple[int, int]: ...
    def decompress(self, *args: Any, **options: Any) -> bytes: ...
    def decompress_into(self, *args: Any, **options: Any) -> int: ...
    def decompress_iter(self, *args: Any, **options: Any) -> Iterator[bytes]: ...
    def finalize_dict(self, *args: Any, **options: Any) -> ZstdDict: ...
    def get_frame_info(self, *args: Any, **options: Any) -> FrameInfo: ...
    def get_frame_size(self, *args: Any, **options: Any) -> int: ...
    def index_frames(self, *args: Any, **options: Any) -> SeekTable: ...
    def iter_frames(self, *args: Any, **options: Any) -> Iterator[Frame]: ...
    def open(self, *args: Any, **options: Any) -> Any: ...
    def patch(self, *args: Any, **options: Any) -> bytes: ...
    def parameter_bounds(self, *args: Any, **options: Any) -> tuple[int, int]: ...
    def train_dict(self, *args: Any, **options: Any) -> ZstdDict: ...
    def verify(self, *args: Any, **options: Any) -> Any: ...

    @property
    def compressing_queue(self) -> Callable[..., FrameQueue] | None:
        """Return a queue of frames that threads of C compress: `compressing_queue(options, zstd_dict, threads)`."""

    @property
    def decompressing_queue(self) -> Callable[..., FrameQueue] | None:
        """Return a queue of frames that threads of C decompress: `decompressing_queue(zstd_dict, threads)`."""

    @property
    def _job_calls(self) -> object:
        """What C lends to `dumps` and `loads` of a compiled MessagePack (ffi_build/common/zstd_calls.h), or None."""


if TYPE_CHECKING:
    from cpkg._native.msgpack import cpython
    from cpkg._native.msgpack.pypy import backend as pypy
    from cpkg._native.msgpack.pypy import rows as pypy_rows
    from cpkg._native.zstd import compiled, dlopen, stdlib
    from cpkg._native.zstd.frame_queue import FrameQueue
    from purepy import msgpack as pure_msgpack
    from purepy import zstd as pure_zstd
    from purepy.zstd.format.parameters import DecompressionParameter, FrameInfo
    from purepy.zstd.format.scanner import Frame
    from purepy.zstd.format.zdict import ZstdDict
    from purepy.zstd.seekable.table import SeekTable

    _msgpack: MsgpackBackend = cpython
    _msgpack = pypy
    _msgpack = pure_msgpack
    _zstd: ZstdBackend = compiled
    _zstd = dlopen
    _zstd = stdlib
    _zstd = pure_zstd
