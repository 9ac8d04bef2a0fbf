# SPDX-License-Identifier: Apache-2.0
"""
Zstandard (RFC 8878) in pure Python, written for a tracing JIT: a backend with the surface of `compression.zstd`.
"""

from __future__ import annotations

from purepy.errors import ZstdError, ZstdLimitError
from purepy.zstd.common import file as _file
from purepy.zstd.common import stream_functions as _streams
from purepy.zstd.common.parameters import (
    COMPRESSION_LEVEL_DEFAULT,
    CompressionParameter,
    DecompressionParameter,
    FrameInfo,
    Strategy,
)
from purepy.zstd.common.zdict import ZstdDict
from purepy.zstd.decoder.decompressor import ZstdDecompressor, decompress, decompress_into
from purepy.zstd.decoder.frame import get_frame_info, get_frame_size
from purepy.zstd.encoder import ZstdCompressor, compress, compress_into
from purepy.zstd.encoder.options import bounds as parameter_bounds
from purepy.zstd.encoder.training import finalize_dict, train_dict

BACKEND = "pure"
LIBRARY_VERSION: str | None = None

zstd_version_info = (1, 5, 7)
"""The libzstd whose interface, limits and error codes this backend follows; there is no library behind it."""
zstd_version = ".".join(map(str, zstd_version_info))


class ZstdFile(_file.ZstdFile):
    __doc__ = _file.ZstdFile.__doc__
    _compressor_type = ZstdCompressor
    _decompressor_type = ZstdDecompressor


open = _file.make_open(ZstdFile)
_functions = _streams.Streams(ZstdCompressor, ZstdDecompressor)
compress_iter = _functions.compress_iter
decompress_iter = _functions.decompress_iter
copy_stream = _functions.copy_stream

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
