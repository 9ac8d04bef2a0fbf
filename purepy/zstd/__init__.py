# SPDX-License-Identifier: Apache-2.0
"""
Zstandard (RFC 8878) in pure Python, written for a tracing JIT: a backend with the surface of `compression.zstd`.
"""

from __future__ import annotations

from purepy._lazy import lazy_names
from purepy.zstd.format.shared_names import SHARED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from purepy.errors import SeekableFormatError as SeekableFormatError
    from purepy.errors import ZstdError as ZstdError
    from purepy.errors import ZstdLimitError as ZstdLimitError
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
    from purepy.zstd.format.parameters import COMPRESSION_LEVEL_DEFAULT as COMPRESSION_LEVEL_DEFAULT
    from purepy.zstd.format.parameters import CompressionParameter as CompressionParameter
    from purepy.zstd.format.parameters import DecompressionParameter as DecompressionParameter
    from purepy.zstd.format.parameters import FrameInfo as FrameInfo
    from purepy.zstd.format.parameters import Strategy as Strategy
    from purepy.zstd.format.zdict import ZstdDict as ZstdDict
    from purepy.zstd.pure.aio import acompress as acompress
    from purepy.zstd.pure.aio import adecompress as adecompress
    from purepy.zstd.pure.aio import aopen as aopen
    from purepy.zstd.pure.files import ZstdFile as ZstdFile
    from purepy.zstd.pure.files import compress_iter as compress_iter
    from purepy.zstd.pure.files import copy_stream as copy_stream
    from purepy.zstd.pure.files import decompress_iter as decompress_iter
    from purepy.zstd.pure.files import open as open
    from purepy.zstd.pure.seekable import SeekableZstdFile as SeekableZstdFile
    from purepy.zstd.pure.seekable import index_frames as index_frames
    from purepy.zstd.pure.seekable import iter_frames as iter_frames
    from purepy.zstd.pure.seekable import verify as verify

BACKEND = "pure"
IS_WRAPPED = False
"""Whether there is a libzstd that cffi calls: `codec.library` of the module."""
RELEASES_GIL = False
"""Whether threads of Python compress side by side."""
HAS_ARCHIVES = False
"""Whether archives have a side in C there, on Linux."""
LIBRARY_VERSION: str | None = None
compressing_queue = decompressing_queue = _job_calls = _stream_types = None
"""What C has of a backend (`cpkg/_backend_protocols.py`)."""

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
    **dict.fromkeys(("ZstdFile", "compress_iter", "copy_stream", "decompress_iter", "open"), "purepy.zstd.pure.files"),
    **dict.fromkeys(("acompress", "adecompress", "aopen"), "purepy.zstd.pure.aio"),
    **dict.fromkeys(("SeekableZstdFile", "index_frames", "iter_frames", "verify"), "purepy.zstd.pure.seekable"),
}
"""The modules of the public names that are made at their first use."""

__getattr__ = lazy_names(__name__, _SOURCES)
if not TYPE_CHECKING:  # mypy holds a module to a Protocol by what its `__all__` has
    __all__ = sorted(
        [
            *_SOURCES,
            "BACKEND",
            "HAS_ARCHIVES",
            "IS_WRAPPED",
            "LIBRARY_VERSION",
            "RELEASES_GIL",
            "zstd_version",
            "zstd_version_info",
        ]
    )
