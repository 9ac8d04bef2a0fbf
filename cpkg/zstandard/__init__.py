# SPDX-License-Identifier: Apache-2.0
"""
Zstandard with the interface of python-zstandard 0.25 (`import zstandard`), on CPython and PyPy.

`import cpkg.zstandard as zstandard` gives what `import zstandard` gives, from the fastest backend that loads here (see
`cpkg.backend_info()`). docs/zstandard.md has the differences, with their reasons.
"""

from __future__ import annotations

from cpkg import _backend
from cpkg.zstandard.assemble import names_over
from cpkg.zstandard.buffers import BufferSegment, BufferSegments, BufferWithSegments, BufferWithSegmentsCollection
from cpkg.zstandard.compression_objects import ZstdCompressionChunker, ZstdCompressionObj
from cpkg.zstandard.constants import (
    BLOCKSIZE_MAX,
    BLOCKSIZELOG_MAX,
    CHAINLOG_MAX,
    CHAINLOG_MIN,
    COMPRESSION_RECOMMENDED_INPUT_SIZE,
    COMPRESSION_RECOMMENDED_OUTPUT_SIZE,
    COMPRESSOBJ_FLUSH_BLOCK,
    COMPRESSOBJ_FLUSH_FINISH,
    CONTENTSIZE_ERROR,
    CONTENTSIZE_UNKNOWN,
    DECOMPRESSION_RECOMMENDED_INPUT_SIZE,
    DECOMPRESSION_RECOMMENDED_OUTPUT_SIZE,
    DICT_TYPE_AUTO,
    DICT_TYPE_FULLDICT,
    DICT_TYPE_RAWCONTENT,
    FLUSH_BLOCK,
    FLUSH_FRAME,
    FORMAT_ZSTD1,
    FORMAT_ZSTD1_MAGICLESS,
    FRAME_HEADER,
    HASHLOG_MAX,
    HASHLOG_MIN,
    LDM_BUCKETSIZELOG_MAX,
    LDM_MINMATCH_MAX,
    LDM_MINMATCH_MIN,
    MAGIC_NUMBER,
    MAX_COMPRESSION_LEVEL,
    MINMATCH_MAX,
    MINMATCH_MIN,
    SEARCHLENGTH_MAX,
    SEARCHLENGTH_MIN,
    SEARCHLOG_MAX,
    SEARCHLOG_MIN,
    STRATEGY_BTLAZY2,
    STRATEGY_BTOPT,
    STRATEGY_BTULTRA,
    STRATEGY_BTULTRA2,
    STRATEGY_DFAST,
    STRATEGY_FAST,
    STRATEGY_GREEDY,
    STRATEGY_LAZY,
    STRATEGY_LAZY2,
    TARGETLENGTH_MAX,
    TARGETLENGTH_MIN,
    WINDOWLOG_MAX,
    WINDOWLOG_MIN,
)
from cpkg.zstandard.decompression_objects import ZstdDecompressionObj
from cpkg.zstandard.dictionary import ZstdCompressionDict
from cpkg.zstandard.frames import FrameParameters, frame_content_size, frame_header_size, get_frame_parameters
from cpkg.zstandard.parameters import ZstdCompressionParameters
from cpkg.zstandard.readers import ZstdCompressionReader, ZstdDecompressionReader
from cpkg.zstandard.writers import ZstdCompressionWriter, ZstdDecompressionWriter
from purepy.errors import ZstdError

__version__ = "0.25.0"
"""The version of python-zstandard whose interface this is."""

backend = "cext"
"""The backend of python-zstandard that has the same features; `cpkg.backend_info()` tells which of ours is in use."""

backend_features = {"buffer_types", "multi_compress_to_buffer", "multi_decompress_to_buffer"}

CompressionParameters = ZstdCompressionParameters

globals().update(names_over(_backend.zstd()))

__all__ = [
    "BLOCKSIZELOG_MAX",
    "BLOCKSIZE_MAX",
    "CHAINLOG_MAX",
    "CHAINLOG_MIN",
    "COMPRESSION_RECOMMENDED_INPUT_SIZE",
    "COMPRESSION_RECOMMENDED_OUTPUT_SIZE",
    "COMPRESSOBJ_FLUSH_BLOCK",
    "COMPRESSOBJ_FLUSH_FINISH",
    "CONTENTSIZE_ERROR",
    "CONTENTSIZE_UNKNOWN",
    "DECOMPRESSION_RECOMMENDED_INPUT_SIZE",
    "DECOMPRESSION_RECOMMENDED_OUTPUT_SIZE",
    "DICT_TYPE_AUTO",
    "DICT_TYPE_FULLDICT",
    "DICT_TYPE_RAWCONTENT",
    "FLUSH_BLOCK",
    "FLUSH_FRAME",
    "FORMAT_ZSTD1",
    "FORMAT_ZSTD1_MAGICLESS",
    "FRAME_HEADER",
    "HASHLOG_MAX",
    "HASHLOG_MIN",
    "LDM_BUCKETSIZELOG_MAX",
    "LDM_MINMATCH_MAX",
    "LDM_MINMATCH_MIN",
    "MAGIC_NUMBER",
    "MAX_COMPRESSION_LEVEL",
    "MINMATCH_MAX",
    "MINMATCH_MIN",
    "SEARCHLENGTH_MAX",
    "SEARCHLENGTH_MIN",
    "SEARCHLOG_MAX",
    "SEARCHLOG_MIN",
    "STRATEGY_BTLAZY2",
    "STRATEGY_BTOPT",
    "STRATEGY_BTULTRA",
    "STRATEGY_BTULTRA2",
    "STRATEGY_DFAST",
    "STRATEGY_FAST",
    "STRATEGY_GREEDY",
    "STRATEGY_LAZY",
    "STRATEGY_LAZY2",
    "TARGETLENGTH_MAX",
    "TARGETLENGTH_MIN",
    "WINDOWLOG_MAX",
    "WINDOWLOG_MIN",
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
