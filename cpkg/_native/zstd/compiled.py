# SPDX-License-Identifier: Apache-2.0
"""
The `native` backend of Zstandard: libzstd through the module that the build compiled.

On CPython that module adds builtin functions besides: a cffi call costs more than what a short message takes. They
do the ordinary calls and hand everything else to the same Python code that runs on PyPy (zstd/functions.py).
"""

from __future__ import annotations

import sys
from typing import Any

from cpkg._native._zstd_ffi import ffi, lib
from cpkg._native.zstd import buffered_writer, functions, streams, text_reader
from cpkg._native.zstd.library import Library
from purepy.errors import ZstdError, ZstdLimitError
from purepy.zstd.common import file, stream_functions
from purepy.zstd.common.parameters import (
    COMPRESSION_LEVEL_DEFAULT,
    CompressionParameter,
    DecompressionParameter,
    FrameInfo,
    Strategy,
)
from purepy.zstd.common.zdict import ZstdDict

BACKEND = "native"


class _CompiledLibrary(Library):
    """The Library with what zstd/module.c adds to libzstd."""

    def advise_huge_pages(self, memory: Any, size: int) -> None:
        lib.cpkg_advise_huge_pages(memory, size)


class _BuiltinLibrary(_CompiledLibrary):
    """The same on CPython: builtins do the work, given a context's address, and share what contexts a thread keeps."""

    def take_cctx(self) -> Any:
        cctx = lib.cpkg_take_cctx()
        if not cctx:
            raise MemoryError("libzstd cannot make a compression context")
        return ffi.gc(cctx, lib.ZSTD_freeCCtx)

    def give_cctx(self, cctx: Any, workers: bool = False, told: int | None = None) -> None:
        if workers:
            self.drop(cctx)
        else:
            ffi.gc(cctx, None)  # it is the slot's from here on
            lib.cpkg_give_cctx(cctx)

    def take_dctx(self) -> Any:
        dctx = lib.cpkg_take_dctx()
        if not dctx:
            raise MemoryError("libzstd cannot make a decompression context")
        return ffi.gc(dctx, lib.ZSTD_freeDCtx)

    def give_dctx(self, dctx: Any, told: int | None = None) -> None:
        ffi.gc(dctx, None)
        lib.cpkg_give_dctx(dctx)

    def handle(self, context: Any) -> Any:
        return int(ffi.cast("uintptr_t", context))


_has_builtins = sys.implementation.name == "cpython"
codec = functions.Codec((_BuiltinLibrary if _has_builtins else _CompiledLibrary)(ffi, lib, BACKEND), __name__)
compress = _slow_compress = codec.compress
decompress = _slow_decompress = codec.decompress

if _has_builtins:
    # replaces compress and decompress above
    if lib.cpkg_add_builtins(ffi.cast("void *", id(sys.modules[__name__]))) != 0:
        reason = ffi.string(lib.cpkg_builtins_error()).decode("utf-8", "replace")
        raise ImportError(f"the builtin functions of cpkg._native._zstd_ffi cannot be set up: {reason}")
    for _name in ("stream_compress", "stream_decompress", "stream_decompress_into"):
        setattr(codec.library, _name, globals()["_" + _name])

LIBRARY_VERSION = f"libzstd {codec.library.version}"


class ZstdCompressor(streams.Compressor):
    __doc__ = streams.Compressor.__doc__
    __slots__ = ()
    _library = codec.library


class ZstdDecompressor(streams.Decompressor):
    __doc__ = streams.Decompressor.__doc__
    __slots__ = ()
    _library = codec.library


class ZstdFile(file.ZstdFile):
    __doc__ = file.ZstdFile.__doc__
    _compressor_type = ZstdCompressor
    _decompressor_type = ZstdDecompressor
    if _has_builtins:
        _writer_type = type(
            "BufferedWriter",
            (buffered_writer.BufferedWriter, globals()["_WriteBuffer"]),
            {"__module__": __name__, "__slots__": ("_lock", "_memory", "raw")},
        )
    if "_LineBuffer" in globals():  # not where there is no GIL
        _line_reader_type = type(
            "LineReader",
            (text_reader.LineReader, globals()["_LineBuffer"]),
            {"__module__": __name__, "__slots__": ("_lock", "_memory", "raw")},
        )
        _text_reader_type = globals().pop("_make_text_reader")(text_reader.TextReader, _line_reader_type)

        @classmethod
        def _text_types(cls, encoding: str | None, newline: str | None) -> tuple[Any, Any]:
            if text_reader.line_codec(encoding, newline) is not None:
                return cls._text_reader_type, cls._line_reader_type
            return super()._text_types(encoding, newline)


open = file.make_open(ZstdFile)
_streams = stream_functions.Streams(ZstdCompressor, ZstdDecompressor)
compress_iter = _streams.compress_iter
decompress_iter = _streams.decompress_iter
copy_stream = _streams.copy_stream
compress_into = codec.compress_into
decompress_into = codec.decompress_into
finalize_dict = codec.finalize_dict
get_frame_info = codec.get_frame_info
get_frame_size = codec.get_frame_size
parameter_bounds = codec.parameter_bounds
train_dict = codec.train_dict
zstd_version = codec.library.version
zstd_version_info = codec.library.version_info

__all__ = [
    "BACKEND",
    "COMPRESSION_LEVEL_DEFAULT",
    "LIBRARY_VERSION",
    "CompressionParameter",
    "DecompressionParameter",
    "FrameInfo",
    "Strategy",
    "ZstdCompressor",
    "ZstdDecompressor",
    "ZstdDict",
    "ZstdError",
    "ZstdFile",
    "ZstdLimitError",
    "compress",
    "compress_into",
    "compress_iter",
    "copy_stream",
    "decompress",
    "decompress_into",
    "decompress_iter",
    "finalize_dict",
    "get_frame_info",
    "get_frame_size",
    "open",
    "parameter_bounds",
    "train_dict",
    "zstd_version",
    "zstd_version_info",
]
