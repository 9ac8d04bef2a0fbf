# SPDX-License-Identifier: Apache-2.0
"""
Zstandard (RFC 8878) in pure Python, written for a tracing JIT: a backend with the surface of `compression.zstd`.
"""

from __future__ import annotations

from purepy._lazy import lazy_names
from purepy.zstd.common import SHARED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from purepy.errors import SeekableFormatError, ZstdError, ZstdLimitError
    from purepy.zstd.aio import acompress, adecompress, aopen
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
    from purepy.zstd.encoder.compressor import ZstdCompressor, compress, compress_into
    from purepy.zstd.encoder.options import parameter_bounds
    from purepy.zstd.encoder.training import finalize_dict, train_dict
    from purepy.zstd.extras import SeekableZstdFile, index_frames, iter_frames, verify
    from purepy.zstd.files import ZstdFile, compress_iter, copy_stream, decompress_iter, open

BACKEND = "pure"
LIBRARY_VERSION: str | None = None

zstd_version_info = (1, 5, 7)
"""The libzstd whose interface, limits and error codes this backend follows; there is no library behind it."""
zstd_version = ".".join(map(str, zstd_version_info))

_DECODER, _ENCODER = "purepy.zstd.decoder", "purepy.zstd.encoder"
__getattr__ = lazy_names(
    __name__,
    {
        **SHARED,
        **dict.fromkeys(("ZstdDecompressor", "decompress", "decompress_into"), f"{_DECODER}.decompressor"),
        **dict.fromkeys(("get_frame_info", "get_frame_size"), f"{_DECODER}.frame"),
        **dict.fromkeys(("ZstdCompressor", "compress", "compress_into"), f"{_ENCODER}.compressor"),
        "parameter_bounds": f"{_ENCODER}.options",
        **dict.fromkeys(("finalize_dict", "train_dict"), f"{_ENCODER}.training"),
        **dict.fromkeys(("ZstdFile", "compress_iter", "copy_stream", "decompress_iter", "open"), "purepy.zstd.files"),
        **dict.fromkeys(("acompress", "adecompress", "aopen"), "purepy.zstd.aio"),
        **dict.fromkeys(("SeekableZstdFile", "index_frames", "iter_frames", "verify"), "purepy.zstd.extras"),
    },
)

__all__ = [
    "BACKEND",
    "COMPRESSION_LEVEL_DEFAULT",
    "LIBRARY_VERSION",
    "CompressionParameter",
    "DecompressionParameter",
    "FrameInfo",
    "SeekableFormatError",
    "SeekableZstdFile",
    "Strategy",
    "ZstdCompressor",
    "ZstdDecompressor",
    "ZstdDict",
    "ZstdError",
    "ZstdFile",
    "ZstdLimitError",
    "acompress",
    "adecompress",
    "aopen",
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
    "index_frames",
    "iter_frames",
    "open",
    "parameter_bounds",
    "train_dict",
    "verify",
    "zstd_version",
    "zstd_version_info",
]
