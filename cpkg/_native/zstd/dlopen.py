# SPDX-License-Identifier: Apache-2.0
"""
The `dlopen` backend of Zstandard: the system's libzstd.so.1 in cffi's ABI mode.

It needs no compiler, and what it takes at import is a generated Python module and the library itself. Calls cost
about twice those of the compiled backend on CPython.
"""

from __future__ import annotations

import sys

from cpkg._native.zstd import functions, streams
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

try:
    from cpkg._native._zstd_abi import ffi
except ImportError as exc:
    raise ImportError(f"the build has not written cpkg._native._zstd_abi, or cffi is missing ({exc})") from exc


def _open() -> object:
    name = "libzstd.1.dylib" if sys.platform == "darwin" else "libzstd.so.1"
    try:
        return ffi.dlopen(name)
    except OSError as exc:
        raise ImportError(f"{name} cannot be opened ({exc}); install libzstd (Debian: libzstd1)") from exc


BACKEND = "dlopen"
codec = functions.Codec(Library(ffi, _open(), BACKEND), __name__)
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


open = file.make_open(ZstdFile)
_streams = stream_functions.Streams(ZstdCompressor, ZstdDecompressor)
compress_iter = _streams.compress_iter
decompress_iter = _streams.decompress_iter
copy_stream = _streams.copy_stream
compress = codec.compress
compress_into = codec.compress_into
decompress = codec.decompress
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
