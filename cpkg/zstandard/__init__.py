# SPDX-License-Identifier: Apache-2.0
"""
Zstandard with the interface of python-zstandard 0.25 (`import zstandard`), on CPython and PyPy.

`import cpkg.zstandard as zstandard` provides the names of `import zstandard`. They use the backend that
`cpkg.backend_info()` reports, by default the fastest one that loads. docs/zstandard.md lists the differences, with
their reasons.
"""

from __future__ import annotations

from cpkg import _backend
from cpkg.zstandard import constants
from cpkg.zstandard.backend_names import names_over
from cpkg.zstandard.buffers import BufferSegment, BufferSegments, BufferWithSegments, BufferWithSegmentsCollection
from cpkg.zstandard.compression_objects import ZstdCompressionChunker, ZstdCompressionObj
from cpkg.zstandard.decompression_objects import ZstdDecompressionObj
from cpkg.zstandard.dictionary import ZstdCompressionDict
from cpkg.zstandard.frames import FrameParameters, frame_content_size, frame_header_size, get_frame_parameters
from cpkg.zstandard.parameters import ZstdCompressionParameters
from cpkg.zstandard.readers import ZstdCompressionReader, ZstdDecompressionReader
from cpkg.zstandard.writers import ZstdCompressionWriter, ZstdDecompressionWriter
from purepy.base.errors import ZstdError
from purepy.base.lazy import public_dir

__version__ = "0.25.0"
"""The version of python-zstandard whose interface this module has."""

backend = "cext"
"""The python-zstandard backend with the same features; `cpkg.backend_info()` shows the cpkg backend in use."""

backend_features = {"buffer_types", "multi_compress_to_buffer", "multi_decompress_to_buffer"}

CompressionParameters = ZstdCompressionParameters

_constants = {name: value for name, value in vars(constants).items() if name.isupper()}
globals().update(_constants)
globals().update(names_over(_backend.zstd()))

__all__ = [
    *_constants,
    "ZSTD_VERSION",
    "BufferSegment",
    "BufferSegments",
    "BufferWithSegments",
    "BufferWithSegmentsCollection",
    "CompressionParameters",
    "FrameParameters",
    "ZstdCompressionChunker",
    "ZstdCompressionDict",
    "ZstdCompressionObj",
    "ZstdCompressionParameters",
    "ZstdCompressionReader",
    "ZstdCompressionWriter",
    "ZstdCompressor",
    "ZstdDecompressionObj",
    "ZstdDecompressionReader",
    "ZstdDecompressionWriter",
    "ZstdDecompressor",
    "ZstdError",
    "__version__",
    "backend",
    "backend_features",
    "compress",
    "decompress",
    "estimate_decompression_context_size",
    "frame_content_size",
    "frame_header_size",
    "get_frame_parameters",
    "open",
    "train_dictionary",
]


__dir__ = public_dir(__name__)
