# SPDX-License-Identifier: Apache-2.0
"""
Zstandard (RFC 8878) in pure Python, written for a tracing JIT: a backend with the surface of `compression.zstd`.
"""

from __future__ import annotations

from purepy._lazy import lazy_names
from purepy.zstd.common import SHARED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from purepy.errors import SeekableFormatError as SeekableFormatError
    from purepy.errors import ZstdError as ZstdError
    from purepy.errors import ZstdLimitError as ZstdLimitError
    from purepy.zstd.aio import acompress as acompress
    from purepy.zstd.aio import adecompress as adecompress
    from purepy.zstd.aio import aopen as aopen
    from purepy.zstd.common.parameters import COMPRESSION_LEVEL_DEFAULT as COMPRESSION_LEVEL_DEFAULT
    from purepy.zstd.common.parameters import CompressionParameter as CompressionParameter
    from purepy.zstd.common.parameters import DecompressionParameter as DecompressionParameter
    from purepy.zstd.common.parameters import FrameInfo as FrameInfo
    from purepy.zstd.common.parameters import Strategy as Strategy
    from purepy.zstd.common.zdict import ZstdDict as ZstdDict
    from purepy.zstd.decoder.decompressor import ZstdDecompressor as ZstdDecompressor
    from purepy.zstd.decoder.decompressor import decompress as decompress
    from purepy.zstd.decoder.decompressor import decompress_into as decompress_into
    from purepy.zstd.decoder.frame import get_frame_info as get_frame_info
    from purepy.zstd.decoder.frame import get_frame_size as get_frame_size
    from purepy.zstd.encoder.compressor import ZstdCompressor as ZstdCompressor
    from purepy.zstd.encoder.compressor import compress as compress
    from purepy.zstd.encoder.compressor import compress_into as compress_into
    from purepy.zstd.encoder.options import parameter_bounds as parameter_bounds
    from purepy.zstd.encoder.training import finalize_dict as finalize_dict
    from purepy.zstd.encoder.training import train_dict as train_dict
    from purepy.zstd.extras import SeekableZstdFile as SeekableZstdFile
    from purepy.zstd.extras import index_frames as index_frames
    from purepy.zstd.extras import iter_frames as iter_frames
    from purepy.zstd.extras import verify as verify
    from purepy.zstd.files import ZstdFile as ZstdFile
    from purepy.zstd.files import compress_iter as compress_iter
    from purepy.zstd.files import copy_stream as copy_stream
    from purepy.zstd.files import decompress_iter as decompress_iter
    from purepy.zstd.files import open as open

BACKEND = "pure"
LIBRARY_VERSION: str | None = None

zstd_version_info = (1, 5, 7)
"""The libzstd whose interface, limits and error codes this backend follows; there is no library behind it."""
zstd_version = ".".join(map(str, zstd_version_info))

_DECODER, _ENCODER = "purepy.zstd.decoder", "purepy.zstd.encoder"
_SOURCES = {
    **SHARED,
    **dict.fromkeys(("ZstdDecompressor", "decompress", "decompress_into"), f"{_DECODER}.decompressor"),
    **dict.fromkeys(("get_frame_info", "get_frame_size"), f"{_DECODER}.frame"),
    **dict.fromkeys(("ZstdCompressor", "compress", "compress_into"), f"{_ENCODER}.compressor"),
    "parameter_bounds": f"{_ENCODER}.options",
    **dict.fromkeys(("finalize_dict", "train_dict"), f"{_ENCODER}.training"),
    **dict.fromkeys(("ZstdFile", "compress_iter", "copy_stream", "decompress_iter", "open"), "purepy.zstd.files"),
    **dict.fromkeys(("acompress", "adecompress", "aopen"), "purepy.zstd.aio"),
    **dict.fromkeys(("SeekableZstdFile", "index_frames", "iter_frames", "verify"), "purepy.zstd.extras"),
}
"""The modules of the public names that are made at their first use."""

__getattr__ = lazy_names(__name__, _SOURCES)
__all__ = sorted([*_SOURCES, "BACKEND", "LIBRARY_VERSION", "zstd_version", "zstd_version_info"])
