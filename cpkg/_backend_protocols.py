# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: N802  # the backends define these names
"""
The interface of a backend: the names of its module. mypy checks every backend against it, and so does a test at run
time.

A name that a backend cannot provide is None in its module. To find out what a backend can do, callers compare such a
name with None, or read a name that is a bool. They use BACKEND only in reports and errors, and never call `hasattr`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterator
from typing import TYPE_CHECKING, Any, Callable, Protocol

Function = Callable[..., Any]


class MsgpackBackend(Protocol):
    """A backend of MessagePack; `ffi_build/msgpack_stub.py` writes the signatures of the public functions."""

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
        """
        A function `(data, limit, max_depth)`; returns the offset of the value that makes a message exceed `limit`.

        If there is no such value, it returns a negative number; see `find_excess` of `purepy.msgpack.weigher`.
        """

    @property
    def prepare_packb(self) -> Function | None:
        """A function that returns a `packb` with fixed options; None if the backend has `job_functions` instead."""

    @property
    def prepare_unpackb(self) -> Function | None:
        """A function that returns an `unpackb` with fixed options; None if the backend has `job_functions` instead."""

    @property
    def job_functions(self) -> Function | None:
        """A function that creates `cpkg.dumps` and `cpkg.loads` in C; None if the backend has no C code for them."""

    @property
    def typed_packb(self) -> Function | None:
        """
        A function that packs objects for `cpkg.typed` in C; None if the backend has no C code for it.

        Its arguments are `(obj, default, max_depth, enc_hook, converted)`.
        """

    @property
    def TypedTable(self) -> Function | None:
        """A type whose instances each decode one type of `cpkg.typed` in C; None if the backend has no C code."""

    @property
    def TypedClass(self) -> Function | None:
        """A type whose instances each encode one class of `cpkg.typed` in C; None if the backend has no C code."""

    @property
    def Rows(self) -> type[pypy_rows.Rows] | None:
        """
        The type that lets a C thread arrange maps with the same keys by columns, in the memory of a FrameQueue's job.

        None if `read_rows` is None.
        """

    @property
    def read_rows(self) -> Function | None:
        """A function that reads maps with the same keys by columns, on PyPy, where this is faster; None elsewhere."""

    @property
    def message_starts(self) -> Function | None:
        """A function `(data, count)` that returns where consecutive messages begin; None if there is no C code."""


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
        """Whether the backend calls a libzstd through cffi. If so, `codec.library` makes the calls."""

    @property
    def RELEASES_GIL(self) -> bool:
        """Whether the codec releases the GIL, so that Python threads compress in parallel."""

    @property
    def HAS_LONG_MATCHES(self) -> bool:
        """Whether the codec supports long-distance matching (`CompressionParameter.enable_long_distance_matching`)."""

    @property
    def HAS_ARCHIVES(self) -> bool:
        """Whether the module, if built for Linux, has C code for archives; elsewhere, importing that code fails."""

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
        """
        A function `(options, zstd_dict, threads)` that returns a queue whose frames are compressed by C threads.

        None if the backend has no such threads.
        """

    @property
    def decompressing_queue(self) -> Callable[..., FrameQueue] | None:
        """
        A function `(zstd_dict, threads)` that returns a queue whose frames are decompressed by C threads.

        None if the backend has no such threads.
        """

    @property
    def _job_calls(self) -> object:
        """C functions that `dumps` and `loads` in C call (see ffi_build/common/zstd_calls.h), or None."""


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
